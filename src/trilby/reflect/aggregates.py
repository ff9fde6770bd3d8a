"""Structs, vectors and matrices as values: taken apart into their numbers.

A struct value is its leaves, so every op of the model works on single numbers. A local
variable that holds one is a variable for each leaf. Only where a helper takes or returns a
struct are the leaves packed into one value. `r = table.result[i]` stays a reference to the
place; vectors and matrices are copied, like numbers.
"""

import ast
from collections.abc import Sequence

from trilby.data.dtypes import I32, Type
from trilby.data.schema import ArrayType, BufferType, StructType, join_path, leaves
from trilby.data.vector_types import LANES, matrix_of, swizzle, vector_of, vector_type
from trilby.errors import FieldError, KernelTypeError
from trilby.model.ops.core import Constant, VarStore
from trilby.model.ops.memory import Load, Store
from trilby.model.ops.structs import Pack, Unpack
from trilby.model.value import RefType, Value
from trilby.reflect.kernel_arithmetic import convert_for, describe, loaded
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import Aggregate, HeldArray, Literal, LocalStruct, Operand, PlaceOf


def struct_of(operand: Operand) -> StructType | None:
    """The struct type of an operand that stands for a struct, or None."""
    match operand:
        case Aggregate(struct=struct) | LocalStruct(struct=struct):
            return struct
        case Value(type=RefType(to=StructType() as struct)):
            return struct
        case Value(type=BufferType()) | PlaceOf(type=BufferType()):
            return None
        case Value(type=StructType() as struct) | PlaceOf(type=StructType() as struct):
            return struct
        case _:
            return None


def is_struct(operand: Operand) -> bool:
    """True for a value that is a struct, packed as one."""
    return isinstance(operand, Value) and type(operand.type) is StructType


def is_value(operand: Operand) -> bool:
    """True for a struct that is held by value, and for vectors and matrices anywhere."""
    struct = struct_of(operand)
    if struct is None:
        return False
    is_held = isinstance(operand, Aggregate | LocalStruct) or is_struct(operand)
    return is_held or is_numeric(struct)


def is_numeric(struct: StructType) -> bool:
    """True for vectors and matrices, which compute like numbers."""
    return vector_of(struct) is not None or matrix_of(struct) is not None


def parts(lw: Lowering, operand: Operand, node: ast.AST) -> tuple[Value, ...]:
    """The leaves of a struct, loaded from wherever it is."""
    struct = struct_of(operand)
    if struct is None:
        raise lw.clash(node, f"{describe(operand)} is not a struct")
    match operand:
        case Aggregate(parts=values):
            return values
        case LocalStruct(name, _, prefix):
            names = [join_path(prefix, leaf.name) for leaf in leaves(struct)]
            return tuple(lw.read_variable(f"{name}.{leaf}", node) for leaf in names)
        case Value(type=StructType()):
            return tuple(
                lw.value(Unpack, operand, leaf.name, type=leaf.type, at=node)
                for leaf in leaves(struct)
            )
        case _:
            return _loaded(lw, place_of(operand), struct, node)


def place_of(operand: Operand) -> PlaceOf:
    """The place of a struct in memory, also through a reference."""
    match operand:
        case PlaceOf():
            return operand
        case Value(type=RefType(to=StructType() as struct)):
            return PlaceOf(operand, "", (), struct)
        case _:
            raise TypeError(operand)


def _leaf_places(
    lw: Lowering, place: PlaceOf, struct: StructType, node: ast.AST
) -> Sequence[tuple[str, tuple[Value, ...]]]:
    return [
        (join_path(place.path, leaf.path), (*place.indices, *_constants(lw, leaf.indices, node)))
        for leaf in leaves(struct)
    ]


def _constants(lw: Lowering, numbers: tuple[int, ...], node: ast.AST) -> tuple[Value, ...]:
    return tuple(lw.value(Constant, number, type=I32, at=node) for number in numbers)


def _loaded(lw: Lowering, place: PlaceOf, struct: StructType, node: ast.AST) -> tuple[Value, ...]:
    return tuple(
        lw.value(Load, place.base, indices, path, type=leaf.type, at=node)
        for leaf, (path, indices) in zip(
            leaves(struct), _leaf_places(lw, place, struct, node), strict=True
        )
    )


def packed(lw: Lowering, operand: Operand, struct: StructType, node: ast.AST) -> Value:
    """A struct as one value, for a call or a return."""
    if isinstance(operand, Value) and operand.type == struct:
        return operand
    return lw.value(Pack, parts(lw, operand, node), type=struct, at=node)


