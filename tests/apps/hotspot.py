"""Heat on a chip (Rodinia): two arrays of temperatures change places, the power stays."""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Copies, Numbers, Outcome, Program, floats, junk

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, f32

ROWS, COLUMNS = 9, 13
STEPS = 5
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


def temperatures() -> Numbers:
    return 320 + 10 * floats(7, ROWS, COLUMNS)


def powers() -> Numbers:
    return floats(8, ROWS, COLUMNS)


def make(accelerator: Accelerator) -> Chip:
    arrays = temperatures(), powers(), junk(ROWS, COLUMNS)
    return Chip(*(accelerator.array(array) for array in arrays))


def run(accelerator: Accelerator, chip: Chip) -> Outcome:
    return [np.asarray(accelerator.compute(simulate, chip, STEPS))]


def reference() -> Outcome:
    heat_now = temperatures().astype(np.float64)
    for _ in range(STEPS):
        wide = np.pad(heat_now, 1, mode="edge")
        flow = (wide[:-2, 1:-1] + wide[2:, 1:-1] - 2 * heat_now) / RY
        flow += (wide[1:-1, :-2] + wide[1:-1, 2:] - 2 * heat_now) / RX
        heat_now = heat_now + STEP_OVER_CAPACITY * (powers() + flow + (AMBIENT - heat_now) / RZ)
    return [heat_now]


HOTSPOT = Program(
    "hotspot",
    "T×{k R src, power W dst; swap}; H R last",
    make,
    run,
    reference,
    minimal=Copies(2, 1),
    naive=Copies(3 * STEPS, 3 * STEPS),
    tolerance=1e-5,
)
