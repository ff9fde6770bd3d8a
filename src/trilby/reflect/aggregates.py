"""Structs, vectors and matrices: taken apart into their numbers, and stored number by number.

A struct value is its leaves, so every op of the model works on single numbers. A local
variable that holds one is a variable for each leaf, and is read and written as places in
memory are. Only where a helper takes or returns a struct are the leaves packed into one value.
`r = table.result[i]` stays a reference to the place; vectors and matrices are copied, like
numbers.
"""

import ast
from collections.abc import Sequence

from trilby.arguments import closest
from trilby.data.dtypes import I32, ScalarType, Type
from trilby.data.schema import (
    ArrayType,
    BufferType,
    Field,
    NDArrayType,
    StructType,
    join_path,
    leaves,
)
from trilby.data.vector_types import LANES, matrix_of, swizzle, vector_of, vector_type
from trilby.errors import FieldError
from trilby.model.ops.core import Constant, VarStore
from trilby.model.ops.structs import Pack, Unpack
from trilby.model.value import RefType, Value
from trilby.reflect.kernel_arithmetic import convert_for, describe
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import Aggregate, Literal, LocalPlace, Operand, PlaceOf


def struct_of(operand: Operand) -> StructType | None:
    """The struct type of an operand that stands for a struct, or None."""
    match operand:
        case Value(type=RefType(to=type_)):
            pass
        case Value(type=type_) | PlaceOf(type=type_) | LocalPlace(type=type_) | Aggregate(type_):
            pass
        case _:
            return None
    if isinstance(type_, StructType) and not isinstance(type_, BufferType):
        return type_
    return None


def is_struct(operand: Operand) -> bool:
    """True for a value that is a struct, packed as one."""
    return isinstance(operand, Value) and type(operand.type) is StructType


def is_value(operand: Operand) -> bool:
    """True for a struct that is held by value, and for vectors and matrices anywhere."""
    struct = struct_of(operand)
    if struct is None:
        return False
    is_held = isinstance(operand, Aggregate | LocalPlace) or is_struct(operand)
    return is_held or is_numeric(struct)


def is_numeric(struct: StructType) -> bool:
    """True for vectors and matrices, which compute like numbers."""
    return vector_of(struct) is not None or matrix_of(struct) is not None


def place_of(operand: Operand) -> PlaceOf | LocalPlace | None:
    """The place that an operand names, also through a reference; None for a value."""
    match operand:
        case PlaceOf() | LocalPlace():
            return operand
        case Value(type=RefType(to=whole)) | Value(type=(BufferType() | NDArrayType()) as whole):
            return PlaceOf(operand, "", (), whole)
        case _:
            return None


def parts(lw: Lowering, operand: Operand, node: ast.AST) -> tuple[Value, ...]:
    """The numbers of a struct, loaded from wherever it is."""
    struct, place = struct_of(operand), place_of(operand)
    if isinstance(operand, Aggregate):
        return operand.parts
    if struct is None:
        raise lw.clash(node, f"{describe(operand)} is not a struct")
    if place is not None:
        return tuple(lw.load(leaf, node) for leaf in _leaf_places(lw, place, struct, node))
    return tuple(
        lw.value(Unpack, operand, leaf.name, type=leaf.type, at=node) for leaf in leaves(struct)
    )


def _leaf_places(
    lw: Lowering, place: PlaceOf | LocalPlace, struct: StructType, node: ast.AST
) -> Sequence[PlaceOf | LocalPlace]:
    """The places of the numbers of a struct."""
    if isinstance(place, LocalPlace):
        return [LocalPlace(f"{place.path}.{leaf.name}", leaf.type) for leaf in leaves(struct)]
    found: list[PlaceOf] = []
    for leaf in leaves(struct):
        path = join_path(place.path, leaf.path)
        inner = [lw.value(Constant, number, type=I32, at=node) for number in leaf.indices]
        found.append(PlaceOf(place.base, path, (*place.indices, *inner), leaf.type))
    return found


