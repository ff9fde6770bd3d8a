"""Expressions of kernels: one rule for each kind of node, found through a table."""

import ast
from collections.abc import Callable, Mapping

from trilby.data.dtypes import BOOL, ScalarType, Type, promote
from trilby.errors import KernelNameError, UnsupportedSyntaxError
from trilby.model.op import Op
from trilby.model.ops.arith import Not
from trilby.model.ops.control import AndThen, OrElse, Ternary
from trilby.model.ops.core import Yield
from trilby.model.value import Value
from trilby.reflect.arithmetic import (
    binary,
    common_type,
    compare,
    describe,
    literal_type,
    read,
    truth,
    typed,
    unary,
)
from trilby.reflect.calls import call
from trilby.reflect.capture import MISSING
from trilby.reflect.lowering import Level, Lowering
from trilby.reflect.operands import Literal, Operand, Several
from trilby.reflect.places import attribute, subscript
from trilby.reflect.subset import refuse


def expression(lw: Lowering, node: ast.expr) -> Operand:
    """Lower one expression, or refuse it with its line and a caret."""
    rule = RULES.get(type(node))
    if rule is None:
        raise refuse(node, lw.where(node))
    return rule(lw, node)


def condition(lw: Lowering, node: ast.expr) -> Value | Literal:
    """Lower an expression of which only the truth counts."""
    if isinstance(node, ast.BoolOp):
        return _bool_op(lw, node, condition)
    return truth(lw, lw.lower(node), node)


def _constant(lw: Lowering, node: ast.expr) -> Operand:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        return Literal(node.value)
    kind = type(node.value).__name__ if isinstance(node, ast.Constant) else "?"
    raise lw.error(
        UnsupportedSyntaxError,
        node,
        f"a constant of type `{kind}` has no meaning in a kernel",
        "kernels compute with numbers",
    )


def _name(lw: Lowering, node: ast.expr) -> Operand:
    if not isinstance(node, ast.Name):
        raise TypeError(node)
    name = node.id
    if name in lw.aliases:
        return lw.aliases[name]
    if name in lw.variables or name in lw.stored:
        return lw.read_variable(name, node)
    if name in lw.params:
        return lw.params[name]
    thing = lw.captured.lookup(name)
    if thing is MISSING:
        raise lw.error(
            KernelNameError,
            node,
            f"`{name}` is not defined",
            "define it before it is used, or import it at the top of the module",
        )
    return lw.known(name, thing, node)


def _binary(lw: Lowering, node: ast.expr) -> Operand:
    if not isinstance(node, ast.BinOp):
        raise TypeError(node)
    left = lw.lower(node.left)
    left = left if isinstance(left, Literal) else read(lw, left, node.left)
    return binary(lw, node, node.op, left, lw.lower(node.right))


def _unary(lw: Lowering, node: ast.expr) -> Operand:
    if not isinstance(node, ast.UnaryOp):
        raise TypeError(node)
    if not isinstance(node.op, ast.Not):
        return unary(lw, node, lw.lower(node.operand))
    operand = condition(lw, node.operand)
    if isinstance(operand, Literal):
        return Literal(not operand.number)
    return lw.value(Not, operand, type=BOOL, at=node)


def _bool_value(lw: Lowering, node: ast.expr) -> Operand:
    """`a and b` as a value: only bools, since Python would give back an operand."""
    if not isinstance(node, ast.BoolOp):
        raise TypeError(node)
    return _bool_op(lw, node, _exactly_bool)


def _exactly_bool(lw: Lowering, node: ast.expr) -> Value | Literal:
    operand = read(lw, lw.lower(node), node)
    is_bool = (
        isinstance(operand.number, bool) if isinstance(operand, Literal) else operand.type is BOOL
    )
    if not is_bool:
        raise lw.clash(
            node,
            f"`and`/`or` as a value takes bools, and this is {describe(operand)}",
            "write `a if a != 0 else b`, or compare with 0",
        )
    return operand


def _bool_op(
    lw: Lowering, node: ast.BoolOp, lower: Callable[[Lowering, ast.expr], Value | Literal]
) -> Value | Literal:
    kind = AndThen if isinstance(node.op, ast.And) else OrElse
    return _short_circuit(lw, node, kind, [lambda v=v: lower(lw, v) for v in node.values])


def _short_circuit(
    lw: Lowering, node: ast.AST, kind: type[Op], parts: list[Callable[[], Value | Literal]]
) -> Value | Literal:
    first = parts[0]()
    if len(parts) == 1:
        return first
    if isinstance(first, Literal):
        decides = bool(first.number) is (kind is OrElse)
        return first if decides else _short_circuit(lw, node, kind, parts[1:])
    level = _nested(lw)
    with lw.inside(level):
        last = _short_circuit(lw, node, kind, parts[1:])
        lw.run(Yield, typed(lw, last, node, BOOL), at=node)
    return lw.value(kind, first, level.builder.block(), type=BOOL, at=node)


