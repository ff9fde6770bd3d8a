"""Assignments in kernels: names, elements, fields, and tuples of those."""

import ast

import numpy as np

from trilby.data.annotations import type_of
from trilby.data.dtypes import BOOL, ScalarType, promote
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
    loaded,
    number,
    read,
    typed,
)
from trilby.reflect.lowering import Lowering, Origin, Variable
from trilby.reflect.operands import Known, Literal, Operand, PlaceOf, Several, ShapeOf
from trilby.reflect.places import shape_items
from trilby.reflect.promotion import is_weak, literal_fits, scalar_type
from trilby.reflect.subset import refuse


def assign_statement(lw: Lowering, node: ast.stmt) -> None:
    """`a = b = value`."""
    if not isinstance(node, ast.Assign):
        raise TypeError(node)
    # What is assigned is loaded before anything is stored, as `a, b = b, a` needs.
    value = loaded(lw, lw.lower(node.value), node.value)
    for target in node.targets:
        assign(lw, target, value, node.value)


def assign(lw: Lowering, target: ast.expr, value: Operand, source: ast.AST) -> None:
    """Put the value of the expression `source` into a name, an element, a field, or a tuple."""
    if isinstance(target, ast.Name):
        assign_name(lw, target, value, source, declared=None)
    elif isinstance(target, ast.Attribute | ast.Subscript):
        store(lw, _place(lw, target), value, target, source)
    elif isinstance(target, ast.Tuple):
        _assign_tuple(lw, target, value, source)
    else:
        raise refuse(target, lw.where(target))


def _assign_tuple(lw: Lowering, target: ast.Tuple, value: Operand, source: ast.AST) -> None:
    for part in target.elts:
        if isinstance(part, ast.Starred):
            raise refuse(part, lw.where(part))
    if isinstance(value, ShapeOf):
        value = Several(shape_items(lw, source, value))
    if not isinstance(value, Several):
        raise lw.clash(source, f"{describe(value)} cannot be unpacked", "give a tuple of values")
    if len(value.items) != len(target.elts):
        count = f"{len(target.elts)} names take {len(value.items)} values"
        raise lw.clash(source, f"{count}, and must be as many")
    parts = source.elts if isinstance(source, ast.Tuple) else [source] * len(value.items)
    for part, item, node in zip(target.elts, value.items, parts, strict=True):
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


def store(lw: Lowering, place: PlaceOf, value: Operand, target: ast.expr, source: ast.AST) -> None:
    """Store a number in a field or an element."""
    lw.check_writable(place, target)
    if not isinstance(place.type, ScalarType):
        raise lw.clash(
            target,
            f"`{ast.unparse(target)}` is `{place.type}` and cannot be assigned as a whole",
            "assign each of its numbers",
        )
    purpose = f"`{ast.unparse(target)}`"
    converted = convert_for(lw, value, place.type, source, purpose)
    lw.run(Store, place.base, place.indices, converted, place.path, at=target)


def annotated_assignment(lw: Lowering, node: ast.stmt) -> None:
    """`acc: f32 = 0`."""
    if not isinstance(node, ast.AnnAssign):
        raise TypeError(node)
    if not isinstance(node.target, ast.Name):
        raise lw.clash(node, "only local names can be annotated")
    declared = _declared_type(lw, node.annotation)
    if node.value is not None:
        value = loaded(lw, lw.lower(node.value), node.value)
        assign_name(lw, node.target, value, node.value, declared=declared)
    elif node.target.id not in lw.variables:
        lw.declare(node.target.id, declared, node)
    else:
        _check_declared(lw, node.target.id, declared, node)


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
    lw: Lowering, target: ast.Name, value: Operand, node: ast.AST, *, declared: ScalarType | None
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
        if declared is not None:
            _check_declared(lw, name, declared, node)
        stored = _fitting(lw, name, result, node)
        lw.run(VarStore, variable.var, stored, at=node)
    lw.mark_assigned(name)


def _check_declared(lw: Lowering, name: str, declared: ScalarType, node: ast.AST) -> None:
    """A second declaration may repeat the type, or give one to what held Python numbers."""
    variable = lw.variables[name]
    if variable.origins is not None:
        lw.harden(name)
        lw.widen(name, declared)
    elif variable.type != declared:
        raise lw.clash(
            node,
            f"`{name}` is `{variable.type}` since line {variable.location.line}, and cannot "
            f"become `{declared}`",
            "use another name",
        )


