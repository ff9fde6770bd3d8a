"""Conway's game of life: two grids that change places, and what each strategy copies for it.

Run it with `python examples/life.py --out out/`. It writes the last generation as a picture, and
those that it looked at on the way as an animation.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    KernelContext,
    Ledger,
    Transfers,
    U8Array2D,
    u8,
)

Cells: TypeAlias = npt.NDArray[np.uint8]

ALIVE = 255  # a dead cell has less: it fades, so that a picture shows where life has been


@tb.kernel
def step(kc: KernelContext, now: U8Array2D, then: U8Array2D) -> None:
    living = 0
    for y in range(max(kc.y - 1, 0), min(kc.y + 2, now.height)):
        for x in range(max(kc.x - 1, 0), min(kc.x + 2, now.width)):
            living += 1 if now.array[y, x] == ALIVE else 0
    was = now.array[kc.y, kc.x]
    lives = living == 3 or (living == 4 and was == ALIVE)  # the cell itself is one of them
    then.array[kc.y, kc.x] = u8(ALIVE) if lives else u8(was - was // 8)


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


def run(accelerator: Accelerator, cells: Cells, generations: int, every: int) -> Sequence[Cells]:
    """The generations that were displayed, and the last one."""
    first = U8Array2D.of(cells)
    second = U8Array2D.create(accelerator, width=first.width, height=first.height)
    shown: list[Cells] = []

    def display(grid: U8Array2D) -> None:
        shown.append(np.asarray(grid))

    last = accelerator.compute(life, first, second, generations, every, display)
    return [*shown, np.asarray(last)]


class Measured(NamedTuple):
    """One run: under which strategy, how long it took, and what it copied."""

    transfers: Transfers
    seconds: float
    ledger: Ledger


def measured(
    accelerator: Accelerator, transfers: Transfers, cells: Cells, generations: int, every: int
) -> Measured:
    """Run twice: writing every access down takes time, so what is timed is not recorded."""
    with accelerator.strategy(transfers):
        started = time.perf_counter()
        run(accelerator, cells, generations, every)
        seconds = time.perf_counter() - started
        with accelerator.record() as ledger:
            run(accelerator, cells, generations, every)
    return Measured(transfers, seconds, ledger)


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
    pictures[0].save(folder / "life.gif", save_all=True, append_images=pictures[1:], duration=200)
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
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the pictures")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    cells, length = cross(options.width, options.height), (options.generations, options.every)
    print(
        f"Life, {options.width} × {options.height}, {options.generations} generations, "
        f"on {accelerator.device.name}; every transfer and its reason:\n"
    )
    with accelerator.record() as ledger:
        frames = run(accelerator, cells, *length)
    print(ledger)
    np.testing.assert_array_equal(frames[-1], reference(cells, options.generations))
    print(f"\nequal to NumPy's; the picture is {save(frames, options.out)}")
    print("\nThe same under every strategy:\n")
    print(table([measured(accelerator, transfers, cells, *length) for transfers in Transfers]))


if __name__ == "__main__":
    main()
