"""Fourier's transform in two ways: each frequency by itself, and all of them fast.

The first is the definition: a work item for each frequency walks through the whole signal. The
second halves the problem again and again: one launch for each halving, between two buffers that
change places. Both work on many pieces of a sound at once, and are compared with NumPy's.
"""

import argparse
import math
import time
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image
from terminal.bars import watched

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, f32, i32

Complex: TypeAlias = npt.NDArray[np.complex64]


class Waves(tb.Buffer):
    """Rows of complex numbers: x is the real part, y the imaginary one."""

    rows: i32
    length: i32
    number: tb.Array[tb.f32x2] = tb.array("rows", "length")


@tb.func
def times(a: tb.f32x2, b: tb.f32x2) -> tb.f32x2:
    """The product of two complex numbers."""
    return tb.f32x2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)


@tb.func
def turned(part: i32, whole: i32) -> tb.f32x2:
    """The complex number 1, turned backwards by a part of a whole turn."""
    angle = f32(-2.0 * math.pi) * (f32(part) / f32(whole))
    return tb.f32x2(math.cos(angle), math.sin(angle))


@tb.kernel
def frequency(kc: KernelContext, sound: Waves, spectrum: Waves) -> None:
    """By the definition. The turns are counted in whole numbers, which do not get worse."""
    total = tb.f32x2(0.0, 0.0)
    for i in range(sound.length):
        total += times(sound.number[kc.y, i], turned(kc.x * i % sound.length, sound.length))
    spectrum.number[kc.y, kc.x] = total


@tb.kernel
def halve(kc: KernelContext, source: Waves, to: Waves, done: i32) -> None:
    """Combine two numbers of a row; what it makes stands in order after the last halving."""
    half = source.length // 2
    group, place = kc.x // done, kc.x % done
    left, right = source.number[kc.y, kc.x], source.number[kc.y, kc.x + half]
    at = 2 * group * done + place
    to.number[kc.y, at] = left + right
    to.number[kc.y, at + done] = times(left - right, turned(group * done, source.length))


@tb.compute
def transform_slowly(cc: ComputeContext, sound: Waves, spectrum: Waves) -> Waves:
    cc.dispatch((sound.length, sound.rows), frequency, sound, spectrum)
    return spectrum


@tb.compute
def transform_fast(cc: ComputeContext, sound: Waves, scratch: Waves) -> Waves:
    """Gives the one of the two that has the result."""
    source, to, done = sound, scratch, 1
    while done < sound.length:
        cc.dispatch((sound.length // 2, sound.rows), halve, source, to, done)
        source, to = to, source
        done *= 2
    return source


WAYS: dict[str, Any] = {"by definition": transform_slowly, "fast": transform_fast}


def pieces_of_a_sound(rows: int, length: int) -> Complex:
    """Two tones, one that rises and one that falls, cut into pieces that overlap by a half."""
    t = np.arange((rows + 1) * length // 2) / max((rows + 1) * length // 2 - 1, 1)
    turns = length * rows / 2
    rises, falls = np.pi * turns * 0.4 * t**2, np.pi * turns * (0.9 * t - 0.4 * t**2)
    sound = np.sin(rises) + 0.5 * np.sin(falls)
    starts = np.arange(rows)[:, None] * length // 2 + np.arange(length)
    return (sound[starts] * np.hanning(length)).astype(np.complex64)


def waves_of(numbers: Complex) -> Waves:
    waves = Waves.create(rows=numbers.shape[0], length=numbers.shape[1])
    waves.number.x[:], waves.number.y[:] = numbers.real, numbers.imag
    return waves


def run(accelerator: Accelerator, way: str, numbers: Complex) -> Complex:
    """The transform of each row."""
    scratch = Waves.create(accelerator, rows=numbers.shape[0], length=numbers.shape[1])
    spectrum = accelerator.compute(WAYS[way], waves_of(numbers), scratch)
    found = np.asarray(spectrum.number)
    return (found["x"] + 1j * found["y"]).astype(np.complex64)


class Measured(NamedTuple):
    """How one way did."""

    way: str
    seconds: float
    error: float


def measure(accelerator: Accelerator, numbers: Complex) -> list[Measured]:
    """Each way, once to compile and once for the clock, and NumPy's."""
    exact = np.fft.fft(numbers.astype(np.complex128))
    rows: list[Measured] = []
    for way in watched(WAYS, "ways"):
        run(accelerator, way, numbers)
        started = time.perf_counter()
        found = run(accelerator, way, numbers)
        rows.append(Measured(way, time.perf_counter() - started, error_of(found, exact)))
    started = time.perf_counter()
    found = np.fft.fft(numbers)
    return [*rows, Measured("NumPy", time.perf_counter() - started, error_of(found, exact))]


def error_of(found: npt.NDArray[Any], exact: npt.NDArray[Any]) -> float:
    """The largest error, beside the largest number."""
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def save(spectrum: Complex, path: Path) -> None:
    """Write the loudness of every frequency as a picture: time to the right, high notes above."""
    loud = np.log10(np.abs(spectrum[:, : spectrum.shape[1] // 2]).T[::-1] + 1e-3)
    shade = (loud - loud.min()) / max(float(np.ptp(loud)), 1e-6)
    colours = np.stack([shade**0.7, shade**1.5, shade**3 + 0.3 * (1 - shade)], axis=-1)
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = (255 * colours).astype(np.uint8)
    Image.fromarray(pixels.repeat(2, axis=0).repeat(2, axis=1)).save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=240, help="pieces of the sound")
    parser.add_argument("--length", type=int, default=256, help="numbers in each, a power of two")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    if options.length < 2 or options.length & (options.length - 1):
        parser.error(f"--length is {options.length}: give a power of two")
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    print(f"{options.rows} × {options.length} numbers on {accelerator.device.name}\n")
    numbers = pieces_of_a_sound(options.rows, options.length)
    rows = measure(accelerator, numbers)
    print(f"{'way':<16}{'seconds':>9}{'error':>10}")
    for way, seconds, error in rows:
        print(f"{way:<16}{seconds:>9.4f}{error:>10.1e}")
    wrong = [row.way for row in rows if not row.error < 1e-5]
    if wrong:
        message = f"too far from NumPy's transform in double precision: {', '.join(wrong)}"
        raise SystemExit(message)
    with accelerator.record() as ledger:
        spectrum = run(accelerator, "fast", numbers)
    print("\nall agree with NumPy's in double precision; every transfer of the fast one:\n")
    print(ledger)
    path = options.out / "fourier.png"
    save(spectrum, path)
    print(f"\nthe sound as a picture is {path}")


if __name__ == "__main__":
    main()
