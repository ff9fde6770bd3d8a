"""Arithmetic, choices and places in memory, as the C family writes them."""

from collections.abc import Mapping
from dataclasses import replace

from trilby.codegen.cfunction import CFunctionWriter
from trilby.codegen.checked_types import expect, scalar
from trilby.codegen.ctext import (
    BITS,
    CHOICE,
    EQUAL,
    MEMORY,
    ORDER,
    POSTFIX,
    PRODUCT,
    SHIFT,
    SUM,
    UNARY,
    Dependence,
    Text,
    reads_of,
)
from trilby.codegen.struct_types import is_fixed
from trilby.data.dtypes import (
    BOOL,
    F16,
    F32,
    F64,
    I32,
    I64,
    U32,
    U64,
    ScalarType,
    Type,
    round_to,
)
from trilby.data.layout import stride_of
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    Field,
    NDArrayType,
    StructType,
    path_steps,
    sizes_of,
    walk_path,
)
from trilby.model.intrinsics import INTRINSICS
from trilby.model.op import Op, walk
from trilby.model.ops import arith
from trilby.model.ops.arith import Binary, Cast, Compare, Math, Unary
from trilby.model.ops.core import Constant
from trilby.model.ops.memory import AtomicUpdate, CompareExchange, Extent, Load, Place, Store
from trilby.model.value import Space, Value, VarType, pointee, space_of

_SYMBOLS: Mapping[type[Op], tuple[str, int]] = {
    arith.Add: ("+", SUM),
    arith.Sub: ("-", SUM),
    arith.Mul: ("*", PRODUCT),
    arith.TrueDiv: ("/", PRODUCT),
    arith.Shl: ("<<", SHIFT),
    arith.Shr: (">>", SHIFT),
    arith.BitAnd: ("&", BITS),
    arith.BitOr: ("|", BITS),
    arith.BitXor: ("^", BITS),
    arith.Lt: ("<", ORDER),
    arith.Le: ("<=", ORDER),
    arith.Gt: (">", ORDER),
    arith.Ge: (">=", ORDER),
    arith.Eq: ("==", EQUAL),
    arith.Ne: ("!=", EQUAL),
}
_FUNCTIONS: Mapping[type[Op], str] = {
    arith.FloorDiv: "floordiv",
    arith.Mod: "mod",
    arith.Pow: "pow",
}
_WRAPPING = (arith.Add, arith.Sub, arith.Mul)
_SUPPORTED_MATH = frozenset({"min", "max", "abs", "clamp", "sign", "degrees", "radians"})


def literal(writer: CFunctionWriter, op: Constant) -> Text:
    """A number as C spells it; the lowest integers have no literal of their own."""
    number, type_ = op.literal, scalar(op.value.type)
    if type_ is BOOL:
        return Text("true" if number else "false")
    if type_.is_float:
        text = writer.module.dialect.float_literal(round_to(float(number), type_), type_)
        return Text(text, UNARY if text.startswith("-") else 0)
    suffix = {I64: "L", U64: "UL"}.get(type_, "u" if type_.kind == "uint" else "")
    number = int(number)
    if number == type_.lowest < 0 and type_.bits >= 32:
        return Text(f"({number + 1}{suffix} - 1)")
    return Text(f"{number}{suffix}", UNARY if number < 0 else 0)


def binary(writer: CFunctionWriter, op: Binary) -> None:
    """Arithmetic with Python's meaning."""
    left, right = writer.take(op.left), writer.take(op.right)
    type_ = scalar(op.left.type)
    if type_.is_integer and isinstance(op, arith.FloorDiv | arith.Mod):
        writer.give(op, _divided(writer, op, type_, left, right))
    elif type(op) in _FUNCTIONS:
        writer.give(op, _call(writer, _FUNCTIONS[type(op)], type_, [left, right]))
    elif isinstance(op, arith.Shl | arith.Shr):
        writer.give(op, _shifted(writer, op, type_, left, right))
    elif type_.is_integer and isinstance(op, _WRAPPING) and _may_wrap(writer, op, type_):
        text = _wrapped(writer, type_, _SYMBOLS[type(op)], left, right)
        if _leaves_every_array(writer, op, type_):
            text = replace(text, index=_joined(_SYMBOLS[type(op)], left, right))
        writer.give(op, text)
    else:
        writer.give(op, _rounded(writer, type_, _joined(_SYMBOLS[type(op)], left, right)))


def _joined(symbol: tuple[str, int], left: Text, right: Text) -> Text:
    """`a + b`. The right side binds tighter; beside `&` or `<<` nobody remembers what does."""
    sign, strength = symbol
    outer, inner = (UNARY, UNARY) if strength in {BITS, SHIFT} else (strength, strength - 1)
    text = f"{left.within(outer)} {sign} {right.within(inner)}"
    return Text(text, strength, reads_of([left, right]))


