"""Places in memory, as the C family writes them."""

from trilby.codegen.cfunction import FunctionWriter
from trilby.codegen.structs import is_fixed
from trilby.codegen.text import MEMORY, POSTFIX, UNARY, Text, reads_of
from trilby.data.dtypes import BOOL, F16, ScalarType, Type
from trilby.data.layout import stride_of
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    NDArrayType,
    StructType,
    path_steps,
    step_into,
)
from trilby.model.op import walk
from trilby.model.ops.memory import Atomic, Extent, Load, Place, Store
from trilby.model.value import RefType, Value


def cache_fields(writer: FunctionWriter, param: Value, buffer: BufferType) -> None:
    """Read the lengths and find the arrays of a buffer once, where the function begins.

    Lengths are constant, but a compiler that sees stores to the same buffer cannot know it.
    """
    used = _used_fields(writer, param)
    name = writer.texts[param].text
    lengths = [n for n in _needed_lengths(buffer, used) if n in buffer.length_names]
    for length in lengths:
        field = buffer.field(length)
        if field is not None:
            local = writer.names.fresh(f"{name}_{length}")
            member = writer.module.structs.member(buffer, length)
            writer.line(f"const {writer.module.value_type(field.type)}{local} = {name}->{member};")
            writer.cached[param, length] = local
    for array in (n for n in used if not is_fixed(buffer, n)):
        field = buffer.field(array)
        if field is not None:
            local = writer.names.fresh(f"{name}_{array}")
            pointer = writer.module.structs.pointer(field.type)
            call = f"{writer.module.structs.accessor(buffer, array)}({name})"
            writer.line(f"{pointer}{local} = {call};")
            writer.cached[param, array] = local


def _used_fields(writer: FunctionWriter, param: Value) -> list[str]:
    """The top-level fields that the function itself touches, in order."""
    return list(
        dict.fromkeys(
            next(path_steps(op.path))
            for op in walk(writer.function.body)
            if isinstance(op, Load | Store | Place | Atomic) and op.base is param
        )
    )


def _needed_lengths(buffer: BufferType, used: list[str]) -> list[str]:
    """The lengths among the used fields, and those that indexing in rows needs."""
    needed = dict.fromkeys(used)
    for name in used:
        field = buffer.field(name)
        if field is not None and isinstance(field.type, ArrayType):
            needed |= dict.fromkeys(d for d in field.type.dims[1:] if isinstance(d, str))
    return list(needed)


def place(writer: FunctionWriter, base: Value, path: str, indices: tuple[Value, ...]) -> Text:
    """The C lvalue of a place."""
    taken = [writer.take(index) for index in indices]
    pointer = writer.take(base)
    reads = reads_of([*taken, pointer])
    remaining = list(taken)
    here: Type | None = base.type.to if isinstance(base.type, RefType) else base.type
    text = _Lvalue(pointer.within(POSTFIX), is_pointer=True, array=None)
    if isinstance(here, NDArrayType):
        row_major = _flat(remaining, [shape.text for shape in writer.shapes[base]])
        return Text(f"{pointer.within(POSTFIX)}[{row_major}]", POSTFIX, reads)
    for step in path_steps(path):
        if step == INDEX:
            text = _element(writer, base, text, here, remaining)
        else:
            text = _member(writer, base, text, here, step)
        here = step_into(here, step) if here is not None else None
    return Text(text.text, POSTFIX, reads)


class _Lvalue:
    """A place on the way down a path; `array` is set while an array waits for its index."""

    def __init__(self, text: str, *, is_pointer: bool, array: str | None) -> None:
        self.text = text
        self.is_pointer = is_pointer
        self.array = array


def _member(
    writer: FunctionWriter, base: Value, here: _Lvalue, struct: Type | None, name: str
) -> _Lvalue:
    if not isinstance(struct, StructType):
        raise TypeError(struct)
    cached = writer.cached.get((base, name)) if here.is_pointer else None
    if is_fixed(struct, name):
        dot = "->" if here.is_pointer else "."
        text = cached or f"{here.text}{dot}{writer.module.structs.member(struct, name)}"
        return _Lvalue(text, is_pointer=False, array=None)
    pointer = cached or f"{writer.module.structs.accessor(struct, name)}({here.text})"
    field = struct.field(name)
    if field is not None and isinstance(field.type, ArrayType):
        return _Lvalue(pointer, is_pointer=False, array=here.text)
    return _Lvalue(f"(*{pointer})", is_pointer=False, array=None)


