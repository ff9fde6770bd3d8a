"""Heal a photograph: a hole in it is filled with what fits best from elsewhere, without a seam.

First every place around the hole is tried: how well does its rim fit the rim of the hole? Then
the best one is blended in: inside the hole the picture keeps the slopes of what was found there,
and at the rim it meets the photograph (Poisson's equation, solved by over-relaxation, odd and even
pixels in turns). NumPy tries the same places, and says how far the equation is from being solved.
"""

import argparse
import math
import time
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image
from terminal.bars import bar, watched

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, f32, i32, u8

Pixels: TypeAlias = npt.NDArray[np.uint8]
Numbers: TypeAlias = npt.NDArray[np.int32]

PHOTOGRAPH = Path(__file__).parent / "data" / "astronaut.png"
RIM = 3
"""How wide the rim is that has to fit."""
NOWHERE = 2_000_000_000
"""The misfit of a place that has no pixels, or is the hole itself."""


class Hole(NamedTuple):
    """A round hole."""

    x: int
    y: int
    radius: int

    @property
    def side(self) -> int:
        """Of the square around the hole and its rim."""
        return 2 * (self.radius + RIM) + 1


# The rim lies in the image, and the hole off its edges: the host sees to that.
@tb.kernel  # trilby: ignore[out-of-bounds]
def try_place(
    kc: KernelContext,
    image: NDArray[u8],
    rim: NDArray[i32],
    radius: i32,
    reach: i32,
    misfit: NDArray[i32],
) -> None:
    """Sum up how much the rim of the hole, moved by (dx, dy), differs from the rim itself."""
    dx, dy = kc.x - reach, kc.y - reach
    height, width = image.shape[0], image.shape[1]
    total = NOWHERE
    if max(abs(dx), abs(dy)) > 2 * radius + RIM:
        total = 0
        for i in range(rim.shape[0]):
            x, y = rim[i, 0] + dx, rim[i, 1] + dy
            if not (0 <= x < width and 0 <= y < height):
                total = NOWHERE
                break
            for c in range(3):
                away = i32(image[y, x, c]) - i32(image[rim[i, 1], rim[i, 0], c])
                total += away * away
    misfit[kc.y, kc.x] = total


@tb.kernel  # trilby: ignore[out-of-bounds]
def relax(
    kc: KernelContext,
    patch: NDArray[f32],
    slopes: NDArray[f32],
    inside: NDArray[u8],
    turn: i32,
    step: f32,
) -> None:
    """Bring every other pixel of the hole nearer to what its neighbours and the slopes ask for."""
    x, y, c = kc.x, kc.y, kc.z
    if inside[y, x] == 0 or (x + y) % 2 != turn:
        return
    around = patch[y - 1, x, c] + patch[y + 1, x, c] + patch[y, x - 1, c] + patch[y, x + 1, c]
    wanted = (around + slopes[y, x, c]) / 4.0
    patch[y, x, c] += step * (wanted - patch[y, x, c])


@tb.compute
def search(
    cc: ComputeContext,
    image: NDArray[u8],
    rim: NDArray[i32],
    radius: int,
    reach: int,
    misfit: NDArray[i32],
) -> None:
    side = 2 * reach + 1
    cc.dispatch((side, side), try_place, image, rim, radius, reach, misfit)


@tb.compute
def blend(
    cc: ComputeContext,
    patch: NDArray[f32],
    slopes: NDArray[f32],
    inside: NDArray[u8],
    rounds: int,
    step: f32,
) -> None:
    size = patch.shape[1], patch.shape[0], 3
    for _ in range(rounds):
        cc.dispatch(size, relax, patch, slopes, inside, turn=0, step=step)
        cc.dispatch(size, relax, patch, slopes, inside, turn=1, step=step)


def disc(hole: Hole) -> npt.NDArray[np.bool_]:
    """The hole in the square around it."""
    middle = hole.radius + RIM
    y, x = np.ogrid[: hole.side, : hole.side]
    return (x - middle) ** 2 + (y - middle) ** 2 <= hole.radius**2


def rim_of(hole: Hole) -> Numbers:
    """The pixels around the hole, as x and y."""
    middle = hole.radius + RIM
    y, x = np.ogrid[: hole.side, : hole.side]
    near = (x - middle) ** 2 + (y - middle) ** 2 <= middle**2
    rows, columns = np.nonzero(near & ~disc(hole))
    return np.stack([columns + hole.x - middle, rows + hole.y - middle], axis=1).astype(np.int32)


def square(image: Pixels, hole: Hole, dx: int = 0, dy: int = 0) -> npt.NDArray[np.float32]:
    """The pixels around the hole, or around where it would be after a move."""
    left, top = hole.x - hole.side // 2 + dx, hole.y - hole.side // 2 + dy
    return image[top : top + hole.side, left : left + hole.side].astype(np.float32)


