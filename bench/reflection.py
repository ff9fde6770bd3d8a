"""What a kernel costs before a device sees it: reflection, analysis, generation.

A kernel of 100 lines is written to a file, imported, and taken through the stages; each
round imports a new file, so that nothing is remembered. Beside it stands the time in which
raw pyopencl's driver builds the generated text.
"""

import importlib.util
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyopencl as cl

from trilby.analysis.access import access_table
from trilby.codegen.opencl_c import generate
from trilby.runtime.compile import analyse_kernel

ROUNDS = 9
T = TypeVar("T")

HEAD = """
import math
import trilby as tb
from trilby import F32Array2D, KernelContext, f32, i32

@tb.func
def soften(v: f32, k: f32) -> f32:
    if v < 0.0:
        return -math.sqrt(-v) * k
    return math.sqrt(v) * k

@tb.kernel
def kernel(kc: KernelContext, a: F32Array2D, b: F32Array2D, n: i32, k: f32) -> None:
    acc: f32 = 0.0
    y = kc.y
    x = kc.x
"""

STEP = """
    for i{s} in range({s}, n):
        left = a.array[y, i{s}] if x > {s} else b.array[i{s}, x]
        if left > acc and i{s} % 3 != 1:
            acc += soften(left * {s}.5, k)
        elif left < -acc:
            acc -= left
        else:
            acc = acc * 0.5 + f32(i{s})
"""


def source(lines: int) -> str:
    """A kernel of about that many lines."""
    steps = (lines - 18) // 9
    return HEAD + "".join(STEP.format(s=s) for s in range(steps)) + "    b.array[y, x] = acc\n"


def timed(action: Callable[[], T], times: list[float]) -> T:
    """Do something and note how long it took."""
    started = time.perf_counter()
    result = action()
    times.append(time.perf_counter() - started)
    return result


def load(path: Path) -> Any:
    """Import a file under a name of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(lines: int, folder: Path, context: cl.Context) -> dict[str, float]:
    """Medians of the stages in milliseconds."""
    stages: dict[str, list[float]] = {}
    for turn in range(ROUNDS):
        path = folder / f"bench_kernel_{lines}_{turn}.py"
        path.write_text(source(lines))
        kernel = load(path).kernel
        analysed = timed(lambda k=kernel: analyse_kernel(k), stages.setdefault("reflect", []))
        timed(lambda a=analysed: access_table(a.graph), stages.setdefault("analyse again", []))
        text = timed(lambda a=analysed: generate(a.graph).text, stages.setdefault("generate", []))
        timed(lambda t=text: cl.Program(context, t).build(), stages.setdefault("driver", []))
    return {name: statistics.median(times) * 1e3 for name, times in stages.items()}


def main() -> None:
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    with tempfile.TemporaryDirectory() as folder:
        measure(30, Path(folder), context)
        for lines in (30, 100, 300, 1000):
            stages = measure(lines, Path(folder), context)
            ours = stages["reflect"] + stages["generate"]
            shown = ", ".join(f"{name} {ms:.1f} ms" for name, ms in stages.items())
            print(
                f"{lines:5} lines: ours {ours:6.1f} ms ({ours / lines:.2f} ms a line), "
                f"{ours / stages['driver']:.2f}× of the driver's build   [{shown}]"
            )


if __name__ == "__main__":
    main()
