"""Statements of kernels: one rule for each kind of node, found through a table."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from types import EllipsisType
from typing import Any

from trilby.data.dtypes import BOOL, I32, ScalarType, fits, promote
from trilby.errors import UnsupportedSyntaxError
from trilby.model.op import Block
from trilby.model.ops.arith import Not
from trilby.model.ops.control import Break, Continue, For, If, While
from trilby.model.ops.core import Constant, Return, Var, VarLoad, VarStore, Yield
from trilby.model.ops.debug import Assert
from trilby.model.value import NONE, Value, VarType
from trilby.reflect.aggregates import value_for
from trilby.reflect.assignments import (
    annotated_assignment,
    assign_name,
    assign_statement,
    augmented_assignment,
)
from trilby.reflect.expressions import condition
from trilby.reflect.kernel_arithmetic import describe, number, typed
from trilby.reflect.lowering import Level, Loop, Lowering, inner_path
from trilby.reflect.operands import KnownObject, Literal
from trilby.reflect.promotion import literal_type, scalar_type
from trilby.reflect.subset import refuse


def block(
    lw: Lowering, body: Sequence[ast.stmt], level: Level, params: tuple[Value, ...] = ()
) -> Block:
    """Lower the statements of one block."""
    with lw.inside(level):
        for node in body:
            _statement(lw, node)
    return level.builder.block(params)


def _statement(lw: Lowering, node: ast.stmt) -> None:
    rule = RULES.get(type(node))
    if rule is None:
        raise refuse(node, lw.where(node))
    level = lw.levels[-1]
    level.statement_start = len(level.builder)
    if lw.assigned is not None:
        rule(lw, node)
        return
    # Code that cannot be reached is checked like any other, and then left out.
    lw.assigned = frozenset(lw.variables)
    loops = list(lw.loops)
    with lw.inside(Level(level.builder.nested(), level.path)):
        rule(lw, node)
    lw.assigned = None
    lw.loops = loops


def _inner(lw: Lowering, node: ast.stmt, part: str) -> Level:
    level = lw.levels[-1]
    return Level(level.builder.nested(), inner_path(level.path, node, part))


# -- simple statements --------------------------------------------------------------------


def _expression(lw: Lowering, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str | EllipsisType):
        return
    lw.lower(node.value)
    if isinstance(node.value, ast.Call):
        return
    raise lw.error(
        UnsupportedSyntaxError,
        node,
        "this expression does nothing",
        "assign its value, or take it out",
    )


def _pass(lw: Lowering, node: ast.stmt) -> None:
    """Nothing to do."""


def _assert(lw: Lowering, node: ast.Assert) -> None:
    """`assert condition, "message"`: the message is a constant text."""
    message = f"`assert {ast.unparse(node.test)}` does not hold"
    if node.msg is not None:
        if not isinstance(node.msg, ast.Constant) or not isinstance(node.msg.value, str):
            raise lw.error(
                UnsupportedSyntaxError,
                node.msg,
                "the message of an `assert` in a kernel is a constant text",
                'write `assert x > 0, "x is positive"`',
            )
        message = f"{message}: {node.msg.value}"
    test = condition(lw, node.test)
    lw.run(Assert, typed(lw, test, node.test, BOOL), message, at=node)


def _return(lw: Lowering, node: ast.Return) -> None:
    if lw.result_type == NONE:
        is_none = isinstance(node.value, ast.Constant) and node.value.value is None
        if node.value is not None and not is_none:
            raise lw.clash(
                node, "this function returns nothing", "declare the result, or use plain `return`"
            )
        lw.run(Return, (), at=node)
    else:
        if node.value is None:
            raise lw.clash(node, f"this function returns `{lw.result_type}`", "return a value")
        value = value_for(lw, lw.lower(node.value), lw.result_type, node.value, "the result")
        lw.run(Return, (value,), at=node)
    lw.assigned = None


# -- control flow -------------------------------------------------------------------------


def _if(lw: Lowering, node: ast.If) -> None:
    test = condition(lw, node.test)
    before = lw.assigned
    constant = test if isinstance(test, Literal) else None
    if constant is not None:
        test = lw.value(Constant, bool(constant.number), type=BOOL, at=node.test)
    then = block(lw, node.body, _inner(lw, node, "body"))
    after_then, lw.assigned = lw.assigned, before
    otherwise = block(lw, node.orelse, _inner(lw, node, "orelse"))
    if constant is None:
        lw.assigned = _merge(after_then, lw.assigned)
    elif constant.number:  # the branch that is never taken is checked, and left out
        lw.assigned, otherwise = after_then, Block()
    else:
        then = Block()
    lw.run(If, test, then, otherwise, at=node)


def _merge(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    """What is set after two paths join; a path that does not arrive adds nothing."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def _while(lw: Lowering, node: ast.While) -> None:
    before = lw.assigned
    _begin_loop(lw, node)
    test_level = Level(lw.builder.nested(), (*lw.levels[-1].path, (-1, "test")))
    with lw.inside(test_level):
        test = condition(lw, node.test)
        lw.run(Yield, typed(lw, test, node.test, BOOL), at=node.test)
    body = block(lw, node.body, _inner(lw, node, "body"))
    if test == Literal(False):  # noqa: FBT003 -- a literal of the kernel
        body = Block()
        lw.loops[-1] = replace(lw.loops[-1], breaks=None)
    lw.run(While, test_level.builder.block(), body, at=node)
    _end_loop(lw, node, None if test == Literal(True) else before)  # noqa: FBT003 -- the same


