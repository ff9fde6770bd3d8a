"""The game of life: every way to change places, and patterns from files."""

from pathlib import Path

import life
import numpy as np
import pytest
from life_patterns.rle import Pattern, cells_of, read_pattern

from trilby import Accelerator

GUN = life.DATA / "gosper_glider_gun.rle"


@pytest.mark.parametrize("flip", life.FLIPS)
@pytest.mark.parametrize(("generations", "every"), [(7, 3), (6, 2), (5, 0), (1, 1)])
def test_every_flip_plays_the_same_game(
    accelerator: Accelerator, flip: str, generations: int, every: int
) -> None:
    cells = life.cross(13, 11)
    frames = life.run(accelerator, cells, generations, every, flip)
    shown = [n for n in range(1, generations + 1) if every and n % every == 0]
    for frame, generation in zip(frames, [*shown, generations], strict=True):
        np.testing.assert_array_equal(frame, life.reference(cells, generation))


def test_the_gun_is_itself_after_thirty_generations() -> None:
    gun = read_pattern(GUN)
    assert (gun.alive.shape, int(gun.alive.sum()), gun.period) == ((9, 36), 36, 30)
    accelerator, cells = Accelerator("opencl"), life.placed(gun, 60, 40)
    assert "after 30 generations, and not before" in life.check_period(accelerator, gun, cells)
    frames = life.run(accelerator, cells, 90, 30)
    # A glider has five cells, and one is sent in each period.
    assert [int((frame == life.ALIVE).sum()) for frame in frames[:3]] == [41, 46, 51]


def test_a_wrong_period_ends_the_program() -> None:
    gun = read_pattern(GUN)._replace(period=29)
    with pytest.raises(SystemExit, match=r"after 29 generations, and is after \[\]"):
        life.check_period(Accelerator("opencl"), gun, life.placed(gun, 60, 40))


def test_a_pattern_that_needs_more_room_is_refused() -> None:
    with pytest.raises(SystemExit, match="needs --width 40 and --height 13"):
        life.placed(read_pattern(GUN), 39, 30)


def test_rle() -> None:
    glider = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    assert cells_of("bo$2bo$3o!", 3, 3).astype(int).tolist() == glider
    assert cells_of("o2$2bo!ooo", 3, 3).astype(int).tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    "text", ["", "#C nothing\n", "bo$2bo!\n", "x = 3, y = 3, rule = B36/S23\no!"]
)
def test_what_is_no_pattern_of_this_game_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pattern.rle"
    path.write_text(text)
    with pytest.raises(SystemExit, match="is no pattern of Conway's game in RLE"):
        read_pattern(path)


def test_a_pattern_without_a_rule_and_a_period(tmp_path: Path) -> None:
    path = tmp_path / "glider.rle"
    path.write_text("#N glider\nx = 3, y = 3\nbo$2bo$\n3o!\n")
    pattern: Pattern = read_pattern(path)
    assert pattern.period is None
    assert int(pattern.alive.sum()) == 5
