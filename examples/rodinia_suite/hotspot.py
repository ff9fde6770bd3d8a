"""Heat on a chip (Rodinia): two arrays of temperatures change places, the power stays."""

from typing import NamedTuple

import numpy as np
from rodinia_suite.workload import Outcome, Workload, floats, junk

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, f32

STEP_OVER_CAPACITY = 0.25
RX, RY, RZ = 4.0, 5.0, 20.0
AMBIENT = 80.0


class Chip(NamedTuple):
    temperature: NDArray[f32]
    power: NDArray[f32]
    result: NDArray[f32]


@tb.kernel
def heat(kc: KernelContext, source: NDArray[f32], power: NDArray[f32], to: NDArray[f32]) -> None:
    y, x = kc.y, kc.x
    here = source[y, x]
    north = source[max(y - 1, 0), x]
    south = source[min(y + 1, source.shape[0] - 1), x]
    west = source[y, max(x - 1, 0)]
    east = source[y, min(x + 1, source.shape[1] - 1)]
    flow = (north + south - 2.0 * here) / RY + (west + east - 2.0 * here) / RX
    to[y, x] = here + STEP_OVER_CAPACITY * (power[y, x] + flow + (AMBIENT - here) / RZ)


@tb.compute
def simulate(cc: ComputeContext, chip: Chip, steps: int) -> NDArray[f32]:
    source, to = chip.temperature, chip.result
    size = source.shape[1], source.shape[0]
    for _ in range(steps):
        cc.dispatch(size, heat, source, chip.power, to)
        source, to = to, source
    return source


def hotspot(rows: int = 1024, columns: int = 1024, steps: int = 60) -> Workload[Chip]:
    """The temperatures of a chip after some steps."""
    temperatures, powers = 320 + 10 * floats(7, rows, columns), floats(8, rows, columns)

    def make(accelerator: Accelerator) -> Chip:
        arrays = temperatures.copy(), powers.copy(), junk(rows, columns)
        return Chip(*(accelerator.array(array) for array in arrays))

    def run(accelerator: Accelerator, chip: Chip) -> Outcome:
        return [np.asarray(accelerator.compute(simulate, chip, steps))]

    def reference() -> Outcome:
        now = temperatures.astype(np.float64)
        for _ in range(steps):
            wide = np.pad(now, 1, mode="edge")
            flow = (wide[:-2, 1:-1] + wide[2:, 1:-1] - 2 * now) / RY
            flow += (wide[1:-1, :-2] + wide[1:-1, 2:] - 2 * now) / RX
            now = now + STEP_OVER_CAPACITY * (powers + flow + (AMBIENT - now) / RZ)
        return [now]

    size = f"{columns} × {rows}, {steps} steps"
    return Workload("hotspot", size, make, run, reference, tolerance=1e-5)