def _begin_loop(lw: Lowering, node: ast.While | ast.For) -> None:
    broke = None
    if node.orelse:
        no = lw.value(Constant, False, type=BOOL, at=node)  # noqa: FBT003 -- a literal of the model
        broke = lw.value(Var, (no,), "broke", type=VarType(BOOL), at=node, hint="broke")
    lw.loops.append(Loop(broke))


def _end_loop(lw: Lowering, node: ast.While | ast.For, finished: frozenset[str] | None) -> None:
    """`else` runs where the loop was not left by `break`; then the ways out of it join."""
    loop = lw.loops.pop()
    lw.assigned = finished
    if loop.broke is not None:
        broke = lw.value(VarLoad, loop.broke, type=BOOL, at=node)
        ended = lw.value(Not, broke, type=BOOL, at=node)
        otherwise = block(lw, node.orelse, _inner(lw, node, "orelse"))
        lw.run(If, ended, otherwise, Block(), at=node)
    lw.assigned = _merge(lw.assigned, loop.breaks)


def _for(lw: Lowering, node: ast.For) -> None:
    if not isinstance(node.target, ast.Name):
        raise lw.clash(node.target, "a loop over `range` has one name as its target")
    target = node.target
    start, stop, step = _range(lw, node.iter)
    counter = Value(start.type, target.id)
    lw.weak[counter] = frozenset()
    before = lw.assigned
    _begin_loop(lw, node)
    level = _inner(lw, node, "body")
    with lw.inside(level):
        # a target that only this loop sets and uses is the counter itself, no variable
        if target.id in lw.single and lw.homes[target.id] == level.path:
            lw.aliases[target.id] = counter
        else:
            assign_name(lw, target, counter, target, declared=None)
    body = block(lw, node.body, level, (counter,))
    lw.run(For, start, stop, step, body, at=node)
    _end_loop(lw, node, before)


def _range(lw: Lowering, node: ast.expr) -> tuple[Value, Value, Value]:
    called = lw.lower(node.func) if isinstance(node, ast.Call) else None
    is_range = isinstance(called, KnownObject) and called.thing is range
    if not isinstance(node, ast.Call) or not is_range:
        raise lw.error(
            UnsupportedSyntaxError,
            node,
            "a kernel's `for` loops over `range(…)` only",
            "write `for i in range(n):` and index with `i`",
        )
    has_star = any(isinstance(argument, ast.Starred) for argument in node.args)
    if node.keywords or not 1 <= len(node.args) <= 3 or has_star:
        raise lw.clash(node, "`range` takes one to three integers")
    given = [number(lw, lw.lower(argument), argument) for argument in node.args]
    start, stop = (Literal(0), given[0]) if len(given) == 1 else (given[0], given[1])
    step = given[2] if len(given) > 2 else Literal(1)
    if step == Literal(0):
        raise lw.clash(node, "the step of a range cannot be 0")
    shared = _range_type(lw, node, [start, stop, step])
    a, b, c = (typed(lw, part, node, shared) for part in (start, stop, step))
    return a, b, c


def _range_type(lw: Lowering, node: ast.expr, parts: list[Value | Literal]) -> ScalarType:
    """The type of the counter: that of the bounds, but never less than `i32`."""
    types = [p.type if isinstance(p, Value) else literal_type(p.number) for p in parts]
    for part, type_ in zip(parts, types, strict=True):
        if not isinstance(type_, ScalarType) or not type_.is_integer:
            raise lw.clash(
                node,
                f"`range` takes integers, and this is {describe(part)}",
                "convert it: `i32(…)`",
            )
    given = [scalar_type(p) for p in parts if isinstance(p, Value)]
    result = reduce(promote, given) if given else I32
    # A counter of 8 or 16 bits might not reach past the end of its own range.
    result = I32 if result.bits < I32.bits else result
    for part, type_ in zip(parts, types, strict=True):
        fits_already = isinstance(part, Value) or fits(part.number, result)
        if isinstance(type_, ScalarType) and not fits_already:
            result = promote(result, type_)
    if not result.is_integer:
        raise lw.clash(node, "the bounds of this range share no integer type", "convert them")
    return result


def _break(lw: Lowering, node: ast.stmt) -> None:
    loop = lw.loops[-1]
    lw.loops[-1] = replace(loop, breaks=_merge(loop.breaks, lw.assigned))
    if loop.broke is not None:
        yes = lw.value(Constant, True, type=BOOL, at=node)  # noqa: FBT003 -- a literal of the model
        lw.run(VarStore, loop.broke, yes, at=node)
    lw.run(Break, at=node)
    lw.assigned = None


def _continue(lw: Lowering, node: ast.stmt) -> None:
    lw.run(Continue, at=node)
    lw.assigned = None


RULES: Mapping[type[ast.stmt], Callable[[Lowering, Any], None]] = {
    ast.Expr: _expression,
    ast.Pass: _pass,
    ast.Assign: assign_statement,
    ast.AnnAssign: annotated_assignment,
    ast.AugAssign: augmented_assignment,
    ast.Assert: _assert,
    ast.Return: _return,
    ast.If: _if,
    ast.While: _while,
    ast.For: _for,
    ast.Break: _break,
    ast.Continue: _continue,
}
