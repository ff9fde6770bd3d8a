from dataclasses import replace

import pytest
from tests.model.samples import ALL_CONTROL, SQUARE, SQUARE_KERNEL, TYPES

from trilby.errors import ArgumentValueError, ModelError
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops.arith import Add, Mul, Neg
from trilby.model.ops.control import If
from trilby.model.ops.core import Call, Constant, Return
from trilby.model.ops.host import HostValue
from trilby.model.ops.memory import Load, Store
from trilby.model.parse import parse
from trilby.model.rewrite import Rewriter, clone_block, rewrite, transform
from trilby.model.text import to_text
from trilby.model.value import NONE, Value
from trilby.model.verify import verify
from trilby.source import Location

BEFORE = """\
compute @"mandel.compute" (%0 : ComputeContext, %1 : S32Array2D, %2 : object) -> None {
! %3 : i32 = load %1 @"width"
  %4 : i32 = constant @10
  host.if %2 {
!   %5 : i32 = load %1 %4 %4 @"array[]"
!   store %1 %4 %3 %5 @"array[]"
  } {}
  dispatch %0 %3 %1 @"mandel.kernel"
  return
}"""

AFTER = """\
compute @"mandel.compute" (%0 : ComputeContext, %1 : S32Array2D, %2 : object) -> None {
  host.value %0 %1 @"{0}.pre_access({1})" @()
! %3 : i32 = load %1 @"width"
  host.value %0 %1 @"{0}.post_access({1})" @()
  %4 : i32 = constant @10
  host.if %2 {
    host.value %0 %1 @"{0}.pre_access({1})" @()
!   %5 : i32 = load %1 %4 %4 @"array[]"
    host.value %0 %1 @"{0}.post_access({1})" @()
    host.value %0 %1 @"{0}.pre_mutate({1})" @()
!   store %1 %4 %3 %5 @"array[]"
    host.value %0 %1 @"{0}.post_mutate({1})" @()
  } {}
  dispatch %0 %3 %1 @"mandel.kernel"
  return
}"""


def tracked(func: Func) -> Func:
    """Surround the host's accesses with calls of the tracker, as HAT does."""
    context = func.params[0]

    def visit(op: Op, out: Rewriter) -> None:
        if not isinstance(op, Load | Store):
            out.emit(op)
            return
        what = "access" if isinstance(op, Load) else "mutate"
        out.run(HostValue, (context, op.base), HostCode(f"{{0}}.pre_{what}({{1}})", 2), ())
        out.emit(op)
        out.run(HostValue, (context, op.base), HostCode(f"{{0}}.post_{what}({{1}})", 2), ())

    return rewrite(func, visit)


def test_tracking_calls_are_put_around_every_access() -> None:
    func = parse(BEFORE, TYPES)
    after = tracked(func)
    assert to_text(after) == AFTER
    assert to_text(func) == BEFORE, "the original is untouched"
    verify(after)


def test_what_is_put_in_has_the_place_of_the_visited_op() -> None:
    func = parse(BEFORE, TYPES)
    first = replace(func.body.ops[0], location=Location("app.py", 5))
    body = replace(func.body, ops=(first, *func.body.ops[1:]))
    before, _, after = tracked(replace(func, body=body)).body.ops[:3]
    assert before.location == after.location == Location("app.py", 5)


def inlined(func: Func, callee: Func) -> Func:
    """Put the body of `callee`, whose last op is its only return, in place of its calls."""

    def visit(op: Op, out: Rewriter) -> None:
        if not isinstance(op, Call):
            out.emit(op)
            return
        body = clone_block(callee.body, dict(zip(callee.params, op.args, strict=True)))
        *ops, last = body.ops
        for inner in ops:
            out.emit(inner)
        assert isinstance(last, Return)
        out.replace(op.value, last.returned[0])

    return rewrite(func, visit)


def test_a_call_is_replaced_by_the_body_of_its_callee() -> None:
    after = inlined(parse(SQUARE_KERNEL, TYPES), parse(SQUARE, {}))
    assert (
        to_text(after)
        == """\
kernel @"squares.square_kernel" (%0 : KernelContext, %1 : S32Array) -> None {
  %2 : i32 = grid %0 @"x"
! %3 : i32 = load %1 %2 @"array[]"
  %4 : i32 = mul %3 %3
! store %1 %2 %4 @"array[]"
  return
}"""
    )
    verify(after)


def test_a_callee_can_be_inlined_twice_because_its_values_are_fresh() -> None:
    twice = parse(
        """func @"fourth" (%0 : i32) -> i32 {
          %1 : i32 = call %0 @"squares.square"
          %2 : i32 = call %1 @"squares.square"
          return %2
        }""",
        {},
    )
    after = inlined(twice, parse(SQUARE, {}))
    verify(after)
    assert (
        to_text(after)
        == """\
func @"fourth" (%0 : i32) -> i32 {
  %1 : i32 = mul %0 %0
  %2 : i32 = mul %1 %1
  return %2
}"""
    )


def test_a_result_can_be_replaced_by_another_value_in_inner_blocks_too() -> None:
    func = parse(
        """func @"f" (%0 : i32, %1 : bool) -> i32 {
          %2 : i32 = neg %0
          %3 : i32 = neg %2
          if %1 {
            %4 : i32 = add %3 %2
            return %4
          } {}
          return %3
        }""",
        {},
    )

    def cancel(op: Op, out: Rewriter) -> None:
        """`-(-x)` is `x`; the inner `neg` is left to others."""
        inner = next((o for o in walk(func.body) if o.result is getattr(op, "operand", 0)), None)
        if isinstance(op, Neg) and isinstance(inner, Neg):
            out.replace(op.value, inner.operand)
        else:
            out.emit(op)

    after = rewrite(func, cancel)
    verify(after)
    assert (
        to_text(after)
        == """\
func @"f" (%0 : i32, %1 : bool) -> i32 {
  %2 : i32 = neg %0
  if %1 {
    %3 : i32 = add %0 %2
    return %3
  } {}
  return %0
}"""
    )