def _may_wrap(writer: CFunctionWriter, op: Binary, type_: ScalarType) -> bool:
    """False where the operands are too small to leave the type, or C wraps by itself."""
    if type_.kind == "uint" and type_.bits >= 32:
        return False
    exact = writer.spans.exact(op)
    return exact is None or not exact.fits(type_)


def _leaves_every_array(writer: CFunctionWriter, op: Binary, type_: ScalarType) -> bool:
    """True where the result, if it wraps, is negative: no index of any array.

    Only numbers that pass the end of the type by less than its size wrap so.
    """
    exact = writer.spans.exact(op)
    if exact is None or type_.kind != "int":
        return False
    return type_.lowest <= exact.low and exact.high < 2**type_.bits


def _wrapped(
    writer: CFunctionWriter, type_: ScalarType, symbol: tuple[str, int], left: Text, right: Text
) -> Text:
    """Signed overflow is undefined in C: compute without a sign, then go back.

    A chain of such steps goes back once, at its end.
    """
    own = writer.module.dialect.scalars[type_]
    unsigned = writer.module.dialect.unsigned[type_ if type_.bits >= 32 else I32]
    start = left.unsigned or Text(f"({unsigned}){left.within(UNARY)}", UNARY, left.reads)
    joined = _joined(symbol, start, right.unsigned or right)
    return Text(f"({own})({joined})", UNARY, joined.reads, unsigned=joined)


def _shifted(
    writer: CFunctionWriter, op: Binary, type_: ScalarType, left: Text, right: Text
) -> Text:
    """Shift counts are taken modulo the width."""
    count = writer.spans.of(op.right)
    if not 0 <= count.low <= count.high < type_.bits:
        right = Text(f"({right.within(UNARY)} & {type_.bits - 1})", reads=right.reads)
    if isinstance(op, arith.Shl) and not (type_.kind == "uint" and type_.bits >= 32):
        return _wrapped(writer, type_, _SYMBOLS[arith.Shl], left, right)
    return _joined(_SYMBOLS[type(op)], left, right)


def _divided(
    writer: CFunctionWriter, op: Binary, type_: ScalarType, left: Text, right: Text
) -> Text:
    """C's own division where no sign is in play and the divisor is not zero.

    Shifts and masks round towards minus infinity by themselves.
    """
    divided, divisor = writer.spans.of(op.left), writer.spans.of(op.right)
    if divided.low >= 0 and divisor.low > 0:
        symbol = "/" if isinstance(op, arith.FloorDiv) else "%"
        return _joined((symbol, PRODUCT), left, right)
    if divisor.low == divisor.high > 0 and divisor.low.bit_count() == 1:
        if isinstance(op, arith.FloorDiv):
            shift = Text(str(divisor.low.bit_length() - 1))
            return _joined(_SYMBOLS[arith.Shr], left, shift)
        return _joined(_SYMBOLS[arith.BitAnd], left, Text(str(divisor.low - 1)))
    function = _FUNCTIONS[type(op)]
    if type_.kind == "int" and divisor.low >= 0:
        function = f"{function}_size"
    return _call(writer, function, type_, [left, right])


def _called(name: str, args: list[Text]) -> Text:
    return Text(f"{name}({', '.join(a.text for a in args)})", POSTFIX, reads_of(args))


def _rounded(writer: CFunctionWriter, type_: ScalarType, text: Text) -> Text:
    """Halves are computed as floats and rounded after each step."""
    if not type_.is_half:
        return text
    return Text(f"{writer.module.need('round', type_)}({text})", POSTFIX, text.reads)


def _call(writer: CFunctionWriter, name: str, type_: ScalarType, args: list[Text]) -> Text:
    if name == "pow" and type_.is_float:
        function = name
    else:
        function = writer.module.need(name, F32 if type_.is_half else type_)
    return _rounded(writer, type_, _called(function, args))


def compare(writer: CFunctionWriter, op: Compare) -> None:
    """A comparison."""
    left, right = writer.take(op.left), writer.take(op.right)
    symbol, strength = _SYMBOLS[type(op)]
    text = f"{left.within(strength - 1)} {symbol} {right.within(strength - 1)}"
    writer.give(op, Text(text, strength, reads_of([left, right])))