def slopes_of(numbers: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Four times each number, less its neighbours; the edge has none."""
    found = np.zeros_like(numbers)
    inner = numbers[1:-1, 1:-1]
    across = numbers[1:-1, :-2] + numbers[1:-1, 2:]
    found[1:-1, 1:-1] = 4 * inner - across - numbers[:-2, 1:-1] - numbers[2:, 1:-1]
    return found


class Healed(NamedTuple):
    """The picture, from where the patch was taken, and how well each place fitted."""

    image: Pixels
    move: tuple[int, int]
    misfit: Numbers
    patch: npt.NDArray[np.float32]


def run(accelerator: Accelerator, image: Pixels, hole: Hole, reach: int, rounds: int) -> Healed:
    side = 2 * reach + 1
    misfit = accelerator.array(np.zeros((side, side), np.int32))
    rim = accelerator.array(rim_of(hole))
    accelerator.compute(search, accelerator.array(image), rim, hole.radius, reach, misfit)
    fits = np.asarray(misfit)
    if fits.min() == NOWHERE:
        message = f"nothing lies beside the hole within {reach} pixels: try a longer --reach"
        raise SystemExit(message)
    dy, dx = (int(place) - reach for place in np.unravel_index(fits.argmin(), fits.shape))
    inside, source = disc(hole), square(image, hole, dx, dy)
    patch = accelerator.array(np.where(inside[..., None], source, square(image, hole)))
    slopes = accelerator.array(slopes_of(source).astype(np.float32))
    hollow = accelerator.array(inside.astype(np.uint8))
    step = 2 / (1 + math.sin(math.pi / hole.side))  # the best one for a square
    with bar() as progress:
        for _ in progress.track(range(10), description="blending"):
            accelerator.compute(blend, patch, slopes, hollow, -(-rounds // 10), step)
    filled, healed = np.asarray(patch), image.copy()
    left, top = hole.x - hole.side // 2, hole.y - hole.side // 2
    healed[top : top + hole.side, left : left + hole.side] = np.clip(np.rint(filled), 0, 255)
    return Healed(healed, (dx, dy), fits, filled)


def misfits(image: Pixels, hole: Hole, reach: int) -> Numbers:
    """What the search finds, by NumPy: one pixel of the rim at a time, in all places at once."""
    side = 2 * reach + 1
    numbers = np.pad(image.astype(np.int32), ((reach, reach), (reach, reach), (0, 0)))
    exists = np.pad(np.ones(image.shape[:2], np.bool_), reach)
    total, possible = np.zeros((side, side), np.int32), np.ones((side, side), np.bool_)
    for x, y in watched(rim_of(hole), "comparing"):
        away = numbers[y : y + side, x : x + side] - image[y, x].astype(np.int32)
        total += (away * away).sum(axis=2, dtype=np.int32)
        possible &= exists[y : y + side, x : x + side]
    moves = np.abs(np.arange(-reach, reach + 1))
    possible &= np.maximum(moves[:, None], moves) > 2 * hole.radius + RIM
    return np.where(possible, total, np.int32(NOWHERE))


def check(image: Pixels, hole: Hole, reach: int, healed: Healed) -> float:
    """Compare the search with NumPy's; gives how far the equation is from being solved."""
    np.testing.assert_array_equal(healed.misfit, misfits(image, hole, reach))
    inside = disc(hole)
    np.testing.assert_array_equal(healed.patch[~inside], square(image, hole)[~inside])
    wanted = slopes_of(square(image, hole, *healed.move).astype(np.float64))
    left = np.abs(slopes_of(healed.patch.astype(np.float64)) - wanted)[inside].max()
    if not left < 0.05:
        message = f"the equation is not solved: {left:.3f} shades are left; try more --rounds"
        raise SystemExit(message)
    return float(left)


def save(image: Pixels, hole: Hole, healed: Pixels, path: Path) -> None:
    """Write the photograph with the hole, and without it."""
    holed = image.copy()
    left, top = hole.x - hole.side // 2, hole.y - hole.side // 2
    holed[top : top + hole.side, left : left + hole.side][disc(hole)] = (255, 0, 160)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.concatenate([holed, healed], axis=1)).save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", type=Path, default=PHOTOGRAPH, help="a photograph")
    parser.add_argument(
        "--hole",
        type=int,
        nargs=3,
        metavar=("X", "Y", "RADIUS"),
        help="a round one; by default the emblem of the astronaut is one",
    )
    parser.add_argument("--reach", type=int, default=150, help="look so far for what fits")
    parser.add_argument("--rounds", type=int, default=600, help="of blending")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    with Image.open(options.image) as picture:
        image = np.array(picture.convert("RGB"))
    hole = Hole(*(options.hole or (171, 385, 48)))  # by default the emblem
    corners = square(image, hole).shape
    if corners != (hole.side, hole.side, 3) or min(hole.x, hole.y) < hole.side // 2:
        parser.error(f"the hole and {RIM} pixels around it have to lie inside of the picture")
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    started = time.perf_counter()
    with accelerator.record() as ledger:
        healed = run(accelerator, image, hole, options.reach, options.rounds)
    print(f"{time.perf_counter() - started:.2f} s with compiling on {accelerator.device.name};")
    print("every transfer and its reason:\n")
    print(ledger)
    left = check(image, hole, options.reach, healed)
    path = options.out / "heal.png"
    save(image, hole, healed.image, path)
    print(f"\nmoved by {healed.move}, as by NumPy; {left:.4f} shades are left; see {path}")


if __name__ == "__main__":
    main()
