"""Assignments in kernels: names, elements, fields, and tuples of those."""

import ast

import numpy as np

from trilby.data.annotations import type_of
from trilby.data.dtypes import BOOL, ScalarType, Type, promote
from trilby.data.schema import ArrayType, BufferType, NDArrayType
from trilby.errors import KernelTypeError
from trilby.model.ops.core import VarStore
from trilby.model.ops.memory import Store
from trilby.model.value import RefType, Value
from trilby.reflect.arithmetic import (
    binary,
    cast,
    convert_for,
    describe,
    number,
    read,
    typed,
)
from trilby.reflect.lowering import Lowering, WidenError
from trilby.reflect.operands import Known, Literal, Operand, PlaceOf, Several
from trilby.reflect.subset import refuse


def assign_statement(lw: Lowering, node: ast.stmt) -> None:
    """`a = b = value`."""
    if not isinstance(node, ast.Assign):
        raise TypeError(node)
    value = _evaluated(lw, lw.lower(node.value), node.value)
    for target in node.targets:
        assign(lw, target, value, node)


def _evaluated(lw: Lowering, operand: Operand, node: ast.AST) -> Operand:
    """Load what is assigned before anything is stored, as `a, b = b, a` needs."""
    if isinstance(operand, Several):
        return Several(tuple(_evaluated(lw, item, node) for item in operand.items))
    if isinstance(operand, PlaceOf) and isinstance(operand.type, ScalarType):
        return read(lw, operand, node)
    return operand


def assign(lw: Lowering, target: ast.expr, value: Operand, node: ast.AST) -> None:
    """Put a value into a name, an element, a field, or a tuple of those."""
    if isinstance(target, ast.Name):
        assign_name(lw, target, value, node, declared=None)
    elif isinstance(target, ast.Attribute | ast.Subscript):
        store(lw, _place(lw, target), value, target)
    elif isinstance(target, ast.Tuple):
        _assign_tuple(lw, target, value, node)
    else:
        raise refuse(target, lw.where(target))


def _assign_tuple(lw: Lowering, target: ast.Tuple, value: Operand, node: ast.AST) -> None:
    if not isinstance(value, Several) or len(value.items) != len(target.elts):
        count = len(value.items) if isinstance(value, Several) else 1
        raise lw.clash(node, f"{len(target.elts)} names are assigned from {count} values")
    for part, item in zip(target.elts, value.items, strict=True):
        if isinstance(part, ast.Starred):
            raise refuse(part, lw.where(part))
        assign(lw, part, item, node)


def _place(lw: Lowering, target: ast.expr) -> PlaceOf:
    place = lw.lower(target)
    if isinstance(place, PlaceOf):
        return place
    raise lw.clash(
        target,
        f"`{ast.unparse(target)}` cannot be assigned",
        "assign to a local name, or to a field or element of a buffer",
    )


def store(lw: Lowering, place: PlaceOf, value: Operand, target: ast.expr) -> None:
    """Store a number in a field or an element."""
    lw.check_writable(place, target)
    if not isinstance(place.type, ScalarType):
        raise lw.clash(
            target,
            f"`{ast.unparse(target)}` is `{place.type}` and cannot be assigned as a whole",
            "assign each of its numbers",
        )
    purpose = f"`{ast.unparse(target)}`"
    converted = convert_for(lw, value, place.type, target, purpose)
    lw.run(Store, place.base, place.indices, converted, place.path, at=target)


def annotated_assignment(lw: Lowering, node: ast.stmt) -> None:
    """`acc: f32 = 0`."""
    if not isinstance(node, ast.AnnAssign):
        raise TypeError(node)
    if not isinstance(node.target, ast.Name):
        raise lw.clash(node, "only local names can be annotated")
    declared = _declared_type(lw, node.annotation)
    if node.value is not None:
        value = _evaluated(lw, lw.lower(node.value), node.value)
        assign_name(lw, node.target, value, node, declared=declared)
    elif node.target.id not in lw.variables:
        lw.declare(node.target.id, declared, node, is_weak=False)


def _declared_type(lw: Lowering, annotation: ast.expr) -> ScalarType:
    named = lw.lower(annotation)
    found = type_of(named.thing) if isinstance(named, Known) else None
    if isinstance(found, ScalarType):
        return found
    raise lw.error(
        KernelTypeError,
        annotation,
        f"`{ast.unparse(annotation)}` is not a type for a local variable",
        "use a scalar type: `i32`, `f32`, …",
    )