def unary(writer: CFunctionWriter, op: Unary) -> None:
    """`-`, `~`, `!`."""
    operand = writer.take(op.operand)
    type_ = scalar(op.operand.type)
    own = writer.module.dialect.scalars[type_]
    if isinstance(op, arith.Not):
        text = _negated(operand)
    elif isinstance(op, arith.Invert):
        text = Text(f"({own})~{operand.within(UNARY)}", UNARY, operand.reads)
    elif type_.is_float or writer.spans.negated(op).fits(type_):
        text = Text(f"-{operand.within(POSTFIX)}", UNARY, operand.reads)
    else:
        unsigned = writer.module.dialect.unsigned[type_]
        wrapped = f"({own})(0 - ({unsigned}){operand.within(UNARY)})"
        text = Text(wrapped, UNARY, operand.reads)
    writer.give(op, text)


def _negated(operand: Text) -> Text:
    """`!a`; the truth of a number is turned over where it is asked for."""
    if operand.strength == EQUAL and operand.text.endswith(" != 0"):
        return Text(f"{operand.text.removesuffix(' != 0')} == 0", EQUAL, operand.reads)
    return Text(f"!{operand.within(UNARY)}", UNARY, operand.reads)


def cast(writer: CFunctionWriter, op: Cast) -> None:
    """A conversion, as `dtypes.convert` defines it."""
    operand = writer.take(op.operand)
    source, target = scalar(op.operand.type), scalar(op.value.type)
    own = writer.module.dialect.scalars[target]
    if target is BOOL:
        text = Text(f"{operand.within(EQUAL - 1)} != 0", EQUAL, operand.reads)
    elif source.is_float and (target.is_integer or (source, target) == (F64, F16)):
        if target is F16:
            writer.module.need("round", F16)  # the function for doubles calls it
        function = writer.module.need(f"{target}_from", F32 if source.is_half else source)
        text = Text(f"{function}({operand})", POSTFIX, operand.reads)
    elif own == writer.module.dialect.scalars[source]:
        text = _rounded(writer, target, operand) if source is not target else operand
    elif operand.unsigned is not None and target.is_integer and target.bits <= source.bits:
        text = Text(f"({own})({operand.unsigned})", UNARY, operand.reads)
    else:
        text = Text(f"({own}){operand.within(UNARY)}", UNARY, operand.reads)
        text = _rounded(writer, target, text)
    writer.give(op, text)


def math(writer: CFunctionWriter, op: Math) -> None:
    """A math function: the language's own, or a support function where C means another."""
    args = [writer.take(argument) for argument in op.args]
    type_ = scalar(op.args[0].type)
    if INTRINSICS[op.function].tests:
        text = Text(f"{op.function}({args[0]}) != 0", EQUAL, args[0].reads)
        writer.give(op, text)
        return
    if op.function == "abs" and type_.is_float:
        name = "fabs"
    elif op.function == "abs" and type_.kind == "uint":
        writer.give(op, args[0])
        return
    elif op.function in _SUPPORTED_MATH:
        name = writer.module.need(op.function, type_)
    else:
        name = writer.module.dialect.math.get(op.function, op.function)
        args = [_of_own_type(writer, type_, a) for a in args]
    writer.give(op, _rounded(writer, type_, _called(name, args)))


def _of_own_type(writer: CFunctionWriter, type_: ScalarType, text: Text) -> Text:
    """C computes with small integers as `int`; a function that counts bits sees the width."""
    if type_.is_float or type_.bits >= 32:
        return text
    own = writer.module.dialect.scalars[type_]
    return Text(f"({own}){text.within(UNARY)}", UNARY, text.reads)


def choice(condition: Text, then: Text, otherwise: Text) -> Text:
    """`c ? a : b`."""
    arms = f"{then.within(CHOICE - 1)} : {otherwise.within(CHOICE)}"
    return Text(
        f"{condition.within(CHOICE - 1)} ? {arms}", CHOICE, reads_of([condition, then, otherwise])
    )


# ------------------------------------------------------------------------------------------ places
# Places in memory, as the C family writes them.


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
    # The top-level fields that the function itself touches, in order.
    touched = dict.fromkeys(
        next(path_steps(op.path))
        for op in walk(writer.function.body)
        if isinstance(op, Load | Store | Place | AtomicUpdate) and op.base is param
    )
    for array in (field for field in touched if not is_fixed(buffer, field)):
        local = writer.names.fresh(f"{name}_{array}")
        field = expect(Field, buffer.field(array))
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


