"""Conway's game of life: two grids that change places, and what each strategy copies for it.

It writes the last generation as a picture, and those that it looked at on the way as an animation.
It begins with a cross, or with a pattern from a file: `--pattern gosper_glider_gun.rle` is found
among the examples' data, and has to be itself again after its period.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from life_patterns.rle import Pattern, read_pattern
from PIL import Image
from terminal.bars import watched

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    KernelContext,
    Ledger,
    Transfers,
    U8Array2D,
    i32,
    u8,
)

Cells: TypeAlias = npt.NDArray[np.uint8]

DATA = Path(__file__).parent / "data"

ALIVE = 255  # a dead cell has less: it fades, so that a picture shows where life has been


@tb.func
def next_of(now: U8Array2D, x: i32, y: i32) -> u8:
    """What becomes of a cell."""
    living = 0
    for row in range(max(y - 1, 0), min(y + 2, now.height)):
        for column in range(max(x - 1, 0), min(x + 2, now.width)):
            living += 1 if now.array[row, column] == ALIVE else 0
    was = now.array[y, x]
    lives = living == 3 or (living == 4 and was == ALIVE)  # the cell itself is one of them
    return u8(ALIVE) if lives else u8(was - was // 8)


@tb.kernel
def step(kc: KernelContext, now: U8Array2D, then: U8Array2D) -> None:
    then.array[kc.y, kc.x] = next_of(now, kc.x, kc.y)


@tb.compute
def life(
    cc: ComputeContext,
    first: U8Array2D,
    second: U8Array2D,
    generations: int,
    every: int,
    display: Callable[[U8Array2D], None],
) -> U8Array2D:
    """Play, and display each so-many-th generation; gives the grid that has the last."""
    now, then = first, second
    for generation in range(1, generations + 1):
        cc.dispatch((now.width, now.height), step, now, then)
        now, then = then, now
        if every and generation % every == 0:
            display(now)
    return now


@tb.compute
def life_by_ternary(
    cc: ComputeContext,
    first: U8Array2D,
    second: U8Array2D,
    generations: int,
    every: int,
    display: Callable[[U8Array2D], None],
) -> U8Array2D:
    """The same: which grid is which follows from the number of the generation."""
    for generation in range(generations):
        now = first if generation % 2 == 0 else second
        then = second if generation % 2 == 0 else first
        cc.dispatch((now.width, now.height), lambda kc: step(kc, now, then))
        if every and (generation + 1) % every == 0:
            display(then)
    return first if generations % 2 == 0 else second


@tb.kernel
def step_in_turns(kc: KernelContext, first: U8Array2D, second: U8Array2D) -> None:
    """One of many passes: its number says which grid is which."""
    now = first if kc.pass_id % 2 == 0 else second
    then = second if kc.pass_id % 2 == 0 else first
    then.array[kc.y, kc.x] = next_of(now, kc.x, kc.y)


@tb.compute
def life_by_pass(
    cc: ComputeContext,
    first: U8Array2D,
    second: U8Array2D,
    generations: int,
    every: int,
    display: Callable[[U8Array2D], None],
) -> U8Array2D:
    """The same: all generations between two that are displayed are one dispatch."""
    now, then, done = first, second, 0
    while done < generations:
        passes = min(every or generations, generations - done)
        cc.dispatch((now.width, now.height), step_in_turns, now, then, passes=passes)
        done += passes
        if passes % 2:
            now, then = then, now
        if every and done % every == 0:
            display(now)
    return now


FLIPS: dict[str, Any] = {"swap": life, "ternary": life_by_ternary, "pass": life_by_pass}
"""How the grids change places."""


def cross(width: int, height: int) -> Cells:
    """Two lines that cross in the middle: what grows from them is as symmetric as they are."""
    cells = np.zeros((height, width), np.uint8)
    x, y = width // 2, height // 2
    cells[y, x - x * 3 // 4 : x + x * 3 // 4 + 1] = ALIVE
    cells[y - y * 3 // 4 : y + y * 3 // 4 + 1, x] = ALIVE
    return cells


def reference(cells: Cells, generations: int) -> Cells:
    """The same game by NumPy, a whole grid at a time."""
    height, width = cells.shape
    for _ in range(generations):
        alive = np.pad((cells == ALIVE).astype(np.uint8), 1)
        living = sum(alive[y : y + height, x : x + width] for y in range(3) for x in range(3))
        lives = (living == 3) | ((living == 4) & (cells == ALIVE))
        cells = np.where(lives, np.uint8(ALIVE), cells - cells // np.uint8(8))
    return cells


def placed(pattern: Pattern, width: int, height: int) -> Cells:
    """A pattern in the upper left of a grid, with a little room around it."""
    rows, columns = pattern.alive.shape
    if rows + 4 > height or columns + 4 > width:
        message = f"the pattern needs --width {columns + 4} and --height {rows + 4} at least"
        raise SystemExit(message)
    cells = np.zeros((height, width), np.uint8)
    cells[2 : 2 + rows, 2 : 2 + columns][pattern.alive] = ALIVE
    return cells


def check_period(accelerator: Accelerator, pattern: Pattern, cells: Cells) -> str:
    """Whether a pattern is itself again after its period, and not before."""
    period, (rows, columns) = pattern.period or 0, pattern.alive.shape
    frames = run(accelerator, cells, period, 1)[:-1]
    same = [
        generation
        for generation, frame in enumerate(frames, start=1)
        if ((frame[2 : 2 + rows, 2 : 2 + columns] == ALIVE) == pattern.alive).all()
    ]
    if same != [period]:
        message = f"the pattern should be itself after {period} generations, and is after {same}"
        raise SystemExit(message)
    return f"the pattern is itself again after {period} generations, and not before"


def run(
    accelerator: Accelerator, cells: Cells, generations: int, every: int, flip: str = "swap"
) -> Sequence[Cells]:
    """The generations that were displayed, and the last one."""
    first = U8Array2D.of(cells)
    second = U8Array2D.create(accelerator, width=first.width, height=first.height)
    shown: list[Cells] = []

    def display(grid: U8Array2D) -> None:
        shown.append(np.asarray(grid))

    last = accelerator.compute(FLIPS[flip], first, second, generations, every, display)
    return [*shown, np.asarray(last)]


class Measured(NamedTuple):
    """One run: under which strategy, how long it took, and what it copied."""

    transfers: Transfers
    seconds: float
    ledger: Ledger


def measured(
    accelerator: Accelerator, cells: Cells, generations: int, every: int, flip: str
) -> list[Measured]:
    """Every strategy: the best time of three rounds, and what a run copies.

    Writing every access down takes time, so what is timed is not recorded.
    """
    seconds = dict.fromkeys(Transfers, float("inf"))
    for transfers in watched([*Transfers] * 3, "strategies"):
        with accelerator.strategy(transfers):
            started = time.perf_counter()
            run(accelerator, cells, generations, every, flip)
            seconds[transfers] = min(seconds[transfers], time.perf_counter() - started)
    runs: list[Measured] = []
    for transfers in Transfers:
        with accelerator.strategy(transfers), accelerator.record() as ledger:
            run(accelerator, cells, generations, every, flip)
        runs.append(Measured(transfers, seconds[transfers], ledger))
    return runs


def table(runs: Sequence[Measured]) -> str:
    """What each strategy copied, and the least that this program has to copy."""
    lines = [_line("strategy", "up", "down", "bytes up", "bytes down", "seconds", "ratio")]
    for transfers, seconds, ledger in runs:
        copies = len(ledger.uploads), len(ledger.downloads), ledger.bytes_up, ledger.bytes_down
        lines.append(_line(transfers.name, *copies, f"{seconds:.2f}", f"{ledger.ratio:.2f}"))
    least = runs[-1].ledger.optimal.buffer
    copies = least.uploads, least.downloads, least.bytes_up, least.bytes_down
    return "\n".join([*lines, _line("the least", *copies, "", "1.00")])


def _line(name: str, *cells: object) -> str:
    widths = (5, 5, 12, 12, 8, 6)
    texts = (f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells)
    return name.ljust(10) + " ".join(map(str.rjust, texts, widths))


def save(frames: Sequence[Cells], folder: Path) -> Path:
    """Write the last generation as a PNG, and all that there are as a GIF."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [_picture(cells) for cells in frames]
    animation = folder / "life.gif"
    pictures[0].save(animation, save_all=True, append_images=pictures[1:], duration=120, loop=0)
    pictures[-1].save(folder / "life.png")
    return folder / "life.png"


