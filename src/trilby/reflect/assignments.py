"""Assignments in kernels: names, elements, fields, and tuples of those."""

import ast
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from trilby.data.annotations import type_of
from trilby.data.dtypes import BOOL, ScalarType, Type, promote
from trilby.data.schema import BufferType, NDArrayType, StructType
from trilby.data.vector_types import vector_of
from trilby.errors import KernelTypeError
from trilby.model.ops.core import VarStore
from trilby.model.value import RefType, Value
from trilby.reflect.aggregates import (
    assign_struct,
    is_value,
    place_of,
    settled,
    store,
    store_lanes,
    struct_of,
)
from trilby.reflect.kernel_arithmetic import cast, convert_for, describe, read, typed
from trilby.reflect.lowering import Lowering, Origin, Variable
from trilby.reflect.operands import (
    KnownObject,
    Literal,
    LocalPlace,
    Operand,
    PlaceOf,
    Several,
    ShapeOf,
)
from trilby.reflect.places import array_place, attribute_of, shape_items, subscript_of
from trilby.reflect.promotion import (
    integer_promotion,
    is_weak,
    literal_fits,
    literal_type,
    scalar_type,
)
from trilby.reflect.subset import refuse
from trilby.reflect.vector_math import any_binary, computable

# -------------------------------------------------------------------------------- inner assignments
# Assignments to what lies inside of something: fields, elements, lanes of vectors, cells.
#
# What stands left of the last dot or bracket is evaluated once, also in `a[f(i)].xy += v`.

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
    value = changed(settled(lw, inner, target))
    if isinstance(inner, PlaceOf | LocalPlace):
        store(lw, inner, value, target, source)
    else:
        _assign(lw, target, owner, value, source)


def _assign(lw: Lowering, target: Inner, owner: Operand, value: Operand, source: ast.AST) -> None:
    """Assign to lanes of a vector, or to a place."""
    place = place_of(owner)
    if isinstance(target, ast.Attribute) and place is not None and _is_swizzle(place, target.attr):
        store_lanes(lw, place, value, target)
        return
    inner = _inner(lw, target, owner)
    if not isinstance(inner, PlaceOf | LocalPlace):
        raise lw.clash(target, f"`{ast.unparse(target)}` cannot be assigned", _advice(lw, target))
    store(lw, inner, value, target, source)


def _inner(lw: Lowering, target: Inner, owner: Operand) -> Operand:
    if isinstance(target, ast.Subscript):
        return subscript_of(lw, target, owner)
    is_local = isinstance(owner, LocalPlace)
    if is_local and isinstance(owner.type, StructType) and owner.type.is_union:
        raise lw.clash(
            target,
            f"`{owner.type}` is a union, and inside of a value its members share no bytes",
            "write it in a buffer",
        )
    return attribute_of(lw, target, owner)


def _is_swizzle(place: PlaceOf | LocalPlace, name: str) -> bool:
    struct = place.type
    if not isinstance(struct, StructType):
        return False
    return vector_of(struct) is not None and struct.field(name) is None


def _advice(lw: Lowering, target: Inner) -> str:
    root: ast.expr = target
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    if isinstance(root, ast.Name) and root.id in lw.params and is_value(lw.params[root.id]):
        return f"a parameter is a value: copy it first, `mine = {root.id}`, and change the copy"
    return "assign to a local name, or to a field or element of a buffer"


# -------------------------------------------------------------------------------------- assignments


def assign_statement(lw: Lowering, node: ast.Assign) -> None:
    """`a = b = value`."""
    lw.target = node.targets[0].id if isinstance(node.targets[0], ast.Name) else ""
    # What is assigned is loaded before anything is stored, as `a, b = b, a` needs.
    value = settled(lw, lw.lower(node.value), node.value)
    for target in node.targets:
        assign(lw, target, value, node.value)


def assign(lw: Lowering, target: ast.expr, value: Operand, source: ast.AST) -> None:
    """Put the value of the expression `source` into a name, an element, a field, or a tuple."""
    if isinstance(target, ast.Name):
        assign_name(lw, target, value, source, declared=None)
    elif isinstance(target, ast.Attribute | ast.Subscript):
        assign_inner(lw, target, value, source)
    elif isinstance(target, ast.Tuple | ast.List):
        _assign_tuple(lw, target, value, source)
    else:
        raise refuse(target, lw.where(target))


