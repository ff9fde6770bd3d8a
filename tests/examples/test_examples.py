"""The programs in `examples/` run on each device, give equal results, and can be started."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.examples.programs import DEVICES, PROGRAMS, call, opened, program, started

from trilby import Accelerator


def test_these_are_the_programs() -> None:
    assert sorted(SMALL) == PROGRAMS


def test_squares(accelerator: Accelerator) -> None:
    numbers = program("squares").run(accelerator, 32)
    assert numbers.array.tolist() == [n * n for n in range(32)]
    assert repr(numbers) == "S32Array[length=32, array=i32[32]]"


def test_squares_wrap_as_32_bits_do(accelerator: Accelerator) -> None:
    length = 300
    buffer = program("squares").S32Array.create(accelerator, length=length)
    buffer.array[:] = range(2**31 - length, 2**31)
    accelerator.compute(program("squares").square_all, buffer)
    wrapped = [n * n % 2**32 for n in range(2**31 - length, 2**31)]
    assert buffer.array.tolist() == [n - 2**32 if n >= 2**31 else n for n in wrapped]


def test_the_result_table(accelerator: Accelerator) -> None:
    found, inside = program("result_table").run(accelerator, 300, 0.5)
    assert 20 < len(found) < 100  # about π/16 of all points
    np.testing.assert_array_equal(found, inside)
    assert (found[:, 0] ** 2 + found[:, 1] ** 2 <= 0.25).all()


def test_a_result_table_that_is_too_small_keeps_counting(accelerator: Accelerator) -> None:
    module = program("result_table")
    table = module.ResultTable.create(length=2)
    zeros = module.F32Array.of(np.zeros(5, np.float32))
    accelerator.compute(module.find_all, zeros, zeros, 1.0, table)
    assert table.count == 5
    accelerator.compute(module.find_all, zeros, zeros, 1.0, table)
    assert table.count == 5  # the host sets it to zero before


def test_saxpy(accelerator: Accelerator) -> None:
    computed, expected = program("saxpy").run(accelerator, 200, 2.5)
    np.testing.assert_array_equal(computed, expected)


def test_mandelbrot(accelerator: Accelerator) -> None:
    size, steps = (24, 16), 30
    pixels, palette = program("mandel").run(accelerator, size, steps)
    assert pixels.shape == (16, 24)
    expected = program("mandel").reference(palette, size, -0.6, 0.0, 3.0)
    np.testing.assert_array_equal(pixels, expected)
    assert len(np.unique(pixels)) > 8
    assert pixels[8, 12] == 0  # the middle lies in the set, and is black


def test_a_zoom(accelerator: Accelerator) -> None:
    mandel = program("mandel")
    views = mandel.views_between(mandel.WHOLE, mandel.DEEP, 3)
    assert views[0] == mandel.WHOLE
    assert views[2] == pytest.approx(mandel.DEEP)
    assert views[1][2] == pytest.approx((3.0 * 0.004) ** 0.5)
    palette = mandel.make_palette(30)
    frames = mandel.run_zoom(accelerator, (16, 12), palette, views)
    assert len(frames) == 3
    assert mandel.agreement(frames, palette, views) == 1.0


def test_a_picture_that_is_not_numpys_ends_the_program() -> None:
    mandel = program("mandel")
    palette = mandel.make_palette(10)
    with pytest.raises(SystemExit, match="of the pixels agree with NumPy"):
        mandel.agreement([np.full((12, 16), -1, np.int32)], palette, [mandel.WHOLE])


def test_all_devices_draw_the_same_picture() -> None:
    size, view = (40, 30), (-0.74, 0.11, 0.05)
    drawn = [
        program("mandel").run(opened(name, poison=True), size, 60, view)[0] for name in DEVICES
    ]
    for picture in drawn[1:]:
        np.testing.assert_array_equal(picture, drawn[0])


@pytest.mark.parametrize("length", [0, 1, 2, 3, 31, 64])
def test_bitonic_sort(accelerator: Accelerator, length: int) -> None:
    numbers = np.random.default_rng(3).integers(-9, 9, length, np.int32)
    ordered, passes = program("bitonic_sort").run(accelerator, numbers)
    np.testing.assert_array_equal(ordered, np.sort(numbers))
    stages = {0: 0, 1: 0, 2: 1, 3: 2, 31: 5, 64: 6}[length]
    assert passes == sum(range(stages + 1))


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("length", [1, 2, 5, 64, 100])
def test_a_sum_in_passes(accelerator: Accelerator, length: int, every: int) -> None:
    numbers = np.random.default_rng(4).integers(-(10**12), 10**12, length)
    total, passes = program("reduction").run(accelerator, numbers, every)
    assert total == int(numbers.sum())
    needed = {1: 1, 2: 1, 5: 3, 64: 6, 100: 7}[length]  # how often it can be halved
    assert passes == -(-needed // every) * every


def test_what_life_is_compared_with_knows_the_game() -> None:
    life = program("life")
    blinker = np.zeros((5, 5), np.uint8)
    blinker[2, 1:4] = life.ALIVE
    turned = life.reference(blinker, 1)
    np.testing.assert_array_equal(turned == life.ALIVE, blinker.T == life.ALIVE)
    assert turned[2, 1] == life.ALIVE - life.ALIVE // 8  # it died, and fades
    np.testing.assert_array_equal(life.reference(blinker, 2) == life.ALIVE, blinker == life.ALIVE)
    corner = np.zeros((4, 4), np.uint8)
    corner[0, :3] = life.ALIVE  # at the edge nothing lives outside, and a blinker becomes less
    assert (life.reference(corner, 1) == life.ALIVE).sum() == 2


# -------------------------------------------------------------------------- the command lines


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_says_what_a_program_does(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call(name, "--help")
    printed = " ".join(capsys.readouterr().out.split())
    summary = (program(name).__doc__ or "").splitlines()[0].split()
    assert " ".join(summary)[:40] in printed
    assert "--backend" in printed


SMALL: dict[str, tuple[object, ...]] = {
    "attention": ("--heads", 1, "--tokens", 32),
    "bitonic_sort": ("--length", 20),
    "black_scholes": ("--options", 50),
    "fourier": ("--rows", 3, "--length", 16),
    "heal": ("--hole", 360, 440, 2, "--reach", 8, "--rounds", 40),
    "image_pipeline": ("--side", 20),
    "k_means": ("--side", 12, "--colours", 3, "--rounds", 5),
    "life": ("--width", 12, "--height", 9, "--generations", 4, "--every", 2),
    "matmul": ("--size", 64, "--times", 1),
    "mandel": ("--width", 32, "--height", 24, "--steps", 20, "--frames", 2),
    "n_body": ("--stars", 12, "--frames", 3, "--steps", 2),
    "reduction": ("--length", 50),
    "result_table": ("--points", 50),
    "rodinia": ("--small", "hotspot"),
    "saxpy": ("--length", 100),
    "showcase": ("--width", 12, "--height", 9, "--side", 32),
    "squares": ("--length", 8),
    "viola_jones": ("--side", 32),
}
DRAWING = {
    "fourier": [".png"],
    "heal": [".png"],
    "image_pipeline": [".png"],
    "k_means": [".png"],
    "life": [".gif", ".png"],
    "mandel": [".gif", ".png"],
    "n_body": [".gif"],
    "showcase": [".gif", ".png", ".png", ".png"],
    "viola_jones": [".png"],
}
"""What those that draw leave in their folder."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_as_a_command(
    name: str, device: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ("--out", tmp_path) if name in DRAWING else ()
    call(name, *SMALL[name], *place, "--backend", device)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "← total" in printed.out  # the ledger
    assert sorted(path.suffix for path in tmp_path.iterdir()) == DRAWING.get(name, [])


