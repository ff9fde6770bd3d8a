from typing import Any

import ml_dtypes
import numpy as np
import pytest

import trilby as tb
from trilby.data.library_2d import GreyImage, RGBAImage

DTYPES = {
    "S8": np.int8,
    "S16": np.int16,
    "S32": np.int32,
    "S64": np.int64,
    "U8": np.uint8,
    "U16": np.uint16,
    "U32": np.uint32,
    "U64": np.uint64,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F32": np.float32,
    "F64": np.float64,
}


@pytest.mark.parametrize("name", DTYPES)
def test_every_width_has_a_vector(name: str) -> None:
    cls: Any = getattr(tb, f"{name}Array")
    made = cls.create(length=5)
    taken = np.asarray(made)
    assert (taken.dtype, taken.shape) == (DTYPES[name], (5,))
    start = max(4, taken.itemsize)
    assert made.layout.slots["array"].offset == start
    assert np.asarray(cls.of(np.arange(5, dtype=DTYPES[name]))).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", DTYPES)
def test_every_width_has_a_matrix(name: str) -> None:
    cls: Any = getattr(tb, f"{name}Array2D")
    made = cls.create(width=4, height=3)
    taken = np.asarray(made)
    assert (taken.dtype, taken.shape) == (DTYPES[name], (3, 4))
    assert made.layout.slots["array"].offset == 8


def test_grey_images() -> None:
    picture = np.arange(6, dtype=np.uint8).reshape(2, 3)
    image = GreyImage.of(picture)
    assert (image.width, image.height, image.pixel[1, 2]) == (3, 2, 5)


def test_colour_images_are_pixels_and_channels() -> None:
    image = RGBAImage.create(width=3, height=2)
    picture = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    image.channels[:] = picture
    pixel = image.pixel[1, 2]
    assert (pixel.r, pixel.g, pixel.b, pixel.a) == (20, 21, 22, 23)
    image.pixel.a[:] = 255
    assert image.channels[0, 0, 3] == 255
    assert np.array_equal(np.asarray(image.channels)[..., :3], picture[..., :3])
    assert image.nbytes == 8 + 24