def place(writer: CFunctionWriter, base: Value, path: str, indices: tuple[Value, ...]) -> Text:
    """The C lvalue of a place."""
    remaining = [_index(writer, index) for index in indices]
    here = writer.take(base)
    reads = reads_of([*remaining, here])
    sizes = writer.sizes_with.get(base, {})
    if isinstance(base.type, NDArrayType):
        row_major = _flat(remaining, [size.text for size in sizes.values()])
        return Text(f"{here.within(POSTFIX)}[{row_major}]", POSTFIX, reads)
    # On the way down the path, `here` is a place, a pointer to it, or the pointer to the first
    # element of a length-bound array.
    is_pointer, is_bound, cached = True, False, writer.cached
    for step, type_ in walk_path(pointee(base.type), path):
        if step == INDEX:
            array = expect(ArrayType, type_)
            taken, remaining = remaining[: len(array.dims)], remaining[len(array.dims) :]
            is_pointer = array.stride is not None
            if is_bound or is_pointer:
                flat = _flat(
                    taken, [str(sizes[d] if isinstance(d, str) else d) for d in array.dims]
                )
                if is_pointer:
                    here = _strided(writer, here, flat, array, space_of(base.type))
                else:
                    here = Text(f"{here}[{flat}]", POSTFIX)
            else:
                here = Text("".join([here.text, *(f"[{index}]" for index in taken)]), POSTFIX)
            is_bound = False
        else:
            struct = expect(StructType, type_)
            text = cached.get((base, step))
            if is_fixed(struct, step):
                member = writer.module.structs.member(struct, step)
                text = text or f"{here.within(POSTFIX)}{'->' if is_pointer else '.'}{member}"
                is_pointer = is_bound = False
            else:
                text = text or _reached(writer, base, struct, step, here.text)
                is_bound = isinstance(expect(Field, struct.field(step)).type, ArrayType)
                is_pointer = not is_bound
            here = Text(text, POSTFIX)
        cached = {}  # what was found where the function begins are fields of the base itself
    if is_pointer:
        return Text(f"*{here.within(UNARY)}", UNARY, reads)
    return Text(here.text, POSTFIX, reads)


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


def _strided(
    writer: CFunctionWriter, start: Text, flat: str, array: ArrayType, space: Space
) -> Text:
    """A pointer to an element; the distance of two elements is more than their size."""
    stride = stride_of(array)
    wide = f"(long){flat}" if flat.isidentifier() else f"(long)({flat})"
    distance = str(int(flat) * stride) if flat.isdigit() else f"{wide} * {stride}"
    pointer = writer.module.structs.pointer(array.element, space)
    bytes_ = f"{writer.module.dialect.spaces[space]} char *"
    return Text(f"({pointer})(({bytes_}){start} + {distance})", UNARY)


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
        size(writer, op, op.path)
        return
    where = place(writer, op.base, op.path, op.indices)
    type_, space = op.value.type, space_of(op.base.type)
    reads = where.reads if space == "constant" else where.reads | {MEMORY}
    text, strength = where.text, POSTFIX
    if type_ is BOOL:
        text, strength = f"{where} != 0", EQUAL
    elif type_ is F16 and space != "private":
        dialect = writer.module.dialect
        text = dialect.half_load.format(address(where), f"{dialect.spaces[space]} ")
    elif scalar(type_).is_half:
        text = f"{writer.module.need('unpack', scalar(type_))}({where})"
    else:
        strength = where.strength
    writer.give(op, Text(text, strength, reads))


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
    writer.line(f"{where} = {to_storage(writer, op.stored.type, value)};", op.location)


def to_storage(writer: CFunctionWriter, type_: Type, number: Text) -> str:
    """A number as it is kept in memory."""
    if not scalar(type_).is_half:
        return number.text
    return f"{writer.module.need('pack', scalar(type_))}({number})"


def reference(writer: CFunctionWriter, op: Place) -> None:
    """The address of a struct."""
    where = place(writer, op.base, op.path, op.indices)
    writer.give(op, Text(address(where), UNARY, where.reads))


def size(writer: CFunctionWriter, op: Load | Extent, name: str) -> None:
    """A size of a buffer: fixed where the buffer is a parameter, else a variable's content."""
    writer.take(op.base)
    text = writer.sizes_with[op.base][name]
    if text.reads:
        writer.give(op, text)
    else:
        writer.give_anywhere(op, text)


def atomic(writer: CFunctionWriter, op: AtomicUpdate | CompareExchange) -> None:
    """An indivisible change, or an exchange if the place holds what is expected.

    The old number is the result.
    """
    change, given = "compare_exchange", [writer.take(op.operand)]
    if isinstance(op, AtomicUpdate):
        change = op.change
    else:
        given.insert(0, writer.take(op.expected))
    where = place(writer, op.base, op.path, op.indices)
    writer.before_change(MEMORY)
    type_, space = scalar(op.operand.type), space_of(op.base.type)
    name = writer.module.call(writer.module.dialect.atomics(change, type_, space))
    text = f"{name}({address(where)}, {', '.join(map(str, given))})"
    if not writer.use_count[op.value]:
        writer.line(f"{text};", op.location)
    else:
        writer.bind(op.value, Text(text), op.location)