def test_a_program_starts_by_itself_and_says_which_device_it_chose() -> None:
    done = started("squares", "--length", 5, TRILBY_BACKEND="interpreter")
    assert done.returncode == 0
    assert done.stderr == "trilby: using interpreter:0 (Python interpreter)\n"


def test_squares_prints_them() -> None:
    done = started("squares", "--length", 5, "--backend", "interpreter")
    assert done.stdout.splitlines()[0] == "[ 0  1  4  9 16]"


def test_squares_of_nothing() -> None:
    done = started("squares", "--length", 0, "--backend", "interpreter")
    assert done.stdout.splitlines() == ["[]", "nothing was copied"]


def test_mandelbrot_writes_a_picture(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    done = started("mandel", "--width", 48, "--height", 20, "--steps", 9, "--out", folder)
    assert done.returncode == 0, done.stderr
    with Image.open(folder / "mandel.png") as picture:
        assert picture.size == (48, 20)
        assert picture.mode == "RGB"
        assert len(picture.getcolors() or ()) > 4
    assert str(folder / "mandel.png") in done.stdout


def test_life_writes_a_picture_and_compares_the_strategies(tmp_path: Path) -> None:
    size = ("--width", 40, "--height", 30, "--generations", 11, "--every", 5)
    done = started("life", *size, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "life.png") as picture:
        assert picture.size == (80, 60)
    with Image.open(tmp_path / "life.gif") as animation:
        assert getattr(animation, "n_frames", 1) == 3
    cells = 40 * 30
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[-6:]}
    assert rows["ALWAYS"][:2] == ["22", "22"]
    assert rows["BY_ACCESS"][:2] == ["11", "11"]
    for best in ("AUTO", "PLANNED"):
        assert rows[best][:4] == ["1", "3", f"{cells:,}", f"{3 * cells:,}"]
        assert rows[best][-1] == "1.00"
