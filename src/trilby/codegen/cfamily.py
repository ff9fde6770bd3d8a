"""C for a kernel graph, in the words of a dialect: OpenCL C, CUDA C.

The text has the kernel context, the typedefs, the support functions that are needed, the
helpers and at last the kernel. It knows no device and no driver.
"""

import textwrap
from collections.abc import Iterator
from dataclasses import replace

from trilby.analysis.data_loops import uneven_loops_around_others
from trilby.analysis.reach import KernelGraph, as_on_device, reaching, short_name
from trilby.codegen.cexpressions import find_arrays, size_variables
from trilby.codegen.cfunction import CFunctionWriter, Module
from trilby.codegen.cstatements import FAILED, FAILURE_TEXT, write_block
from trilby.codegen.ctext import Line, Text, with_line_directives
from trilby.codegen.dialect import Dialect
from trilby.codegen.identifiers import Identifiers, own_name
from trilby.codegen.struct_types import Structs
from trilby.codegen.support import SUPPORT_NAMES, support_text
from trilby.data.dtypes import ScalarType
from trilby.data.kernel_context import GRID_FIELDS
from trilby.data.schema import BufferType
from trilby.dataclass import dataclass
from trilby.errors import BuildError
from trilby.model.op import Raw, RawBody, walk
from trilby.model.ops.debug import Assert, Print
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.value import KERNEL_CONTEXT
from trilby.source import NOWHERE, Location

# ---------------------------------------------------------------------------------------- functions

SIZES = ("max_x", "max_y", "max_z")
PASSED = "pass_id"
GUARD = "is_beyond_range"
WIDTH = 100


def _head(writer: CFunctionWriter) -> list[str]:
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
        if is_kernel and param.type in writer.module.dialect.stored:
            name = writer.names.fresh(f"{name}_stored")
            writer.stored[param] = name
        if param.type != KERNEL_CONTEXT or not is_kernel:
            type_ = writer.module.value_type(param.type)
            if is_kernel and isinstance(param.type, ScalarType):
                type_ = f"{writer.module.structs.stored(param.type)} "  # a bool is a byte here
            yield f"{type_}{name}"
            yield from size_variables(writer, param, param.type, name)
    if is_kernel:
        writer.sizes = tuple(writer.names.fresh(size) for size in SIZES)
        yield from (f"int {size}" for size in writer.sizes)
    if is_kernel and PASSED in writer.module.grid_fields:
        writer.pass_id = writer.names.fresh(PASSED)
        yield f"int {writer.pass_id}"
    if is_kernel and writer.module.asserting:
        writer.failure = writer.names.fresh("failure")
        yield f"{writer.module.dialect.spaces['global']} int *{writer.failure}"


def _context(writer: CFunctionWriter) -> None:
    """Fill the kernel context, and leave if outside the range."""
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


def _guard_text(dialect: Dialect) -> str:
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


def _write_function(writer: CFunctionWriter) -> list[Line]:
    """A whole function: its head, what it needs of its parameters, its body."""
    if writer.function.raw:
        return _write_raw(writer, writer.function.raw)
    start = [Line(text, writer.function.location) for text in _head(writer)]
    with writer.captured() as first:
        if writer.function.kind == "kernel":
            _context(writer)
            _arguments_from_storage(writer)
        for param in writer.function.params:
            if isinstance(param.type, BufferType):
                find_arrays(writer, param, param.type)
    with writer.captured() as body:
        write_block(writer, writer.function.body)
    gap = [Line("")] if first and body else []
    return [*start, *first, *gap, *body, Line("}")]


# --------------------------------------------------------------------------------------------- craw
# Functions whose body the user wrote in the device's language: head, text, and nothing else.


def _write_raw(writer: CFunctionWriter, raw: Raw) -> list[Line]:
    """The function with the text of its language, which sees the names of the parameters."""
    dialect = writer.module.dialect
    body = raw.body(dialect.name)
    if body is None:
        raise _refusal(
            writer,
            f"`{short_name(writer.function.name)}` is raw device code, and has none for "
            f"{dialect.name}",
            f'add `{dialect.name}="…"` to its @tb.raw',
        )
    writer.names = Identifiers(dialect.is_keyword)
    for name in raw.names:
        if Identifiers(dialect.is_keyword).fresh(name) != name:
            raise _refusal(
                writer,
                f"the raw device code of `{short_name(writer.function.name)}` cannot have a "
                f"parameter `{name}`: that is no name in {dialect.name}",
                "give it another name",
            )
    start = [Line(text, writer.function.location) for text in _head(writer)]
    return [*start, *_lines(body), Line("}")]


