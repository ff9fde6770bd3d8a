"""What access to memory means: where a place lies, and reading and writing it.

A reference to a struct is the pair (bytes, offset). Buffers and n-d arrays are what
`arguments` makes of them. Every index is checked against the size of its axis first.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from trilby.backend.interpreter.kernel_arguments import POISON
from trilby.backend.interpreter.python_writer import (
    PythonFunctionWriter,
    Renderer,
    known,
    no_meaning,
    scalar,
)
from trilby.backend.interpreter.render_arith import fitted
from trilby.data.dtypes import BOOL, ScalarType, Type
from trilby.data.layout import fixed_offsets, member_offset, size_of, stride_of
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    NDArrayType,
    StructType,
    index_count,
    join_path,
    sizes_of,
    type_at,
    walk_path,
)
from trilby.errors import BuildError
from trilby.model.op import Op
from trilby.model.ops.memory import (
    AtomicUpdate,
    CompareExchange,
    Extent,
    Load,
    LocalArray,
    Place,
    PrivateArray,
    Store,
)
from trilby.model.value import RefType, pointee

Access: TypeAlias = Load | Store | Place | AtomicUpdate | CompareExchange

CHANGES: dict[str, Callable[[str, str, ScalarType], str]] = {
    "add": lambda old, new, of: fitted(f"{old} + {new}", of),
    "sub": lambda old, new, of: fitted(f"{old} - {new}", of),
    "min": lambda old, new, _: f"min({old}, {new})",
    "max": lambda old, new, _: f"max({old}, {new})",
    "and": lambda old, new, _: f"{old} & {new}",
    "or": lambda old, new, _: f"{old} | {new}",
    "xor": lambda old, new, _: f"{old} ^ {new}",
    "exchange": lambda _, new, _of: new,
}
"""The new number of an atomic op, written from the old one and the operand."""


def _spot(writer: PythonFunctionWriter, op: Access) -> tuple[str, str, Type]:
    """The bytes in which the place of an op lies, its offset there, and its type.

    Writes the checks of the indices. What is known of the offset beforehand is added up.
    """
    root = pointee(op.base.type)
    found = type_at(root, op.path)
    if len(op.indices) != index_count(root, op.path):
        raise BuildError(
            f"`{op.path}` does not take {len(op.indices)} indices", location=known(op.location)
        )
    if not isinstance(op.base.type, BufferType | NDArrayType | RefType):
        raise no_meaning(op, op.base.type)
    if found is None:
        raise BuildError(f"`{op.path}` is no place in {op.base.type}", location=known(op.location))
    base, label = writer.name(op.base), op.base.hint
    is_reference = isinstance(op.base.type, RefType)
    terms = [f"{base}[1]"] if is_reference else []
    fixed = 0
    indices = iter([writer.name(index) for index in op.indices])
    for step, here in walk_path(root, op.path):
        if step == INDEX:
            terms += _element(writer, op, here, indices, label)
        elif isinstance(here, BufferType) and step not in fixed_offsets(here):
            terms.append(f"{base}.at_{step}")  # it lies behind a length-bound array
        elif isinstance(here, StructType):
            fixed += member_offset(here, step)
        label = join_path(label, step)
    if fixed or not terms:
        terms.append(str(fixed))
    return f"{base}[0]" if is_reference else f"{base}.bytes", " + ".join(terms), found


def _element(
    writer: PythonFunctionWriter, op: Access, array: Type, indices: Iterator[str], label: str
) -> list[str]:
    """Check the indices of an element; gives its offset, row-major: `(y * width + x) * stride`."""
    sizes, stride = _axes(writer, op, array)
    flat = ""
    for axis, size in enumerate(sizes):
        index = next(indices)
        told = axis if len(sizes) > 1 else None
        fault = f"OutOfRangeError({label or 'array'!r}, {told}, {index}, {size})"
        writer.line(f"if not 0 <= {index} < {size}: raise {fault}", op)
        flat = f"({flat} * {size} + {index})" if flat else index
    return [f"{flat} * {stride}"] if flat else []


def _axes(writer: PythonFunctionWriter, op: Access, array: Type) -> tuple[Sequence[str], int]:
    """The size of each axis as an expression, and the distance of two elements."""
    base = writer.name(op.base)
    match array:
        case NDArrayType():
            return [f"{base}.n_{axis}" for axis in range(array.rank)], array.element.size
        case ArrayType() if not array.is_bound or isinstance(op.base.type, BufferType):
            sizes = [f"{base}.n_{dim}" if isinstance(dim, str) else str(dim) for dim in array.dims]
            return sizes, stride_of(array)
        case _:
            raise no_meaning(op, array)


def _load(writer: PythonFunctionWriter, op: Load) -> None:
    """The number at a place. A length never changes, so it is written where it is used."""
    if op.path in sizes_of(op.base.type):
        writer.define(op.value, f"{writer.name(op.base)}.n_{op.path}")
        return
    content, offset, type_ = _spot(writer, op)
    writer.assign(op, f"load_{scalar(op, type_)}({content}, {offset})[0]")


def _store(writer: PythonFunctionWriter, op: Store) -> None:
    content, offset, type_ = _spot(writer, op)
    of, stored = scalar(op, type_), writer.name(op.stored)
    writer.line(f"store_{of}({content}, {offset}, {stored})", op)


def _place(writer: PythonFunctionWriter, op: Place) -> None:
    content, offset, _ = _spot(writer, op)
    writer.assign(op, f"({content}, {offset})")


def _atomic(writer: PythonFunctionWriter, op: AtomicUpdate | CompareExchange) -> None:
    """Work items run one after the other, so reading and writing is one step."""
    content, offset, type_ = _spot(writer, op)
    of = scalar(op, type_)
    change = CHANGES.get(op.change) if isinstance(op, AtomicUpdate) else None
    if isinstance(op, AtomicUpdate) and (change is None or of is BOOL):
        raise no_meaning(op, of)
    old = writer.name(op.result) if op.result else writer.temporary("old")
    at = writer.temporary("at")
    writer.line(f"{at} = {offset}", op)
    writer.line(f"{old} = load_{of}({content}, {at})[0]", op)
    operand = writer.name(op.operand)
    if isinstance(op, CompareExchange):
        writer.line(f"if {old} == {writer.name(op.expected)}:", op)
        with writer.nested():
            writer.line(f"store_{of}({content}, {at}, {operand})", op)
    elif change is not None:
        writer.line(f"store_{of}({content}, {at}, {change(old, operand, of)})", op)


def _size(op: Op) -> int:
    made = op.value.type
    if not isinstance(made, RefType):
        raise no_meaning(op, made)
    return size_of(made.to)


def _local(writer: PythonFunctionWriter, op: LocalArray) -> None:
    """The group makes the bytes when its first work item gets here, and keeps them."""
    key = writer.temporary("shared")
    context = writer.name(writer.function.params[0])
    writer.assign(op, f"({context}.group.shared({key!r}, {_size(op)}), 0)")


def _private(writer: PythonFunctionWriter, op: PrivateArray) -> None:
    writer.assign(op, f"(bytearray([{POISON}]) * {_size(op)}, 0)")


def _extent(writer: PythonFunctionWriter, op: Extent) -> None:
    """The shape never changes, so it is written where it is used."""
    array = op.base.type
    if not isinstance(array, NDArrayType) or not 0 <= op.axis < array.rank:
        raise no_meaning(op, array)
    writer.define(op.value, f"{writer.name(op.base)}.n_{op.axis}")


MEMORY_RENDERERS: dict[type[Op], Renderer] = {
    Load: _load,
    Store: _store,
    Place: _place,
    AtomicUpdate: _atomic,
    CompareExchange: _atomic,
    LocalArray: _local,
    PrivateArray: _private,
    Extent: _extent,
}
"""How each op of the memory family is written."""
