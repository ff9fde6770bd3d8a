"""Names that are like others."""

import pytest

from trilby.arguments import closest


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("lenght", ["width", "length"], "length"),
        ("count", {"counts": 1, "account": 2}, "counts"),
        ("xyz", ["length"], None),
        ("x", [], None),
    ],
)
def test_what_was_meant(name: str, known: list[str], expected: str | None) -> None:
    assert closest(name, iter(known)) == expected
