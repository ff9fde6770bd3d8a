import inspect
from typing import Any

import pytest

from trilby.data.declare import ClassBody, read_body
from trilby.errors import SchemaError
from trilby.source import line_text

outside = "of the module"


class Read:
    """Reads the body of every class that extends it."""

    body: ClassBody

    def __init_subclass__(cls) -> None:
        frame = inspect.currentframe()
        cls.body = read_body(cls, frame.f_back if frame else None)


class Detour(Read):
    """Stands between a class statement and the reading of its body."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()


def test_names_are_those_of_the_scopes_around_classes_included() -> None:
    outside = "of the function"
    here = "of the function"

    class Outer:
        here = "of the class around"

        class Inner(Read):
            inner = "of the class"
            x: "inner"  # pyright: ignore[reportInvalidTypeForm, reportUnknownVariableType] -- any name

    body = Outer.Inner.body
    assert body.evaluate("x", "inner") == "of the class"
    assert body.evaluate("x", "here") == "of the class around" != here
    assert body.evaluate("x", "outside") == outside
    assert body.evaluate("x", "pytest") is pytest


def a_class(base: type[Any]) -> type[Any]:
    local = "of a function that has returned"

    class Made(base):
        x: "local"  # pyright: ignore[reportInvalidTypeForm, reportUnknownVariableType] -- any name

    assert local
    return Made


def test_the_names_of_callers_are_not_in_scope() -> None:
    only_here = 1
    body: ClassBody = a_class(Read).body
    with pytest.raises(SchemaError, match="name 'only_here' is not defined"):
        body.evaluate("x", "only_here")
    assert only_here == 1


@pytest.mark.parametrize("base", [Read, Detour])
def test_a_line_is_found_also_through_a_detour(base: type[Any]) -> None:
    body: ClassBody = a_class(base).body
    place = body.location("x")
    assert place is not None
    assert place.file == __file__
    assert line_text(place).strip().startswith('x: "local"')
    around = body.location("")
    assert around is not None
    assert line_text(around).strip() == "class Made(base):"
    unknown = body.location("y")
    assert unknown == around


def test_a_class_made_without_a_statement_has_no_line() -> None:
    body = read_body(type("Made", (), {"__annotations__": {"x": "int"}}), None)
    assert body.location("x") is None
    with pytest.raises(SchemaError, match="cannot be evaluated"):
        body.evaluate("x", "nowhere")
