"""The game of life in two grids, which change places in every generation.

Names are not buffers: the places are swapped by a tuple, by a ternary, and by a list.
"""

from collections.abc import Callable

import numpy as np
from tests.apps.program import Copies, Numbers, Outcome, Program, seeded

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, U8Array2D, i32, u8

WIDTH, HEIGHT = 11, 7
GENERATIONS = 7
EVERY = 3

Grids = tuple[U8Array2D, U8Array2D]


@tb.func
def neighbours(cells: U8Array2D, x: i32, y: i32) -> i32:
    count = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            row = (y + dy) % cells.height
            column = (x + dx) % cells.width
            if dx != 0 or dy != 0:
                count += i32(cells.array[row, column])
    return count


@tb.kernel
def live(kc: KernelContext, source: U8Array2D, to: U8Array2D) -> None:
    count = neighbours(source, kc.x, kc.y)
    stays = count == 2 and source.array[kc.y, kc.x] == 1
    to.array[kc.y, kc.x] = u8(1 if stays or count == 3 else 0)


@tb.kernel
def live_in_turns(kc: KernelContext, a: U8Array2D, b: U8Array2D) -> None:
    source = a if kc.pass_id % 2 == 0 else b
    to = b if kc.pass_id % 2 == 0 else a
    count = neighbours(source, kc.x, kc.y)
    stays = count == 2 and source.array[kc.y, kc.x] == 1
    to.array[kc.y, kc.x] = u8(1 if stays or count == 3 else 0)


@tb.compute
def in_passes(cc: ComputeContext, a: U8Array2D, b: U8Array2D, generations: int) -> U8Array2D:
    cc.dispatch((a.width, a.height), live_in_turns, a, b, passes=generations)
    return a if generations % 2 == 0 else b


@tb.compute
def by_swapping(cc: ComputeContext, a: U8Array2D, b: U8Array2D, generations: int) -> U8Array2D:
    source, to = a, b
    for _ in range(generations):
        cc.dispatch((source.width, source.height), live, source, to)
        source, to = to, source
    return source


@tb.compute
def with_display(
    cc: ComputeContext,
    a: U8Array2D,
    b: U8Array2D,
    generations: int,
    display: Callable[[U8Array2D], None],
) -> None:
    for generation in range(generations):
        source = a if generation % 2 == 0 else b
        to = b if generation % 2 == 0 else a
        cc.dispatch((source.width, source.height), lambda kc: live(kc, source, to))
        display(to)


@tb.compute
def with_rare_display(
    cc: ComputeContext,
    grids: list[U8Array2D],
    generations: int,
    every: int,
    display: Callable[[U8Array2D], None],
) -> U8Array2D:
    for generation in range(generations):
        source, to = grids[generation % 2], grids[(generation + 1) % 2]
        cc.dispatch((source.width, source.height), live, source, to)
        if generation % every == 0:
            display(to)
    return grids[generations % 2]


def first() -> Numbers:
    return seeded(1).integers(0, 2, (HEIGHT, WIDTH), np.uint8)


def next_after(cells: Numbers) -> Numbers:
    around = [
        np.roll(cells, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx
    ]
    count = sum(around, np.zeros_like(cells))
    return ((count == 3) | ((count == 2) & (cells == 1))).astype(np.uint8)


def generations_after_first(generations: int) -> list[Numbers]:
    cells = [first()]
    for _ in range(generations):
        cells.append(next_after(cells[-1]))
    return cells[1:]


def make(accelerator: Accelerator) -> Grids:
    return U8Array2D.of(first()), U8Array2D.create(accelerator, width=WIDTH, height=HEIGHT)


def swapping(generations: int, parity: str) -> Program[Grids]:
    def run(accelerator: Accelerator, grids: Grids) -> Outcome:
        return [np.asarray(accelerator.compute(by_swapping, *grids, generations))]

    return Program(
        f"life by swapping, {parity} generations",
        "H W s1; T×{k R from W to}; H R last",
        make,
        run,
        reference=lambda: generations_after_first(generations)[-1:],
        minimal=Copies(1, 1),
        naive=Copies(2 * generations, 2 * generations),
    )


def run_in_passes(accelerator: Accelerator, grids: Grids) -> Outcome:
    return [np.asarray(accelerator.compute(in_passes, *grids, GENERATIONS))]


def run_with_display(accelerator: Accelerator, grids: Grids) -> Outcome:
    shown: list[Numbers] = []
    a, b = grids
    accelerator.compute(with_display, a, b, GENERATIONS, lambda to: shown.append(np.asarray(to)))
    return shown


def displayed_rarely(generations: int, last: str, minimal: Copies) -> Program[Grids]:
    def run(accelerator: Accelerator, grids: Grids) -> Outcome:
        shown: list[Numbers] = []

        def display(to: U8Array2D) -> None:
            shown.append(np.asarray(to))

        end = accelerator.compute(with_rare_display, [*grids], generations, EVERY, display)
        return [*shown, np.asarray(end)]

    def reference() -> Outcome:
        cells = generations_after_first(generations)
        return [*cells[::EVERY], cells[-1]]

    return Program(
        f"life with a display every {EVERY} generations, the last {last}",
        "H W s1; T×{k R from W to; sometimes H R to}; H R last",
        make,
        run,
        reference,
        minimal,
        naive=Copies(2 * generations, 2 * generations),
    )


ODD = swapping(GENERATIONS, "odd")
EVEN = swapping(GENERATIONS + 1, "even")

PASSES = Program(
    "life by the number of the pass",
    "H W s1; dispatch(n, k, passes=T) R s1 W s2, R s2 W s1, …; H R last",
    make,
    run_in_passes,
    reference=lambda: generations_after_first(GENERATIONS)[-1:],
    minimal=Copies(1, 1),
    naive=Copies(2, 2),
)

DISPLAYED = Program(
    "life with a display callback each generation",
    "H W s1; T×{k R from W to; H R to}",
    make,
    run_with_display,
    reference=lambda: generations_after_first(GENERATIONS),
    minimal=Copies(1, GENERATIONS),
    naive=Copies(2 * GENERATIONS, 2 * GENERATIONS),
)

DISPLAYED_RARELY = displayed_rarely(7, "displayed", minimal=Copies(1, 3))
DISPLAYED_NOT_AT_LAST = displayed_rarely(8, "not displayed", minimal=Copies(1, 3 + 1))
