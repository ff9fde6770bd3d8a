"""Faces in a photograph: Viola and Jones' cascade, as trained for OpenCV, and equal to it.

The cascade is read from OpenCV's own XML into a nested buffer. The device makes the picture grey,
shrinks it step by step, adds up its integral images, and looks through every window of every
size; what passes all stages takes the next free row of a table. The windows, and the faces that
they are grouped into, are compared with those that OpenCV finds.
"""

import argparse
import importlib.util
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from cascade.grouping import Box, boxes_of, grouped
from cascade.haar import Cascade, read_cascade
from PIL import Image, ImageDraw
from terminal.bars import watched

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    GreyImage,
    KernelContext,
    RGBAImage,
    S32Array2D,
    f32,
    f64,
    i32,
    u8,
    u32,
)

if TYPE_CHECKING:
    from types import ModuleType

PHOTOGRAPH = Path(__file__).parent / "data" / "astronaut.png"
CASCADE = "haarcascade_frontalface_default.xml"


# ----------------------------------------------------------------------- what the device reads


class Spots(tb.Buffer):
    """For each pixel of a smaller picture: the pixel before it in the large one, and how far on.

    How far is in 256ths, as OpenCV has it.
    """

    length: i32
    place: tb.Array[i32] = tb.array("length")
    beyond: tb.Array[i32] = tb.array("length")


class Windows(tb.Buffer):
    """What was found; it counts on when it is full."""

    class Window(tb.Struct):
        x: i32
        y: i32
        scale: f32

    count: tb.Atomic[i32]
    length: i32
    window: tb.Array[Window] = tb.array("length")


# ------------------------------------------------------------------------------ on the device


