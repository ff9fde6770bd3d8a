"""Processors other than the one that the tests run on: lesser ones are run, others compiled for."""

import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import llvmlite.binding  # pyright: ignore[reportMissingTypeStubs] -- it has none
import numpy as np
import pytest
from tests.docs.native_kernels import KERNELS, escape, group_sums, histogram, product, saxpy

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, F32Array2D, NDRange, S32Array, S32Array2D
from trilby.backend.native.engine import Engine
from trilby.backend.native.host_processor import host_from, this_host, width_bits
from trilby.backend.native.llvm import assembly
from trilby.backend.native.modules import generated as generate
from trilby.backend.native.queue_code import queue_text
from trilby.backend.native.toolchain import Processor
from trilby.codegen.llvm.target import LlvmTarget
from trilby.reflect.functions import Kernel
from trilby.runtime.compile import analyse_kernel

llvm: Any = llvmlite.binding

LEVELS = {
    "x86-64": frozenset[str](),
    "x86-64-v2": frozenset({"sse4.2"}),
    "x86-64-v3": frozenset({"sse4.2", "avx", "avx2", "fma", "f16c"}),
    "x86-64-v4": frozenset(
        {"sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"}
    ),
}
"""LLVM's names of what processors have in common, and what of it we ask for."""

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="it is for x86-64")
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


def nothing_kept(_processor: Processor) -> None: ...


@pytest.fixture(params=[name for name in LEVELS if LEVELS[name] <= this_host().target.features])
def lesser(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Accelerator]:
    """An accelerator for whom the processor has no more than that."""
    host, level = this_host(), str(request.param)
    features = LEVELS[level]
    found = replace(
        host.processor, cpu=level, features=",".join(f"+{one}" for one in sorted(features))
    )
    host = host_from(found, threads=host.threads, told={})
    engine = Engine(host, None)
    for name, thing in (("this_host", host), ("shared_engine", engine)):
        monkeypatch.setattr(f"trilby.backend.native.device.{name}", lambda thing=thing: thing)
    monkeypatch.setattr("trilby.backend.native.device.kept_objects", nothing_kept)
    with Accelerator("native") as accelerator:
        assert level in accelerator.device.driver
        yield accelerator
    engine.stop()


@tb.compute
def run_all(  # noqa: PLR0913, PLR0917 -- one for each kernel
    cc: ComputeContext,
    x: F32Array,
    y: F32Array,
    sums: F32Array,
    turns: S32Array2D,
    a: F32Array2D,
    b: F32Array2D,
    c: F32Array2D,
    keys: S32Array,
    bins: S32Array,
    counts: S32Array,
) -> None:
    cc.dispatch(x.length, saxpy, 2.0, x, y)
    cc.dispatch((37, 5), escape, turns, 0.1, 50)
    cc.dispatch((20, 20), product, a, b, c, 20)
    cc.dispatch(NDRange(192, local=64), group_sums, x, sums)
    cc.dispatch(keys.length, histogram, keys, bins, counts)


def escape_turns(scale: float, most: int) -> "np.ndarray[Any, Any]":
    """The same in NumPy, point by point."""
    found = np.zeros((5, 37), np.int32)
    for row, column in np.ndindex(found.shape):
        cx = np.float32(column) * np.float32(scale) - np.float32(2)
        cy = np.float32(row) * np.float32(scale) - np.float32(1)
        x, y, n = np.float32(0), np.float32(0), 0
        while n < most and x * x + y * y < 4:
            x, y, n = x * x - y * y + cx, np.float32(2) * x * y + cy, n + 1
        found[row, column] = n
    return found


