"""The hole is filled with what fits, and without a seam."""

import heal
import numpy as np
import pytest
from tests.examples.programs import call

from trilby import Accelerator


def stripes(height: int, width: int) -> heal.Pixels:
    """A pattern that repeats every six pixels, and becomes lighter to the right."""
    x = np.arange(width)
    row = np.stack([x % 6 * 20 + x, x % 6 * 10 + x, 200 - x], axis=1).astype(np.uint8)
    return np.repeat(row[None], height, axis=0)


def noise() -> heal.Pixels:
    return np.random.default_rng(1).integers(0, 256, (18, 24, 3), np.uint8)


def test_a_hole_in_stripes_is_filled_with_stripes(accelerator: Accelerator) -> None:
    image, hole = stripes(20, 36), heal.Hole(10, 9, 2)
    healed = heal.run(accelerator, image, hole, reach=12, rounds=40)
    assert heal.check(image, hole, 12, healed) < 0.05
    np.testing.assert_allclose(healed.image.astype(int), image, atol=1)


def test_only_the_hole_changes(accelerator: Accelerator) -> None:
    image, hole = noise(), heal.Hole(9, 8, 2)
    healed = heal.run(accelerator, image, hole, reach=8, rounds=40)
    heal.check(image, hole, 8, healed)
    changed = np.argwhere((healed.image != image).any(axis=2))
    assert len(changed) > 5
    assert (((changed - [8, 9]) ** 2).sum(axis=1) <= 4).all()


def test_an_equation_that_is_not_solved_ends_the_program() -> None:
    image, hole = noise(), heal.Hole(9, 8, 2)
    device = Accelerator("opencl")
    healed = heal.run(device, image, hole, reach=8, rounds=0)
    with pytest.raises(SystemExit, match="try more --rounds"):
        heal.check(image, hole, 8, healed)


def test_a_hole_at_the_edge_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call("heal", "--hole", 505, 100, 20)
    assert "have to lie inside of the picture" in capsys.readouterr().err


def test_a_reach_that_is_too_short_is_refused() -> None:
    with pytest.raises(SystemExit, match="try a longer --reach"):
        heal.run(Accelerator("opencl"), noise(), heal.Hole(9, 8, 2), reach=7, rounds=1)