def _picture(cells: Cells) -> Image.Image:
    """Amber where life is, blue where it has been."""
    alive, faded = (cells == ALIVE)[..., None], cells[..., None] / 255
    colours = np.where(alive, [255, 200, 60], faded * [60, 130, 255]).astype(np.uint8)
    return Image.fromarray(colours.repeat(2, axis=0).repeat(2, axis=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=480)
    parser.add_argument("--height", type=int, default=360)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--every", type=int, default=10, help="display each so-many-th; 0: none")
    parser.add_argument("--flip", choices=FLIPS, default="swap", help="how grids change places")
    parser.add_argument("--pattern", type=Path, metavar="FILE", help="a pattern in RLE")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the pictures")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    game = options.generations, options.every, options.flip
    cells = cross(options.width, options.height)
    if options.pattern is not None:
        path = options.pattern if options.pattern.exists() else DATA / options.pattern
        pattern = read_pattern(path)
        cells = placed(pattern, options.width, options.height)
        if pattern.period is not None:
            print(check_period(accelerator, pattern, cells))
    print(
        f"Life, {options.width} × {options.height}, {options.generations} generations, "
        f"on {accelerator.device.name}; every transfer and its reason:\n"
    )
    with accelerator.record() as ledger:
        frames = run(accelerator, cells, *game)
    print(ledger)
    np.testing.assert_array_equal(frames[-1], reference(cells, options.generations))
    print(f"\nequal to NumPy's; the picture is {save(frames, options.out)}")
    print("\nThe same under every strategy:\n")
    print(table(measured(accelerator, cells, *game)))


if __name__ == "__main__":
    main()
