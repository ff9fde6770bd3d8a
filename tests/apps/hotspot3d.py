"""Heat in a block (Rodinia, hotspot3D): after the last swap the host must read the right half.

It finds it by counting, under the names that the arrays had at first.
"""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Copies, Numbers, Outcome, Program, floats, junk

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, f32

SHAPE = LAYERS, ROWS, COLUMNS = 3, 5, 7
SIDE, UPRIGHT, SOURCE = 0.1, 0.05, 0.25


class Block(NamedTuple):
    power: NDArray[f32]
    first: NDArray[f32]
    second: NDArray[f32]


@tb.kernel
def heat(kc: KernelContext, power: NDArray[f32], source: NDArray[f32], to: NDArray[f32]) -> None:
    z, y, x = kc.z, kc.y, kc.x
    here = source[z, y, x]
    sides = source[z, max(y - 1, 0), x] + source[z, min(y + 1, source.shape[1] - 1), x]
    sides += source[z, y, max(x - 1, 0)] + source[z, y, min(x + 1, source.shape[2] - 1)]
    ends = source[max(z - 1, 0), y, x] + source[min(z + 1, source.shape[0] - 1), y, x]
    flow = SIDE * (sides - 4.0 * here) + UPRIGHT * (ends - 2.0 * here)
    to[z, y, x] = here + flow + SOURCE * power[z, y, x]


@tb.compute
def simulate(cc: ComputeContext, block: Block, steps: int) -> None:
    halves = [block.first, block.second]
    size = COLUMNS, ROWS, LAYERS
    for step in range(steps):
        source, to = halves[step % 2], halves[1 - step % 2]
        cc.dispatch(size, heat, block.power, source, to)


def temperatures() -> Numbers:
    return 300 + 20 * floats(60, *SHAPE)


def powers() -> Numbers:
    return floats(61, *SHAPE)


def make(accelerator: Accelerator) -> Block:
    arrays = powers(), temperatures(), junk(*SHAPE)
    return Block(*(accelerator.array(array) for array in arrays))


def heats(steps: int) -> list[Numbers]:
    found = [temperatures().astype(np.float64)]
    for _ in range(steps):
        here = found[-1]
        wide = np.pad(here, 1, mode="edge")
        inner = slice(1, -1)
        sides = wide[inner, :-2, inner] + wide[inner, 2:, inner]
        sides += wide[inner, inner, :-2] + wide[inner, inner, 2:]
        ends = wide[:-2, inner, inner] + wide[2:, inner, inner]
        flow = SIDE * (sides - 4 * here) + UPRIGHT * (ends - 2 * here)
        found.append(here + flow + SOURCE * powers())
    return found


def last_half(steps: int, parity: str) -> Program[Block]:
    def run(accelerator: Accelerator, block: Block) -> Outcome:
        accelerator.compute(simulate, block, steps)
        return [np.asarray(block.second if steps % 2 else block.first)]

    return Program(
        f"the last half of a ping-pong pair, {parity} steps",
        "H W power, first; T×{k R power, src W dst; swap}; H R last",
        make,
        run,
        reference=lambda: heats(steps)[-1:],
        minimal=Copies(2, 1),
        naive=Copies(3 * steps, 3 * steps),
        tolerance=1e-5,
    )


def run_and_read_both(accelerator: Accelerator, block: Block) -> Outcome:
    accelerator.compute(simulate, block, 5)
    return [np.asarray(block.first), np.asarray(block.second)]


ODD = last_half(5, "odd")
EVEN = last_half(4, "even")

BOTH = Program(
    "both halves of a ping-pong pair",
    "H W power, first; T×{k R power, src W dst; swap}; H R both",
    make,
    run_and_read_both,
    reference=lambda: heats(5)[-2:],
    minimal=Copies(2, 2),
    naive=Copies(3 * 5, 3 * 5),
    tolerance=1e-5,
)
