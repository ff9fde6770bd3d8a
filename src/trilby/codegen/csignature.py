"""The head of a C function, and what it does before its first statement."""

import textwrap
from collections.abc import Iterator

from trilby.codegen.cfunction import CFunctionWriter
from trilby.codegen.cmemory import find_arrays, size_variables
from trilby.codegen.ctext import Text
from trilby.codegen.dialect import Dialect
from trilby.data.dtypes import ScalarType, Type
from trilby.data.schema import BufferType
from trilby.model.value import KERNEL_CONTEXT

SIZES = ("max_x", "max_y", "max_z")
PASSED = "pass_id"
GUARD = "is_beyond_range"
WIDTH = 100


def head(writer: CFunctionWriter) -> list[str]:
    """`static inline int square(int v) {`, with names given to the parameters."""
    module, function = writer.module, writer.function
    params = ", ".join(_parameters(writer))
    name = module.functions[function.name]
    if function.kind == "kernel":
        start = f"{module.dialect.kernel} {name}("
    else:
        start = f"{module.dialect.helper} {module.value_type(function.result)}{name}("
    if len(start) + len(params) + 3 <= WIDTH:
        return [f"{start}{params}) {{"]
    indent = "    "
    wrapped = textwrap.wrap(
        params.replace(" ", "\0").replace(",\0", ", "),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [start, *(line.replace("\0", " ") for line in wrapped), ") {"]


def _parameters(writer: CFunctionWriter) -> Iterator[str]:
    is_kernel = writer.function.kind == "kernel"
    if not is_kernel and writer.function.name in writer.module.asserting:
        writer.context = writer.names.fresh("context")
        yield f"KernelContext_t *{writer.context}"
    for param in writer.function.params:
        name = writer.names.fresh(param.hint)
        writer.texts[param] = Text(name)
        if is_kernel and _is_stored(writer, param.type):
            name = writer.names.fresh(f"{name}_stored")
            writer.stored[param] = name
        if param.type != KERNEL_CONTEXT or not is_kernel:
            yield f"{_parameter_type(writer, param.type)}{name}"
            yield from size_variables(writer, param, param.type, name)
    if is_kernel:
        writer.sizes = tuple(writer.names.fresh(size) for size in SIZES)
        yield from (f"int {size}" for size in writer.sizes)
    if is_kernel and PASSED in writer.module.grid_fields:
        writer.pass_id = writer.names.fresh(PASSED)
        yield f"int {writer.pass_id}"
    if is_kernel and writer.module.asserting:
        writer.failure = writer.names.fresh("failure")
        yield f"{writer.module.dialect.global_space} int *{writer.failure}"


def _parameter_type(writer: CFunctionWriter, type_: Type) -> str:
    """Kernels get numbers as they are stored: a bool is a byte at that border."""
    if writer.function.kind == "kernel" and isinstance(type_, ScalarType):
        return f"{writer.module.structs.stored(type_)} "
    return writer.module.value_type(type_)


def prologue(writer: CFunctionWriter) -> None:
    """Fill the kernel context, leave if outside the range, find the fields of buffers."""
    if writer.function.kind == "kernel":
        _context(writer)
        _arguments_from_storage(writer)
    for param in writer.function.params:
        if isinstance(param.type, BufferType):
            find_arrays(writer, param, param.type)


def _context(writer: CFunctionWriter) -> None:
    context = writer.texts[writer.function.params[0]]
    writer.context = context.text
    content = writer.names.fresh("kernel_context")
    writer.line(f"KernelContext_t {content};")
    writer.line(f"KernelContext_t *{context} = &{content};")
    given: dict[str, str] = dict(zip(SIZES, writer.sizes, strict=True)) | {PASSED: writer.pass_id}
    for name in writer.module.grid_fields:
        source = given.get(name) or writer.module.dialect.grid[name]
        writer.line(f"{context}->{name} = {source};")
    if writer.module.asserting:
        writer.line(f"{context}->failure = {writer.failure};")
        writer.line(f"{context}->failed = 0;")
    if not writer.module.waits:
        writer.line(f"if ({GUARD}({context})) return;")


def guard_text(dialect: Dialect) -> str:
    """The function that says which work items lie beyond the range.

    Only groups at its far ends have such items. Whether a group is one of those is the same
    for all its items, so a compiler can ask once and leave the other groups without a test.
    """
    or_else = "\n        || "
    edges = (
        f"({dialect.grid[f'group_{axis}']} + 1) * {dialect.grid[f'local_max_{axis}']} "
        f"> kc->max_{axis}"
        for axis in "xyz"
    )
    beyond = " || ".join(f"kc->{axis} >= kc->max_{axis}" for axis in "xyz")
    return (
        f"{dialect.helper} bool {GUARD}(KernelContext_t *kc) {{\n"
        f"    bool is_edge_group = {or_else.join(edges)};\n"
        f"    return is_edge_group && ({beyond});\n"
        "}"
    )


def _arguments_from_storage(writer: CFunctionWriter) -> None:
    """Bring bools and halves from their stored form to values."""
    for param, stored in writer.stored.items():
        text = f"{stored} != 0"
        if isinstance(param.type, ScalarType) and param.type.is_half:
            text = f"{writer.module.need('unpack', param.type)}({stored})"
        name = writer.texts[param]
        writer.line(f"{writer.module.value_type(param.type)}{name} = {text};")


def _is_stored(writer: CFunctionWriter, type_: Type) -> bool:
    """True where a number is spelt otherwise in memory than in expressions."""
    return isinstance(type_, ScalarType) and type_ in writer.module.dialect.stored
