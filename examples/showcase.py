"""A show: the game of life, faces and the Mandelbrot set on each device, with every copy counted.

It is what `make run` runs. Each result is compared with that of NumPy or OpenCV; the times stand
side by side; a table says what each strategy copies, and what the least would be.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import life
import mandel
import numpy as np
import viola_jones
from cascade.grouping import grouped
from cascade.haar import read_cascade
from rich import box
from rich.console import Console
from rich.table import Table

from trilby import Accelerator, Transfers, TrilbyError

T = TypeVar("T")

DEVICES = ("native", "opencl")
AGAIN = 3  # how often a program runs after its first time; the best counts


class Timed(NamedTuple):
    """What a program took: the first time, with compiling, and at its best after that."""

    first: float
    again: float


class Row(NamedTuple):
    """One line of the table of times: a program on each device, and what it is compared with."""

    program: str
    devices: Mapping[str, Timed]
    rival: str
    rival_seconds: float


def opened(wanted: Sequence[str] | None, console: Console) -> dict[str, Accelerator]:
    """An accelerator of each name; one that nobody asked for may be missing, and is named."""
    found: dict[str, Accelerator] = {}
    for name in wanted or DEVICES:
        try:
            found[name] = Accelerator(name)
        except TrilbyError as error:
            if wanted:
                raise
            console.print(f"[yellow]{name} is left out:[/] {error}")
        else:
            console.print(f"[bold]{name}[/] is {found[name].device.name}")
    if not found:
        message = "no device is here; `trilby devices` says what is missing"
        raise SystemExit(message)
    return found


def seconds_of(work: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def best_of(work: Callable[[], T]) -> tuple[float, T]:
    """The shortest time of a few, and the last result."""
    runs = [seconds_of(work) for _ in range(AGAIN)]
    return min(seconds for seconds, _ in runs), runs[-1][1]


def timed(work: Callable[[], T]) -> tuple[Timed, T]:
    first, _ = seconds_of(work)
    again, result = best_of(work)
    return Timed(first, again), result


def play(
    console: Console, accelerators: Mapping[str, Accelerator], cells: life.Cells, folder: Path
) -> Row:
    """Life on each device, compared with NumPy and drawn; then every transfer and its reason."""
    generations, every = 100, 10
    height, width = cells.shape
    console.rule(f"[bold]Life, {width} × {height}, {generations} generations")
    rival, expected = best_of(lambda: life.reference(cells, generations))
    times: dict[str, Timed] = {}
    for name, accelerator in accelerators.items():
        times[name], frames = timed(lambda: life.run(accelerator, cells, generations, every))
        np.testing.assert_array_equal(frames[-1], expected)
        life.save(frames, folder)
    console.print("Equal to NumPy's on each device. By default the processor works on the host's")
    console.print("memory; with a memory of its own, every transfer has its reason:\n")
    discrete = {name: Accelerator(name, memory="discrete") for name in accelerators}
    with next(iter(discrete.values())).record() as ledger:
        life.run(next(iter(discrete.values())), cells, generations, every)
    print(ledger)
    console.print("\nThe same under each strategy; `ratio` is the bytes against the least:")
    console.print(strategies(discrete, cells, generations, every))
    return Row("life", times, "NumPy", rival)


def strategies(
    accelerators: Mapping[str, Accelerator], cells: life.Cells, generations: int, every: int
) -> Table:
    """What each strategy copies, what it takes, and the least that this program has to copy."""
    table = Table("strategy", box=box.SIMPLE_HEAD)
    for heading in ("up", "down", "bytes up", "bytes down", "ratio", *accelerators):
        table.add_column(heading, justify="right", no_wrap=True)
    runs = [
        life.measured(accelerator, cells, generations, every, "swap")
        for accelerator in accelerators.values()
    ]
    for rows in zip(*runs, strict=True):
        transfers, _, ledger = rows[0]
        table.add_row(
            transfers.name,
            *numbers(len(ledger.uploads), len(ledger.downloads)),
            *numbers(ledger.bytes_up, ledger.bytes_down),
            f"{ledger.ratio:.2f}",
            *(f"{row.seconds:.2f} s" for row in rows),
            style="bold" if transfers is Transfers.AUTO else None,
        )
    least = runs[0][-1].ledger.optimal.buffer
    copies = numbers(least.uploads, least.downloads, least.bytes_up, least.bytes_down)
    table.add_section()
    table.add_row("the least", *copies, "1.00", style="green")
    return table


def numbers(*values: int) -> list[str]:
    return [f"{value:,}" for value in values]


def look(
    console: Console, accelerators: Mapping[str, Accelerator], side: int | None, folder: Path
) -> Row:
    """Faces on each device, window by window those that OpenCV finds, and drawn."""
    path = Path(viola_jones.opencv().data.haarcascades) / viola_jones.CASCADE
    image, cascade = viola_jones.load(viola_jones.PHOTOGRAPH, side), read_cascade(path)
    pixels = np.asarray(image.channels)
    stages = f"{cascade.stages} stages, {cascade.stumps:,} stumps"
    console.print()
    console.rule(f"[bold]Faces, {image.width} × {image.height}: a cascade of {stages}")
    rival, theirs = best_of(lambda: viola_jones.reference(pixels, path, 1.1, 0))
    times: dict[str, Timed] = {}
    for name, accelerator in accelerators.items():
        times[name], windows = timed(lambda: viola_jones.run(accelerator, image, cascade, 1.1))
        faces = grouped(windows, 3)
        check = viola_jones.check("windows", windows, theirs)
        console.print(f"[bold]{name}[/]  {check}; faces: {len(faces)}", highlight=False)
        for x, y, width, height in faces:
            console.print(f"        a face at x {x}, y {y}: {width} × {height} pixels")
        viola_jones.save(image, windows, faces, folder / "viola_jones.png")
    return Row("faces", times, "OpenCV", rival)


def zoom(
    console: Console, accelerators: Mapping[str, Accelerator], size: tuple[int, int], folder: Path
) -> Row:
    """The Mandelbrot set on each device, compared with NumPy's and drawn."""
    steps = 200
    console.print()
    console.rule(f"[bold]The Mandelbrot set, {size[0]} × {size[1]}, {steps} steps at most")
    palette = mandel.make_palette(steps)
    rival, expected = best_of(lambda: mandel.reference(palette, size, *mandel.WHOLE))
    times: dict[str, Timed] = {}
    for name, accelerator in accelerators.items():
        times[name], (pixels, _) = timed(lambda: mandel.run(accelerator, size, steps))
        same = float((pixels == expected).mean())
        console.print(f"[bold]{name}[/]  {same:.2%} of the pixels agree with NumPy")
        if same < 0.999:
            raise SystemExit(1)
        mandel.save(pixels, [], folder)
    return Row("mandel", times, "NumPy", rival)