def _alias(lw: Lowering, name: str, value: PlaceOf, node: ast.AST) -> None:
    """`cells = grid.array`: another name for an array, fixed for the whole function."""
    if name not in lw.single or lw.homes.get(name) != lw.levels[-1].path:
        raise lw.clash(
            node,
            f"`{name}` names an array, and is set more than once or used outside of this block",
            "name the buffer instead: `grid = a if c else b`, then `grid.array[i]`",
        )
    lw.aliases[name] = value


def _first_assignment(
    lw: Lowering, name: str, result: Value | Literal, node: ast.AST, declared: ScalarType | None
) -> None:
    wanted = declared or lw.guess(name).type
    if wanted is not None:
        init = convert_for(lw, result, wanted, node, f"`{name}`")
    else:
        init = typed(lw, result, node)
    if not isinstance(init.type, ScalarType | BufferType | NDArrayType | RefType):
        raise lw.clash(node, f"{describe(init)} cannot be held by a local name")
    is_free = declared is None and not lw.guess(name).is_typed
    lw.declare(name, init.type, node, init, _origins(lw, name, result, init) if is_free else None)


def _origins(
    lw: Lowering, name: str, result: Value | Literal, init: Value
) -> frozenset[Origin] | None:
    """What a variable's numbers are made of, where the first one is a Python number."""
    if not is_weak(lw, result) or not isinstance(init.type, ScalarType) or init.type is BOOL:
        return None
    return lw.weak.get(init, frozenset()) | {name} if init.type.is_float else frozenset()


def _fitting(lw: Lowering, name: str, result: Value | Literal, node: ast.AST) -> Value:
    """The value as the variable's type; a variable that began as a literal may widen."""
    variable = lw.variables[name]
    kept = variable.type
    if not isinstance(kept, ScalarType):
        return _same_kind(lw, name, result, node)
    given = describe(result)
    has_guess = variable.origins is not None or lw.guess(name).is_typed
    if isinstance(result, Literal):
        if _suits(result, kept, has_guess=has_guess):
            return typed(lw, result, node, kept)
        result = typed(lw, result, node)
    if variable.origins is not None and result not in lw.weak:
        lw.harden(name)
    if result.type is kept:
        return result
    if isinstance(result.type, ScalarType):
        if _flows(lw, result, result.type, kept):
            return cast(lw, result, kept, node)
        if has_guess:
            lw.widen(name, _widened(lw, variable, kept, result))
            return cast(lw, result, kept, node)
    raise lw.clash(
        node,
        f"`{name}` is `{kept}` since line {variable.location.line}, and this is {given}",
        f"convert it: `{kept}(…)`, or declare `{name}: {result.type} = …` where it is first set"
        if isinstance(result.type, ScalarType)
        else "use another name",
    )


def _suits(literal: Literal, kept: ScalarType, *, has_guess: bool) -> bool:
    """True where a literal is of the variable's kind, and fits if the type may still change."""
    if (kept is BOOL) != isinstance(literal.number, bool):
        return False
    if isinstance(literal.number, float) and not kept.is_float:
        return False
    return not has_guess or literal_fits(literal.number, kept)


def _flows(lw: Lowering, value: Value, own: ScalarType, kept: ScalarType) -> bool:
    """True where nothing can be lost, and from a Python number to a float."""
    if value in lw.weak and kept.is_float:
        return True
    return np.can_cast(own.numpy, kept.numpy, "safe")


def _widened(lw: Lowering, variable: Variable, kept: ScalarType, result: Value) -> ScalarType:
    """The type of a variable that began as a Python number and gets another value."""
    own = scalar_type(result)
    if own.is_float and not kept.is_float:
        return own
    found = promote(kept, own)
    is_weak_integer = variable.origins is not None and kept.is_integer
    if is_weak_integer and result not in lw.weak and found not in {kept, own}:
        return own
    return found


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
        right = number(lw, lw.lower(node.value), node.value)
        result = binary(lw, node, node.op, current, right)
        assign_name(lw, node.target, result, node, declared=None)
        return
    place = _place(lw, node.target)
    lw.check_writable(place, node.target)
    current = number(lw, place, node.target)
    right = number(lw, lw.lower(node.value), node.value)
    store(lw, place, binary(lw, node, node.op, current, right), node.target, node)
