"""The program that checkers see also runs, and checkers see the mistakes in another one."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.typing import (
    compute_usage,
    explicit_usage,
    memory_usage,
    model_usage,
    passes_usage,
    profile_usage,
    transfer_usage,
)

from trilby import Accelerator, S32Array, Transfers

MISTAKES = """\
import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, S32Array, f32, i32

@tb.func
def half(v: f32) -> f32:
    return v / 2

@tb.kernel
def scale(kc: KernelContext, a: F32Array, factor: f32) -> None:
    a.array[kc.x] = half(a.array[kc.x]) * factor

@tb.kernel  # wrong: no kernel context
def no_context(a: F32Array) -> None:
    a.array[0] = 1.0

@tb.kernel  # wrong: it returns something
def returns(kc: KernelContext, a: F32Array) -> i32:
    return kc.x

@tb.raw(opencl="return x;", read="x")  # wrong: no such keyword
def same(x: f32) -> f32:
    return x

@tb.raw(opencl="return x;")
def other(x: f32) -> f32:
    return x

@tb.kernel
def look_up(kc: KernelContext, a: tb.Constant[F32Array], b: F32Array) -> None:
    b.array[kc.x] = other(a.array[0])
    b.array[kc.x] = other("x")  # wrong: no number

@tb.compute
def run(cc: ComputeContext, a: F32Array, s: S32Array) -> int:
    cc.dispatch(a.length, look_up, a, a)
    cc.dispatch(a.length, look_up, s, a)  # wrong: another buffer
    cc.dispatch(a.length, scale, a, 2.0)
    cc.dispatch(a.length, scale, s, 2.0)  # wrong: another buffer
    cc.dispatch(a.length, scale, a)  # wrong: an argument is missing
    cc.dispatch(a.length, scale, a, "2")  # wrong: no number
    cc.dispatch(a.length, scale, a, 2.0, 3)  # wrong: one too many
    cc.dispatch(a.length, scale, a, faktor=2.0)  # wrong: no such parameter
    cc.dispatch("32", scale, a, 2.0)  # wrong: no range
    cc.dispatch(a.length, half, a)  # wrong: no kernel
    cc.dispatch(a.length, lambda kc: scale(kc, a, 2.0))
    cc.dispatch(a.length, lambda kc: scale(kc, s, 2.0))  # wrong: another buffer
    cc.dispatch(a.length, lambda kc: scale(kc, a))  # wrong: an argument is missing
    cc.dispatch(a.lenght, scale, a, 2.0)  # wrong: no such field
    cc.despatch(a.length, scale, a, 2.0)  # wrong: no such method
    cc.dispatch(a.length, scale, a, 2.0, passes=3, until=s.array[0])
    cc.dispatch(a.length, lambda kc: scale(kc, a, 2.0), passes=3, until=s)
    cc.dispatch(a.length, scale, a, 2.0, passes="3")  # wrong: no number
    cc.dispatch(a.length, scale, s, 2.0, passes=3)  # wrong: another buffer
    cc.dispatch(a.length, scale, a, passes=3)  # wrong: an argument is missing
    cc.dispatch(a.length, scale, a, 2.0, timeout=3)  # wrong: it is not said how many passes
    cc.dispatch(a.length, scale, a, 2.0, passes=3, until="done")  # wrong: no place
    cc.dispatch(a.length, scale, a, 2.0, passes=3, progress=print, cancel=3)  # wrong: no event
    return a.length

def use(accelerator: Accelerator, a: F32Array, s: S32Array) -> None:
    accelerator.compute(run, a, s)
    accelerator.compute(run, s, a)  # wrong: the wrong way round
    accelerator.compute(run, a)  # wrong: an argument is missing
    accelerator.compute(lambda cc: run(cc, a))  # wrong: an argument is missing
    accelerator.compute(half, 2.0)  # wrong: no compute function
    text: str = accelerator.compute(run, a, s)  # wrong: it is an int
    print(text)
    Accelerator(3)  # wrong: no name
    Accelerator("opencl", posion=True)  # wrong: no such option
    Accelerator("opencl", memory="discreet")  # wrong: no such memory
    Accelerator("opencl", transfers="planed")  # wrong: no strategy of that name
    with accelerator.strategy(tb.Transfers.PLANED):  # wrong: no such strategy
        accelerator.compute(run, a, s)
    with accelerator.record() as ledger:
        accelerator.compute(run, a, s)
    ledger.bytes_up.buffer  # wrong: it is an int
    ledger.ratio = 1.0  # wrong: it cannot be set
    with accelerator.explicit(stale="ignore"):  # wrong: no such choice
        accelerator.put(a, s).get(a.array[:2], s)
        accelerator.put(a, 3)  # wrong: no place
    accelerator.get([a])  # wrong: no place
    accelerator.get(a).get(a).gte(a)  # wrong: no such method

