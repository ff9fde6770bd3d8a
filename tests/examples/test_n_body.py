"""Stars move as NumPy says, and keep their energy."""

import n_body
import numpy as np
import pytest

from trilby import Accelerator


def test_the_first_steps_are_those_of_numpy(accelerator: Accelerator) -> None:
    n_body.check_first_steps(accelerator, 17, 0.01)


def test_the_energy_is_kept_while_the_stars_move(accelerator: Accelerator) -> None:
    begin = n_body.clusters(16)
    stars = n_body.stars_of(*begin)
    frames = n_body.run(accelerator, stars, 0.002, frames=2, steps=10)
    assert np.abs(frames[1] - frames[0]).max() > 0.001
    after = n_body.energy(*n_body.numbers_of(stars))
    assert after == pytest.approx(n_body.energy(*begin), rel=1e-4)


def test_the_energy_of_two_stars_at_rest() -> None:
    places = np.array([[0.0, 0, 0, 2], [3, 4, 0, 5]])
    expected = -10 / np.sqrt(25 + n_body.SOFTENING**2)
    assert n_body.energy(places, np.zeros((2, 4))) == pytest.approx(expected)


def test_two_stars_pull_each_other() -> None:
    places = np.array([[0.0, 0, 0, 2], [10, 0, 0, 5]])
    np.testing.assert_allclose(n_body.pulls(places), [[0.05, 0, 0], [-0.02, 0, 0]], rtol=1e-4)