def _refusal(writer: CFunctionWriter, problem: str, advice: str) -> BuildError:
    where = writer.function.location
    return BuildError(problem, advice=advice, location=None if where == NOWHERE else where)


def _lines(body: RawBody) -> Iterator[Line]:
    """The text, indented; each line leads to its own in the Python file where it has one."""
    place = body.location
    written = textwrap.dedent(body.text).rstrip().split("\n")
    is_spread = place.end_line - place.line == body.text.count("\n")
    for number, text in enumerate(written):
        if text or any(written[:number]):
            line = place.line + number if is_spread else place.line
            yield Line(f"    {text}".rstrip(), replace(place, line=line))


# ------------------------------------------------------------------------------------------ cfamily


@dataclass(frozen=True, slots=True)
class Generated:
    """Device code: its text, the name of the kernel in it, and its assertions.

    The arguments of the kernel are followed by the range, `int max_x, int max_y, int max_z`,
    and where it `takes_pass` by `int pass_id`. Where there are assertions, there is one more at
    the end, four integers that are zero: the first work item whose assertion fails leaves there
    its number, from 1 on, and its ids.
    """

    text: str
    entry: str
    asserts: tuple[tuple[str, Location], ...] = ()
    takes_pass: bool = False


def generate_c(graph: KernelGraph, dialect: Dialect, *, lines: bool) -> Generated:
    """Write a kernel and all that it reaches."""
    seen = as_on_device(graph)
    module = _module(seen, graph, dialect)
    functions = [_write_function(CFunctionWriter(module, f)) for f in seen.functions]
    texts = [
        dialect.preamble,
        _context_typedef(module),
        _guard_text(dialect),
        FAILURE_TEXT.format(helper=dialect.helper) if module.asserting else "",
        *module.structs.text(),
        *(dialect.functions[name] for name in module.called),
        *(support_text(name, type_, dialect) for name, type_ in module.needed),
    ]
    parts = [*([Line(line) for line in text.splitlines()] for text in texts), *functions]
    flat = [line for part in parts if part for line in (*part, Line(""))]
    text = with_line_directives(flat) if lines else (line.text for line in flat)
    entry = module.functions[graph.entry.name]
    takes_pass = PASSED in module.grid_fields
    return Generated("\n".join(text), entry, tuple(module.asserts), takes_pass)


def _module(graph: KernelGraph, meant: KernelGraph, dialect: Dialect) -> Module:
    """What functions share; `meant` also has the ops for which raw functions have text."""
    names = Identifiers(
        dialect.is_used, frozenset({*SUPPORT_NAMES, *dialect.functions, GUARD, FAILED})
    )
    names.stem("KernelContext", ("_s", "_t"))
    structs = Structs(dialect, names)
    symbols = [function.name for function in reversed(graph.functions)]
    functions = {symbol: names.fresh(own_name(short_name(symbol))) for symbol in symbols}
    for function in graph.functions:
        made = (op.result for op in walk(function.body) if op.result is not None)
        for value in (*function.params, *made):
            structs.add(value.type)
    waits = graph.entry.name in reaching(meant, Barrier)
    return Module(
        dialect,
        structs,
        functions,
        names,
        tuple(_grid_fields(graph)),
        asserting=reaching(graph, Assert),
        acting=reaching(meant, Assert, Print, Barrier),
        waits=waits,
        guarded_loops=uneven_loops_around_others(graph) if waits else frozenset(),
    )


def _grid_fields(graph: KernelGraph) -> Iterator[str]:
    """The fields of the context that are used, and the ids and sizes that the guard needs."""
    used = {op.field for f in graph.functions for op in walk(f.body) if isinstance(op, Grid)}
    if any(f.raw and p.type == KERNEL_CONTEXT for f in graph.functions for p in f.params):
        used = set(GRID_FIELDS)  # nobody knows which of them the text asks for
    guard = {"x", "y", "z", "max_x", "max_y", "max_z"}
    return (name for name in GRID_FIELDS if name in used | guard)


def _context_typedef(module: Module) -> str:
    members = [f"    int {name};" for name in module.grid_fields]
    if module.asserting:
        members += [f"    {module.dialect.spaces['global']} int *failure;", "    int failed;"]
    return "\n".join(["typedef struct KernelContext_s {", *members, "} KernelContext_t;"])
