"""A table of results with an atomic counter: which points lie inside a circle?

Every work item that finds something takes the next free row of the table.
"""

import argparse
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, f32, i32

Points: TypeAlias = npt.NDArray[np.float32]


class ResultTable(tb.Buffer):
    class Result(tb.Struct):
        x: f32
        y: f32

    count: tb.Atomic[i32]
    length: i32
    result: tb.Array[Result] = tb.array("length")


@tb.kernel
def find_inside(
    kc: KernelContext, xs: F32Array, ys: F32Array, radius: f32, table: ResultTable
) -> None:
    x = xs.array[kc.x]
    y = ys.array[kc.x]
    if x * x + y * y <= radius * radius:
        slot = tb.atomic_add(table.count, 1)
        if slot < table.length:
            result = table.result[slot]
            result.x = x
            result.y = y


@tb.compute
def find_all(
    cc: ComputeContext, xs: F32Array, ys: F32Array, radius: f32, table: ResultTable
) -> None:
    table.count = 0
    cc.dispatch(xs.length, find_inside, xs, ys, radius, table)


def run(
    accelerator: Accelerator, points: int, radius: float, seed: int = 1
) -> tuple[Points, Points]:
    """The points found on the device, and those that NumPy finds, both sorted."""
    places = np.random.default_rng(seed).uniform(-1, 1, (points, 2)).astype(np.float32)
    xs, ys = F32Array.of(places[:, 0]), F32Array.of(places[:, 1])
    table = ResultTable.create(accelerator, length=points)
    accelerator.compute(find_all, xs, ys, radius, table)
    found = np.stack([table.result.x[: table.count], table.result.y[: table.count]], axis=1)
    limit = np.float32(radius) * np.float32(radius)
    inside = places[places[:, 0] * places[:, 0] + places[:, 1] * places[:, 1] <= limit]
    return _sorted(found), _sorted(inside)


def _sorted(points: Points) -> Points:
    return points[np.lexsort((points[:, 1], points[:, 0]))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1000, help="how many random points")
    parser.add_argument("--radius", type=float, default=0.5, help="radius of the circle")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    with accelerator.record() as ledger:
        found, inside = run(accelerator, options.points, options.radius)
    np.testing.assert_array_equal(found, inside)
    print(f"{len(found)} of {options.points} points lie inside; NumPy finds the same")
    print(ledger)


if __name__ == "__main__":
    main()
