"""Known faults of drivers, each in a process of its own, which may hang and is stopped then.

**PoCL 3.0 and vectors of 64 bytes.** Where a CPU has AVX-512 and PoCL's LLVM does not know that,
kernels and PoCL's library disagree about how such a vector is passed: the first launch of a kernel
with `vload16` never ends. Generated code has no such vectors. Where users write them, Trilby says
what the driver is doing, and Ctrl-C works. The fault is there on some processors only, so these
tests take it as it comes, and once more with the library for AVX-512 in place of all others.
"""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 600

VECTOR_WORD = r"\b(?:u?(?:char|short|int|long)|float|double|half)(?:8|16)\b|\bv(?:load|store)\w*"
"""How OpenCL C names vectors that may have more than 32 bytes, and what takes them."""

PROGRAM = """
import signal
import numpy as np
import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, f32, i32
from trilby.backend.opencl import opencl_queue

opencl_queue.SLOW_SECONDS = 0.5


@tb.raw(opencl="vstore16(vload16(x, a) * 2, x, a); return 0;", reads=("a",), writes=("a",))
def double_sixteen(a: NDArray[f32], x: i32) -> i32:
    return 0


@tb.kernel
def doubled(kc: KernelContext, a: NDArray[f32]) -> None:
    double_sixteen(a, kc.x)


@tb.compute
def double_all(cc: ComputeContext, a: NDArray[f32]) -> None:
    cc.dispatch(64, doubled, a)


accelerator = Accelerator("opencl")
numbers = accelerator.array(np.arange(1024, dtype=np.float32))
try:
    accelerator.compute(double_all, numbers)
    result = "right" if np.array_equal(numbers, np.arange(1024) * 2) else "wrong"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    result = "interrupted"
print(result)
"""


def outcome(folder: Path, *paths: Path) -> tuple[list[str], int]:
    """What the program prints; Ctrl-C is pressed when it says that the driver takes long."""
    file = folder / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    before = os.environ.get("PYTHONPATH", "")
    with subprocess.Popen(
        [sys.executable, file],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*map(str, paths), before]),
            "POCL_CACHE_DIR": str(folder / "cache"),
            "TRILBY_LOG": "warning",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        limit = threading.Timer(LIMIT_SECONDS, process.kill)
        limit.start()
        lines: list[str] = []
        for line in process.stdout:
            if "has been compiling `doubled`" in line:
                process.send_signal(signal.SIGINT)
            else:
                lines.append(line.strip())
        limit.cancel()
    return lines, process.returncode


def ends_well(lines: list[str], code: int) -> bool:
    """Right, or interrupted: then the compiler in the driver may still end the process itself."""
    return "interrupted" in lines or ("right" in lines and code == 0)


def test_pocl_with_vectors_of_64_bytes_works_or_can_be_interrupted(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    for _ in range(2):  # the second process meets what the first has left in the driver's cache
        lines, code = outcome(tmp_path)
        assert ends_well(lines, code), (lines, code)


def test_the_fault_with_the_library_for_avx512(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    if not disagreeing_pocl(packages):
        pytest.skip("PoCL 3.0 from PyPI is not installed")
    (tmp_path / "cache").mkdir()
    for _ in range(2):
        lines, code = outcome(tmp_path, packages)
        assert ends_well(lines, code), (lines, code)


def test_generated_code_has_no_wide_vectors() -> None:
    generators = (ROOT / "src/trilby/codegen").glob("*.py")
    golden = (ROOT / "tests/golden/opencl").glob("*.cl")
    found = {
        word
        for file in (*generators, *golden)
        for word in re.findall(VECTOR_WORD, file.read_text(encoding="utf-8"))
    }
    assert found <= {"vload_half", "vstore_half_rte", "vstore_half"}  # which take one number


def disagreeing_pocl(folder: Path) -> bool:
    """Make packages with PoCL's library for AVX-512 in place of those for other processors."""
    found = [importlib.util.find_spec(name) for name in ("pyopencl", "pocl_binary_distribution")]
    if not all(spec and spec.origin for spec in found):
        return False
    for spec in found:
        origin = Path(str(spec and spec.origin)).parent
        _link(origin, folder / origin.name)
    libraries = list(folder.rglob("kernel-x86_64-*.bc"))
    ours = [library.resolve() for library in libraries if library.stem.endswith("-avx512")]
    for library in libraries if ours else ():
        library.unlink()
        library.symlink_to(ours[0])
    return bool(ours)


def _link(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for path in source.iterdir():
        if path.is_dir():
            _link(path, target / path.name)
        else:
            (target / path.name).symlink_to(path)