def _nested(lw: Lowering) -> Level:
    level = lw.levels[-1]
    return Level(level.builder.nested(), (*level.path, (-1, "expression")))


def _compare(lw: Lowering, node: ast.expr) -> Operand:
    """`a < b < c`: each operand once, and nothing right of a false comparison."""
    if not isinstance(node, ast.Compare):
        raise TypeError(node)
    left = read(lw, lw.lower(node.left), node.left)
    return _chain(lw, node, left, node.ops, node.comparators)


def _chain(
    lw: Lowering,
    node: ast.Compare,
    left: Value | Literal,
    symbols: list[ast.cmpop],
    rest: list[ast.expr],
) -> Value | Literal:
    if type(symbols[0]) in {ast.Is, ast.IsNot, ast.In, ast.NotIn}:
        raise refuse(symbols[0], lw.where(node))
    right = read(lw, lw.lower(rest[0]), rest[0])
    first = compare(lw, node, symbols[0], left, right)
    if len(rest) == 1:
        return first
    parts = [lambda: first, lambda: _chain(lw, node, right, symbols[1:], rest[1:])]
    return _short_circuit(lw, node, AndThen, parts)


def _ternary(lw: Lowering, node: ast.expr) -> Operand:
    """Both arms are lowered, then each is brought to the type they share."""
    if not isinstance(node, ast.IfExp):
        raise TypeError(node)
    test = condition(lw, node.test)
    then, left = _arm(lw, node.body)
    otherwise, right = _arm(lw, node.orelse)
    result = _shared_type(lw, node, left, right)
    _yield(lw, node.body, then, left, result)
    _yield(lw, node.orelse, otherwise, right, result)
    blocks = (then.builder.block(), otherwise.builder.block())
    return lw.value(Ternary, typed(lw, test, node.test), *blocks, type=result, at=node)


def _arm(lw: Lowering, node: ast.expr) -> tuple[Level, Value | Literal]:
    level = _nested(lw)
    with lw.inside(level):
        return level, read(lw, lw.lower(node), node)


def _yield(
    lw: Lowering, node: ast.expr, level: Level, value: Value | Literal, result: Type
) -> None:
    with lw.inside(level):
        if isinstance(result, ScalarType):
            value = typed(lw, value, node, result)
        lw.run(Yield, value, at=node)


def _shared_type(
    lw: Lowering, node: ast.IfExp, left: Value | Literal, right: Value | Literal
) -> Type:
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _literal_pair(lw, node, left, right)
    if all(isinstance(x, Literal) or isinstance(x.type, ScalarType) for x in (left, right)):
        shared = common_type(lw, left, right)
        if shared is not None:
            both_bool = all(getattr(x, "type", None) is BOOL for x in (left, right))
            return BOOL if both_bool else shared
    if isinstance(left, Value) and isinstance(right, Value) and left.type == right.type:
        return left.type
    raise lw.clash(
        node,
        f"the arms of this expression are {describe(left)} and {describe(right)}",
        "both arms need one type",
    )


def _literal_pair(lw: Lowering, node: ast.AST, left: Literal, right: Literal) -> ScalarType:
    types = [literal_type(left.number), literal_type(right.number)]
    if types[0] is None or types[1] is None:
        raise lw.clash(node, "this literal fits no integer type")
    if types[0] is types[1]:
        return types[0]
    is_float = any(isinstance(x.number, float) for x in (left, right))
    if is_float:
        return next(t for t in types if t is not None and t.is_float)
    return promote(types[0], types[1])


def _tuple(lw: Lowering, node: ast.expr) -> Operand:
    if not isinstance(node, ast.Tuple):
        raise TypeError(node)
    return Several(tuple(lw.lower(item) for item in node.elts))


def _attribute(lw: Lowering, node: ast.expr) -> Operand:
    if not isinstance(node, ast.Attribute):
        raise TypeError(node)
    return attribute(lw, node)


def _subscript(lw: Lowering, node: ast.expr) -> Operand:
    if not isinstance(node, ast.Subscript):
        raise TypeError(node)
    return subscript(lw, node)


def _call(lw: Lowering, node: ast.expr) -> Operand:
    if not isinstance(node, ast.Call):
        raise TypeError(node)
    return call(lw, node)


RULES: Mapping[type[ast.expr], Callable[[Lowering, ast.expr], Operand]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool_value,
    ast.Compare: _compare,
    ast.IfExp: _ternary,
    ast.Tuple: _tuple,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
