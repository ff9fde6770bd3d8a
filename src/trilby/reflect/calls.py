"""Calls in kernels: casts, math, atomics, and functions made by `@tb.func`."""

import ast
import builtins
import inspect
import math
import types

import numpy as np

from trilby.data.dtypes import BOOL, F32, I32, I64, U32, U64, ScalarType, float_of
from trilby.data.schema import ArrayType, NDArrayType
from trilby.errors import KernelTypeError, TrilbyError, UnsupportedSyntaxError
from trilby.model.intrinsics import INTRINSICS, Intrinsic
from trilby.model.ops.arith import Cast, Math
from trilby.model.ops.core import Call
from trilby.model.ops.memory import Atomic
from trilby.model.value import NONE, Value
from trilby.reflect.arithmetic import (
    boolean,
    constant,
    convert_for,
    describe,
    loaded,
    number,
    typed,
)
from trilby.reflect.atomics import AtomicFunction
from trilby.reflect.functions import Compute, Helper, Kernel, is_helper
from trilby.reflect.lowering import Callee, Lowering
from trilby.reflect.operands import Known, Literal, Operand, PlaceOf
from trilby.reflect.places import element_of
from trilby.reflect.promotion import common_type, float_for, keep_weak, scalar_type
from trilby.reflect.signature import Signature, helper_signature, scalar_named

ATOMIC_TYPES = (I32, U32, I64, U64, F32)


def _math_functions() -> dict[object, Intrinsic]:
    rows: dict[object, Intrinsic] = {}
    for name, row in INTRINSICS.items():
        for module in (math, builtins):
            if hasattr(module, name):
                rows[getattr(module, name)] = row
    return rows


MATH_FUNCTIONS = _math_functions()
"""The functions of `math` and the builtins that kernels may call."""


def call(lw: Lowering, node: ast.Call) -> Operand:
    """A call of something that means something on a device."""
    callee = lw.lower(node.func)
    match callee:
        case Known(ScalarType() as scalar):
            return _cast(lw, node, scalar)
        case Known(thing) if is_helper(thing):
            return _helper(lw, node, thing)
        case Known(AtomicFunction() as atomic):
            return _atomic(lw, node, atomic.change)
        case Known(thing) if thing is bool:
            return boolean(lw, _only_argument(lw, node), node)
        case Known(thing) if (row := _row_of(thing)) is not None:
            return _math(lw, node, row)
        case Known(thing):
            raise _refused(lw, node, thing)
        case _:
            raise lw.clash(node.func, f"{describe(callee)} cannot be called")


def _row_of(thing: object) -> Intrinsic | None:
    return MATH_FUNCTIONS.get(thing) if callable(thing) else None


def _refused(lw: Lowering, node: ast.Call, thing: object) -> UnsupportedSyntaxError:
    name = ast.unparse(node.func)
    advice = _advice(thing, name)
    return lw.error(UnsupportedSyntaxError, node, f"`{name}` cannot be called in a kernel", advice)


_ADVICE: tuple[tuple[object, str], ...] = (
    (int, "say the width: `i32(…)`, `i64(…)`"),
    (float, "say the width: `f32(…)`, `f64(…)`"),
    (range, "`range` stands in `for … in range(…)` only"),
    (print, "write values into a buffer and print them on the host"),
    (pow, "write `a ** b`"),
    (math.pow, "write `a ** b`"),
    (len, "use the buffer's length field, or `a.shape[0]` of an n-d array"),
)


def _advice(thing: object, name: str) -> str:
    for known, advice in _ADVICE:
        if thing is known:
            return advice
    if isinstance(thing, Kernel | Compute):
        return "only @tb.func functions can be called; dispatch kernels from a compute function"
    if numpy_scalar := scalar_named(thing):
        return f"write `{numpy_scalar}(…)`"
    if isinstance(thing, np.ufunc):
        return f"use `math.{thing.__name__}` or Python's operators on single numbers"
    if isinstance(thing, types.FunctionType):
        return f"decorate `{name}` with @tb.func"
    if getattr(thing, "__module__", "") == "math":
        return "this function of `math` is not part of the kernel language"
    return "kernels call @tb.func functions, scalar types, and functions of `math`"


def _only_argument(lw: Lowering, node: ast.Call) -> Operand:
    if len(node.args) != 1 or node.keywords:
        raise lw.clash(node, f"`{ast.unparse(node.func)}` takes one argument")
    return lw.lower(node.args[0])


def _cast(lw: Lowering, node: ast.Call, to: ScalarType) -> Operand:
    value = number(lw, _only_argument(lw, node), node.args[0])
    if isinstance(value, Literal):
        return constant(lw, value.number, to, node)
    if value.type is to and value not in lw.weak:
        return value
    lw.expose(value, to)
    return lw.value(Cast, value, type=to, at=node)


def _math(lw: Lowering, node: ast.Call, row: Intrinsic) -> Operand:
    name = ast.unparse(node.func)
    if node.keywords:
        raise lw.clash(node, f"`{name}` takes no keyword arguments in a kernel")
    takes_more = row.name in {"min", "max"}
    if len(node.args) != row.arity and not (takes_more and len(node.args) > row.arity):
        wanted = f"{row.arity} argument{'s' if row.arity > 1 else ''}"
        wanted += " or more" if takes_more else ""
        raise lw.clash(node, f"`{name}` takes {wanted}, and here it has {len(node.args)}")
    args = [number(lw, lw.lower(argument), argument) for argument in node.args]
    result = args[0]
    if row.arity == 1:
        return _math_op(lw, node, row, [result])
    for argument in args[1:]:
        result = _math_op(lw, node, row, [result, argument])
    return result


