"""The pages of the reference that are made from tables."""

import math
from pathlib import Path

from trilby.model.intrinsics import INTRINSICS
from trilby.tools.reference import math_page

PAGE = Path(__file__).parent.parent.parent / "docs" / "math.md"


def test_the_page_in_docs_is_the_one_that_is_made() -> None:
    assert PAGE.read_text("utf-8") == math_page()


def test_every_function_has_a_row_that_python_understands() -> None:
    rows = [line for line in math_page().splitlines() if line.startswith("| `")]
    assert len(rows) == len(INTRINSICS)
    for row in rows:
        spelling = row.split("`")[1].partition("(")[0]
        if spelling.startswith("math."):
            assert hasattr(math, spelling.removeprefix("math."))