def side_by_side(rows: Sequence[Row]) -> Table:
    """The same programs on each device: seconds the first time, and after that."""
    table = Table("seconds", box=box.SIMPLE_HEAD)
    for name in rows[0].devices:
        table.add_column(f"{name}, first", justify="right")
        table.add_column("then", justify="right", style="bold")
    table.add_column("for comparison", justify="right")
    for row in rows:
        cells = [f"{part:.3f}" for times in row.devices.values() for part in times]
        table.add_row(row.program, *cells, f"{row.rival} {row.rival_seconds:.3f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=480, help="of the grid of life")
    parser.add_argument("--height", type=int, default=360)
    parser.add_argument("--side", type=int, help="make the photograph smaller, to so many pixels")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the pictures")
    parser.add_argument("--backend", nargs="+", help="the devices; by default native and opencl")
    options = parser.parse_args()
    console = Console(highlight=False)
    accelerators = opened(options.backend, console)
    cells = life.cross(options.width, options.height)
    rows = [
        play(console, accelerators, cells, options.out),
        look(console, accelerators, options.side, options.out),
        zoom(console, accelerators, (2 * options.width, 2 * options.height), options.out),
    ]
    console.print()
    console.rule("[bold]The same programs, side by side")
    console.print("The first time with compiling; then the best of three.")
    console.print(side_by_side(rows))
    for name in ("life.png", "life.gif", "viola_jones.png", "mandel.png"):
        console.print(f"see {options.out / name}", soft_wrap=True)


if __name__ == "__main__":
    main()
