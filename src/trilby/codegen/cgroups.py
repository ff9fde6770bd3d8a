"""Local and private arrays, barriers, structs as values, `assert` and `print` in C."""

from trilby.codegen.cfunction import CFunctionWriter
from trilby.codegen.ctext import CHOICE, MEMORY, POSTFIX, UNARY, Text, c_string, reads_of
from trilby.data.dtypes import BF16, BOOL, F16, F32, F64, I32, I64, U32, U64, ScalarType, Type
from trilby.data.schema import ArrayType, StructType, leaves
from trilby.model.ops.debug import Assert, Print, texts_of
from trilby.model.ops.grid import Barrier
from trilby.model.ops.memory import LocalArray, PrivateArray
from trilby.model.ops.structs import Pack, Unpack
from trilby.model.value import NONE, RefType
from trilby.source import Location

FAILED = "report_failure"

FAILURE_TEXT = """\
{helper} void report_failure(KernelContext_t *kc, int number) {{
    kc->failed = 1;
    if (atomic_cmpxchg(kc->failure, 0, number) == 0) {{
        kc->failure[1] = kc->x;
        kc->failure[2] = kc->y;
        kc->failure[3] = kc->z;
    }}
}}"""
"""The first work item whose `assert` fails leaves its number and its ids."""


def array(writer: CFunctionWriter, op: LocalArray | PrivateArray) -> None:
    """`__local float tile[16][16];`."""
    made = op.value.type
    if not isinstance(made, RefType) or not isinstance(made.to, ArrayType):
        raise TypeError(made)
    space = f"{writer.module.dialect.spaces['local']} " if made.space == "local" else ""
    name = writer.names.fresh(op.value.hint or f"{made.space}_array")
    dims = "".join(f"[{dim}]" for dim in made.to.dims)
    writer.line(f"{space}{writer.module.structs.stored(made.to)} {name}{dims};", op.location)
    writer.texts[op.value] = Text(name)


def barrier(writer: CFunctionWriter, op: Barrier) -> None:
    """What was read from memory before a barrier is read before it in C too."""
    writer.before_change(MEMORY)
    writer.line(writer.module.dialect.barriers[op.scope], op.location)


def pack(writer: CFunctionWriter, op: Pack) -> None:
    """`(Result_t){.x = a, .y = b}`."""
    struct = _struct(op.value.type)
    parts = [writer.take(part) for part in op.parts]
    structs = writer.module.structs
    members = ", ".join(
        f"{structs.leaf(struct, leaf)} = {_to_storage(writer, leaf.type, part)}"
        for leaf, part in zip(leaves(struct), parts, strict=True)
    )
    text = f"({structs.type_name(struct)}){{{members}}}"
    writer.give(op, Text(text, POSTFIX, reads_of(parts)))


def unpack(writer: CFunctionWriter, op: Unpack) -> None:
    """`p.x`."""
    struct = _struct(op.whole.type)
    whole = writer.take(op.whole)
    leaf = next(leaf for leaf in leaves(struct) if leaf.name == op.leaf)
    text = f"{whole.within(POSTFIX)}{writer.module.structs.leaf(struct, leaf)}"
    if leaf.type.is_half:
        text = f"{writer.module.need('unpack', leaf.type)}({text})"
    elif leaf.type is BOOL:
        text = f"({text} != 0)"
    writer.give(op, Text(text, POSTFIX, whole.reads))


def _struct(type_: Type) -> StructType:
    if not isinstance(type_, StructType):
        raise TypeError(type_)
    return type_


def _to_storage(writer: CFunctionWriter, type_: ScalarType, part: Text) -> str:
    return f"{writer.module.need('pack', type_)}({part})" if type_.is_half else part.text


# -- debugging ----------------------------------------------------------------------------


def assertion(writer: CFunctionWriter, op: Assert) -> None:
    """A work item that fails says so and goes no further."""
    condition = writer.take(op.condition)
    writer.settle()
    module = writer.module
    module.asserts.append((op.message, op.location))
    report = f"{FAILED}({writer.context}, {len(module.asserts)});"
    leave = "" if module.waits else f" {_leave(writer)}"
    writer.line(f"if (!{condition.within(UNARY)}) {{ {report}{leave} }}", op.location)


def after_call(writer: CFunctionWriter, callee: str, location: Location) -> None:
    """Where an `assert` failed in a helper, its callers go no further either.

    Work items that wait for each other go on to the end, since the others wait for them.
    """
    if callee in writer.module.asserting and not writer.module.waits:
        writer.line(f"if ({writer.context}->failed) {_leave(writer)}", location)


def _leave(writer: CFunctionWriter) -> str:
    result = writer.function.result
    if result == NONE:
        return "return;"
    if isinstance(result, StructType):
        return f"return ({writer.module.structs.type_name(result)}){{0}};"
    return "return 0;"


_FORMATS: dict[Type, str] = {
    I32: "%d",
    I64: "%ld",
    U32: "%u",
    U64: "%lu",
    F16: "%g",
    BF16: "%g",
    F32: "%g",
    F64: "%lg",
    BOOL: "%s",
}


def print_line(writer: CFunctionWriter, op: Print) -> None:
    """`printf`, with a format made of the text."""
    args = [(writer.take(arg), arg.type) for arg in op.args]
    first, *others = (text.replace("%", "%%") for text in texts_of(op.form))
    formats = (_FORMATS.get(type_, "%d") for _, type_ in args)
    form = first + "".join(map("".join, zip(formats, others, strict=True)))
    values = "".join(f", {_promoted(part, type_)}" for part, type_ in args)
    text = c_string(form + "\n")
    writer.line(f"printf({text}{values});", op.location)


def _promoted(part: Text, type_: Type) -> str:
    """Small integers are passed as `int`, bools as the words of Python."""
    if type_ is BOOL:
        return f'{part.within(CHOICE - 1)} ? "True" : "False"'
    return part.text if type_ in _FORMATS else f"(int){part.within(UNARY)}"
