"""A photograph in a few colours: k-means over its pixels, until no pixel changes its colour.

Work items look for the nearest colour and add their pixel to its sum by atomics. The host looks at
one number after each round: how many pixels changed. NumPy does the same from the same start.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image
from rich.progress import Progress
from terminal.bars import bar

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    F32Array2D,
    KernelContext,
    NDArray,
    S32Array,
    S32Array2D,
    f32,
    i32,
    u8,
)

Pixels: TypeAlias = npt.NDArray[np.uint8]

PHOTOGRAPH = Path(__file__).parent / "data" / "astronaut.png"


@tb.kernel
def assign(
    kc: KernelContext,
    pixels: NDArray[u8],
    colours: F32Array2D,
    nearest: S32Array,
    sums: S32Array2D,
    changed: S32Array,
) -> None:
    """Find the nearest colour, and add the pixel to what is summed up for it."""
    best, least = 0, f32(1e30)
    for k in range(colours.height):
        distance: f32 = 0.0
        for c in range(3):
            away = f32(pixels[kc.x, c]) - colours.array[k, c]
            distance += away * away
        if distance < least:
            best, least = k, distance
    if nearest.array[kc.x] != best:
        nearest.array[kc.x] = best
        tb.atomic_inc(changed.array, 0)
    for c in range(3):
        tb.atomic_add(sums.array, (best, c), i32(pixels[kc.x, c]))
    tb.atomic_inc(sums.array, (best, 3))


@tb.kernel
def move(kc: KernelContext, colours: F32Array2D, sums: S32Array2D) -> None:
    """A colour becomes the mean of its pixels, and its sums begin again."""
    count = sums.array[kc.x, 3]
    for c in range(3):
        if count > 0:
            colours.array[kc.x, c] = f32(sums.array[kc.x, c]) / f32(count)
        sums.array[kc.x, c] = 0
    sums.array[kc.x, 3] = 0


class Clustering(NamedTuple):
    pixels: NDArray[u8]
    colours: F32Array2D
    nearest: S32Array
    sums: S32Array2D
    changed: S32Array


@tb.compute
def cluster(cc: ComputeContext, data: Clustering, rounds: int, progress: Progress) -> int:
    """Gives the number of rounds that it took."""
    for turn in range(1, rounds + 1):
        data.changed.array[0] = 0
        cc.dispatch(data.pixels.shape[0], assign, *data)
        cc.dispatch(data.colours.height, move, data.colours, data.sums)
        if data.changed.array[0] == 0:
            return turn
        progress.advance(progress.task_ids[0])
    return rounds


class Found(NamedTuple):
    """The colours, which of them each pixel has, and after how many rounds."""

    colours: npt.NDArray[np.float32]
    nearest: npt.NDArray[np.int32]
    rounds: int


def first_colours(pixels: Pixels, count: int) -> npt.NDArray[np.float32]:
    """Pixels from all over the picture, none like another, by their light."""
    colours = np.unique(pixels, axis=0)
    order = np.argsort(colours.sum(axis=1, dtype=np.int32), kind="stable")
    picked = np.linspace(0, len(colours) - 1, count).astype(int)
    return colours[order[picked]].astype(np.float32)


def run(accelerator: Accelerator, pixels: Pixels, count: int, rounds: int) -> Found:
    """Cluster rows of three channels."""
    data = Clustering(
        accelerator.array(pixels.copy()),
        F32Array2D.of(first_colours(pixels, count)),
        S32Array.of(np.full(len(pixels), -1, np.int32)),
        S32Array2D.create(accelerator, width=4, height=count),
        S32Array.create(accelerator, length=1),
    )
    with bar() as progress:
        progress.add_task("rounds", total=rounds)
        taken = accelerator.compute(cluster, data, rounds, progress)
    return Found(np.asarray(data.colours), np.asarray(data.nearest), taken)


def reference(pixels: Pixels, count: int, rounds: int) -> Found:
    """The same by NumPy, in single precision as the device does it."""
    colours = first_colours(pixels, count)
    nearest = np.full(len(pixels), -1, np.int32)
    for turn in range(1, rounds + 1):
        distances = np.zeros((count, len(pixels)), np.float32)
        for c in range(3):
            distances += (pixels[:, c].astype(np.float32) - colours[:, c, None]) ** 2
        now = distances.argmin(axis=0).astype(np.int32)
        for k in range(count):
            mine = pixels[now == k]
            if len(mine):
                total = mine.sum(axis=0, dtype=np.int64).astype(np.float32)
                colours[k] = total / np.float32(len(mine))
        if (now == nearest).all():
            return Found(colours, now, turn)
        nearest = now
    return Found(colours, nearest, rounds)


def check(found: Found, expected: Found) -> float:
    """How many pixels have the same colour as by NumPy; ends the program where that is few."""
    same = float((found.nearest == expected.nearest).mean())
    if same < 0.999 or not np.allclose(found.colours, expected.colours, atol=0.1):
        message = f"only {same:.2%} of the pixels have the colour that NumPy gives them"
        raise SystemExit(message)
    return same


def load(path: Path, side: int) -> Pixels:
    """A picture from a file, with no side longer than `side`."""
    with Image.open(path) as picture:
        whole = picture.convert("RGB")
    whole.thumbnail((side, side))
    return np.asarray(whole)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", type=Path, default=PHOTOGRAPH, help="a photograph")
    parser.add_argument("--side", type=int, default=256, help="make it so small at least")
    parser.add_argument("--colours", type=int, default=8, help="how many")
    parser.add_argument("--rounds", type=int, default=200, help="so many at most")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    picture = load(options.image, options.side)
    pixels = picture.reshape(-1, 3)
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    print(f"{len(pixels):,} pixels, {options.colours} colours, on {accelerator.device.name}")
    started = time.perf_counter()
    with accelerator.record() as ledger:
        found = run(accelerator, pixels, options.colours, options.rounds)
    print(f"{found.rounds} rounds, {time.perf_counter() - started:.2f} s with compiling; ", end="")
    print("every transfer and its reason:\n")
    print(ledger)
    same = check(found, reference(pixels, options.colours, options.rounds))
    path = options.out / "k_means.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    few = np.rint(found.colours)[found.nearest].astype(np.uint8).reshape(picture.shape)
    Image.fromarray(np.concatenate([picture, few], axis=1)).save(path)
    print(f"\n{same:.2%} of the pixels have the colour that NumPy gives them; see {path}")


if __name__ == "__main__":
    main()
