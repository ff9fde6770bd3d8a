"""What it costs to plan the copies of a compute function, by its length.

Functions of 10, 100 and 1,000 statements: loops with launches and looks of the host, swaps,
choices, conditions, opaque calls. Printed is the time of the analysis alone and for each
statement; it grows linearly if the last column stays the same.
"""

import importlib.util
import tempfile
import time
from pathlib import Path
from types import ModuleType

from trilby.analysis.transfers.transfer_plan import plan_transfers
from trilby.runtime.compile import analyse_compute
from trilby.transform.place_transfers import carry_out

HEAD = """
import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array

@tb.kernel
def step(kc: KernelContext, source: S32Array, to: S32Array) -> None:
    to.array[kc.x] = source.array[kc.x] + 1

@tb.compute
def f(cc: ComputeContext, a: S32Array, b: S32Array, n: int, show) -> None:
"""

PART = """
    for i{0} in range(n):
        x{0} = a if i{0} % 2 == 0 else b
        y{0} = b if i{0} % 2 == 0 else a
        cc.dispatch(a.length, step, x{0}, y{0})
        if i{0} % 3 == 1:
            show(y{0})
    a, b = b, a
    total{0} = a.array[{0} % 2]
    if total{0} > n:
        b.array[0] = total{0}
"""
STATEMENTS = 10
REPEATS = 5


def program(folder: Path, statements: int) -> ModuleType:
    """A module with a function of so many statements."""
    parts = "".join(PART.format(number) for number in range(statements // STATEMENTS))
    file = folder / f"length_{statements}.py"
    file.write_text(HEAD + parts, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seconds(module: ModuleType) -> tuple[float, float]:
    """The shortest of some times: to plan, and to put the copies in."""
    closure = analyse_compute(module.f).closure
    planning: list[float] = []
    placing: list[float] = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        plans = plan_transfers(closure)
        planned = time.perf_counter()
        for plan in plans.values():
            carry_out(plan)
        planning.append(planned - start)
        placing.append(time.perf_counter() - planned)
    return min(planning), min(placing)


def main() -> None:
    print(f"{'statements':>10} {'plan':>10} {'place':>10} {'both, each statement':>22}")
    with tempfile.TemporaryDirectory() as folder:
        for statements in (10, 100, 1000):
            plan, place = seconds(program(Path(folder), statements))
            each = (plan + place) / statements
            times = f"{plan * 1e3:>7.1f} ms {place * 1e3:>7.1f} ms"
            print(f"{statements:>10} {times} {each * 1e6:>19.0f} µs")


if __name__ == "__main__":
    main()