def settled(lw: Lowering, operand: Operand, node: ast.AST) -> Operand:
    """Load a number or a vector now, before anything that is evaluated later can change it."""
    struct = struct_of(operand)
    if struct is not None and is_value(operand) and not is_struct(operand):
        return Aggregate(struct, parts(lw, operand, node))
    return loaded(lw, operand, node)


def value_for(lw: Lowering, operand: Operand, target: Type, node: ast.AST, purpose: str) -> Value:
    """Bring an operand to a declared type: a number by its rules, a struct as one value."""
    if type(target) is not StructType:
        return convert_for(lw, operand, target, node, purpose)
    if struct_of(operand) != target:
        raise lw.clash(node, f"{purpose} is `{target}`, and this is {describe(operand)}")
    return packed(lw, operand, target, node)


def store_struct(lw: Lowering, place: PlaceOf, value: Operand, node: ast.AST) -> None:
    """Copy a struct to a place in memory."""
    struct = place.type
    given = struct_of(value)
    if not isinstance(struct, StructType) or given != struct:
        raise lw.clash(
            node,
            f"the place holds `{struct}`, and this is {describe(value)}",
            f"assign a `{struct}`, or each of its numbers",
        )
    numbers = parts(lw, value, node)
    for number, (path, indices) in zip(numbers, _leaf_places(lw, place, struct, node), strict=True):
        lw.run(Store, place.base, indices, number, path, at=node)


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
    values = parts(lw, value, node)
    for leaf, number in zip(leaves(struct), values, strict=True):
        _set(lw, f"{name}.{leaf.name}", number, node)
    lw.mark_assigned(name)


def _set(lw: Lowering, name: str, value: Value, node: ast.AST) -> None:
    variable = lw.variables.get(name)
    if variable is None:
        lw.declare(name, value.type, node, value)
    else:
        lw.run(VarStore, variable.var, value, at=node)


def member(lw: Lowering, node: ast.AST, operand: Operand, name: str) -> Operand:
    """A field, or a swizzle, of a struct held by value."""
    struct = struct_of(operand)
    if struct is None:
        raise TypeError(operand)
    field = struct.field(name)
    if field is None:
        return _swizzled(lw, node, operand, struct, name)
    if isinstance(operand, LocalStruct):
        return _local_member(lw, node, operand, name, field.type)
    whole = Aggregate(struct, parts(lw, operand, node))
    if isinstance(field.type, ArrayType):
        return HeldArray(whole, name, field.type)
    return _part(whole, name, field.type)


def _local_member(
    lw: Lowering, node: ast.AST, operand: LocalStruct, name: str, type_: Type
) -> Operand:
    path = join_path(operand.prefix, name)
    if isinstance(type_, ArrayType):
        return HeldArray(operand, path, type_)
    return _local_part(lw, node, operand, path, type_)


def _local_part(
    lw: Lowering, node: ast.AST, operand: LocalStruct, path: str, type_: Type
) -> Operand:
    if isinstance(type_, StructType):
        return LocalStruct(operand.name, type_, path)
    return lw.read_variable(f"{operand.name}.{path}", node)


def _part(whole: Aggregate, path: str, type_: Type) -> Operand:
    """A number or a struct within a struct whose leaves are at hand."""
    named = {leaf.name: n for leaf, n in zip(leaves(whole.struct), whole.parts, strict=True)}
    if not isinstance(type_, StructType):
        return named[path]
    chosen = (value for name, value in named.items() if name.startswith(f"{path}."))
    return Aggregate(type_, tuple(chosen))


# -- arrays inside of values, matrices among them -----------------------------------------


def element_inside(lw: Lowering, node: ast.Subscript, held: HeldArray) -> Operand:
    """`p.weight[1]` and `m[0, 1]` of a struct held by value: the index is a constant."""
    path = held.path + _constant_index(lw, node, held)
    element = held.array.element
    if isinstance(held.owner, LocalStruct):
        return _local_part(lw, node, held.owner, path, element)
    return _part(held.owner, path, element)


def cells_of(lw: Lowering, node: ast.AST, operand: Operand) -> HeldArray:
    """The numbers of a matrix that is held by value."""
    held = member(lw, node, operand, "m")
    if not isinstance(held, HeldArray):
        raise TypeError(operand)
    return held


