"""The Mandelbrot set: a 2-D range, helper functions, a palette buffer, and a picture.

Run it with `python examples/mandel.py --out out/`.
"""

import argparse
import time
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, S32Array2D, f32, i32

Pixels: TypeAlias = npt.NDArray[np.int32]


@tb.func
def escape_time(cx: f32, cy: f32, limit: i32) -> i32:
    """How many steps the orbit of a point stays near, at most `limit`."""
    x: f32 = 0.0
    y: f32 = 0.0
    steps = 0
    while steps < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        steps += 1
    return steps


@tb.kernel
def mandel_kernel(
    kc: KernelContext, image: S32Array2D, palette: S32Array, left: f32, top: f32, scale: f32
) -> None:
    cx = left + f32(kc.x) * scale
    cy = top + f32(kc.y) * scale
    image.array[kc.y, kc.x] = palette.array[escape_time(cx, cy, palette.length - 1)]


@tb.compute
def mandel(
    cc: ComputeContext, image: S32Array2D, palette: S32Array, x: f32, y: f32, width: f32
) -> None:
    """Draw the square around (x, y) that is `width` wide."""
    scale = width / image.width
    left, top = x - width / 2, y - image.height * scale / 2
    cc.dispatch((image.width, image.height), mandel_kernel, image, palette, left, top, scale)


def make_palette(steps: int) -> Pixels:
    """Colours from deep blue over white to amber; what never escapes is black."""
    stops = np.array([[0, 7, 60], [32, 107, 203], [237, 255, 255], [255, 170, 0], [40, 2, 0]])
    places = np.linspace(0, 1, len(stops))
    t = np.sqrt(np.arange(steps) / max(steps - 1, 1))
    red, green, blue = (np.interp(t, places, stops[:, k]).astype(np.int32) for k in range(3))
    return np.append((red << 16) | (green << 8) | blue, 0).astype(np.int32)


def reference(palette: Pixels, size: tuple[int, int], x: float, y: float, width: float) -> Pixels:
    """The same picture by NumPy, a whole array at a time, in single precision."""
    columns, rows = size
    limit = len(palette) - 1
    scale = width / columns
    single = np.float32
    cx = single(x - width / 2) + np.arange(columns, dtype=single)[None, :] * single(scale)
    cy = single(y - rows * scale / 2) + np.arange(rows, dtype=single)[:, None] * single(scale)
    cx, cy = np.broadcast_arrays(cx, cy)
    zx, zy = np.zeros((rows, columns), single), np.zeros((rows, columns), single)
    steps = np.zeros((rows, columns), np.int32)
    for _ in range(limit):
        alive = zx * zx + zy * zy <= single(4)
        steps += alive
        stepped = zx * zx - zy * zy + cx, single(2) * zx * zy + cy
        zx, zy = np.where(alive, stepped[0], zx), np.where(alive, stepped[1], zy)
    return palette[steps]


def run(
    accelerator: Accelerator,
    size: tuple[int, int],
    steps: int,
    view: tuple[float, float, float] = (-0.6, 0.0, 3.0),
) -> tuple[Pixels, Pixels]:
    """The picture from the device and the palette it was drawn with."""
    width, height = size
    palette = make_palette(steps)
    image = S32Array2D.create(accelerator, width=width, height=height)
    colours = S32Array.of(palette)
    accelerator.compute(lambda cc: mandel(cc, image, colours, *view))
    return np.asarray(image), palette


def save(pixels: Pixels, path: Path) -> None:
    """Write 0xRRGGBB pixels as a PNG."""
    channels = [(pixels >> shift & 255).astype(np.uint8) for shift in (16, 8, 0)]
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.stack(channels, axis=-1)).save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--height", type=int, default=768)
    parser.add_argument("--steps", type=int, default=200, help="how long to follow a point")
    parser.add_argument(
        "--at",
        type=float,
        nargs=3,
        default=(-0.6, 0.0, 3.0),
        metavar="N",
        help="centre x, centre y and width of the view",
    )
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    view = (options.at[0], options.at[1], options.at[2])
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    print(f"Mandelbrot, {options.width} × {options.height}, on {accelerator.device.name}")
    started = time.perf_counter()
    with accelerator.record() as ledger:
        size = (options.width, options.height)
        pixels, palette = run(accelerator, size, options.steps, view)
    print(f"{time.perf_counter() - started:.2f} s with compiling; every transfer and its reason:\n")
    print(ledger)
    same = float((pixels == reference(palette, size, *view)).mean())
    if same < 0.999:
        message = f"only {same:.2%} of the pixels agree with NumPy"
        raise SystemExit(message)
    path = options.out / "mandel.png"
    save(pixels, path)
    print(f"\n{same:.2%} of the pixels agree with NumPy; the picture is {path}")


if __name__ == "__main__":
    main()
