"""Where a place lies in memory: from a base, a path and its indices to a pointer in every lane.

Pointers are `Lanes`, too: the same for all, or so many bytes apart from lane to lane, which is
what makes a load of neighbours one load of a vector.

Private arrays of all lanes lie interleaved, but where `interleaving` says otherwise: the bytes of a
number in lane 1 follow those in lane 0. A pointer into one is that of lane 0, and an access adds
the lane.
"""

from trilby.codegen.llvm.ir import (
    ALL,
    BIT,
    LONG,
    POINTER,
    Lanes,
    axes_of,
    of_kind,
    size_of_kind,
)
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.dtypes import I32, ScalarType
from trilby.data.layout import (
    field_align,
    first_bound,
    fixed_offsets,
    header_size,
    member_offset,
    round_up,
    size_of,
    stride_of,
)
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    StructType,
    sizes_of,
    walk_path,
)
from trilby.model.ops.memory import AtomicUpdate, CompareExchange, Load, Place, Store
from trilby.model.value import Value, pointee, space_of

Access = Load | Store | Place | AtomicUpdate | CompareExchange


def pointer_of(writer: KernelWriter, op: Access) -> Lanes:
    """The pointer to the place of an access; what is the same for all lanes is added up first."""
    scale = writer.lanes if is_interleaved(writer, op.base) else 1
    fixed = 0
    even: list[Lanes] = []
    uneven: list[tuple[Lanes, int]] = []
    indices = iter(op.indices)
    for step, here in walk_path(pointee(op.base.type), op.path):
        if step == INDEX:  # row-major: `(y * width + x) * stride`
            dims, stride = axes_of(here)
            sizes = [_dimension(writer, op.base, dim) for dim in dims]
            flat = of_kind(0, LONG)
            for size in sizes:
                index = wide_index(writer, next(indices))
                flat = writer.add(writer.multiply(flat, size), index)
            if flat.is_varying:
                uneven.append((flat, stride * scale))
            else:
                even.append(writer.multiply(flat, of_kind(stride * scale, LONG)))
        elif isinstance(here, BufferType) and step not in fixed_offsets(here):
            even.append(_bound_offset(writer, op.base, here, step))
        elif isinstance(here, StructType):
            fixed += member_offset(here, step)
    found = writer.values[op.base][0]
    for distance in (*even, of_kind(fixed * scale, LONG)):
        found = writer.offset(found, distance)
    for index, unit in uneven:
        found = writer.offset(found, index, unit)
    return found


def _dimension(writer: KernelWriter, base: Value, dim: int | str) -> Lanes:
    """A size as 64 bits; it is not negative."""
    number = of_kind(dim, LONG) if isinstance(dim, int) else size(writer, base, dim)
    return number if number.kind == LONG else writer.convert("zext", number, LONG)


def _bound_offset(writer: KernelWriter, base: Value, buffer: BufferType, name: str) -> Lanes:
    """The offset of a field after the first length-bound array."""
    number = first_bound(buffer)
    end = of_kind(header_size(buffer), LONG)
    for field in buffer.fields[number:]:
        align = field_align(field)
        start = end if field is buffer.fields[number] else _aligned(writer, end, align)
        if field.name == name:
            return start
        if isinstance(field.type, ArrayType):
            total = of_kind(stride_of(field.type), LONG)
            for dim in field.type.dims:
                total = writer.multiply(total, _dimension(writer, base, dim))
        else:
            total = of_kind(size_of(field.type), LONG)
        end = writer.add(start, total)
    raise TypeError(name)


def is_interleaved(writer: KernelWriter, base: Value) -> bool:
    """Whether a base lies in private memory in which the lanes take turns."""
    return writer.interleaved and space_of(base.type) == "private"


def size(writer: KernelWriter, base: Value, name: str) -> Lanes:
    """One of the sizes that travel with a buffer."""
    return writer.values[base][1 + [*sizes_of(base.type)].index(name)]


def gathered(writer: KernelWriter, pointer: Lanes, kind: str) -> Lanes:
    """A number from a place of its own in every lane that runs."""
    vector, (places, mask) = writer.vector(kind), safe_places(writer, pointer)
    found = writer.intrinsic(
        vector,
        f"masked.gather.{writer.suffix(kind)}.v{writer.lanes}p0",
        (writer.vector(POINTER), f"align {size_of_kind(kind)} {places}"),
        (writer.vector(BIT), mask),
        (vector, "poison"),
    )
    return Lanes(kind, found, None)


def safe_places(writer: KernelWriter, pointer: Lanes) -> tuple[str, str]:
    """The pointers of all lanes, and the mask with which they may be used.

    Where a processor has no masks for such accesses, each lane would be a branch of its own, so
    lanes that are off use a place that belongs to nobody.
    """
    pointers = writer.spread(pointer)
    if writer.mask is None or "avx512f" in writer.target.features:
        return pointers, writer.lanes_on
    vector = writer.vector(POINTER)
    nowhere = writer.spread(Lanes(POINTER, writer.dummy))
    chosen = f"select {writer.vector(BIT)} {writer.mask}, {vector} {pointers}, {vector} {nowhere}"
    return writer.let(chosen), ALL


def wide_index(writer: KernelWriter, value: Value) -> Lanes:
    """An index as 64 bits.

    An index that wraps between two lanes is outside of every array in one of them, so a signed
    one stays evenly spaced.
    """
    number = writer.take(value)
    type_ = value.type
    if number.kind == LONG or not isinstance(type_, ScalarType):
        return number
    if number.literal is not None:
        return of_kind(int(number.literal), LONG)
    word = "sext" if type_.kind == "int" else "zext"
    stride = number.stride
    if stride is not None and stride != 0:
        if type_ is not I32 and writer.spans.of(value).high > I32.highest:
            return writer.convert(word, writer.varying(number), LONG)
        base = writer.let(f"sext {number.kind} {number.text} to i64")
        return Lanes(LONG, base, stride)
    return writer.convert(word, number, LONG)


def _aligned(writer: KernelWriter, end: Lanes, align: int) -> Lanes:
    if end.literal is not None:
        return of_kind(round_up(int(end.literal), align), LONG)
    if align == 1:
        return end
    raised = writer.add(end, of_kind(align - 1, LONG))
    return writer.apply("and", [raised, of_kind(-align, LONG)])
