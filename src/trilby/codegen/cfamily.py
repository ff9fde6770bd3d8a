"""C for a kernel graph, in the words of a dialect: OpenCL C, CUDA C.

The text has the kernel context, the typedefs, the support functions that are needed, the
helpers and at last the kernel. It knows no device and no driver.
"""

from collections.abc import Iterator
from dataclasses import replace
from textwrap import dedent

from trilby.analysis.data_loops import uneven_loops_around_others
from trilby.analysis.reach import KernelGraph, as_on_device, reaching, short_name
from trilby.codegen.cfunction import CFunctionWriter, Module
from trilby.codegen.cgroups import FAILED, FAILURE_TEXT
from trilby.codegen.csignature import GUARD, PASSED, guard_text, head
from trilby.codegen.cstatements import write_function
from trilby.codegen.ctext import Line, with_line_directives
from trilby.codegen.dialect import Dialect
from trilby.codegen.identifiers import Identifiers, own_name
from trilby.codegen.struct_types import Structs
from trilby.codegen.support import SUPPORT_NAMES, support_text
from trilby.data.kernel_context import GRID_FIELDS
from trilby.dataclass import dataclass
from trilby.errors import BuildError
from trilby.model.op import Func, Raw, RawBody, walk
from trilby.model.ops.debug import Assert, Print
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.value import KERNEL_CONTEXT, Value
from trilby.source import NOWHERE, Location

# --------------------------------------------------------------------------------------------- craw
# Functions whose body the user wrote in the device's language: head, text, and nothing else.


def write_raw(writer: CFunctionWriter, raw: Raw) -> list[Line]:
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
    start = [Line(text, writer.function.location) for text in head(writer)]
    return [*start, *_lines(body), Line("}")]


def _refusal(writer: CFunctionWriter, problem: str, advice: str) -> BuildError:
    where = writer.function.location
    return BuildError(problem, advice=advice, location=None if where == NOWHERE else where)


def _lines(body: RawBody) -> Iterator[Line]:
    """The text, indented; each line leads to its own in the Python file where it has one."""
    place = body.location
    written = dedent(body.text).rstrip().split("\n")
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
    functions = [_function(CFunctionWriter(module, f)) for f in seen.functions]
    parts = [
        [Line(text) for text in dialect.preamble.splitlines()],
        _context_typedef(seen, module),
        [Line(text) for text in guard_text(dialect).splitlines()],
        _failure_report(module),
        *([Line(t) for t in text.splitlines()] for text in module.structs.text()),
        *([Line(t) for t in text.splitlines()] for text in _support(module)),
        *functions,
    ]
    flat = [line for part in parts if part for line in (*part, Line(""))]
    text = with_line_directives(flat) if lines else (line.text for line in flat)
    entry = module.functions[graph.entry.name]
    takes_pass = PASSED in module.grid_fields
    return Generated("\n".join(text), entry, tuple(module.asserts), takes_pass)


def _function(writer: CFunctionWriter) -> list[Line]:
    raw = writer.function.raw
    return write_raw(writer, raw) if raw else write_function(writer)


def _module(graph: KernelGraph, meant: KernelGraph, dialect: Dialect) -> Module:
    """What functions share; `meant` also has the ops for which raw functions have text."""
    names = Identifiers(
        dialect.is_used, frozenset({*SUPPORT_NAMES, *dialect.functions, GUARD, FAILED})
    )
    names.stem("KernelContext", ("_s", "_t"))
    structs = Structs(dialect, names)
    functions: dict[str, str] = {}
    for function in reversed(graph.functions):
        functions[function.name] = names.fresh(own_name(short_name(function.name)))
    for function in graph.functions:
        for value in _values(function):
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


def _values(function: Func) -> Iterator[Value]:
    yield from function.params
    for op in walk(function.body):
        if op.result is not None:
            yield op.result


def _grid_fields(graph: KernelGraph) -> Iterator[str]:
    """The fields of the context that are used, and the ids and sizes that the guard needs."""
    used = {op.field for f in graph.functions for op in walk(f.body) if isinstance(op, Grid)}
    if any(f.raw and p.type == KERNEL_CONTEXT for f in graph.functions for p in f.params):
        used = set(GRID_FIELDS)  # nobody knows which of them the text asks for
    guard = {"x", "y", "z", "max_x", "max_y", "max_z"}
    return (name for name in GRID_FIELDS if name in used | guard)


def _context_typedef(graph: KernelGraph, module: Module) -> list[Line]:
    members = [Line(f"    int {name};") for name in _grid_fields(graph)]
    if module.asserting:
        members.append(Line(f"    {module.dialect.global_space} int *failure;"))
        members.append(Line("    int failed;"))
    return [Line("typedef struct KernelContext_s {"), *members, Line("} KernelContext_t;")]


def _failure_report(module: Module) -> list[Line]:
    if not module.asserting:
        return []
    text = FAILURE_TEXT.format(helper=module.dialect.helper)
    return [Line(line) for line in text.splitlines()]


def _support(module: Module) -> Iterator[str]:
    for name in module.called:
        yield module.dialect.functions[name]
    for name, type_ in module.needed:
        yield support_text(name, type_, module.dialect)
