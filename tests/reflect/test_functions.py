"""The decorators, and what they make of a function."""

import functools
from typing import Any

import pytest
from tests.messages import message
from tests.reflect.kernel_cases import load

import trilby as tb
from trilby import KernelContext, i32
from trilby.errors import ArgumentTypeError, DirectCallError
from trilby.reflect.functions import (
    Compute,
    Helper,
    Kernel,
    is_compute,
    is_helper,
    is_kernel,
)


@tb.func
def square(v: i32) -> i32:
    """Multiply with itself."""
    return v * v


@tb.kernel
def nothing(kc: KernelContext, n: i32) -> None:
    """Do nothing."""


@tb.compute
def orchestrate(_cc: Any, n: i32) -> int:
    return n


def test_decorated_functions_look_like_what_they_were() -> None:
    assert square.name == "square"
    assert vars(square)["__name__"] == "square"
    assert square.__doc__ == "Multiply with itself."
    assert square.symbol == f"{__name__}.square"
    assert nothing.__wrapped__ is nothing.function  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] -- set by functools
    assert repr(nothing) == f"<kernel {__name__}.nothing>"
    assert repr(square) == f"<func {__name__}.square>"
    assert repr(orchestrate) == f"<compute {__name__}.orchestrate>"
    assert nothing.location.file == __file__


def test_the_three_kinds_are_told_apart() -> None:
    assert [is_helper(f) for f in (square, nothing, orchestrate)] == [True, False, False]
    assert [is_kernel(f) for f in (square, nothing, orchestrate)] == [False, True, False]
    assert [is_compute(f) for f in (square, nothing, orchestrate)] == [False, False, True]
    assert (Helper.kind, Kernel.kind, Compute.kind) == ("func", "kernel", "compute")


def test_a_helper_runs_as_plain_python() -> None:
    assert square(7) == 49
    assert [*map(square, range(4))] == [0, 1, 4, 9]


CALLS = """
@tb.kernel
def step(kc: KernelContext, n: i32) -> None:
    pass

@tb.compute
def steps(cc, n):
    pass

def call_kernel():
    step(None, 3)

def call_compute():
    steps(3, 3)
"""


def test_a_kernel_cannot_be_called() -> None:
    with pytest.raises(DirectCallError) as caught:
        load(CALLS)["call_kernel"]()
    assert str(caught.value) == (
        "app.py:10: `step` is a kernel and cannot be called: it runs on a device, once for each "
        "work item\n"
        "  10 | step(None, 3)\n"
        "     | ^^^^^^^^^^^^^\n"
        "  help: inside a compute function write `cc.dispatch(n, step, …)` or "
        "`cc.dispatch(n, lambda kc: step(kc, …))`"
    )
    assert isinstance(caught.value, TypeError)


def test_a_compute_function_cannot_be_called() -> None:
    with pytest.raises(DirectCallError) as caught:
        load(CALLS)["call_compute"]()
    assert str(caught.value) == (
        "app.py:13: `steps` is a compute function and cannot be called directly\n"
        "  13 | steps(3, 3)\n"
        "     | ^^^^^^^^^^^\n"
        "  help: write `accelerator.compute(steps, …)` or "
        "`accelerator.compute(lambda cc: steps(cc, …))`"
    )


def test_a_compute_function_runs_within_another() -> None:
    class Running:
        def run_compute(
            self, function: "Compute[..., Any]", args: tuple[Any, ...], kwargs: dict[str, Any]
        ) -> Any:
            return function, args, kwargs

    assert orchestrate(Running(), 3) == (orchestrate, (3,), {})
    assert orchestrate(Running(), n=4) == (orchestrate, (), {"n": 4})


class Solver:
    @staticmethod
    @tb.func
    def twice(v: i32) -> i32:
        return v * 2


def test_static_methods_below_staticmethod() -> None:
    assert Solver.twice(4) == 8
    assert Solver().twice(5) == 10
    assert Solver.twice.symbol == f"{__name__}.Solver.twice"


@pytest.mark.parametrize(
    ("thing", "shown"),
    [
        (square, "`square`, which is a @tb.func already"),
        (nothing, "`nothing`, which is a @tb.kernel already"),
        (staticmethod(len), "an object of the class `staticmethod`"),
        (functools.partial(print, 1), "an object of the class `partial`"),
        (functools.lru_cache(lambda: 1), "an object of the class `_lru_cache_wrapper`"),
        (print, "an object of the class `builtin_function_or_method`"),
        (Solver, "the class `Solver`"),
        (3, "an object of the class `int`"),
        (None, "an object of the class `NoneType`"),
    ],
    ids=lambda case: case if isinstance(case, str) else type(case).__name__,
)
@pytest.mark.parametrize("decorator", [tb.kernel, tb.func, tb.compute])
def test_only_functions_can_be_decorated(decorator: Any, thing: object, shown: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        decorator(thing)
    name = f"@tb.{decorator.__name__}"
    assert message(caught.value) == (
        f"{name} takes a function, and this is {shown}\n"
        f"  help: write `{name}` directly above `def`, below other decorators"
    )


def test_the_names_around_a_function_are_remembered_where_it_is_decorated() -> None:
    source = """
        def make():
            inner = 3
            @tb.func
            def f(v: i32) -> i32:
                return v
            return f
        outer = make()
        @tb.func
        def top(v: i32) -> i32:
            return v
    """
    names = load(source)
    assert names["outer"].scope["inner"] == 3
    assert names["top"].scope == {}