def settled(lw: Lowering, operand: Operand, node: ast.AST) -> Operand:
    """Load a number or a vector now, before anything that is evaluated later can change it."""
    struct = struct_of(operand)
    if struct is not None and is_value(operand) and not is_struct(operand):
        return Aggregate(struct, parts(lw, operand, node))
    if isinstance(operand, PlaceOf | LocalPlace) and isinstance(operand.type, ScalarType):
        return lw.load(operand, node)
    return operand


def numbers_for(
    lw: Lowering, operand: Operand, target: Type, node: ast.AST, purpose: str, advice: str = ""
) -> tuple[Value, ...]:
    """The number, or the numbers of a struct, for what is declared to be of a type."""
    if not isinstance(target, StructType):
        return (convert_for(lw, operand, target, node, purpose),)
    if struct_of(operand) != target:
        raise lw.clash(node, f"{purpose} is `{target}`, and this is {describe(operand)}", advice)
    return parts(lw, operand, node)


def value_for(lw: Lowering, operand: Operand, target: Type, node: ast.AST, purpose: str) -> Value:
    """Bring an operand to a declared type: a number by its rules, a struct as one value."""
    if type(target) is not StructType or (is_struct(operand) and struct_of(operand) == target):
        return convert_for(lw, operand, target, node, purpose)
    return lw.value(Pack, numbers_for(lw, operand, target, node, purpose), type=target, at=node)


# -- members ------------------------------------------------------------------------------


def member(lw: Lowering, node: ast.AST, operand: Operand, name: str) -> Operand:
    """A field, or a swizzle, of a buffer or struct."""
    place = place_of(operand)
    struct = place.type if place else struct_of(operand)
    if not isinstance(struct, StructType):
        raise lw.error(FieldError, node, f"{describe(operand)} has no attribute `{name}`")
    field = struct.field(name)
    if field is None:
        picked, element = lanes_of(lw, struct, name, node)
        values = parts(lw, operand, node)
        return Aggregate(vector_type(element, len(picked)), tuple(values[lane] for lane in picked))
    if isinstance(place, LocalPlace):
        return LocalPlace(f"{place.path}.{name}", field.type)
    if place is not None:
        is_length = isinstance(struct, BufferType) and name in struct.length_names
        path = join_path(place.path, name)
        is_writable = place.writable and not is_length
        return PlaceOf(place.base, path, place.indices, field.type, is_writable)
    return _part(Aggregate(struct, parts(lw, operand, node)), name, field.type)


def element_inside(
    lw: Lowering, node: ast.Subscript, owner: Aggregate | LocalPlace, array: ArrayType
) -> Operand:
    """`p.weight[1]` and `m[0, 1]` of a struct held by value: the index is a constant."""
    index = _constant_index(lw, node, array)
    if isinstance(owner, LocalPlace):
        return LocalPlace(owner.path + index, array.element)
    return _part(owner, index, array.element)


def _part(whole: Aggregate, step: str, type_: Type) -> Operand:
    """A field or an element of a value whose numbers are at hand."""
    struct = whole.type
    if isinstance(struct, ArrayType):
        struct = StructType("", (Field("", struct),))
    named = {leaf.name: n for leaf, n in zip(leaves(struct), whole.parts, strict=True)}
    if not isinstance(type_, StructType | ArrayType):
        return named[step]
    inner = (f"{step}.", f"{step}[")
    return Aggregate(type_, tuple(n for name, n in named.items() if name.startswith(inner)))


def _constant_index(lw: Lowering, node: ast.Subscript, array: ArrayType) -> str:
    """The index as leaves are named: `[0,1]`."""
    places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    numbers = [lw.lower(place) for place in places]
    constants = [n.number for n in numbers if isinstance(n, Literal)]
    dims = array.dims
    if len(constants) == len(numbers) == len(dims) and all(
        isinstance(dim, int) and 0 <= n < dim for n, dim in zip(constants, dims, strict=True)
    ):
        return f"[{','.join(map(str, constants))}]"
    name = ast.unparse(node.value)
    example = ", ".join(map(str, range(len(dims))))
    raise lw.clash(
        node,
        f"`{name}` is a value, and its places are constants within {' by '.join(map(str, dims))}",
        f"write `{name}[{example}]`; for computed places keep the numbers in a `tb.private` array",
    )