@tb.kernel
def make_grey(kc: KernelContext, image: RGBAImage, grey: GreyImage) -> None:
    pixel = image.pixel[kc.y, kc.x]
    light = 9798 * i32(pixel.r) + 19235 * i32(pixel.g) + 3735 * i32(pixel.b)
    grey.pixel[kc.y, kc.x] = u8((light + 16384) // 32768)


# Which pixels are read stands in buffers that the host fills, where no lint can look.
@tb.kernel  # trilby: ignore[out-of-bounds]
def shrink(
    kc: KernelContext, grey: GreyImage, small: GreyImage, across: Spots, down: Spots
) -> None:
    x, y = across.place[kc.x], down.place[kc.y]
    right, below = min(x + 1, grey.width - 1), min(y + 1, grey.height - 1)
    dx, dy = across.beyond[kc.x], down.beyond[kc.y]
    upper = (256 - dx) * i32(grey.pixel[y, x]) + dx * i32(grey.pixel[y, right])
    lower = (256 - dx) * i32(grey.pixel[below, x]) + dx * i32(grey.pixel[below, right])
    small.pixel[kc.y, kc.x] = u8(((256 - dy) * upper + dy * lower + 32768) // 65536)


@tb.kernel
def add_up_rows(
    kc: KernelContext, small: GreyImage, sums: S32Array2D, squares: S32Array2D, width: i32
) -> None:
    total, total_square = 0, 0
    for x in range(width):
        value = i32(small.pixel[kc.x, x])
        total += value
        total_square += value * value
        sums.array[kc.x + 1, x + 1] = total
        squares.array[kc.x + 1, x + 1] = total_square


@tb.kernel
def add_up_columns(kc: KernelContext, sums: S32Array2D, squares: S32Array2D, height: i32) -> None:
    """Then each number is the sum of all pixels above it and left of it."""
    for y in range(2, height + 1):
        sums.array[y, kc.x + 1] += sums.array[y - 1, kc.x + 1]
        squares.array[y, kc.x + 1] += squares.array[y - 1, kc.x + 1]


@tb.func  # trilby: ignore[out-of-bounds]
def sum_of(sums: S32Array2D, x: i32, y: i32, width: i32, height: i32) -> i32:
    """The sum over a rectangle, however large: four numbers of the integral image."""
    upper = sums.array[y, x + width] - sums.array[y, x]
    return sums.array[y + height, x + width] - sums.array[y + height, x] - upper


@tb.func
def norm_of(cascade: Cascade, sums: S32Array2D, squares: S32Array2D, x: i32, y: i32) -> f32:
    """One over the contrast of a window, so that light does not matter; 0 where it is too flat."""
    width, height = cascade.width - 2, cascade.height - 2
    area = f64(width * height)
    total = f64(sum_of(sums, x + 1, y + 1, width, height))
    total_square = f64(u32(sum_of(squares, x + 1, y + 1, width, height)))
    contrast = area * total_square - total * total
    if contrast <= 0.0:
        return 0.0
    norm = f32(1.0 / tb.sqrt(contrast))
    return norm if area * f64(norm) < 0.1 else f32(0.0)


@tb.func  # trilby: ignore[out-of-bounds]
def passes(cascade: Cascade, sums: S32Array2D, number: i32, x: i32, y: i32, norm: f32) -> bool:
    """Whether a window passes one stage: its stumps vote."""
    stage = cascade.stage[number]
    votes: f64 = 0.0
    for i in range(stage.first, stage.first + stage.count):
        stump = cascade.stump[i]
        value: f32 = 0.0
        for k in range(3):
            part = stump.rectangle[k]
            if part.weight != 0.0:
                inside = sum_of(sums, x + part.x, y + part.y, part.width, part.height)
                value += part.weight * f32(inside)
        votes += f64(stump.below if value * norm < stump.threshold else stump.above)
    return votes >= f64(stage.threshold)


@tb.func
def is_looked_at(
    cascade: Cascade, sums: S32Array2D, squares: S32Array2D, x: i32, y: i32, step: i32
) -> bool:
    """OpenCV goes along a row, and leaves out the window after one that fails at stage 0.

    So of a run of such windows it looks at every other one, and a window that ends the run is
    looked at if the run's length is even. Work items, which have no order, count it.
    """
    run = 0
    while (run + 1) * step <= x:
        left = x - (run + 1) * step
        norm = norm_of(cascade, sums, squares, left, y)
        if norm == 0.0 or passes(cascade, sums, 0, left, y, norm):
            break
        run += 1
    return run % 2 == 0


@tb.kernel
def look(
    kc: KernelContext,
    cascade: Cascade,
    sums: S32Array2D,
    squares: S32Array2D,
    step: i32,
    scale: f32,
    found: Windows,
) -> None:
    x, y = kc.x * step, kc.y * step
    norm = norm_of(cascade, sums, squares, x, y)
    if norm == 0.0:
        return
    for number in range(cascade.stages):
        if not passes(cascade, sums, number, x, y, norm):
            return
    if is_looked_at(cascade, sums, squares, x, y, step):
        slot = tb.atomic_inc(found.count)
        if slot < found.length:
            found.window[slot] = Windows.Window(x=x, y=y, scale=scale)


# -------------------------------------------------------------------------------- on the host


class Level(NamedTuple):
    """One size of the picture: the windows on it are `scale` times as large on the photograph."""

    scale: float
    width: int
    height: int
    step: int
    across: Spots
    down: Spots


class Scratch(NamedTuple):
    """What lives on the device alone."""

    grey: GreyImage
    small: GreyImage
    sums: S32Array2D
    squares: S32Array2D


@tb.compute
def find(
    cc: ComputeContext,
    image: RGBAImage,
    cascade: Cascade,
    levels: Iterable[Level],
    scratch: Scratch,
    found: Windows,
) -> None:
    grey, small, sums, squares = scratch
    found.count = 0
    cc.dispatch((image.width, image.height), make_grey, image, grey)
    for level in levels:
        width, height, step = level.width, level.height, level.step
        cc.dispatch((width, height), shrink, grey, small, level.across, level.down)
        cc.dispatch(height, add_up_rows, small, sums, squares, width)
        cc.dispatch(width, add_up_columns, sums, squares, height)
        places = -(-(width + 1 - cascade.width) // step), -(-(height + 1 - cascade.height) // step)
        cc.dispatch(places, look, cascade, sums, squares, step, level.scale, found)


def levels_of(size: tuple[int, int], window: tuple[int, int], factor: float) -> Iterator[Level]:
    """Every size on which a window of the cascade still fits; large ones in steps of two pixels."""
    exact = 1.0
    while all(round(side * exact) <= whole for side, whole in zip(window, size, strict=True)):
        scale = np.float32(exact)
        width, height = (int(np.rint(np.float32(side) / scale)) for side in size)
        spots = spots_of(size[0], width), spots_of(size[1], height)
        yield Level(float(scale), width, height, 1 if scale >= 2 else 2, *spots)
        exact *= factor


def spots_of(large: int, small: int) -> Spots:
    """Where the middle of each small pixel lies among the large ones."""
    places = (1.0 / (small / large)) * (np.arange(small) + 0.5) - 0.5
    whole = np.clip(np.floor(places), 0, large - 1).astype(np.int32)
    spots = Spots.create(length=small)
    spots.place[:] = whole
    spots.beyond[:] = np.clip(np.rint((places - whole) * 256), 0, 256).astype(np.int32)
    return spots


def run(accelerator: Accelerator, image: RGBAImage, cascade: Cascade, factor: float) -> list[Box]:
    """Every window that the cascade takes for a face, sorted."""
    width, height = image.width, image.height
    levels = list(levels_of((width, height), (cascade.width, cascade.height), factor))
    pictures = [GreyImage.create(accelerator, width=width, height=height) for _ in range(2)]
    sums = [S32Array2D.create(accelerator, width=width + 1, height=height + 1) for _ in range(2)]
    scratch = Scratch(pictures[0], pictures[1], sums[0], sums[1])
    found = Windows.create(accelerator, length=10_000)
    progress = watched(levels, "sizes")
    accelerator.compute(find, image, cascade, progress, scratch, found)
    if found.count > found.length:
        message = f"{found.count} windows, and the table has room for {found.length}"
        raise SystemExit(message)
    rows = np.asarray(found.window[: found.count])
    corners = [rows[name].astype(np.float32) * rows["scale"] for name in ("x", "y")]
    sides = [np.float32(side) * rows["scale"] for side in (cascade.width, cascade.height)]
    return boxes_of(np.rint(np.stack([*corners, *sides], axis=1)))


def opencv() -> "ModuleType":
    """OpenCV, which has the cascade and the windows to compare with."""
    if importlib.util.find_spec("cv2") is None:
        message = "OpenCV is missing: pip install 'opencv-python-headless<5'"
        raise SystemExit(message)
    return importlib.import_module("cv2")


def reference(
    pixels: npt.NDArray[np.uint8], path: Path, factor: float, neighbours: int
) -> list[Box]:
    """What OpenCV finds; with no neighbours wanted, every window."""
    cv2 = opencv()
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGBA2GRAY)
    found = cv2.CascadeClassifier(str(path)).detectMultiScale(
        grey, scaleFactor=factor, minNeighbors=neighbours
    )
    return boxes_of(found)


def load(path: Path, side: int | None = None) -> RGBAImage:
    """A picture from a file, with no side longer than `side`."""
    with Image.open(path) as picture:
        whole = picture.convert("RGBA")
    if side is not None:
        whole.thumbnail((side, side))
    return image_of(np.asarray(whole))


def image_of(pixels: npt.NDArray[np.uint8]) -> RGBAImage:
    """Rows of pixels with four channels as a buffer."""
    image = RGBAImage.create(width=pixels.shape[1], height=pixels.shape[0])
    image.channels[:] = pixels
    return image


def save(image: RGBAImage, windows: Sequence[Box], faces: Sequence[Box], path: Path) -> None:
    """Write the photograph with every window in blue and every face in amber."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.fromarray(np.asarray(image.channels)).convert("RGB")
    draw = ImageDraw.Draw(picture)
    for boxes, colour, line in ((windows, (60, 130, 255), 1), (faces, (255, 200, 60), 4)):
        for x, y, width, height in boxes:
            draw.rectangle((x, y, x + width - 1, y + height - 1), outline=colour, width=line)
    picture.save(path)


def check(name: str, ours: Sequence[Box], theirs: Sequence[Box]) -> str:
    """A line that says that both are equal; ends the program where they are not."""
    if list(ours) != list(theirs):
        only = [f"{box} only here" for box in ours if box not in theirs]
        only += [f"{box} only in OpenCV" for box in theirs if box not in ours]
        message = f"the {name} differ from OpenCV's: {'; '.join(only) or 'not as many of each'}"
        raise SystemExit(message)
    return f"{name}: {len(ours)}, equal to OpenCV's"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", type=Path, default=PHOTOGRAPH, help="a photograph")
    parser.add_argument("--side", type=int, help="make it smaller, to so many pixels at most")
    parser.add_argument("--cascade", type=Path, help="an XML file; by default OpenCV's for faces")
    parser.add_argument("--scale", type=float, default=1.1, help="from one size to the next")
    parser.add_argument("--neighbours", type=int, default=3, help="windows that make a face")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    path = options.cascade or Path(opencv().data.haarcascades) / CASCADE
    image, cascade = load(options.image, options.side), read_cascade(path)
    pixels = np.asarray(image.channels)
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    print(f"{cascade.stages} stages, {cascade.stumps} stumps, on {accelerator.device.name}")
    started = time.perf_counter()
    with accelerator.record() as ledger:
        windows = run(accelerator, image, cascade, options.scale)
    print(f"{time.perf_counter() - started:.2f} s with compiling; every transfer and its reason:\n")
    print(ledger)
    faces = grouped(windows, options.neighbours)
    print()
    print(check("windows", windows, reference(pixels, path, options.scale, 0)))
    print(check("faces", faces, reference(pixels, path, options.scale, options.neighbours)), faces)
    place = options.out / "viola_jones.png"
    save(image, windows, faces, place)
    print(f"the picture is {place}")


if __name__ == "__main__":
    main()
