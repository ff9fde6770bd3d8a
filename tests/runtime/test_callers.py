"""Errors point to the call in the user's program, to the character."""

import inspect
import random
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

import numpy as np
import pytest
from tests.runtime.programs import dispatch, number, square_kernel

from trilby import Accelerator, S32Array
from trilby.errors import ArgumentTypeError, StaleReadError, TrilbyError
from trilby.runtime import callers
from trilby.runtime.callers import Caller, point_to
from trilby.source import Location, excerpt


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_the_place_of_a_call() -> None:
    caller, line = Caller.now(), here()
    assert caller.location == Location(__file__, line, 19, line, 31)
    assert caller.line == Location(__file__, line, 0, line, sys.maxsize)
    assert excerpt(caller.line).splitlines()[1].count("^") == len(
        "caller, line = Caller.now(), here()"
    )


def test_a_call_over_several_lines() -> None:
    line = here()
    places = [
        _location_of(
            line,
        )
    ]
    assert places == [Location(__file__, line + 2, 8, line + 4, 9)]


def _location_of(_: object) -> Location:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return Caller(frame.f_back.f_code, frame.f_back.f_lasti, frame.f_back.f_lineno).location


def test_columns_count_characters() -> None:
    text, caller, line = "größer →", Caller.now(), here()
    assert text
    # four spaces, `text, caller, line = `, and ten characters with a comma and a space
    assert caller.location == Location(__file__, line, 4 + 21 + 12, line, 4 + 21 + 12 + 12)


def test_what_stands_beside_the_package_is_not_part_of_it() -> None:
    """A package may be called `trilby_apps` and lie in the same folder."""
    folder = Path(callers.__file__).parents[1]
    name = f"{folder}_apps/app.py"
    code = compile("def f(now):\n    return now()", name, "exec").co_consts[0]
    assert isinstance(code, CodeType)
    function = FunctionType(code, {})
    assert function(Caller.now).location == Location(name, 2, 11, 2, 16)


def test_what_belongs_to_the_package_is_passed_over() -> None:
    assert in_package("return it()")(Caller.now).location.file == __file__


def in_package(body: str) -> Callable[[Any], Any]:
    """A function of one parameter, `it`, whose code seems to lie in a file of the package."""
    name = str(Path(callers.__file__).with_name("anything.py"))
    code = compile(f"def f(it):\n    {body}", name, "exec").co_consts[0]
    assert isinstance(code, CodeType)
    return FunctionType(code, {})


def test_an_error_without_a_place_points_to_the_dispatch() -> None:
    caller = Caller.now()
    error = ArgumentTypeError("wrong", advice="do it right")
    point_to(error, caller)
    assert error.location == caller.location
    assert str(error).splitlines()[0] == f"{caller.location}: wrong"
    assert str(error).splitlines()[-1] == "  help: do it right"
    assert not hasattr(error, "__notes__")


def test_an_error_in_a_kernel_says_where_it_was_dispatched() -> None:
    caller, inside = Caller.now(), Location("kernels.py", 3)
    error = ArgumentTypeError("wrong", location=inside)
    point_to(error, caller)
    assert error.location == inside
    assert error.__notes__ == [f"dispatched at {caller.line}"]


def test_an_error_points_to_the_line_that_it_came_through() -> None:
    line = here()
    with pytest.raises(TrilbyError) as caught:
        _raise()
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
    assert caught.value.location.line > line + 2  # in `_raise`, the innermost
    again = caught.value.location
    with pytest.raises(TrilbyError) as caught_again:
        raise caught.value
    assert caught_again.value.location == again


def _raise() -> None:
    raise ArgumentTypeError("wrong")


PROGRAM = """
import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array

@tb.kernel
def k(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = 1

@tb.compute
def f(cc: ComputeContext, a):
    cc.dispatch(1, k, a)

try:
    Accelerator("interpreter").compute(f, [])
except TypeError as error:
    print(error)
"""


def test_without_columns_the_whole_line_is_shown(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(PROGRAM, "utf-8")
    shown = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", program],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown.splitlines()[1:3] == ["  11 | cc.dispatch(1, k, a)", "     | " + "^" * 20]


READS: list[tuple[str, Callable[[Any], object]]] = [
    ("a function of NumPy", lambda a: np.median(a, axis=0)),
    ("one that asks others", lambda a: np.array_equal(a, a)),
    ("a method", lambda a: a.mean()),
    ("text", lambda a: np.array2string(a, precision=2)),
    ("an assertion of NumPy's", lambda a: np.testing.assert_array_equal(a, a)),
    ("an array of arrays", lambda a: np.atleast_1d([a, a])),
    ("a function of the standard library", lambda a: statistics.mean(map(float, a))),
    ("a sum of fractions", lambda a: statistics.fmean(a, weights=None)),
]


@pytest.mark.parametrize("read", [one[1] for one in READS], ids=[one[0] for one in READS])
def test_the_cause_of_a_copy_is_a_line_of_the_user(read: Callable[[Any], object]) -> None:
    """Not one of the package that he calls, which calls ours."""
    with Accelerator("interpreter") as accelerator:
        a = S32Array.of(range(8))
        accelerator.compute(dispatch, 8, number, a)
        with accelerator.record() as ledger:
            read(a.array)
    code = cast("FunctionType", read).__code__
    assert {copy.location and copy.location.file for copy in ledger.copies} == {__file__}
    assert {copy.location and copy.location.line for copy in ledger.copies} == {code.co_firstlineno}


def test_so_is_the_place_of_an_error() -> None:
    with Accelerator("interpreter") as accelerator:
        a = S32Array.of(range(8))
        accelerator.compute(dispatch, 8, number, a)
        with accelerator.explicit(), pytest.raises(StaleReadError) as caught:
            np.median(a.array)
        line = here() - 1
    assert caught.value.location is not None
    assert (caught.value.location.file, caught.value.location.line) == (__file__, line)


def test_so_is_who_wrote() -> None:
    with Accelerator("interpreter") as accelerator:
        a = S32Array.of(range(8))
        accelerator.compute(dispatch, 8, square_kernel, a)
        random.shuffle(cast("Any", a.array))
        line = here() - 1
        with accelerator.record() as ledger:
            accelerator.compute(dispatch, 8, square_kernel, a)
    (up,) = (copy for copy in ledger.copies if copy.direction == "up")
    assert up.cause.endswith(f"the host wrote it at test_callers.py:{line}")