def assign_name(
    lw: Lowering, target: ast.Name, value: Operand, node: ast.AST, *, declared: Type | None
) -> None:
    """Set a local variable, making it where this is its first assignment."""
    name = target.id
    if isinstance(value, PlaceOf) and isinstance(value.type, ArrayType):
        _alias(lw, name, value, node)
        return
    result = read(lw, value, node)
    variable = lw.variables.get(name)
    if variable is None:
        _first_assignment(lw, name, result, node, declared)
    else:
        stored = _fitting(lw, name, result, node)
        lw.run(VarStore, variable.var, stored, at=node)
    lw.mark_assigned(name)


def _alias(lw: Lowering, name: str, value: PlaceOf, node: ast.AST) -> None:
    """`cells = grid.array`: another name for an array, fixed for the whole function."""
    if name not in lw.single or name in lw.params or len(lw.levels) > 1:
        raise lw.clash(
            node,
            f"`{name}` names an array and is set more than once or under a condition",
            "name the buffer instead: `grid = a if c else b`, then `grid.array[i]`",
        )
    lw.aliases[name] = value


def _first_assignment(
    lw: Lowering, name: str, result: Value | Literal, node: ast.AST, declared: Type | None
) -> None:
    wanted = declared or lw.widened.get(name)
    if isinstance(wanted, ScalarType):
        init = convert_for(lw, result, wanted, node, f"`{name}`")
    else:
        init = typed(lw, result, node)
    if not isinstance(init.type, ScalarType | BufferType | NDArrayType | RefType):
        raise lw.clash(node, f"{describe(init)} cannot be held by a local name")
    is_weak = declared is None and isinstance(result, Literal) and init.type is not BOOL
    lw.declare(name, init.type, node, is_weak=is_weak, init=init)


def _fitting(lw: Lowering, name: str, result: Value | Literal, node: ast.AST) -> Value:
    """The value as the variable's type; a variable that began as a literal may widen."""
    variable = lw.variables[name]
    kept = variable.type
    if not isinstance(kept, ScalarType):
        return _same_kind(lw, name, result, node)
    if isinstance(result, Literal):
        fits_kind = kept.is_float or not isinstance(result.number, float)
        if fits_kind and (kept is BOOL) == isinstance(result.number, bool):
            return typed(lw, result, node, kept)
        result = typed(lw, result, node)
    if result.type is kept:
        return result
    if isinstance(result.type, ScalarType):
        if np.can_cast(result.type.numpy, kept.numpy, "safe"):
            return cast(lw, result, kept, node)
        if variable.is_weak and kept is not BOOL:
            raise WidenError(name, _widened(kept, result.type))
    raise lw.clash(
        node,
        f"`{name}` is `{kept}` since line {variable.location.line}, and this is "
        f"{describe(result)}",
        f"convert it: `{kept}(…)`, or declare `{name}: {result.type} = …` where it is first set",
    )


def _widened(kept: ScalarType, wanted: ScalarType) -> ScalarType:
    if wanted.is_float and not kept.is_float:
        return wanted
    return promote(kept, wanted)


def _same_kind(lw: Lowering, name: str, result: Value | Literal, node: ast.AST) -> Value:
    kept = lw.variables[name].type
    if isinstance(result, Value) and result.type == kept:
        return result
    raise lw.clash(node, f"`{name}` is `{kept}`, and this is {describe(result)}")


def augmented_assignment(lw: Lowering, node: ast.stmt) -> None:
    """`target op= value`: the target's indices are computed once."""
    if not isinstance(node, ast.AugAssign):
        raise TypeError(node)
    if isinstance(node.target, ast.Name):
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        current: Operand = lw.lower(name)
        if not isinstance(current, Value | Literal):
            raise lw.clash(node, f"{describe(current)} cannot be changed")
        result = binary(lw, node, node.op, current, lw.lower(node.value))
        assign_name(lw, node.target, result, node, declared=None)
        return
    place = _place(lw, node.target)
    lw.check_writable(place, node.target)
    current = number(lw, place, node.target)
    result = binary(lw, node, node.op, current, lw.lower(node.value))
    store(lw, place, result, node.target)