@tb.compute(explicit=True)
def run_explicit(cc: ComputeContext, a: F32Array) -> None:
    cc.put(a).dispatch(a.length, scale, a, 2.0).get(a.length, a.array[0])
    cc.put(a).dispatch(a.length, scale, a, "2")  # wrong: no number
    cc.get([a])  # wrong: no place

@tb.compute(explict=True)  # wrong: no such option
def mistaken(cc: ComputeContext, a: F32Array) -> None:
    cc.put(a)
"""

WRONG = {number for number, text in enumerate(MISTAKES.splitlines(), 1) if "# wrong" in text}
SOURCE = Path(compute_usage.__file__).parents[2] / "src"


def test_the_program_does_what_it_says(accelerator: Accelerator) -> None:
    pixels = np.arange(30, dtype=np.int32).reshape(5, 6) ** 2
    expected = pixels.astype(np.int64)
    for _ in range(3):
        around = np.pad(expected, 1, mode="edge")
        windows = [around[y : y + 5, x : x + 6] for y in range(3) for x in range(3)]
        expected = np.sum(windows, axis=0) // 9
    np.testing.assert_array_equal(compute_usage.use_grids(accelerator, pixels), expected)
    # 0, 1, 2, 3 become 1, 3, 5, 7, of which two are above 3, and then 2, 4, 6, 8: three
    assert compute_usage.use_table(accelerator) == (2, 3, [1, 2, 3])
    assert compute_usage.use_arrays(accelerator).tolist() == [[1, 2, 3], [1, 2, 3]]
    numbers = S32Array.of([1, 2])
    compute_usage.use_choice(accelerator, numbers)
    assert numbers.array.tolist() == [-2, -4]
    assert "blur" in compute_usage.show(accelerator)


def test_the_program_with_constant_memory_and_raw_code(accelerator: Accelerator) -> None:
    weights = accelerator.array(np.array([0.5, 1.5], np.float32))
    assert memory_usage.use(accelerator, weights) == pytest.approx([0.5, math.e / 2], rel=1e-5)


def test_the_program_that_looks_at_transfers(accelerator: Accelerator) -> None:
    a = S32Array.of([1, 2])
    assert len(transfer_usage.use_every_strategy(accelerator, a)) == len(Transfers)
    assert a.array.tolist() == [32, 64]
    mine = np.ones(3, np.float32)
    transfer_usage.use_lent_memory(accelerator, mine)
    assert mine.tolist() == [-1, -1, -1]
    assert transfer_usage.least_of_a_trace() == 4


@pytest.mark.parametrize("backend", ["interpreter", "opencl"])
def test_the_program_that_looks_at_transfers_between_two_memories(backend: str) -> None:
    assert transfer_usage.copies_under(Transfers.ALWAYS, backend) == (3, 3)
    assert transfer_usage.copies_under(Transfers.AUTO, backend) == (1, 1)
    assert not transfer_usage.is_quiet(
        Accelerator(backend, memory="discrete"), S32Array.of([1, 2, 3])
    )
    assert not transfer_usage.fits(backend, 4000)
    assert transfer_usage.fits(backend, "4004 B")


def test_the_program_that_moves_its_data_itself(accelerator: Accelerator) -> None:
    a = S32Array.of([3, 4, 5, 6])
    assert explicit_usage.use(accelerator, a) == ([4, 6], 24)
    evens = explicit_usage.Evens.create(length=1)
    assert explicit_usage.use_outside(accelerator, a, evens) == ""


def test_the_program_that_rewrites_models() -> None:
    assert model_usage.use_transforms() == 15
    assert model_usage.build_and_parse().startswith('func @"successor" (%0 : i32) -> i32 {')


def test_the_profile_that_checkers_see_runs(accelerator: Accelerator) -> None:
    profile = profile_usage.profiled(accelerator, S32Array.of(range(8)))
    copied = 0 if accelerator.residency.replicas.shares else 32
    assert profile.total.copy_in.nbytes == copied
    assert "total: 0 dispatches" in profile_usage.use_a_profile(profile)


def test_the_program_with_many_passes(accelerator: Accelerator) -> None:
    # 7, 5 and 9 are found in the passes with their numbers; the third is done as it begins
    assert passes_usage.use(accelerator) == 1


def tool(name: str) -> Path:
    found = Path(sys.executable).with_name(name)
    if not found.exists():
        pytest.skip(f"{name} is not installed beside this Python")
    return found


def test_pyright_sees_every_mistake_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(MISTAKES, "utf-8")
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(SOURCE)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    done = subprocess.run(
        [tool("basedpyright"), "--outputjson", "--pythonpath", sys.executable, "-p", tmp_path],
        capture_output=True,
        check=False,
        text=True,
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = {one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"}
    assert lines == WRONG


def test_mypy_sees_every_mistake_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(MISTAKES, "utf-8")
    done = subprocess.run(
        [tool("mypy"), "--strict", "--no-error-summary", "--cache-dir", tmp_path, "mistakes.py"],
        capture_output=True,
        check=False,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": str(SOURCE)},
    )
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    assert lines == WRONG
