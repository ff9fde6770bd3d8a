"""Attributes and subscripts: the way from a buffer to one of its numbers."""

import ast
from functools import partial, reduce

from trilby.arguments import closest
from trilby.data.dtypes import I32, ScalarType
from trilby.data.kernel_context import GRID_FIELDS
from trilby.data.schema import INDEX, ArrayType, BufferType, NDArrayType, join_path
from trilby.data.vector_types import matrix_of, vector_of
from trilby.errors import FieldError
from trilby.model.ops.arith import Mul
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Extent
from trilby.model.value import KERNEL_CONTEXT, Value
from trilby.reflect.aggregates import element_inside, member, place_of, struct_of, unknown_field
from trilby.reflect.kernel_arithmetic import describe, read, typed
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import (
    Aggregate,
    KnownObject,
    Literal,
    LocalPlace,
    Operand,
    PlaceOf,
    Several,
    ShapeOf,
)
from trilby.reflect.subset import refuse


def attribute_of(lw: Lowering, node: ast.Attribute, base: Operand) -> Operand:
    """`base.name`: a field of a buffer, struct or context, or something a module holds."""
    match base:
        case KnownObject(thing):
            return _of_object(lw, node, thing)
        case Value(type=t) if t == KERNEL_CONTEXT:
            if node.attr not in GRID_FIELDS:
                raise unknown_field(lw, node, node.attr, "the kernel context", GRID_FIELDS)
            return lw.value(Grid, base, node.attr, type=I32, at=node, hint=node.attr)
        case Value(type=NDArrayType() as array):
            return _ndarray_attribute(lw, node, base, array)
        case _:
            return member(lw, node, base, node.attr)


def _ndarray_attribute(
    lw: Lowering, node: ast.Attribute, base: Value, array: NDArrayType
) -> Operand:
    shape = ShapeOf(base, array.rank)
    if node.attr == "shape":
        return shape
    if node.attr == "ndim":
        return Literal(array.rank)
    if node.attr == "size":
        axes = shape_items(lw, node, shape)
        product = partial(lw.value, Mul, type=I32, at=node)
        return reduce(product, axes) if axes else Literal(1)
    raise unknown_field(lw, node, node.attr, f"`{array}`", ("shape", "size", "ndim"))


def shape_items(lw: Lowering, node: ast.AST, shape: ShapeOf) -> tuple[Value, ...]:
    """The sizes of all axes, as in `rows, columns = a.shape`."""
    axes = range(shape.rank)
    return tuple(lw.value(Extent, shape.base, axis, type=I32, at=node) for axis in axes)


def _of_object(lw: Lowering, node: ast.Attribute, owner: object) -> Operand:
    missing = object()
    thing = getattr(owner, node.attr, missing)
    if thing is missing:
        name = getattr(owner, "__name__", type(owner).__name__)
        close = closest(node.attr, dir(owner))
        advice = f"did you mean `{close}`?" if close else ""
        raise lw.error(FieldError, node, f"`{name}` has no attribute `{node.attr}`", advice)
    return lw.known(ast.unparse(node), thing, node)


def subscript_of(lw: Lowering, node: ast.Subscript, base: Operand) -> Operand:
    """`base[i]`, `base[y, x]`: an element, or one axis of a shape."""
    if isinstance(base, ShapeOf):
        return _axis(lw, node, base)
    struct = struct_of(base)
    if struct is not None and matrix_of(struct) is not None:
        base = member(lw, node, base, "m")
    if isinstance(base, Aggregate | LocalPlace) and isinstance(base.type, ArrayType):
        return element_inside(lw, node, base, base.type)
    place = array_place(base)
    if place is None:
        raise lw.clash(node, f"{describe(base)} cannot be indexed", _index_advice(base))
    return element_of(lw, node, place, node.slice)


def _index_advice(base: Operand) -> str:
    match base:
        case KnownObject():
            return "pass it to the kernel: as a buffer, or as an `NDArray` made of it"
        case Value(type=BufferType() as buffer):
            arrays = [f.name for f in buffer.fields if isinstance(f.type, ArrayType)]
            return f"index one of its arrays: `.{arrays[0]}[i]`" if arrays else "name a field"
        case _ if (struct := struct_of(base)) is not None:
            return "name a lane: `v.x`" if vector_of(struct) else "name one of its fields"
        case _:
            return "index an array: `buffer.array[i]`"


def array_place(base: Operand) -> PlaceOf | None:
    """The place of an array in memory; None for anything else."""
    place = place_of(base)
    if isinstance(place, PlaceOf) and isinstance(place.type, ArrayType | NDArrayType):
        return place
    return None


def element_of(lw: Lowering, node: ast.AST, place: PlaceOf, index: ast.expr) -> PlaceOf:
    """The element of an array in memory, for an index (one number or a tuple)."""
    array = place.type
    if not isinstance(array, ArrayType | NDArrayType):
        raise TypeError(array)
    indices = _indices(lw, node, index, array)
    path = join_path(place.path, INDEX)
    return PlaceOf(place.base, path, (*place.indices, *indices), array.element, place.writable)


def _axis(lw: Lowering, node: ast.Subscript, shape: ShapeOf) -> Value:
    axis = lw.lower(node.slice)
    if not isinstance(axis, Literal) or not isinstance(axis.number, int):
        raise lw.clash(node.slice, "an axis of a shape is a constant", "write `a.shape[0]`")
    number, rank = axis.number, shape.rank
    if not -rank <= number < rank:
        raise lw.clash(
            node.slice, f"axis {number} does not exist: the axes of this array are 0 to {rank - 1}"
        )
    return lw.value(Extent, shape.base, number % rank, type=I32, at=node)


def _indices(
    lw: Lowering, node: ast.AST, index: ast.expr, array: ArrayType | NDArrayType
) -> tuple[Value, ...]:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    for part in parts:
        if isinstance(part, ast.Slice):
            raise refuse(part, lw.where(part))
    if len(parts) != array.rank:
        names = ", ".join("ijklmnop"[: array.rank])
        counted = "1 dimension" if array.rank == 1 else f"{array.rank} dimensions"
        given = "1 index" if len(parts) == 1 else f"{len(parts)} indices"
        raise lw.clash(node, f"an array of {counted} is given {given}", f"write `[{names}]`")
    return tuple(_index(lw, part) for part in parts)


def _index(lw: Lowering, node: ast.expr) -> Value:
    operand = lw.lower(node)
    if isinstance(operand, Several):
        raise lw.clash(node, "an index is one integer for each dimension")
    result = read(lw, operand, node)
    if isinstance(result, Literal) and isinstance(result.number, int) and result.number < 0:
        raise lw.clash(
            node,
            f"index {result.number} is negative",
            "kernels do not count from the end: write `length - 1`",
        )
    value = typed(lw, result, node)
    if not isinstance(value.type, ScalarType) or not value.type.is_integer:
        raise lw.clash(
            node, f"an index is an integer, and this is `{value.type}`", "convert it: `i32(…)`"
        )
    return value
