"""Expressions of kernels: one rule for each kind of node, found through a table."""

import ast
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from trilby.data.dtypes import BOOL, F32, ScalarType, Type, promote
from trilby.data.schema import StructType, leaves
from trilby.errors import KernelNameError, UnsupportedSyntaxError
from trilby.model.op import Op
from trilby.model.ops.arith import Not
from trilby.model.ops.control import AndThen, If, OrElse, Ternary
from trilby.model.ops.core import Var, VarLoad, VarStore, Yield
from trilby.model.value import Value, VarType
from trilby.reflect.aggregates import is_struct, is_value, settled, struct_of, value_for
from trilby.reflect.aggregates import parts as parts_of
from trilby.reflect.capture import MISSING
from trilby.reflect.kernel_arithmetic import compare, describe, number, read, truth, typed
from trilby.reflect.lowering import Level, Lowering
from trilby.reflect.operands import Aggregate, Literal, LocalPlace, Operand, Several
from trilby.reflect.places import attribute_of, subscript_of
from trilby.reflect.promotion import common_type, float_for, keep_weak, literal_type
from trilby.reflect.subset import REFUSED, refuse
from trilby.reflect.vector_math import any_binary, any_unary, computable


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


def _constant(lw: Lowering, node: ast.Constant) -> Operand:
    if isinstance(node.value, bool | int | float):
        return Literal(node.value)
    raise lw.error(
        UnsupportedSyntaxError,
        node,
        f"a constant of type `{type(node.value).__name__}` has no meaning in a kernel",
        "kernels compute with numbers",
    )


def _name(lw: Lowering, node: ast.Name) -> Operand:
    name = node.id
    if name in lw.aliases:
        return lw.aliases[name]
    if name in lw.structs:
        lw.check_assigned(name, node)
        return LocalPlace(name, lw.structs[name])
    if name in lw.variables:
        return lw.read_variable(name, node)
    if name in lw.stored:
        lw.check_assigned(name, node)
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
    """A long sum leans to the left: its parts are taken one by one, without recursion."""
    parts: list[ast.BinOp] = []
    while isinstance(node, ast.BinOp):
        parts.append(node)
        node = node.left
    result: Operand = computable(lw, lw.lower(node), node)
    for part in reversed(parts):
        right = computable(lw, lw.lower(part.right), part.right)
        result = any_binary(lw, part, part.op, result, right)
    return result


def _unary(lw: Lowering, node: ast.UnaryOp) -> Operand:
    if not isinstance(node.op, ast.Not):
        return any_unary(lw, node, lw.lower(node.operand))
    operand = condition(lw, node.operand)
    if isinstance(operand, Literal):
        return Literal(not operand.number)
    return lw.value(Not, operand, type=BOOL, at=node)


def _bool_value(lw: Lowering, node: ast.BoolOp) -> Operand:
    """`a and b` as a value: only bools, since Python would give back an operand."""
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
    """`a and b and c` as `(a and b) and c`, which means the same and does not grow deep."""
    kind = AndThen if isinstance(node.op, ast.And) else OrElse
    first = lower(lw, node.values[0])
    for value in node.values[1:]:
        first = _short_circuit(lw, node, kind, first, partial(lower, lw, value))
    return first


def _short_circuit(
    lw: Lowering,
    node: ast.AST,
    kind: type[Op],
    first: Value | Literal,
    rest: Callable[[], Value | Literal],
) -> Value | Literal:
    if isinstance(first, Literal):
        decides = bool(first.number) is (kind is OrElse)
        return first if decides else rest()
    level = _nested(lw)
    with lw.inside(level):
        lw.run(Yield, typed(lw, rest(), node, BOOL), at=node)
    return lw.value(kind, first, level.builder.block(), type=BOOL, at=node)


def _nested(lw: Lowering) -> Level:
    level = lw.levels[-1]
    return Level(level.builder.nested(), (*level.path, (-1, "expression")))


def _compare(lw: Lowering, node: ast.Compare) -> Operand:
    """`a < b < c`: each operand once, and nothing right of a false comparison."""
    for symbol in node.ops:
        if type(symbol) in REFUSED:
            raise refuse(symbol, lw.where(node))
    left = number(lw, lw.lower(node.left), node.left)
    return _chain(lw, node, left, node.ops, node.comparators)


def _chain(
    lw: Lowering,
    node: ast.Compare,
    left: Value | Literal,
    symbols: list[ast.cmpop],
    rest: list[ast.expr],
) -> Value | Literal:
    right = number(lw, lw.lower(rest[0]), rest[0])
    first = compare(lw, node, symbols[0], left, right)
    if len(rest) == 1:
        return first
    others = partial(_chain, lw, node, right, symbols[1:], rest[1:])
    return _short_circuit(lw, node, AndThen, first, others)


