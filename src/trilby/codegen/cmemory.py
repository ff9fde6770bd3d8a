"""Places in memory, as the C family writes them."""

from trilby.codegen.cfunction import CFunctionWriter
from trilby.codegen.ctext import EQUAL, MEMORY, POSTFIX, SUM, UNARY, Dependence, Text, reads_of
from trilby.codegen.struct_types import is_fixed
from trilby.data.dtypes import BF16, BOOL, F16, U32, ScalarType, Type
from trilby.data.layout import stride_of
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    NDArrayType,
    StructType,
    path_steps,
    sizes_of,
    walk_path,
)
from trilby.dataclass import dataclass
from trilby.model.op import walk
from trilby.model.ops.memory import AtomicUpdate, CompareExchange, Extent, Load, Place, Store
from trilby.model.value import Space, Value, VarType, pointee, space_of


def size_variables(writer: CFunctionWriter, value: Value, type_: Type, name: str) -> list[str]:
    """Name the sizes that travel with a buffer; gives their declarations: `int a_length`."""
    sizes = sizes_of(type_)
    names = {size: writer.names.fresh(f"{name}_{size}") for size in sizes}
    reads: frozenset[Dependence] = (
        frozenset({value}) if isinstance(value.type, VarType) else frozenset()
    )
    writer.sizes_with[value] = {size: Text(own, reads=reads) for size, own in names.items()}
    return [f"{writer.module.value_type(kind)}{names[size]}" for size, kind in sizes.items()]


def find_arrays(writer: CFunctionWriter, param: Value, buffer: BufferType) -> None:
    """Find the arrays of a buffer once, where the function begins."""
    name = writer.texts[param].text
    for array in (n for n in _used_fields(writer, param) if not is_fixed(buffer, n)):
        field = buffer.field(array)
        if field is not None:
            local = writer.names.fresh(f"{name}_{array}")
            pointer = writer.module.structs.pointer(field.type, space_of(buffer))
            writer.line(f"{pointer}{local} = {_reached(writer, param, buffer, array, name)};")
            writer.cached[param, array] = local


def _reached(
    writer: CFunctionWriter, base: Value, buffer: StructType, name: str, pointer: str
) -> str:
    """A call of the function that finds a field which has no fixed place."""
    structs = writer.module.structs
    sizes = [writer.sizes_with[base][size].text for size in structs.accessor_sizes(buffer, name)]
    return f"{structs.accessor(buffer, name)}({', '.join([pointer, *sizes])})"


def _used_fields(writer: CFunctionWriter, param: Value) -> list[str]:
    """The top-level fields that the function itself touches, in order."""
    return list(
        dict.fromkeys(
            next(path_steps(op.path))
            for op in walk(writer.function.body)
            if isinstance(op, Load | Store | Place | AtomicUpdate) and op.base is param
        )
    )


def place(writer: CFunctionWriter, base: Value, path: str, indices: tuple[Value, ...]) -> Text:
    """The C lvalue of a place."""
    taken = [_index(writer, index) for index in indices]
    pointer = writer.take(base)
    reads = reads_of([*taken, pointer])
    remaining = list(taken)
    if isinstance(base.type, NDArrayType):
        row_major = _flat(remaining, [size.text for size in writer.sizes_with[base].values()])
        return Text(f"{pointer.within(POSTFIX)}[{row_major}]", POSTFIX, reads)
    spot = _Lvalue(pointer, is_pointer=True, is_base=True)
    for step, here in walk_path(pointee(base.type), path):
        if step == INDEX:
            spot = _element(writer, base, spot, here, remaining)
        else:
            spot = _member(writer, base, spot, here, step)
    if spot.is_pointer:
        return Text(f"*{spot.text.within(UNARY)}", UNARY, reads)
    return Text(spot.text.text, POSTFIX, reads)


def address(place: Text) -> str:
    """`&a[i]`, or the pointer itself where the place is what a pointer leads to."""
    return place.text.removeprefix("*") if place.text.startswith("*") else f"&{place}"


def _index(writer: CFunctionWriter, value: Value) -> Text:
    """An index; what C would wrap at 32 bits may not become part of a wider sum."""
    text = writer.take(value)
    if text.index is not None:
        return text.index
    if value.type is U32 and text.strength > UNARY:
        return Text(f"({text})", reads=text.reads)
    return text


@dataclass(frozen=True, slots=True)
class _Lvalue:
    """A place on the way down a path, or with `is_pointer` a pointer to it.

    `is_bound` is true of a length-bound array that waits for its index; `is_base` is true where
    the path begins.
    """

    text: Text
    is_pointer: bool = False
    is_bound: bool = False
    is_base: bool = False


def _member(
    writer: CFunctionWriter, base: Value, here: _Lvalue, struct: Type, name: str
) -> _Lvalue:
    if not isinstance(struct, StructType):
        raise TypeError(struct)
    cached = writer.cached.get((base, name)) if here.is_base else None
    owner = here.text.within(POSTFIX)
    if is_fixed(struct, name):
        dot = "->" if here.is_pointer else "."
        text = cached or f"{owner}{dot}{writer.module.structs.member(struct, name)}"
        return _Lvalue(Text(text, POSTFIX))
    pointer = cached or _reached(writer, base, struct, name, here.text.text)
    field = struct.field(name)
    if field is not None and isinstance(field.type, ArrayType):
        return _Lvalue(Text(pointer, POSTFIX), is_bound=True)
    return _Lvalue(Text(pointer, POSTFIX), is_pointer=True)