@on_x86
def test_lesser_processors_compute_the_same(lesser: Accelerator) -> None:
    random = np.random.default_rng(7)
    x = random.integers(0, 100, 192).astype(np.float32)  # sums of them are exact
    left, right = (random.integers(0, 9, (20, 20)).astype(np.float32) for _ in range(2))
    keys, bins = random.integers(0, 50, 333, np.int32), random.integers(0, 7, 50, np.int32)
    y, sums, counts = (
        F32Array.of(np.ones(192)),
        F32Array.create(length=3),
        S32Array.create(length=7),
    )
    turns = S32Array2D.create(width=37, height=5)
    made = F32Array2D.create(width=20, height=20)
    given = F32Array.of(x), F32Array2D.of(left), F32Array2D.of(right)
    lesser.compute(
        run_all, given[0], y, sums, turns, given[1], given[2], made,
        S32Array.of(keys), S32Array.of(bins), counts,
    )  # fmt: skip
    np.testing.assert_array_equal(y.array[:], 2 * x + 1)
    np.testing.assert_array_equal(turns.array[:], escape_turns(0.1, 50))
    np.testing.assert_array_equal(made.array[:], left @ right)
    np.testing.assert_array_equal(sums.array[:], x.reshape(3, 64).sum(1))
    np.testing.assert_array_equal(counts.array[:], np.bincount(bins[keys], minlength=7))


@on_x86
@each_kernel
def test_code_has_only_registers_that_are_there(kernel: Kernel[...]) -> None:
    for level, features in LEVELS.items():
        bits = width_bits("x86_64", features)
        target = LlvmTarget(bits, this_host().processor.triple, features)
        text = assembly(
            generate(analyse_kernel(kernel).graph, target).text,
            Processor(target.triple, level, ""),
        )
        found = {kind for kind in ("xmm", "ymm", "zmm") if f"%{kind}" in text}
        allowed = {128: {"xmm"}, 256: {"xmm", "ymm"}, 512: {"xmm", "ymm", "zmm"}}
        assert found <= allowed[bits]


@pytest.fixture(scope="module", params=["+neon", "+neon,+sve", "+neon,+sve2,+lse"])
def arm(request: pytest.FixtureRequest) -> Any:
    """LLVM for another kind of processor."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple("aarch64-unknown-linux-gnu")
    except RuntimeError:
        pytest.skip("this llvmlite makes no code for AArch64")
    return target.create_target_machine(
        cpu="generic", features=request.param, opt=2, reloc="pic", codemodel="small", jit=True
    )


def compiled_for(machine: Any, text: str) -> str:
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    assert machine.emit_object(module).startswith(b"\x7fELF")
    return str(machine.emit_assembly(module))


@each_kernel
def test_kernels_for_arm(arm: Any, kernel: Kernel[...]) -> None:
    target = LlvmTarget(width_bits("aarch64", frozenset({"neon"})), "aarch64-unknown-linux-gnu")
    text = compiled_for(arm, generate(analyse_kernel(kernel).graph, target, lines=True).text)
    vectors = re.findall(r"\bv\d+\.[24][sd]|\bldp\tq|\bz\d+\.[sd]", text)
    assert vectors


def test_the_queue_for_arm(arm: Any) -> None:
    assert "trilby_submit:" in compiled_for(arm, queue_text("aarch64-unknown-linux-gnu"))


BROKEN = """
import sys
sys.path.insert(0, {folder!r})
from trilby import Accelerator
print(Accelerator({name}).device.spec)
"""


@pytest.mark.parametrize("error", ["OSError('libllvmlite.so is not there')", "ImportError('no')"])
def test_a_package_that_is_broken(tmp_path: Path, error: str) -> None:
    """It is there, and cannot be loaded: that is told, and the next device is taken."""
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").write_text(f"raise {error}\n", "utf-8")
    done = [
        subprocess.run(
            [sys.executable, "-c", BROKEN.format(folder=str(tmp_path), name=name)],
            check=False,
            capture_output=True,
            text=True,
        )
        for name in ("'native'", "")
    ]
    assert "DeviceUnavailableError: <string>:5: llvmlite cannot be loaded: " in done[0].stderr
    assert "help: pip install --force-reinstall llvmlite" in done[0].stderr
    assert "native was passed over: llvmlite cannot be loaded: " in done[1].stderr
    assert done[1].stdout != "native:0\n"
    assert done[1].returncode == 0
