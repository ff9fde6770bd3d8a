"""Every picture of the pipeline is NumPy's, pixel by pixel."""

import image_pipeline
import numpy as np

from trilby import Accelerator


def test_the_photograph(accelerator: Accelerator) -> None:
    pixels = image_pipeline.load(image_pipeline.PHOTOGRAPH, 24)
    found, expected = image_pipeline.run(accelerator, pixels), image_pipeline.reference(pixels)
    for computed, exact in zip(found, expected, strict=True):
        np.testing.assert_array_equal(computed, exact)
    assert 0 < (found.edges > 0).mean() < 0.5


def test_what_it_is_compared_with_sees_an_edge() -> None:
    halves = np.zeros((9, 12), np.uint8)
    halves[:, 6:] = 160
    found = image_pipeline.reference(halves)
    assert found.smooth[4].tolist() == [0, 0, 0, 0, 10, 50, 110, 150, 160, 160, 160, 160]
    assert found.slopes[4].tolist() == [0, 0, 0, 40, 200, 255, 255, 200, 40, 0, 0, 0]
    assert found.histogram.sum() == halves.size
    assert found.edges[4].tolist() == [0, 0, 0, 0, *[255] * 4, 0, 0, 0, 0]


def test_otsu_parts_two_heaps() -> None:
    histogram = np.zeros(256, np.int32)
    histogram[[10, 12, 200, 210]] = [50, 40, 30, 20]
    assert 12 <= image_pipeline.otsu(histogram) < 200
