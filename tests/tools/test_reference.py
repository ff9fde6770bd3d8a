"""The pages of the reference that are made from tables."""

import math
from pathlib import Path
from typing import Any

import trilby as tb
from trilby.model.composed import COMPOSED
from trilby.model.intrinsics import INTRINSICS
from trilby.tools.reference import math_page

PAGE = Path(__file__).parent.parent.parent / "docs" / "math.md"


def meant(spelling: str) -> Any:
    """What Python finds under a name of the page."""
    return eval(spelling, {"math": math, "tb": tb})  # noqa: S307 -- names of our own page


def rows() -> list[list[str]]:
    lines = [line for line in math_page().splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_page_in_docs_is_the_one_that_is_made() -> None:
    assert PAGE.read_text("utf-8") == math_page()


def test_every_function_has_a_row_that_python_understands() -> None:
    functions = [row[0].strip("`").partition("(")[0] for row in rows()]
    assert [name.rpartition(".")[2] for name in functions] == sorted(INTRINSICS) + sorted(COMPOSED)
    assert all(callable(meant(name)) for name in functions)


def test_the_spelling_for_vectors_takes_them() -> None:
    for function, for_vectors, takes, *_ in rows()[: len(INTRINSICS)]:
        if for_vectors == "–":
            assert function.startswith("`math.is")
            continue
        vector = tb.i32x2(1, 1) if takes == "integers" else tb.f32x2(1.0, 1.0)
        arguments = [vector] * function.replace(", …", "").count(",") + [vector]
        assert type(meant(for_vectors.strip("`"))(*arguments)) is type(vector), function


def test_the_ulps_are_those_of_the_tables() -> None:
    for row in rows():
        name = row[0].strip("`").partition("(")[0].rpartition(".")[2]
        assert int(row[3]) == (INTRINSICS.get(name) or COMPOSED[name]).ulps