def _constant_index(lw: Lowering, node: ast.Subscript, held: HeldArray) -> str:
    """The index as leaves are named: `[0,1]`."""
    places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    numbers = [lw.lower(place) for place in places]
    constants = [n.number for n in numbers if isinstance(n, Literal)]
    dims = held.array.dims
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


def assign_element(
    lw: Lowering, held: HeldArray, owner: LocalStruct, value: Operand, target: ast.Subscript
) -> None:
    """`p.weight[1] = x` and `m[0, 1] = x` on a local struct."""
    path = held.path + _constant_index(lw, target, held)
    _assign_part(lw, f"{owner.name}.{path}", held.array.element, value, target)


def _assign_part(
    lw: Lowering, variable: str, type_: Type, value: Operand, target: ast.expr
) -> None:
    purpose = f"`{ast.unparse(target)}`"
    if isinstance(type_, ArrayType):
        raise lw.clash(
            target,
            f"{purpose} is `{type_}` and cannot be assigned as a whole",
            "assign each of its numbers",
        )
    if not isinstance(type_, StructType):
        _set(lw, variable, convert_for(lw, value, type_, target, purpose), target)
        return
    if struct_of(value) != type_:
        raise lw.clash(target, f"{purpose} is `{type_}`, and this is {describe(value)}")
    for leaf, number in zip(leaves(type_), parts(lw, value, target), strict=True):
        _set(lw, f"{variable}.{leaf.name}", number, target)


# -- vectors ------------------------------------------------------------------------------


def lanes_of(lw: Lowering, struct: StructType, name: str, node: ast.AST) -> tuple[int, ...]:
    """The lanes that a swizzle names, or the error for a name that is neither."""
    vector = vector_of(struct)
    picked = swizzle(name, vector[1]) if vector else None
    if picked is not None:
        return picked
    if vector is None:
        names = ", ".join(f"`{f.name}`" for f in struct.fields if not f.name.startswith("_"))
        raise lw.error(FieldError, node, f"`{struct}` has no field `{name}`", f"it has {names}")
    raise lw.error(
        FieldError,
        node,
        f"`{struct}` has no lanes `{name}`",
        f"its lanes are {', '.join(LANES[: vector[1]])}; a swizzle names two to four of them",
    )


def _swizzled(
    lw: Lowering, node: ast.AST, operand: Operand, struct: StructType, name: str
) -> Operand:
    picked = lanes_of(lw, struct, name, node)
    element, _ = vector_of(struct) or (None, 0)
    if element is None:
        raise TypeError(struct)
    values = parts(lw, operand, node)
    return Aggregate(vector_type(element, len(picked)), tuple(values[lane] for lane in picked))


def assign_local_member(
    lw: Lowering, operand: LocalStruct, name: str, value: Operand, target: ast.expr
) -> None:
    """`v.x = 1`, `p.position = u`, `v.xy = w` on a local struct."""
    struct = operand.struct
    field = struct.field(name)
    if struct.is_union:
        raise lw.clash(
            target,
            f"`{struct}` is a union, and inside of a value its members share no bytes",
            "write it in a buffer",
        )
    if field is None:
        _assign_swizzle(lw, operand, name, value, target)
        return
    path = join_path(operand.prefix, name)
    _assign_part(lw, f"{operand.name}.{path}", field.type, value, target)


def _assign_swizzle(
    lw: Lowering, operand: LocalStruct, name: str, value: Operand, target: ast.expr
) -> None:
    picked = distinct_lanes(lw, operand.struct, name, target)
    element, _ = vector_of(operand.struct) or (None, 0)
    if element is None or struct_of(value) != vector_type(element, len(picked)):
        raise lane_count_clash(lw, target, name, value)
    for lane, number in zip(picked, parts(lw, value, target), strict=True):
        path = join_path(operand.prefix, LANES[lane])
        _set(lw, f"{operand.name}.{path}", number, target)


def lane_count_clash(lw: Lowering, target: ast.AST, name: str, value: Operand) -> KernelTypeError:
    """The error for a swizzle that is given something else than its lanes."""
    return lw.clash(
        target,
        f"`.{name}` takes {len(name)} lanes, and this is {describe(value)}",
        "assign a vector of the same type with as many lanes",
    )


def distinct_lanes(lw: Lowering, struct: StructType, name: str, node: ast.AST) -> tuple[int, ...]:
    """The lanes that a swizzle on the left of `=` writes, each once."""
    picked = lanes_of(lw, struct, name, node)
    if len(set(picked)) != len(picked):
        raise lw.clash(node, f"`.{name}` writes a lane twice", "name each lane once")
    return picked
