"""Assignments to what lies inside of something: fields, elements, lanes of vectors, cells.

What stands left of the last dot or bracket is evaluated once, also in `a[f(i)].xy += v`.
"""

import ast
from collections.abc import Callable
from typing import TypeAlias

from trilby.data.dtypes import ScalarType
from trilby.data.schema import StructType, join_path
from trilby.data.vector_types import LANES, matrix_of, vector_of, vector_type
from trilby.model.ops.memory import Store
from trilby.model.value import RefType, Value
from trilby.reflect.aggregates import (
    assign_element,
    assign_local_member,
    cells_of,
    distinct_lanes,
    is_value,
    lane_count_clash,
    parts,
    place_of,
    settled,
    store_struct,
    struct_of,
)
from trilby.reflect.arithmetic import convert_for
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import HeldArray, LocalStruct, Operand, PlaceOf
from trilby.reflect.places import attribute_of, subscript_of

Inner: TypeAlias = ast.Attribute | ast.Subscript


def assign_inner(lw: Lowering, target: Inner, value: Operand, source: ast.AST) -> None:
    """`a.x = value`, `a[i] = value`."""
    _assign(lw, target, lw.lower(target.value), value, source)


def change_inner(
    lw: Lowering, target: Inner, changed: Callable[[Operand], Operand], source: ast.AST
) -> None:
    """`a.x op= value`, `a[i] op= value`: all indices are computed once."""
    owner = lw.lower(target.value)
    inner = _inner(lw, target, owner)
    if isinstance(inner, PlaceOf):
        lw.check_writable(inner, target)
        store(lw, inner, changed(settled(lw, inner, target)), target, source)
    else:
        _assign(lw, target, owner, changed(settled(lw, inner, target)), source)


def _inner(lw: Lowering, target: Inner, owner: Operand) -> Operand:
    if isinstance(target, ast.Attribute):
        return attribute_of(lw, target, owner)
    return subscript_of(lw, target, owner)


def _assign(lw: Lowering, target: Inner, owner: Operand, value: Operand, source: ast.AST) -> None:
    """Assign to a part of a struct that a local name holds, to lanes, or to a place."""
    if isinstance(target, ast.Attribute):
        if isinstance(owner, LocalStruct):
            assign_local_member(lw, owner, target.attr, value, target)
            return
        if _is_in_memory(owner) and _is_swizzle(owner, target.attr):
            _store_lanes(lw, target, place_of(owner), value)
            return
    else:
        held = cells_of(lw, target, owner) if _is_held_matrix(owner) else owner
        if isinstance(held, HeldArray) and isinstance(held.owner, LocalStruct):
            assign_element(lw, held, held.owner, value, target)
            return
    store(lw, _place(lw, target, _inner(lw, target, owner)), value, target, source)


def _is_in_memory(owner: Operand) -> bool:
    is_reference = isinstance(owner, Value) and isinstance(owner.type, RefType)
    return isinstance(owner, PlaceOf) or is_reference


def _is_swizzle(owner: Operand, name: str) -> bool:
    struct = struct_of(owner)
    return struct is not None and vector_of(struct) is not None and struct.field(name) is None


def _is_held_matrix(owner: Operand) -> bool:
    return isinstance(owner, LocalStruct) and matrix_of(owner.struct) is not None


def _store_lanes(lw: Lowering, target: ast.Attribute, place: PlaceOf, value: Operand) -> None:
    """`table.color[i].xy = v`: write some lanes of a vector in memory."""
    lw.check_writable(place, target)
    struct = place.type
    vector = vector_of(struct) if isinstance(struct, StructType) else None
    if not isinstance(struct, StructType) or vector is None:
        raise TypeError(struct)
    lw.check_writable(place, target)
    picked = distinct_lanes(lw, struct, target.attr, target)
    if struct_of(value) != vector_type(vector[0], len(picked)):
        raise lane_count_clash(lw, target, target.attr, value)
    for lane, number in zip(picked, parts(lw, value, target), strict=True):
        path = join_path(place.path, LANES[lane])
        lw.run(Store, place.base, place.indices, number, path, at=target)


def _place(lw: Lowering, target: Inner, inner: Operand) -> PlaceOf:
    if isinstance(inner, PlaceOf):
        return inner
    raise lw.clash(target, f"`{ast.unparse(target)}` cannot be assigned", _advice(lw, target))


def _advice(lw: Lowering, target: Inner) -> str:
    root: ast.expr = target
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if isinstance(root, ast.Name) and root.id in lw.params and is_value(lw.params[root.id]):
        return f"a parameter is a value: copy it first, `mine = {root.id}`, and change the copy"
    return "assign to a local name, or to a field or element of a buffer"


def store(lw: Lowering, place: PlaceOf, value: Operand, target: ast.expr, source: ast.AST) -> None:
    """Store a number, or a whole struct, in a field or an element."""
    lw.check_writable(place, target)
    if isinstance(place.type, StructType):
        store_struct(lw, place, value, source)
        return
    if not isinstance(place.type, ScalarType):
        raise lw.clash(
            target,
            f"`{ast.unparse(target)}` is `{place.type}` and cannot be assigned as a whole",
            "assign each of its numbers",
        )
    purpose = f"`{ast.unparse(target)}`"
    converted = convert_for(lw, value, place.type, source, purpose)
    lw.run(Store, place.base, place.indices, converted, place.path, at=target)
