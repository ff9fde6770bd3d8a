"""What access to memory means: where a place lies, and reading and writing it.

A reference to a struct is the pair (bytes, offset). Buffers and n-d arrays are what
`arguments` makes of them. Every index is checked against the size of its axis first.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import TypeAlias

from trilby.backend.interpreter.kernel_arguments import POISON, fixed_offsets
from trilby.backend.interpreter.python_writer import (
    PythonFunctionWriter,
    Renderer,
    known,
    no_meaning,
    scalar,
)
from trilby.backend.interpreter.render_arith import difference_text, sum_text
from trilby.data.dtypes import BOOL, ScalarType, Type
from trilby.data.layout import layout, size_of, stride_of
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    NDArrayType,
    StructType,
    index_count,
    join_path,
    path_steps,
    sizes_of,
    step_into,
)
from trilby.dataclass import dataclass
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
from trilby.model.value import RefType

Access: TypeAlias = Load | Store | Place | AtomicUpdate | CompareExchange

CHANGES: dict[str, Callable[[str, str, ScalarType], str]] = {
    "add": sum_text,
    "sub": difference_text,
    "min": lambda old, new, _: f"min({old}, {new})",
    "max": lambda old, new, _: f"max({old}, {new})",
    "and": lambda old, new, _: f"{old} & {new}",
    "or": lambda old, new, _: f"{old} | {new}",
    "xor": lambda old, new, _: f"{old} ^ {new}",
    "exchange": lambda _, new, _of: new,
}
"""The new number of an atomic op, written from the old one and the operand."""


@dataclass(slots=True)
class _PathOffset:
    """A place while its path is followed: the bytes it lies in and its offset so far."""

    content: str
    type: Type
    label: str
    terms: list[str] = field(default_factory=list[str])
    fixed: int = 0

    @property
    def offset(self) -> str:
        """The offset as an expression; what is known beforehand is added up already."""
        terms = self.terms if self.terms and not self.fixed else [*self.terms, str(self.fixed)]
        return " + ".join(terms)


def _spot(writer: PythonFunctionWriter, op: Access) -> _PathOffset:
    """Follow the path of an op; writes the checks of its indices."""
    if len(op.indices) != index_count(_root(op), op.path):
        raise BuildError(
            f"`{op.path}` does not take {len(op.indices)} indices", location=known(op.location)
        )
    spot = _base(writer, op)
    indices = iter([writer.name(index) for index in op.indices])
    for step in path_steps(op.path):
        below = step_into(spot.type, step)
        if below is None:
            raise BuildError(
                f"`{op.path}` is no place in {op.base.type}", location=known(op.location)
            )
        if step == INDEX:
            _into_element(writer, op, spot, indices)
        else:
            _into_field(writer, op, spot, step)
        spot.type = below
        spot.label = join_path(spot.label, step)
    return spot


def _root(op: Access) -> Type:
    """The type in which the path of an op begins."""
    return op.base.type.to if isinstance(op.base.type, RefType) else op.base.type


def _base(writer: PythonFunctionWriter, op: Access) -> _PathOffset:
    base = writer.name(op.base)
    match op.base.type:
        case BufferType() | NDArrayType():
            return _PathOffset(f"{base}.bytes", op.base.type, op.base.hint)
        case RefType(to):
            return _PathOffset(f"{base}[0]", to, op.base.hint, [f"{base}[1]"])
        case other:
            raise no_meaning(op, other)


def _into_field(writer: PythonFunctionWriter, op: Access, spot: _PathOffset, name: str) -> None:
    """Members behind a length-bound array have their offset beside the buffer."""
    if isinstance(spot.type, BufferType):
        offsets = fixed_offsets(spot.type)
        if name not in offsets:
            spot.terms.append(f"{writer.name(op.base)}.at_{name}")
        spot.fixed += offsets.get(name, 0)
    elif isinstance(spot.type, StructType):
        spot.fixed += layout(spot.type).slots[name].offset


def _into_element(
    writer: PythonFunctionWriter,
    op: Access,
    spot: _PathOffset,
    indices: Iterator[str],
) -> None:
    """Row-major: `(y * width + x) * stride`."""
    sizes, stride = _axes(writer, op, spot.type)
    flat = ""
    for axis, size in enumerate(sizes):
        index = next(indices)
        told = axis if len(sizes) > 1 else None
        fault = f"OutOfRangeError({spot.label or 'array'!r}, {told}, {index}, {size})"
        writer.line(f"if not 0 <= {index} < {size}: raise {fault}", op)
        flat = f"({flat} * {size} + {index})" if flat else index
    if flat:
        spot.terms.append(f"{flat} * {stride}")


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
    spot = _spot(writer, op)
    writer.assign(op, f"load_{scalar(op, spot.type)}({spot.content}, {spot.offset})[0]")


def _store(writer: PythonFunctionWriter, op: Store) -> None:
    spot = _spot(writer, op)
    of, stored = scalar(op, spot.type), writer.name(op.stored)
    writer.line(f"store_{of}({spot.content}, {spot.offset}, {stored})", op)


def _place(writer: PythonFunctionWriter, op: Place) -> None:
    spot = _spot(writer, op)
    writer.assign(op, f"({spot.content}, {spot.offset})")


def _atomic(writer: PythonFunctionWriter, op: AtomicUpdate) -> None:
    """Work items run one after the other, so reading and writing is one step."""
    spot = _spot(writer, op)
    of = scalar(op, spot.type)
    change = CHANGES.get(op.change)
    if change is None or of is BOOL:
        raise no_meaning(op, of)
    old = writer.name(op.result) if op.result else writer.temporary("old")
    at = writer.temporary("at")
    writer.line(f"{at} = {spot.offset}", op)
    writer.line(f"{old} = load_{of}({spot.content}, {at})[0]", op)
    new = change(old, writer.name(op.operand), of)
    writer.line(f"store_{of}({spot.content}, {at}, {new})", op)


def _compare_exchange(writer: PythonFunctionWriter, op: CompareExchange) -> None:
    spot = _spot(writer, op)
    of = scalar(op, spot.type)
    old = writer.name(op.result) if op.result else writer.temporary("old")
    at = writer.temporary("at")
    writer.line(f"{at} = {spot.offset}", op)
    writer.line(f"{old} = load_{of}({spot.content}, {at})[0]", op)
    writer.line(f"if {old} == {writer.name(op.expected)}:", op)
    with writer.nested():
        writer.line(f"store_{of}({spot.content}, {at}, {writer.name(op.operand)})", op)


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
    CompareExchange: _compare_exchange,
    LocalArray: _local,
    PrivateArray: _private,
    Extent: _extent,
}
"""How each op of the memory family is written."""