def test_an_op_can_be_replaced_by_one_of_another_kind_with_the_same_result() -> None:
    def double(op: Op, out: Rewriter) -> None:
        if isinstance(op, Mul):
            out.emit(Add(op.left, op.right, result=op.result, location=op.location))
        else:
            out.emit(op)

    after = rewrite(parse(SQUARE, {}), double)
    assert "%1 : i32 = add %0 %0\n  return %1" in to_text(after)


def test_ops_are_deleted_by_emitting_nothing_producers_before_users() -> None:
    def without_access(op: Op, out: Rewriter) -> None:
        if not isinstance(op, Load | Store | Call):
            out.emit(op)

    after = rewrite(parse(SQUARE_KERNEL, TYPES), without_access)
    assert [op.mnemonic for op in after.body.ops] == ["grid", "return"]
    verify(after)


def test_a_deleted_result_that_is_still_used_is_an_error_at_the_user() -> None:
    func = parse(SQUARE, {})
    body = replace(
        func.body,
        ops=(func.body.ops[0], replace(func.body.ops[1], location=Location("app.py", 9))),
    )

    def delete(op: Op, out: Rewriter) -> None:
        if not isinstance(op, Mul):
            out.emit(op)

    with pytest.raises(ModelError, match=r"^app\.py:9: .* used by `return`\n  help: keep .*emit"):
        rewrite(replace(func, body=body), delete)
    with pytest.raises(ModelError, match=r"^[^\n]*test_rewrite.py:\d+: the rewrite"):
        rewrite(func, delete)


NOT_A_NUMBER = 'func @"f" () -> None { %0 : f32 = constant @nan }'


@pytest.mark.parametrize("text", [ALL_CONTROL, NOT_A_NUMBER])
def test_a_rewrite_that_changes_nothing_gives_the_same_function(text: str) -> None:
    func = parse(text, TYPES)
    assert rewrite(func, lambda op, out: out.emit(op)) is func


def test_what_is_not_changed_is_shared() -> None:
    func = parse(ALL_CONTROL, TYPES)

    def double_breaks(op: Op, out: Rewriter) -> None:
        if op.mnemonic == "break":
            out.emit(Return())
        else:
            out.emit(op)

    after = rewrite(func, double_breaks)
    shared = [new is old for new, old in zip(after.body.ops, func.body.ops, strict=True)]
    assert shared == [True] * 5 + [False, True], "all but the `while`"


def test_blocks_are_visited_before_the_op_that_holds_them() -> None:
    seen: list[str] = []

    def note(op: Op, out: Rewriter) -> None:
        seen.append(op.mnemonic)
        if isinstance(op, If):
            assert op.then.ops == (), "its blocks are rewritten already"
        if op.mnemonic != "continue":
            out.emit(op)

    rewrite(parse(ALL_CONTROL, TYPES), note)
    assert seen[:6] == ["extent", "constant", "constant", "var", "lt", "ge"]
    assert seen[6:10] == ["yield", "and_then", "continue", "if"]
    assert seen[-3:] == ["break", "while", "return"]


def test_a_clone_looks_the_same_and_shares_no_value() -> None:
    func = parse(ALL_CONTROL, TYPES)
    params = {param: Value(param.type) for param in func.params}
    copy = replace(func, params=tuple(params.values()), body=clone_block(func.body, params))
    verify(copy)
    assert to_text(copy) == ALL_CONTROL
    ours, theirs = values_of(func), values_of(copy)
    assert len(ours) == len(theirs) == 17
    assert ours.isdisjoint(theirs)


def test_a_clone_uses_what_is_not_mapped_as_it_is() -> None:
    func = parse(SQUARE, {})
    mul = clone_block(func.body, {}).ops[0]
    assert isinstance(mul, Mul)
    assert mul.left is func.params[0]
    assert mul.result is not func.body.ops[0].result


def test_a_clone_keeps_hints_and_not_a_number() -> None:
    func = parse('func @"f" () -> None { %pi : f32 = constant @nan }', {})
    (op,) = clone_block(func.body, {}).ops
    assert isinstance(op, Constant)
    assert op.literal != op.literal
    assert op.value.hint == "pi"


def values_of(func: Func) -> set[Value]:
    params = [param for op in walk(func.body) for param in getattr(op, "body", func.body).params]
    return {*func.params, *params, *(op.result for op in walk(func.body) if op.result)}


# ------------------------------------------------------------------------------- transforms


def test_a_transform_is_for_functions_of_some_kinds() -> None:
    @transform("kernel", "func")
    def emptied(func: Func) -> Func:
        return replace(func, body=Block())

    assert (emptied.name, emptied.kinds) == ("emptied", ("kernel", "func"))
    func = Func("f", (), NONE, Block((Return(),)))
    assert emptied(func).body.ops == ()
    compute = replace(func, kind="compute")
    assert emptied(compute) is compute


def test_a_kind_that_is_none() -> None:
    with pytest.raises(ArgumentValueError, match="kernels"):
        transform("kernels")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