def _math_op(
    lw: Lowering, node: ast.Call, row: Intrinsic, args: list[Value | Literal]
) -> Value | Literal:
    shared = _shared_type(lw, args)
    if shared is None:
        return _folded(lw, node, row, args)
    if row.takes == "float":
        shared = float_for(lw, node, float_of(shared), args)
    elif shared is BOOL:
        shared = I32
    operands = tuple(typed(lw, argument, node, shared) for argument in args)
    result = lw.value(Math, operands, row.name, type=shared, at=node)
    keep_weak(lw, node, result, args)
    return result


def _shared_type(lw: Lowering, args: list[Value | Literal]) -> ScalarType | None:
    """The type in which one or two arguments meet; None for literals."""
    if len(args) == 2:
        return common_type(lw, args[0], args[1])
    return scalar_type(args[0]) if isinstance(args[0], Value) else None


def _folded(lw: Lowering, node: ast.Call, row: Intrinsic, args: list[Value | Literal]) -> Literal:
    """The number that a function gives for constants, as precise as Python has it."""
    numbers = [argument.number for argument in args if isinstance(argument, Literal)]
    try:
        if row.takes == "float":
            return Literal(float(row.meaning(*map(float, numbers))))
        return Literal(row.meaning(*numbers))
    except OverflowError as error:
        raise lw.clash(node, "this constant is too large for any type") from error


def _helper(lw: Lowering, node: ast.Call, helper: Helper[..., object]) -> Operand:
    bound = _bind(lw, node, helper)
    as_written = (*node.args, *(keyword.value for keyword in node.keywords))
    by_node = {argument: loaded(lw, lw.lower(argument), argument) for argument in as_written}
    lowered = [by_node[argument] for argument in bound]
    ranks = tuple(
        o.type.rank for o in lowered if isinstance(o, Value) and isinstance(o.type, NDArrayType)
    )
    callee = Callee(helper, ranks)
    signature = _signature(lw, node, callee)
    symbol = lw.symbol_of(callee)
    lw.callees[symbol] = callee
    args = tuple(
        convert_for(lw, operand, parameter.type, argument, f"parameter `{parameter.name}`")
        for operand, parameter, argument in zip(lowered, signature.params, bound, strict=True)
    )
    if signature.result == NONE:
        lw.run(Call, args, symbol, at=node)
        return Known(None)
    return lw.value(Call, args, symbol, type=signature.result, at=node)


def _signature(lw: Lowering, node: ast.Call, callee: Callee) -> Signature:
    try:
        return helper_signature(callee.helper, callee.ranks)
    except TrilbyError as error:
        raise error.within(callee.helper.name, lw.where(node)) from error.__cause__


def _bind(lw: Lowering, node: ast.Call, helper: Helper[..., object]) -> list[ast.expr]:
    """The argument expressions in the order of the parameters."""
    if any(isinstance(a, ast.Starred) for a in node.args) or any(
        k.arg is None for k in node.keywords
    ):
        raise lw.error(
            UnsupportedSyntaxError,
            node,
            "`*` and `**` in a call have no meaning in a kernel",
            "name each argument",
        )
    keywords = {k.arg: k.value for k in node.keywords if k.arg is not None}
    try:
        bound = inspect.signature(helper.function).bind(*node.args, **keywords)
    except TypeError as error:
        raise lw.error(
            KernelTypeError,
            node,
            f"`{helper.name}`: {error}",
            f"it is defined at {helper.location} as "
            f"`{helper.name}{inspect.signature(helper.function)}`",
        ) from error
    return list(bound.arguments.values())


def _atomic(lw: Lowering, node: ast.Call, change: str) -> Operand:
    name = f"tb.atomic_{change}"
    if node.keywords or not node.args:
        raise lw.clash(node, f"`{name}` takes a place and a value", f"`{name}(table.count, 1)`")
    place = lw.lower(node.args[0])
    rest = list(node.args[1:])
    if isinstance(place, PlaceOf | Value) and isinstance(place.type, ArrayType | NDArrayType):
        if not rest:
            raise lw.clash(
                node, f"`{name}` on an array takes an index and a value", f"`{name}(a.array, i, 1)`"
            )
        place = element_of(lw, node, place, rest.pop(0))
    if not isinstance(place, PlaceOf) or not isinstance(place.type, ScalarType):
        raise lw.clash(
            node.args[0],
            f"{describe(place)} is not a place in a buffer",
            f"name a field or an element: `{name}(table.count, 1)`",
        )
    if len(rest) != 1:
        raise lw.clash(node, f"`{name}` takes a place and one value, and {len(rest)} are given")
    return _atomic_op(lw, node, place, rest[0], change)


def _atomic_op(
    lw: Lowering, node: ast.Call, place: PlaceOf, operand: ast.expr, change: str
) -> Value:
    if place.type not in ATOMIC_TYPES:
        listed = ", ".join(f"`{t}`" for t in ATOMIC_TYPES)
        raise lw.clash(
            node.args[0],
            f"`{place.type}` cannot be changed atomically",
            f"atomics work on {listed}",
        )
    lw.check_writable(place, node.args[0])
    value = convert_for(lw, lw.lower(operand), place.type, operand, "the place")
    return lw.value(
        Atomic, place.base, place.indices, value, place.path, change, type=place.type, at=node
    )