def _ternary(lw: Lowering, node: ast.IfExp) -> Operand:
    """Both arms are lowered, then each is brought to the type they share."""
    test = condition(lw, node.test)
    if isinstance(test, Literal):
        return _folded_ternary(lw, node, taken=bool(test.number))
    then, left = _arm(lw, node.body)
    otherwise, right = _arm(lw, node.orelse)
    if is_struct(left) or is_struct(right):
        return _struct_ternary(lw, node, test, (then, left), (otherwise, right))
    type_ = _shared_type(lw, node, left, right)
    _yield(lw, node.body, then, left, type_)
    _yield(lw, node.orelse, otherwise, right, type_)
    blocks = (then.builder.block(), otherwise.builder.block())
    result = lw.value(Ternary, test, *blocks, type=type_, at=node)
    if isinstance(type_, ScalarType):
        keep_weak(lw, node, result, [left, right])
    return result


def _struct_ternary(
    lw: Lowering,
    node: ast.IfExp,
    test: Value,
    then: tuple[Level, Value | Literal],
    otherwise: tuple[Level, Value | Literal],
) -> Operand:
    """Structs meet in variables, one for each leaf, that both arms set."""
    type_ = _shared_type(lw, node, then[1], otherwise[1])
    if not isinstance(type_, StructType):
        raise TypeError(type_)
    variables = [
        lw.value(Var, (), "chosen", type=VarType(leaf.type), at=node, hint="chosen")
        for leaf in leaves(type_)
    ]
    for level, value in (then, otherwise):
        with lw.inside(level):
            for variable, number_ in zip(variables, parts_of(lw, value, node), strict=True):
                lw.run(VarStore, variable, number_, at=node)
    lw.run(If, test, then[0].builder.block(), otherwise[0].builder.block(), at=node)
    values = tuple(
        lw.value(VarLoad, variable, type=leaf.type, at=node)
        for variable, leaf in zip(variables, leaves(type_), strict=True)
    )
    return Aggregate(type_, values)


def _folded_ternary(lw: Lowering, node: ast.IfExp, *, taken: bool) -> Operand:
    """A condition that is a constant: the other arm is checked, and left out."""
    used, unused = (node.body, node.orelse) if taken else (node.orelse, node.body)
    _, other = _arm(lw, unused)
    result = _value(lw, used)
    type_ = _shared_type(lw, node, result, other)
    if isinstance(result, Literal) or not isinstance(type_, ScalarType):
        return result
    return typed(lw, result, used, type_)


def _arm(lw: Lowering, node: ast.expr) -> tuple[Level, Value | Literal]:
    level = _nested(lw)
    with lw.inside(level):
        return level, _value(lw, node)


def _value(lw: Lowering, node: ast.expr) -> Value | Literal:
    operand = lw.lower(node)
    struct = struct_of(operand)
    if struct is not None and is_value(operand):
        return value_for(lw, operand, struct, node, "this")
    return read(lw, operand, node)


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
            return shared
    if isinstance(left, Value) and isinstance(right, Value) and left.type == right.type:
        return left.type
    struct = struct_of(left)
    if struct is not None and struct == struct_of(right):
        return struct
    raise lw.clash(
        node,
        f"the arms of this expression are {describe(left)} and {describe(right)}",
        "both arms need one type",
    )


def _literal_pair(lw: Lowering, node: ast.AST, left: Literal, right: Literal) -> ScalarType:
    types = [literal_type(left.number), literal_type(right.number)]
    if types[0] is None or types[1] is None:
        raise lw.clash(node, "this literal fits no integer type")
    if types[0] is BOOL and types[1] is BOOL:
        return BOOL
    if any(isinstance(x.number, float) for x in (left, right)):
        return float_for(lw, node, F32, [left, right])
    return promote(types[0], types[1])


def _tuple(lw: Lowering, node: ast.Tuple) -> Operand:
    return Several(tuple(settled(lw, lw.lower(item), item) for item in node.elts))


def _attribute(lw: Lowering, node: ast.Attribute) -> Operand:
    return attribute_of(lw, node, lw.lower(node.value))


def _subscript(lw: Lowering, node: ast.Subscript) -> Operand:
    return subscript_of(lw, node, lw.lower(node.value))


def _call(lw: Lowering, node: ast.Call) -> Operand:
    from trilby.reflect.kernel_calls import call  # noqa: PLC0415 -- it knows all that can be called

    return call(lw, node)


RULES: Mapping[type[ast.expr], Callable[[Lowering, Any], Operand]] = {
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
