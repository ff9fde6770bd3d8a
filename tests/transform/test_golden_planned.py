"""The placed copies of the documents' programs: the kept texts."""

import pytest
from tests.transform.golden_planned import FOLDER, GOLDEN, text_of


@pytest.mark.parametrize("name", GOLDEN)
def test_the_text_is_the_one_that_was_kept(name: str) -> None:
    assert text_of(GOLDEN[name]) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_no_text_is_left_over() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == set(GOLDEN)
