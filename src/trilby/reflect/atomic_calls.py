"""Calls of the atomic operations."""

import ast

from trilby.data.dtypes import F32, I32, I64, U32, U64, ScalarType
from trilby.data.schema import ArrayType, NDArrayType
from trilby.model.ops.memory import Atomic, CompareExchange
from trilby.model.value import RefType, Value
from trilby.reflect.arithmetic import convert_for, describe
from trilby.reflect.atomics import COMPARE_EXCHANGE, AtomicFunction
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import Literal, Operand, PlaceOf
from trilby.reflect.places import element_of

INTEGERS = (I32, U32, I64, U64)
ON_FLOATS = frozenset({"add", "exchange"})
"""The changes that are also made on `f32`."""


def atomic(lw: Lowering, node: ast.Call, function: AtomicFunction) -> Value:
    """`tb.atomic_add(place, value)` and its kin."""
    place, operands = _place_and_operands(lw, node, function)
    _check_type(lw, node, place, function)
    lw.check_writable(place, node.args[0])
    values = [convert_for(lw, lw.lower(o), place.type, o, "the place") for o in operands]
    if function.fixed is not None:
        one = Literal(function.fixed)
        values.append(convert_for(lw, one, place.type, node, "the place"))
    fields = (place.base, place.indices, *values, place.path)
    if function.change == COMPARE_EXCHANGE:
        return lw.value(CompareExchange, *fields, type=place.type, at=node)
    return lw.value(Atomic, *fields, function.change, type=place.type, at=node)


def _place_and_operands(
    lw: Lowering, node: ast.Call, function: AtomicFunction
) -> tuple[PlaceOf, list[ast.expr]]:
    name = f"tb.{function.__name__}"
    numbers = ", ".join(["1", "2"][: function.operands])
    example = f"`{name}(table.count{numbers and ', ' + numbers})`"
    if node.keywords or not node.args:
        raise lw.clash(node, f"`{name}` takes a place first", f"write {example}")
    place: Operand = lw.lower(node.args[0])
    rest = list(node.args[1:])
    if _is_array(place) and isinstance(place, PlaceOf | Value):
        example = f"`{name}(a.array, i{numbers and ', ' + numbers})`"
        if not rest:
            raise lw.clash(node, f"`{name}` on an array takes an index", f"write {example}")
        place = element_of(lw, node, place, rest.pop(0))
    if not isinstance(place, PlaceOf) or not isinstance(place.type, ScalarType):
        raise lw.clash(
            node.args[0],
            f"{describe(place)} is not a place in a buffer",
            f"name a field or an element: {example}",
        )
    if len(rest) != function.operands:
        wanted = ["no value", "one value", "two values"][function.operands]
        raise lw.clash(
            node,
            f"`{name}` takes a place and {wanted}, and here it has {len(rest)}",
            f"write {example}",
        )
    return place, rest


def _is_array(operand: Operand) -> bool:
    match operand:
        case PlaceOf(type=ArrayType()) | Value(type=NDArrayType()):
            return True
        case Value(type=RefType(to=ArrayType())):
            return True
        case _:
            return False


def _check_type(lw: Lowering, node: ast.Call, place: PlaceOf, function: AtomicFunction) -> None:
    if isinstance(place.base.type, RefType) and place.base.type.space == "private":
        raise lw.clash(
            node.args[0],
            "a private array belongs to one work item, and nobody else can change it",
            "change it as usual: `own[i] += 1`",
        )
    allowed = (*INTEGERS, F32) if function.change in ON_FLOATS else INTEGERS
    if place.type not in allowed:
        listed = ", ".join(f"`{t}`" for t in allowed)
        raise lw.clash(
            node.args[0],
            f"`{place.type}` cannot be changed by `{function.__name__}`",
            f"it works on {listed}",
        )