def _assign_tuple(
    lw: Lowering, target: ast.Tuple | ast.List, value: Operand, source: ast.AST
) -> None:
    for part in target.elts:
        if isinstance(part, ast.Starred):
            raise refuse(part, lw.where(part))
    if isinstance(value, ShapeOf):
        value = Several(shape_items(lw, source, value))
    if not isinstance(value, Several):
        raise lw.clash(source, f"{describe(value)} cannot be unpacked", "give a tuple of values")
    if len(value.items) != len(target.elts):
        raise lw.clash(
            source, f"{len(value.items)} values are unpacked into {len(target.elts)} names"
        )
    parts = source.elts if isinstance(source, ast.Tuple) else [source] * len(value.items)
    for part, item, node in zip(target.elts, value.items, parts, strict=True):
        assign(lw, part, item, node)


def annotated_assignment(lw: Lowering, node: ast.AnnAssign) -> None:
    """`acc: f32 = 0`."""
    if not isinstance(node.target, ast.Name):
        raise lw.clash(node, "only local names can be annotated")
    declared = _declared_type(lw, node.annotation)
    if not isinstance(declared, ScalarType):
        _assign_declared(lw, node.target, node.value, declared)
    elif node.value is not None:
        value = settled(lw, lw.lower(node.value), node.value)
        assign_name(lw, node.target, value, node.value, declared=declared)
    elif node.target.id not in lw.variables:
        lw.declare(node.target.id, declared, node)
    else:
        _is_declared(lw, node.target.id, declared, node)


def _assign_declared(
    lw: Lowering, target: ast.Name, source: ast.expr | None, declared: Type
) -> None:
    """`p: Point = …`: structs, vectors and buffers are what they are; that is checked."""
    if source is None:
        return
    value = settled(lw, lw.lower(source), source)
    given = struct_of(value) or (value.type if isinstance(value, Value) else None)
    if given != declared:
        raise lw.clash(
            source, f"`{target.id}` is declared `{declared}`, and this is {describe(value)}"
        )
    assign_name(lw, target, value, source, declared=None)


def _declared_type(lw: Lowering, annotation: ast.expr) -> Type:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        raise lw.error(
            KernelTypeError,
            annotation,
            "the type of a local variable is not given as text",
            f"leave the quotes out: `{annotation.value}`",
        )
    named = lw.lower(annotation)
    found = type_of(named.thing) if isinstance(named, KnownObject) else None
    if isinstance(found, ScalarType | StructType):
        return found
    raise lw.error(
        KernelTypeError,
        annotation,
        f"`{ast.unparse(annotation)}` is not a type for a local variable",
        "use a scalar type (`i32`, `f32`, …), a struct, a vector or a buffer class",
    )


def assign_name(
    lw: Lowering, target: ast.Name, value: Operand, node: ast.AST, *, declared: ScalarType | None
) -> None:
    """Set a local variable, making it where this is its first assignment."""
    name = target.id
    array = array_place(value)
    if array is not None and not isinstance(array.type, NDArrayType):
        _alias(lw, name, value, node)
        return
    if is_value(value) or name in lw.structs:
        assign_struct(lw, name, value, node)
        return
    result = read(lw, value, node)
    variable = lw.variables.get(name)
    if variable is None:
        _first_assignment(lw, name, result, node, declared)
    elif declared is None or _is_declared(lw, name, declared, node):
        stored = _fitting(lw, name, result, node)
        lw.run(VarStore, variable.var, stored, at=node)
    lw.mark_assigned(name)


def _is_declared(lw: Lowering, name: str, declared: ScalarType, node: ast.AST) -> bool:
    """A second declaration may repeat the type; what held Python numbers gets it next time."""
    variable = lw.variables[name]
    if variable.origins is not None:
        lw.harden(name)
        lw.widen(name, declared)
        return False
    if variable.type != declared:
        raise lw.clash(
            node,
            f"`{name}` is `{variable.type}` since line {variable.location.line}, and cannot "
            f"become `{declared}`",
            "use another name",
        )
    return True


def _alias(lw: Lowering, name: str, value: Operand, node: ast.AST) -> None:
    """`cells = grid.array`: another name for an array, fixed for the whole function."""
    if name not in lw.single or lw.homes.get(name) != lw.levels[-1].path:
        is_in_buffer = isinstance(value, PlaceOf)
        raise lw.clash(
            node,
            f"`{name}` names an array, and is set more than once or used outside of this block",
            "name the buffer instead: `grid = a if c else b`, then `grid.array[i]`"
            if is_in_buffer
            else "give every array a name of its own, in the block that uses it",
        )
    lw.aliases[name] = value