def _element(
    writer: FunctionWriter,
    base: Value,
    here: _Lvalue,
    array: Type | None,
    remaining: list[Text],
) -> _Lvalue:
    if not isinstance(array, ArrayType):
        raise TypeError(array)
    indices = [remaining.pop(0) for _ in array.dims]
    if here.array is None and array.stride is None:
        text = here.text + "".join(f"[{index}]" for index in indices)
        return _Lvalue(text, is_pointer=False, array=None)
    flat = _flat(indices, [_dimension(writer, base, here, dim) for dim in array.dims])
    if array.stride is None:
        return _Lvalue(f"{here.text}[{flat}]", is_pointer=False, array=None)
    pointer = writer.module.structs.pointer(array.element)
    space = writer.module.dialect.global_space
    bytes_in = f"({space} char *){here.text} + (long)({flat}) * {stride_of(array)}"
    return _Lvalue(f"(*({pointer})({bytes_in}))", is_pointer=False, array=None)


def _dimension(writer: FunctionWriter, base: Value, here: _Lvalue, dim: int | str) -> str:
    if isinstance(dim, int):
        return str(dim)
    cached = writer.cached.get((base, dim))
    if cached is not None or not isinstance(base.type, BufferType):
        return cached or dim
    return f"{here.array}->{writer.module.structs.member(base.type, dim)}"


def _flat(indices: list[Text], dims: list[str]) -> str:
    """Row-major: `(long)y * width + x`."""
    text = indices[0].text
    strength = indices[0]
    for index, dim in zip(indices[1:], dims[1:], strict=True):
        head = f"(long){strength.within(UNARY)}"
        text = f"{head} * {dim} + {index.within(4)}"
        strength = Text(text, 4)
    return text


def load(writer: FunctionWriter, op: Load) -> None:
    """The number at a place; lengths are constants of the function."""
    field = next(path_steps(op.path))
    cached = writer.cached.get((op.base, field)) if op.path == field else None
    if cached is not None and _is_length(op):
        writer.give_anywhere(op, Text(cached))
        return
    text = place(writer, op.base, op.path, op.indices)
    writer.give(op, _loaded(writer, op.value.type, text))


def _is_length(op: Load) -> bool:
    return isinstance(op.base.type, BufferType) and op.path in op.base.type.length_names


def _loaded(writer: FunctionWriter, type_: Type, where: Text) -> Text:
    reads = where.reads | {MEMORY}
    if type_ is BOOL:
        return Text(f"({where} != 0)", 0, reads)
    if type_ is F16:
        space = writer.module.dialect.global_space
        return Text(writer.module.dialect.half_load.format(f"&{where}", space), POSTFIX, reads)
    return Text(where.text, POSTFIX, reads)


def store(writer: FunctionWriter, op: Store) -> None:
    """A new number for a place."""
    value = writer.take(op.stored)
    where = place(writer, op.base, op.path, op.indices)
    writer.before_change(MEMORY)
    if op.stored.type is F16:
        space = writer.module.dialect.global_space
        text = writer.module.dialect.half_store.format(f"&{where}", value, space)
        writer.line(f"{text};", op.location)
        return
    writer.line(f"{where} = {value};", op.location)


def reference(writer: FunctionWriter, op: Place) -> None:
    """The address of a struct."""
    where = place(writer, op.base, op.path, op.indices)
    writer.give(op, Text(f"&{where}", UNARY, where.reads))


def extent(writer: FunctionWriter, op: Extent) -> None:
    """One axis of a shape: fixed where the array is a parameter, else a variable's content."""
    writer.take(op.base)
    axis = writer.shapes[op.base][op.axis]
    if axis.reads:
        writer.give(op, axis)
    else:
        writer.give_anywhere(op, axis)


def atomic(writer: FunctionWriter, op: Atomic) -> None:
    """An indivisible change; the old number is the result."""
    operand = writer.take(op.operand)
    where = place(writer, op.base, op.path, op.indices)
    writer.before_change(MEMORY)
    type_ = op.operand.type
    if not isinstance(type_, ScalarType):
        raise TypeError(type_)
    function = writer.module.call(writer.module.dialect.atomics[op.change](type_))
    text = f"{function}(&{where}, {operand})"
    if writer.uses.count.get(op.value, 0) == 0:
        writer.line(f"{text};", op.location)
    else:
        writer.bind(op.value, Text(text), op.location)
