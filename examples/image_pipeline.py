"""Edges of a photograph: blur it, take Sobel's slopes, count them by atomics, keep the steep ones.

Five kernels hand pictures to each other on the device. Between the last two the host looks at the
histogram, all 1,024 bytes of it, and picks the threshold by Otsu's method. All numbers are whole,
so NumPy has to give the same, pixel by pixel.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    GreyImage,
    KernelContext,
    S32Array,
    U16Array2D,
    i32,
    u8,
    u16,
)

Pixels: TypeAlias = npt.NDArray[np.uint8]

PHOTOGRAPH = Path(__file__).parent / "data" / "astronaut.png"


@tb.func
def weight(away: i32) -> i32:
    """1 4 6 4 1: near to a bell."""
    return 6 if away == 0 else (4 if abs(away) == 1 else 1)


@tb.kernel
def blur_rows(kc: KernelContext, image: GreyImage, half: U16Array2D) -> None:
    total = 0
    for away in range(-2, 3):
        x = tb.clamp(kc.x + away, 0, image.width - 1)
        total += weight(away) * i32(image.pixel[kc.y, x])
    half.array[kc.y, kc.x] = u16(total)


@tb.kernel
def blur_columns(kc: KernelContext, half: U16Array2D, smooth: GreyImage) -> None:
    total = 0
    for away in range(-2, 3):
        y = tb.clamp(kc.y + away, 0, half.height - 1)
        total += weight(away) * i32(half.array[y, kc.x])
    smooth.pixel[kc.y, kc.x] = u8((total + 128) // 256)


@tb.func
def pixel_at(image: GreyImage, x: i32, y: i32) -> i32:
    """At the edge the picture goes on as it ends."""
    return i32(image.pixel[tb.clamp(y, 0, image.height - 1), tb.clamp(x, 0, image.width - 1)])


@tb.kernel
def slope(kc: KernelContext, smooth: GreyImage, slopes: GreyImage) -> None:
    """How steep the picture is, by Sobel."""
    across, down = 0, 0
    for k in range(-1, 2):
        heavy = 2 - abs(k)
        right, left = pixel_at(smooth, kc.x + 1, kc.y + k), pixel_at(smooth, kc.x - 1, kc.y + k)
        below, above = pixel_at(smooth, kc.x + k, kc.y + 1), pixel_at(smooth, kc.x + k, kc.y - 1)
        across += heavy * (right - left)
        down += heavy * (below - above)
    slopes.pixel[kc.y, kc.x] = u8(min(abs(across) + abs(down), 255))


@tb.kernel  # trilby: ignore[out-of-bounds] -- a byte is below 256, as long as the histogram
def count(kc: KernelContext, slopes: GreyImage, histogram: S32Array) -> None:
    tb.atomic_inc(histogram.array, i32(slopes.pixel[kc.y, kc.x]))


@tb.kernel
def keep_steep(kc: KernelContext, slopes: GreyImage, threshold: i32, edges: GreyImage) -> None:
    steep = i32(slopes.pixel[kc.y, kc.x]) > threshold
    edges.pixel[kc.y, kc.x] = u8(255) if steep else u8(0)


class Pictures(NamedTuple):
    """All that the kernels hand to each other."""

    image: GreyImage
    half: U16Array2D
    smooth: GreyImage
    slopes: GreyImage
    edges: GreyImage
    histogram: S32Array


@tb.compute
def find_edges(cc: ComputeContext, pictures: Pictures) -> int:
    image, half, smooth, slopes, edges, histogram = pictures
    size = image.width, image.height
    cc.dispatch(size, blur_rows, image, half)
    cc.dispatch(size, blur_columns, half, smooth)
    cc.dispatch(size, slope, smooth, slopes)
    cc.dispatch(size, count, slopes, histogram)
    threshold = otsu(np.asarray(histogram))
    cc.dispatch(size, keep_steep, slopes, threshold, edges)
    return threshold


def otsu(histogram: npt.NDArray[np.int32]) -> int:
    """The threshold whose two sides lie furthest apart."""
    counts = histogram.astype(np.float64)
    below, light = counts.cumsum(), (counts * np.arange(len(counts))).cumsum()
    above, rest = below[-1] - below, light[-1] - light
    both = np.maximum(below * above, 1)
    apart = (light * above - rest * below) ** 2 / both
    return int(apart.argmax())


class Found(NamedTuple):
    """What comes back."""

    smooth: Pixels
    slopes: Pixels
    edges: Pixels
    histogram: npt.NDArray[np.int32]
    threshold: int


def run(accelerator: Accelerator, pixels: Pixels) -> Found:
    height, width = pixels.shape
    image = GreyImage.create(accelerator, width=width, height=height)
    image.pixel[:] = pixels
    half = U16Array2D.create(accelerator, width=width, height=height)
    made = [GreyImage.create(accelerator, width=width, height=height) for _ in range(3)]
    histogram = S32Array.create(accelerator, length=256)
    pictures = Pictures(image, half, made[0], made[1], made[2], histogram)
    threshold = accelerator.compute(find_edges, pictures)
    smooth, slopes, edges = (np.asarray(picture.pixel) for picture in made)
    return Found(smooth, slopes, edges, np.asarray(histogram), threshold)


def reference(pixels: Pixels) -> Found:
    """The same by NumPy, a whole picture at a time."""
    wide = np.pad(pixels.astype(np.int32), 2, mode="edge")
    smooth = (blurred(blurred(wide).T).T + 128) // 256
    wide = np.pad(smooth, 1, mode="edge")
    across = wide[:, 2:] - wide[:, :-2]
    down = wide[2:] - wide[:-2]
    across = across[:-2] + 2 * across[1:-1] + across[2:]
    down = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    slopes = np.minimum(np.abs(across) + np.abs(down), 255).astype(np.uint8)
    histogram = np.bincount(slopes.ravel(), minlength=256).astype(np.int32)
    threshold = otsu(histogram)
    edges = np.where(slopes > threshold, 255, 0).astype(np.uint8)
    return Found(smooth.astype(np.uint8), slopes, edges, histogram, threshold)


def blurred(wide: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Rows, which become shorter by four."""
    return wide[:, :-4] + 4 * wide[:, 1:-3] + 6 * wide[:, 2:-2] + 4 * wide[:, 3:-1] + wide[:, 4:]


def save(pixels: Pixels, found: Found, path: Path) -> None:
    """Write the photograph, its slopes, and its edges beside each other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.concatenate([pixels, found.slopes, found.edges], axis=1)).save(path)


def load(path: Path, side: int | None = None) -> Pixels:
    """A picture from a file in shades of grey, with no side longer than `side`."""
    with Image.open(path) as picture:
        grey = picture.convert("L")
    if side is not None:
        grey.thumbnail((side, side))
    return np.asarray(grey)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", type=Path, default=PHOTOGRAPH, help="a photograph")
    parser.add_argument("--side", type=int, help="make it smaller, to so many pixels at most")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    pixels = load(options.image, options.side)
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    print(f"{pixels.shape[1]} × {pixels.shape[0]} pixels on {accelerator.device.name}")
    started = time.perf_counter()
    with accelerator.record() as ledger:
        found = run(accelerator, pixels)
    print(f"{time.perf_counter() - started:.2f} s with compiling; every transfer and its reason:\n")
    print(ledger)
    for computed, expected in zip(found, reference(pixels), strict=True):
        np.testing.assert_array_equal(computed, expected)
    path = options.out / "image_pipeline.png"
    save(pixels, found, path)
    print(f"\nsteeper than {found.threshold} is an edge; all equal to NumPy's; see {path}")


if __name__ == "__main__":
    main()