def _first_assignment(
    lw: Lowering, name: str, result: Value | Literal, node: ast.AST, declared: ScalarType | None
) -> None:
    wanted = declared or _guessed_type(lw, name, result)
    if wanted is not None:
        init = convert_for(lw, result, wanted, node, f"`{name}`")
    else:
        init = typed(lw, result, node)
    if not isinstance(init.type, ScalarType | BufferType | NDArrayType | RefType):
        raise lw.clash(
            node, f"{describe(init)} cannot be held by a local name", "use it where it is"
        )
    # what its numbers are made of is only known where the first one is a Python number
    is_number = isinstance(init.type, ScalarType) and init.type is not BOOL
    origins = None
    if declared is None and name not in lw.typed and is_number and is_weak(lw, result):
        origins = lw.weak.get(init, frozenset[Origin]()) | {name}
    lw.declare(name, init.type, node, init, origins)


def _guessed_type(lw: Lowering, name: str, result: Value | Literal) -> ScalarType | None:
    """What earlier passes found, but wide enough for the first value: `n = -1` beside `u32`."""
    guessed = lw.guesses.get(name)
    if guessed is None or not guessed.is_integer or not isinstance(result, Literal):
        return guessed
    alone = literal_type(result.number)
    both = promote(guessed, alone) if alone else guessed
    return both if both.is_integer and not literal_fits(result.number, guessed) else guessed


def _fitting(lw: Lowering, name: str, result: Value | Literal, node: ast.AST) -> Value:
    """The value as the variable's type; a variable that began as a literal may widen."""
    variable = lw.variables[name]
    kept = variable.type
    given = describe(result)
    advice = "use another name"
    if isinstance(kept, ScalarType):
        has_guess = variable.origins is not None or name in lw.typed
        if isinstance(result, Literal):
            if _suits(result, kept, has_guess=has_guess):
                return typed(lw, result, node, kept)
            result = typed(lw, result, node)
        if result in lw.weak:
            lw.rely(result)
        elif variable.origins is not None:
            lw.harden(name)
        own = result.type
        if isinstance(own, ScalarType) and own is not kept:
            # nothing is lost, or a Python number becomes a float
            flows = kept.is_float and result in lw.weak
            if flows or np.can_cast(own.numpy, kept.numpy, "safe"):
                return cast(lw, result, kept, node)
            if has_guess:
                lw.widen(name, _widened(lw, variable, kept, result))
                return cast(lw, result, kept, node)
            first = f"declare `{name}: {own} = …` where it is first set"
            advice = f"convert it: `{kept}(…)`, or {first}"
    if isinstance(result, Value) and result.type == kept:
        return result
    line = variable.location.line
    raise lw.clash(node, f"`{name}` is `{kept}` since line {line}, and this is {given}", advice)


def _suits(literal: Literal, kept: ScalarType, *, has_guess: bool) -> bool:
    """True where a literal is of the variable's kind, and fits if the type may still change."""
    if (kept is BOOL) != isinstance(literal.number, bool):
        return False
    if isinstance(literal.number, float) and not kept.is_float:
        return False
    return not has_guess or literal_fits(literal.number, kept)


def _widened(lw: Lowering, variable: Variable, kept: ScalarType, result: Value) -> ScalarType:
    """The type of a variable that began as a Python number and gets another value."""
    own = scalar_type(result)
    if own.is_float and not kept.is_float:
        return own
    if result in lw.weak:
        return integer_promotion(kept, own)
    found = promote(kept, own)
    is_weak_integer = variable.origins is not None and kept.is_integer
    return own if is_weak_integer and found not in {kept, own} else found


def augmented_assignment(lw: Lowering, node: ast.AugAssign) -> None:
    """`target op= value`: the target's indices are computed once."""
    if isinstance(node.target, ast.Name):
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        result = _changed(lw, node, settled(lw, lw.lower(name), node.target))
        assign_name(lw, node.target, result, node, declared=None)
        return
    change_inner(lw, node.target, partial(_changed, lw, node), node)


def _changed(lw: Lowering, node: ast.AugAssign, current: Operand) -> Operand:
    """What `op=` makes of the current content."""
    right = lw.lower(node.value)
    left = computable(lw, current, node.target)
    return any_binary(lw, node, node.op, left, computable(lw, right, node.value))
