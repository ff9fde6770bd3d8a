"""Errors: what they derive from, how they read, and that they travel."""

import copy
import inspect
import pickle
import traceback
from pathlib import Path

import pytest

from trilby import S32Array, errors
from trilby.errors import BindingError, KernelTypeError, TrilbyError, UnsupportedSyntaxError
from trilby.source import Location

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, TrilbyError) and kind is not TrilbyError
]


@pytest.fixture
def place(tmp_path: Path) -> Location:
    file = tmp_path / "app.py"
    file.write_text("def f():\n    x = wrong + 1\n", "utf-8")
    return Location(str(file), 2, 8, 2, 13)


@pytest.mark.parametrize("kind", KINDS)
def test_each_resembles_a_builtin(kind: type[TrilbyError]) -> None:
    builtin = [base for base in kind.__mro__ if base.__module__ == "builtins"]
    assert builtin[0] not in {Exception, BaseException, object}
    assert kind.__doc__
    assert kind.__name__.endswith("Error")


@pytest.mark.parametrize("kind", KINDS)
def test_each_says_where_what_and_what_to_do(kind: type[TrilbyError], place: Location) -> None:
    error = kind("this is wrong", advice="do it right", location=place)
    assert str(error) == (
        f"{place.file}:2: this is wrong\n  2 | x = wrong + 1\n    |     ^^^^^\n  help: do it right"
    )


def test_nothing_is_said_of_what_is_not_known() -> None:
    assert str(KernelTypeError("this is wrong")) == "this is wrong"
    nowhere = Location("gone.py", 7)
    assert str(KernelTypeError("wrong", location=nowhere)) == "gone.py:7: wrong"


def test_the_chain_of_calls_is_shown_from_the_inside_out(place: Location) -> None:
    error = KernelTypeError("wrong", advice="help", location=place)
    error.within("helper", Location("app.py", 20)).within("kernel", Location("app.py", 30))
    assert str(error).splitlines()[3:] == [
        "  in `helper`, called at app.py:20",
        "  in `kernel`, called at app.py:30",
        "  help: help",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_each_can_be_sent_to_another_process(kind: type[TrilbyError], place: Location) -> None:
    error = kind("wrong", advice="help", location=place).within("f", place)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 -- our own
        assert type(other) is kind
        assert str(other) == str(error)
        assert (other.problem, other.advice, other.location) == ("wrong", "help", place)


def test_a_traceback_ends_with_the_whole_text(place: Location) -> None:
    """Python prints syntax errors in a way of its own, and must not do so with ours."""
    error = UnsupportedSyntaxError("wrong", advice="help", location=place)
    shown = "".join(traceback.format_exception(error))
    assert shown == f"trilby.errors.UnsupportedSyntaxError: {error}\n"


# ------------------------------------------------------------------ an error without a place


def test_an_error_names_the_line_of_the_program_that_it_passed_through() -> None:
    frame = inspect.currentframe()
    assert frame is not None
    line = frame.f_lineno + 2
    with pytest.raises(BindingError) as caught:
        S32Array.create(lenght=3)
    error = caught.value
    assert error.location == Location(__file__, line, 8, line, 33)
    assert str(error).splitlines() == [
        f"{__file__}:{line}: `S32Array` has no length `lenght`",
        f"  {line} | S32Array.create(lenght=3)",
        f"  {' ' * len(str(line))} | {'^' * 25}",
        "  help: did you mean `length`?",
    ]
    assert str(copy.copy(error)) == str(error)


def test_an_error_that_was_never_raised_has_no_place() -> None:
    assert BindingError("wrong").location is None
    assert str(BindingError("wrong")) == "wrong"
