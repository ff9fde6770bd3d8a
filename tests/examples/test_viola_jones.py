"""The faces that the cascade finds are OpenCV's, window by window."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import viola_jones
from cascade.grouping import Box, grouped
from cascade.haar import Cascade, read_cascade
from PIL import Image
from tests.examples.programs import opened

from trilby import Accelerator

cv2: Any = viola_jones.opencv()
XML = Path(cv2.data.haarcascades) / "haarcascade_frontalface_default.xml"
FACE = (177, 66, 95, 95)


@cache
def faces_cascade() -> Cascade:
    return read_cascade(XML)


def raw_windows(pixels: Any, factor: float, neighbours: int = 0) -> list[Box]:
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGBA2GRAY)
    found = cv2.CascadeClassifier(str(XML)).detectMultiScale(
        grey, scaleFactor=factor, minNeighbors=neighbours
    )
    return sorted((int(x), int(y), int(w), int(h)) for x, y, w, h in found)


@pytest.mark.parametrize("device", ["native", "opencl"])
@pytest.mark.parametrize(("factor", "windows"), [(1.1, 47), (1.2, 28), (1.25, 20)])
def test_the_astronaut_has_the_windows_and_the_face_that_opencv_finds(
    factor: float, windows: int, device: str
) -> None:
    image = viola_jones.load(viola_jones.PHOTOGRAPH)
    found = viola_jones.run(opened(device, poison=True), image, faces_cascade(), factor)
    pixels = np.asarray(image.channels)
    assert len(found) == windows
    assert found == raw_windows(pixels, factor)
    for neighbours in (1, 2, 3, 5):
        assert grouped(found, neighbours) == raw_windows(pixels, factor, neighbours)
    if factor < 1.25:
        assert grouped(found, 3) == [FACE]


def test_a_small_face(accelerator: Accelerator) -> None:
    x, y, width, height = FACE
    with Image.open(viola_jones.PHOTOGRAPH) as picture:
        face = picture.crop((x - 5, y - 5, x + width + 5, y + height + 5)).convert("RGBA")
    pixels = np.asarray(face.resize((30, 30)))
    image = viola_jones.image_of(pixels)
    found = viola_jones.run(accelerator, image, faces_cascade(), 1.1)
    assert found
    assert found == raw_windows(pixels, 1.1)


def test_a_picture_that_is_smaller_than_a_window_has_no_faces() -> None:
    image = viola_jones.image_of(np.zeros((20, 40, 4), np.uint8))
    assert viola_jones.run(opened("opencl", poison=False), image, faces_cascade(), 1.1) == []


def test_the_cascade_has_what_the_file_has() -> None:
    cascade = faces_cascade()
    assert (cascade.width, cascade.height) == (24, 24)
    assert (cascade.stages, cascade.stumps) == (25, 2913)
    assert cascade.stage[0].count == 9
    assert cascade.stage[0].threshold == pytest.approx(-5.04255 - 1e-5)
    assert int(cascade.stage.count[:].sum()) == 2913


@pytest.mark.parametrize("name", ["frontalface_alt2", "eye_tree_eyeglasses"])
def test_a_cascade_of_trees_is_refused(name: str) -> None:
    with pytest.raises(SystemExit, match="this program knows upright stumps"):
        read_cascade(XML.with_name(f"haarcascade_{name}.xml"))


def test_a_difference_is_named() -> None:
    with pytest.raises(SystemExit, match=r"\(1, 2, 3, 4\) only here; \(5, 6, 7, 8\) only in"):
        viola_jones.check("windows", [(1, 2, 3, 4)], [(5, 6, 7, 8)])


def test_it_draws_what_it_finds(tmp_path: Path) -> None:
    image = viola_jones.image_of(np.zeros((40, 50, 4), np.uint8))
    viola_jones.save(image, [(1, 2, 24, 24)], [(5, 6, 30, 30)], tmp_path / "new" / "faces.png")
    with Image.open(tmp_path / "new" / "faces.png") as picture:
        assert picture.size == (50, 40)
        assert picture.getpixel((1, 2)) == (60, 130, 255)
        assert picture.getpixel((5, 6)) == (255, 200, 60)
