"""The colours that k-means finds, and what it is compared with."""

import k_means
import numpy as np
import pytest

from trilby import Accelerator


def test_the_photograph_in_four_colours(accelerator: Accelerator) -> None:
    pixels = k_means.load(k_means.PHOTOGRAPH, 14).reshape(-1, 3)
    found = k_means.run(accelerator, pixels, 4, 20)
    expected = k_means.reference(pixels, 4, 20)
    np.testing.assert_array_equal(found.nearest, expected.nearest)
    np.testing.assert_allclose(found.colours, expected.colours, rtol=1e-6)
    assert found.rounds == expected.rounds < 20


def test_what_it_is_compared_with_finds_two_heaps() -> None:
    heaps = np.array([[0, 0, 0], [2, 2, 2], [200, 100, 50], [202, 100, 50]], np.uint8)
    found = k_means.reference(heaps, 2, 10)
    assert found.nearest.tolist() == [0, 0, 1, 1]
    assert found.colours.tolist() == [[1, 1, 1], [201, 100, 50]]


def test_other_colours_than_those_of_numpy_end_the_program() -> None:
    colours, two = np.zeros((2, 3), np.float32), np.array([0, 1], np.int32)
    found = k_means.Found(colours, two, 1)
    assert k_means.check(found, found) == 1.0
    with pytest.raises(SystemExit, match=r"only 50\.00% of the pixels"):
        k_means.check(found, found._replace(nearest=np.array([0, 0], np.int32)))