def _element(
    writer: CFunctionWriter,
    base: Value,
    here: _Lvalue,
    array: Type,
    remaining: list[Text],
) -> _Lvalue:
    if not isinstance(array, ArrayType):
        raise TypeError(array)
    indices = [remaining.pop(0) for _ in array.dims]
    if not here.is_bound and array.stride is None:
        steps = "".join(f"[{index}]" for index in indices)
        return _Lvalue(Text(f"{here.text}{steps}", POSTFIX))
    sizes = writer.sizes_with.get(base, {})
    flat = _flat(indices, [str(sizes[d]) if isinstance(d, str) else str(d) for d in array.dims])
    if array.stride is None:
        return _Lvalue(Text(f"{here.text}[{flat}]", POSTFIX))
    space = space_of(base.type)
    return _Lvalue(Text(_strided(writer, here.text, flat, array, space), UNARY), is_pointer=True)


def _strided(
    writer: CFunctionWriter, start: Text, flat: str, array: ArrayType, space: Space
) -> str:
    """A pointer to an element; the distance of two elements is more than their size."""
    stride = stride_of(array)
    wide = f"(long){flat}" if flat.isidentifier() else f"(long)({flat})"
    distance = str(int(flat) * stride) if flat.isdigit() else f"{wide} * {stride}"
    pointer = writer.module.structs.pointer(array.element, space)
    bytes_ = f"{writer.module.dialect.spaces[space]} char *"
    return f"({pointer})(({bytes_}){start} + {distance})"


def _flat(indices: list[Text], dims: list[str]) -> str:
    """Row-major: `(long)y * width + x`."""
    text = indices[0].text
    strength = indices[0]
    for index, dim in zip(indices[1:], dims[1:], strict=True):
        if text.isdigit() and dim.isdigit() and index.text.isdigit():
            text = str(int(text) * int(dim) + int(index.text))
            strength = Text(text)
            continue
        wide = f"{text}L" if text.isdigit() else f"(long){strength.within(UNARY)}"
        row = "" if text == "0" else f"{wide} * {dim}"
        column = "" if index.text == "0" else index.within(SUM)
        text = " + ".join(part for part in (row, column) if part) or "0"
        strength = Text(text, SUM)
    return text


def load(writer: CFunctionWriter, op: Load) -> None:
    """The number at a place; a length travels with its buffer."""
    if op.path in sizes_of(op.base.type):
        _size(writer, op, op.path)
        return
    text = place(writer, op.base, op.path, op.indices)
    writer.give(op, _loaded(writer, op.value.type, text, space_of(op.base.type)))


def _loaded(writer: CFunctionWriter, type_: Type, where: Text, space: Space) -> Text:
    reads = where.reads if space == "constant" else where.reads | {MEMORY}
    if type_ is BOOL:
        return Text(f"{where} != 0", EQUAL, reads)
    if type_ is F16 and space != "private":
        dialect = writer.module.dialect
        text = dialect.half_load.format(address(where), f"{dialect.spaces[space]} ")
        return Text(text, POSTFIX, reads)
    if isinstance(type_, ScalarType) and type_ in {F16, BF16}:
        return Text(f"{writer.module.need('unpack', type_)}({where})", POSTFIX, reads)
    return Text(where.text, where.strength, reads)


def store(writer: CFunctionWriter, op: Store) -> None:
    """A new number for a place."""
    value = writer.take(op.stored)
    where = place(writer, op.base, op.path, op.indices)
    writer.before_change(MEMORY)
    space = space_of(op.base.type)
    if op.stored.type is F16 and space != "private":
        dialect = writer.module.dialect
        text = dialect.half_store.format(address(where), value, f"{dialect.spaces[space]} ")
        writer.line(f"{text};", op.location)
        return
    type_ = op.stored.type
    if isinstance(type_, ScalarType) and type_ in {F16, BF16}:
        value = f"{writer.module.need('pack', type_)}({value})"
    writer.line(f"{where} = {value};", op.location)


def reference(writer: CFunctionWriter, op: Place) -> None:
    """The address of a struct."""
    where = place(writer, op.base, op.path, op.indices)
    writer.give(op, Text(address(where), UNARY, where.reads))


def extent(writer: CFunctionWriter, op: Extent) -> None:
    """One axis of a shape."""
    _size(writer, op, f"shape{op.axis}")


def _size(writer: CFunctionWriter, op: Load | Extent, name: str) -> None:
    """A size of a buffer: fixed where the buffer is a parameter, else a variable's content."""
    writer.take(op.base)
    size = writer.sizes_with[op.base][name]
    if size.reads:
        writer.give(op, size)
    else:
        writer.give_anywhere(op, size)


def atomic(writer: CFunctionWriter, op: AtomicUpdate) -> None:
    """An indivisible change; the old number is the result."""
    _change(writer, op, op.change, [writer.take(op.operand)])


def compare_exchange(writer: CFunctionWriter, op: CompareExchange) -> None:
    """Exchange if the place holds what is expected."""
    operands = [writer.take(op.expected), writer.take(op.operand)]
    _change(writer, op, "compare_exchange", operands)


def _change(
    writer: CFunctionWriter, op: AtomicUpdate | CompareExchange, change: str, operands: list[Text]
) -> None:
    where = place(writer, op.base, op.path, op.indices)
    writer.before_change(MEMORY)
    type_ = op.operand.type
    if not isinstance(type_, ScalarType):
        raise TypeError(type_)
    spelt = writer.module.dialect.atomics(change, type_, space_of(op.base.type))
    text = f"{writer.module.call(spelt)}({address(where)}, {', '.join(map(str, operands))})"
    if writer.uses.count.get(op.value, 0) == 0:
        writer.line(f"{text};", op.location)
    else:
        writer.bind(op.value, Text(text), op.location)
