"""The Mandelbrot set: a 2-D range, helper functions, a palette buffer, a picture, and a zoom.

For the zoom the palette goes up once, and every frame comes back as soon as it is drawn.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image
from terminal.bars import bar

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, S32Array2D, f32, i32

Pixels: TypeAlias = npt.NDArray[np.int32]
View: TypeAlias = tuple[float, float, float]
"""The middle's x and y, and the width."""

WHOLE: View = (-0.6, 0.0, 3.0)
DEEP: View = (-0.743643, 0.131825, 0.004)
"""A valley of sea horses."""


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


@tb.compute
def zoom(
    cc: ComputeContext,
    image: S32Array2D,
    palette: S32Array,
    views: Sequence[View],
    display: Callable[[S32Array2D], None],
) -> None:
    """Draw one view after the other into the same image, and display each."""
    for x, y, width in views:
        scale = width / image.width
        left, top = x - width / 2, y - image.height * scale / 2
        cc.dispatch((image.width, image.height), mandel_kernel, image, palette, left, top, scale)
        display(image)  # trilby: ignore[opaque-call] -- it is there to look at the image


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
    view: View = WHOLE,
) -> tuple[Pixels, Pixels]:
    """The picture from the device and the palette it was drawn with."""
    width, height = size
    palette = make_palette(steps)
    image = S32Array2D.create(accelerator, width=width, height=height)
    colours = S32Array.of(palette)
    accelerator.compute(lambda cc: mandel(cc, image, colours, *view))
    return np.asarray(image), palette


def views_between(start: View, end: View, count: int) -> list[View]:
    """Each is narrower than the one before by the same factor, and no point ever turns back."""
    ratios = (end[2] / start[2]) ** (np.arange(count) / max(count - 1, 1))
    near = (1 - ratios) / (1 - end[2] / start[2]) if end[2] != start[2] else np.zeros(count)
    middles = [[a + (b - a) * n for n in near] for a, b in zip(start[:2], end[:2], strict=True)]
    return [
        (float(x), float(y), float(start[2] * r)) for x, y, r in zip(*middles, ratios, strict=True)
    ]


def run_zoom(
    accelerator: Accelerator, size: tuple[int, int], palette: Pixels, views: Sequence[View]
) -> list[Pixels]:
    """The picture of each view."""
    image = S32Array2D.create(accelerator, width=size[0], height=size[1])
    frames: list[Pixels] = []
    with bar() as progress:
        task = progress.add_task("frames", total=len(views))

        def display(drawn: S32Array2D) -> None:
            frames.append(np.asarray(drawn))
            progress.advance(task)

        accelerator.compute(zoom, image, S32Array.of(palette), views, display)
    return frames


def agreement(drawn: Sequence[Pixels], palette: Pixels, views: Sequence[View]) -> float:
    """The part of the pixels that NumPy draws alike; ends the program where it is small."""
    sizes = [pixels.shape[::-1] for pixels in drawn]
    same = [1.0] + [
        float((pixels == reference(palette, (width, height), *view)).mean())
        for pixels, (width, height), view in zip(drawn, sizes, views, strict=True)
    ]
    if min(same) < 0.999:
        message = f"only {min(same):.2%} of the pixels agree with NumPy"
        raise SystemExit(message)
    return min(same)


def picture(pixels: Pixels) -> Image.Image:
    """From 0xRRGGBB."""
    channels = [(pixels >> shift & 255).astype(np.uint8) for shift in (16, 8, 0)]
    return Image.fromarray(np.stack(channels, axis=-1))


def save(pixels: Pixels, frames: Sequence[Pixels], folder: Path) -> None:
    """Write the picture as a PNG, and the zoom as a GIF."""
    folder.mkdir(parents=True, exist_ok=True)
    picture(pixels).save(folder / "mandel.png")
    if frames:
        first, *rest = map(picture, frames)
        first.save(folder / "mandel.gif", save_all=True, append_images=rest, duration=80, loop=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--height", type=int, default=768)
    parser.add_argument("--steps", type=int, default=200, help="how long to follow a point")
    parser.add_argument(
        "--at",
        type=float,
        nargs=3,
        default=WHOLE,
        metavar="N",
        help="centre x, centre y and width of the view",
    )
    parser.add_argument("--to", type=float, nargs=3, default=DEEP, metavar="N", help="zoom to here")
    parser.add_argument("--frames", type=int, default=40, help="of the zoom; 0: none")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the pictures")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    view = (options.at[0], options.at[1], options.at[2])
    size = (options.width, options.height)
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    print(f"Mandelbrot, {options.width} × {options.height}, on {accelerator.device.name}")
    started = time.perf_counter()
    with accelerator.record() as ledger:
        pixels, palette = run(accelerator, size, options.steps, view)
    print(f"{time.perf_counter() - started:.2f} s with compiling; every transfer and its reason:\n")
    print(ledger)
    same = agreement([pixels], palette, [view])
    views = views_between(view, (options.to[0], options.to[1], options.to[2]), options.frames)
    small = (max(options.width // 4, 1), max(options.height // 4, 1))
    with accelerator.record() as ledger:
        frames = run_zoom(accelerator, small, palette, views)
    if frames:
        print(f"\na zoom in {len(frames)} frames:\n\n{ledger}")
    same = min(same, agreement(frames[-1:], palette, views[-1:]))
    save(pixels, frames, options.out)
    print(f"\n{same:.2%} of the pixels agree with NumPy; see {options.out / 'mandel.png'}")


if __name__ == "__main__":
    main()
