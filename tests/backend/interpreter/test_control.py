"""Variables, calls and control flow against the same program in Python."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.backend.interpreter.kernels import (
    at,
    compute,
    constant,
    function,
    kernel,
    launch,
)

from trilby.data.dtypes import BOOL, I8, I32, I64, U8, U32, ScalarType, Type
from trilby.data.schema import NDArrayType
from trilby.errors import KernelArithmeticError, KernelNameError
from trilby.model.build import Builder
from trilby.model.op import Block, Func
from trilby.model.ops.arith import Add, Cast, Eq, FloorDiv, Gt, Lt, Mod, Mul
from trilby.model.ops.control import (
    AndThen,
    Break,
    Continue,
    For,
    If,
    OrElse,
    Ternary,
    While,
)
from trilby.model.ops.core import Call, Return, Var, VarLoad, VarStore, Yield
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Store
from trilby.model.value import KERNEL_CONTEXT, NONE, Value, VarType

ONE_NUMBER: dict[str, Type] = {"out": NDArrayType(I32, 1)}


def variable(b: Builder, start: int, name: str = "total") -> Value:
    return b.value(Var, (constant(b, start),), name, type=VarType(I32), hint=name)


def add_to(b: Builder, var: Value, value: Value) -> None:
    old = b.value(VarLoad, var, type=I32)
    b.run(VarStore, var, b.value(Add, old, value, type=I32))


def inside(build: Callable[[Builder], None]) -> Block:
    b = Builder()
    build(b)
    return b.block()


def yielding(build: Callable[[Builder], Value]) -> Block:
    b = Builder()
    b.run(Yield, build(b))
    return b.block()


def run(build: Callable[[Builder], Value]) -> int:
    """The number that a kernel of one work item computes."""
    out = np.zeros(1, np.int32)

    def body(b: Builder, _: Value, target: Value) -> None:
        b.run(Store, target, (constant(b, 0),), build(b), "[]")

    launch(kernel(ONE_NUMBER, body), 1, out)
    return int(out[0])


# ---------------------------------------------------------------------------------- loops


def seen_by_for(start: int, stop: int, step: int, of: ScalarType = I32) -> list[int]:
    """The loop values of a `for`, written one after the other."""
    out = np.zeros(300, np.int32)

    def body(b: Builder, _: Value, target: Value) -> None:
        count = variable(b, 0, "count")
        i = Value(of, "i")
        inner = Builder()
        position = inner.value(VarLoad, count, type=I32)
        number = i if of is I32 else inner.value(Cast, i, type=I32)
        inner.run(Store, target, (position,), number, "[]")
        add_to(inner, count, constant(inner, 1))
        bounds = [constant(b, n, of) for n in (start, stop, step)]
        b.run(For, *bounds, inner.block([i]), location=at(12))
        b.run(Store, target, (constant(b, 299),), b.value(VarLoad, count, type=I32), "[]")

    launch(kernel(ONE_NUMBER, body), 1, out)
    return out[: out[299]].tolist()


@given(
    st.integers(-50, 50), st.integers(-50, 50), st.integers(-7, 7).filter(lambda step: step != 0)
)
def test_for_runs_over_what_pythons_range_gives(start: int, stop: int, step: int) -> None:
    assert seen_by_for(start, stop, step) == list(range(start, stop, step))


@pytest.mark.parametrize(
    ("bounds", "of"),
    [((-128, 127, 100), I8), ((127, -128, -100), I8), ((0, 255, 100), U8), ((250, 255, 1), U8)],
)
def test_for_near_the_end_of_a_type_does_not_wrap(
    bounds: tuple[int, int, int], of: ScalarType
) -> None:
    assert seen_by_for(*bounds, of) == list(range(*bounds))


def test_a_step_of_zero_is_an_error_with_its_line() -> None:
    with pytest.raises(KernelArithmeticError) as caught:
        seen_by_for(0, 5, 0)
    assert str(caught.value) == (
        "app.py:12: the step of a range is 0, in work item (0, 0, 0)\n"
        "  help: a loop needs a positive or a negative step"
    )


def test_break_and_continue_concern_the_innermost_loop() -> None:
    def build(b: Builder) -> Value:
        total = variable(b, 0)
        i, j = Value(I32, "i"), Value(I32, "j")
        body = Builder()
        nothing = Block()
        is_three = body.value(Eq, j, constant(body, 3), type=BOOL)
        body.run(If, is_three, inside(lambda c: c.run(Continue)), nothing)
        is_large = body.value(Gt, j, i, type=BOOL)
        body.run(If, is_large, inside(lambda c: c.run(Break)), nothing)
        add_to(body, total, body.value(Mul, j, constant(body, 10), type=I32))
        outer = Builder()
        zero, ten, one = (constant(outer, n) for n in (0, 10, 1))
        outer.run(For, zero, ten, one, body.block([j]))
        add_to(outer, total, constant(outer, 1))
        b.run(For, constant(b, 0), constant(b, 7), constant(b, 1), outer.block([i]))
        return b.value(VarLoad, total, type=I32)

    expected = 0
    for i in range(7):
        for j in range(10):
            if j == 3:
                continue
            if j > i:
                break
            expected += j * 10
        expected += 1
    assert run(build) == expected


@given(st.integers(1, 10_000))
def test_while_counts_the_steps_of_collatz(number: int) -> None:
    def build(b: Builder) -> Value:
        n, steps = variable(b, number, "n"), variable(b, 0, "steps")

        def test(c: Builder) -> Value:
            return c.value(Gt, c.value(VarLoad, n, type=I32), constant(c, 1), type=BOOL)

        def step(c: Builder) -> None:
            current = c.value(VarLoad, n, type=I32)
            odd = c.value(Mod, current, constant(c, 2), type=I32)
            is_odd = c.value(Eq, odd, constant(c, 1), type=BOOL)

            def up(d: Builder) -> None:
                three = d.value(Mul, current, constant(d, 3), type=I32)
                d.run(VarStore, n, d.value(Add, three, constant(d, 1), type=I32))

            def down(d: Builder) -> None:
                d.run(VarStore, n, d.value(FloorDiv, current, constant(d, 2), type=I32))

            c.run(If, is_odd, inside(up), inside(down))
            add_to(c, steps, constant(c, 1))

        b.run(While, yielding(test), inside(step))
        return b.value(VarLoad, steps, type=I32)

    steps, n = 0, number
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    assert run(build) == steps


def test_continue_in_a_while_runs_the_test_again() -> None:
    def build(b: Builder) -> Value:
        n, total = variable(b, 0, "n"), variable(b, 0)

        def test(c: Builder) -> Value:
            add_to(c, n, constant(c, 1))
            return c.value(Lt, c.value(VarLoad, n, type=I32), constant(c, 6), type=BOOL)

        def body(c: Builder) -> None:
            current = c.value(VarLoad, n, type=I32)
            skip = c.value(Eq, current, constant(c, 3), type=BOOL)
            c.run(If, skip, inside(lambda d: d.run(Continue)), Block())
            add_to(c, total, current)

        b.run(While, yielding(test), inside(body))
        return b.value(VarLoad, total, type=I32)

    assert run(build) == 1 + 2 + 4 + 5


def test_a_value_that_was_loaded_does_not_change_with_its_variable() -> None:
    def build(b: Builder) -> Value:
        var = variable(b, 5)
        before = b.value(VarLoad, var, type=I32)
        b.run(VarStore, var, constant(b, 7))
        after = b.value(VarLoad, var, type=I32)
        return b.value(Add, b.value(Mul, before, constant(b, 10), type=I32), after, type=I32)

    assert run(build) == 57


# -------------------------------------------------------------------------- lazy branches


def divides_by_zero(b: Builder) -> Value:
    return b.value(FloorDiv, constant(b, 1), constant(b, 0), type=I32)


def truth_of_the_division(b: Builder) -> Value:
    return b.value(Gt, divides_by_zero(b), constant(b, 0), type=BOOL)


@pytest.mark.parametrize("condition", [True, False])
def test_a_ternary_runs_only_the_branch_that_was_chosen(*, condition: bool) -> None:
    def build(b: Builder) -> Value:
        branches = [yielding(lambda c: constant(c, 42)), yielding(divides_by_zero)]
        ordered = branches if condition else branches[::-1]
        return b.value(Ternary, constant(b, condition, BOOL), *ordered, type=I32)

    assert run(build) == 42


@pytest.mark.parametrize("kind", [AndThen, OrElse])
def test_the_rest_of_a_condition_is_left_out_where_the_first_part_decides(
    kind: type[AndThen | OrElse],
) -> None:
    def build(b: Builder) -> Value:
        first = constant(b, kind is OrElse, BOOL)
        both = b.value(kind, first, yielding(truth_of_the_division), type=BOOL)
        return b.value(Cast, both, type=I32)

    assert run(build) == int(kind is OrElse)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_conditions_combine_as_in_python(*, first: bool, second: bool) -> None:
    def both(kind: type[AndThen | OrElse]) -> int:
        def build(b: Builder) -> Value:
            rest = yielding(lambda c: constant(c, second, BOOL))
            return b.value(Cast, b.value(kind, constant(b, first, BOOL), rest, type=BOOL), type=I32)

        return run(build)

    assert both(AndThen) == int(first and second)
    assert both(OrElse) == int(first or second)


def test_an_if_without_else_and_with_empty_blocks_does_nothing() -> None:
    def build(b: Builder) -> Value:
        total = variable(b, 3)
        b.run(
            If,
            constant(b, number=False, of=BOOL),
            inside(lambda c: add_to(c, total, total)),
            Block(),
        )
        b.run(If, constant(b, number=True, of=BOOL), Block(), Block())
        return b.value(VarLoad, total, type=I32)

    assert run(build) == 3


# ---------------------------------------------------------------------- functions and names


def first_divisor() -> Func:
    """The smallest divisor above 1, by a `return` out of a loop."""

    def body(b: Builder, n: Value) -> None:
        i = Value(I32, "i")
        loop = Builder()
        remainder = loop.value(Mod, n, i, type=I32)
        divides = loop.value(Eq, remainder, constant(loop, 0), type=BOOL)
        loop.run(If, divides, inside(lambda c: c.run(Return, (i,))), Block())
        b.run(For, constant(b, 2), n, constant(b, 1), loop.block([i]))
        b.run(Return, (n,))

    return function("first_divisor", {"n": I32}, I32, body)


def test_a_helper_may_return_out_of_a_loop() -> None:
    helper = first_divisor()
    out = np.zeros(40, np.int32)

    def body(b: Builder, kc: Value, target: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        n = b.value(Add, x, constant(b, 2), type=I32)
        b.run(Store, target, (x,), b.value(Call, (n,), helper.name, type=I32), "[]")

    launch(kernel(ONE_NUMBER, body, helper), 40, out)
    expected = [next(d for d in range(2, n + 1) if n % d == 0) for n in range(2, 42)]
    assert out.tolist() == expected


def test_a_helper_may_take_the_kernel_context() -> None:
    def where(b: Builder, kc: Value) -> None:
        x, width = (b.value(Grid, kc, name, type=I32) for name in ("x", "max_x"))
        b.run(Return, (b.value(Add, x, width, type=I32),))

    helper = function("where", {"kc": KERNEL_CONTEXT}, I32, where)
    out = np.zeros(4, np.int32)

    def body(b: Builder, kc: Value, target: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        b.run(Store, target, (x,), b.value(Call, (kc,), helper.name, type=I32), "[]")

    launch(kernel(ONE_NUMBER, body, helper), 4, out)
    assert out.tolist() == [4, 5, 6, 7]


def test_a_kernel_may_return_early_and_a_call_may_give_nothing() -> None:
    def store_seven(b: Builder, target: Value, i: Value) -> None:
        b.run(Store, target, (i,), constant(b, 7), "[]")

    helper = function("store_seven", {"a": NDArrayType(I32, 1), "i": I32}, NONE, store_seven)
    out = np.zeros(4, np.int32)

    def body(b: Builder, kc: Value, target: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        late = b.value(Gt, x, constant(b, 1), type=BOOL)
        b.run(If, late, inside(lambda c: c.run(Return)), Block())
        b.run(Call, (target, x), helper.name)

    launch(kernel(ONE_NUMBER, body, helper), 4, out)
    assert out.tolist() == [7, 7, 0, 0]


def test_names_of_the_user_cannot_clash_with_those_of_the_generated_code() -> None:
    """Variables called like a keyword, a helper, a run-time function, a builtin."""

    def twice(b: Builder, value: Value) -> None:
        b.run(Return, (b.value(Add, value, value, type=I32),))

    helper = function("load_i32", {"lambda": I32}, I32, twice)
    other = Func("lib.load_i32", helper.params, I32, helper.body)

    def build(b: Builder, values: list[Value]) -> Value:
        total = values[0]
        for name in ("load_i32", "load_i32_2", "for", "int", "to_f32", "2x", "größe", ""):
            held = b.value(Var, (total,), name, type=VarType(I32), hint=name)
            one = b.value(Cast, constant(b, number=True, of=BOOL), type=I32, hint="int")
            again = b.value(VarLoad, held, type=I32, hint=name)
            total = b.value(Add, again, one, type=I32, hint="at")
        return total

    assert compute(build, np.int32, np.array([10], np.int32)).tolist() == [18]
    out = np.zeros(1, np.int32)

    def body(b: Builder, _: Value, target: Value) -> None:
        four = b.value(Call, (constant(b, 2),), helper.name, type=I32, hint="load_i32")
        eight = b.value(Call, (four,), other.name, type=I32)
        b.run(Store, target, (constant(b, 0),), eight, "[]")

    launch(kernel(ONE_NUMBER, body, helper, other, name="OutOfRangeError"), 1, out)
    assert out.tolist() == [8]


def test_a_variable_that_was_never_set_is_an_error_with_its_name() -> None:
    def build(b: Builder) -> Value:
        best = b.value(Var, (), "best", type=VarType(I32))
        never = constant(b, number=False, of=BOOL)
        store = inside(lambda c: c.run(VarStore, best, constant(c, 1)))
        b.run(If, never, store, Block())
        return b.value(VarLoad, best, type=I32, location=at(14))

    with pytest.raises(KernelNameError) as caught:
        run(build)
    assert str(caught.value) == (
        "app.py:14: `best` is read before it is set, in work item (0, 0, 0)\n"
        "  help: give it a value on every path that leads here"
    )


def test_scalar_arguments_are_converted_to_their_type() -> None:
    out = np.zeros(2, np.int64)

    def body(b: Builder, _: Value, target: Value, byte: Value, word: Value) -> None:
        for position, value in enumerate((byte, word)):
            wide = b.value(Cast, value, type=I64)
            b.run(Store, target, (constant(b, position),), wide, "[]")

    params: dict[str, Type] = {"out": NDArrayType(I64, 1), "byte": I8, "word": U32}
    launch(kernel(params, body), 1, out, 300, -1)
    assert out.tolist() == [44, 2**32 - 1]