def lanes_of(
    lw: Lowering, struct: StructType, name: str, node: ast.AST
) -> tuple[tuple[int, ...], ScalarType]:
    """The lanes that a swizzle names and their type, or the error for a name that is neither."""
    vector = vector_of(struct)
    if vector is None:
        names = tuple(f.name for f in struct.fields if not f.name.startswith("_"))
        raise unknown_field(lw, node, name, f"`{struct}`", names)
    element, lanes = vector
    picked = swizzle(name, lanes)
    if picked is None:
        raise lw.error(
            FieldError,
            node,
            f"`{struct}` has no lanes `{name}`",
            f"its lanes are {', '.join(LANES[:lanes])}; a swizzle names two to four of them",
        )
    return picked, element


def unknown_field(
    lw: Lowering, node: ast.AST, name: str, owner: str, names: Sequence[str]
) -> FieldError:
    """The error for a field that is not there."""
    close = closest(name, names)
    hint = f"did you mean `{close}`? " if close else ""
    listed = ", ".join(f"`{name}`" for name in names)
    return lw.error(FieldError, node, f"{owner} has no field `{name}`", f"{hint}it has {listed}")


# -- storing ------------------------------------------------------------------------------


def store(
    lw: Lowering, place: PlaceOf | LocalPlace, value: Operand, target: ast.expr, source: ast.AST
) -> None:
    """Store a number, or all numbers of a struct, in a place."""
    lw.check_writable(place, target)
    purpose = f"`{ast.unparse(target)}`"
    if not isinstance(place.type, ScalarType | StructType):
        raise lw.clash(
            target,
            f"{purpose} is `{place.type}` and cannot be assigned as a whole",
            "assign each of its numbers",
        )
    advice = f"assign a `{place.type}`, or each of its numbers"
    numbers = numbers_for(lw, value, place.type, source, purpose, advice)
    places = [place]
    if isinstance(place.type, StructType):
        places = _leaf_places(lw, place, place.type, target)
    for leaf, number in zip(places, numbers, strict=True):
        lw.store(leaf, number, target)


def store_lanes(
    lw: Lowering, place: PlaceOf | LocalPlace, value: Operand, target: ast.Attribute
) -> None:
    """`table.color[i].xy = v`, `v.xy = w`: write some lanes of a vector, each once."""
    lw.check_writable(place, target)
    name = target.attr
    if not isinstance(place.type, StructType):
        raise TypeError(place.type)
    picked, element = lanes_of(lw, place.type, name, target)
    if len(set(picked)) != len(picked):
        raise lw.clash(target, f"`.{name}` writes a lane twice", "name each lane once")
    if struct_of(value) != vector_type(element, len(picked)):
        raise lw.clash(
            target,
            f"`.{name}` takes {len(name)} lanes, and this is {describe(value)}",
            "assign a vector of the same type with as many lanes",
        )
    lanes = _leaf_places(lw, place, place.type, target)
    for lane, number in zip(picked, parts(lw, value, target), strict=True):
        lw.store(lanes[lane], number, target)


def assign_struct(lw: Lowering, name: str, value: Operand, node: ast.AST) -> None:
    """Set a local variable to a struct: one variable for each leaf."""
    struct = struct_of(value)
    variable = lw.variables.get(name)
    kept = variable.type if variable is not None else lw.structs.get(name, struct)
    if struct is None or kept != struct:
        raise lw.clash(
            node, f"`{name}` is `{kept}`, and this is {describe(value)}", "use another name"
        )
    lw.structs[name] = struct
    for leaf, number in zip(leaves(struct), parts(lw, value, node), strict=True):
        part = lw.variables.get(f"{name}.{leaf.name}")
        if part is None:
            lw.declare(f"{name}.{leaf.name}", number.type, node, number)
        else:
            lw.run(VarStore, part.var, number, at=node)
    lw.mark_assigned(name)
