"""A kernel and its helpers as one Python module: text, compiled code, and the way back.

Every op has its own small renderer; this module joins their tables, writes function after
function, and remembers for each line which op it carries out, so that an error in a
work item can name the place in the user's source.
"""

import builtins
import keyword
from collections.abc import Callable
from itertools import pairwise
from types import TracebackType
from typing import Any

from trilby.analysis.reach import KernelGraph, reaching, short_name, waiting_functions
from trilby.backend.interpreter.numbers import vocabulary
from trilby.backend.interpreter.python_writer import (
    PythonFunctionWriter,
    PythonLine,
    known,
    python_name,
)
from trilby.backend.interpreter.renderers import RENDERERS
from trilby.backend.work_memory import NO_ARRAYS, WorkMemory
from trilby.codegen.identifiers import Identifiers
from trilby.dataclass import dataclass
from trilby.errors import BuildError
from trilby.model.intrinsics import INTRINSICS
from trilby.model.op import Func
from trilby.model.ops.debug import Print
from trilby.model.ops.grid import Barrier
from trilby.source import Location, printable

_BUILTINS = frozenset({*dir(builtins), "__builtins__"})
"""Names that Python finds without anybody having set them."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelProgram:
    """A kernel ready to run: `run` is called once for each work item.

    Where `waits` is true it is a generator that yields at every barrier.
    """

    entry: Func
    waits: bool
    lines: tuple[PythonLine, ...]
    run: Callable[..., Any]
    names: dict[str, Any]
    prints: bool = False
    asserts: bool = False  # what fails is raised by the launch itself
    arrays: WorkMemory = NO_ARRAYS

    @property
    def source(self) -> str:
        """The Python text."""
        return "\n".join(line.text for line in self.lines) + "\n"

    def barrier(self, place: object) -> Barrier:
        """The barrier at which a work item waits that has yielded this."""
        text = f"yield {place!r}"
        return next(
            line.op
            for line in self.lines
            if isinstance(line.op, Barrier) and line.text.strip() == text
        )

    def trail(self, traceback: TracebackType | None) -> list[PythonLine]:
        """The lines that were running when an error arose, outermost first."""
        lines: list[PythonLine] = []
        while traceback is not None:
            if traceback.tb_frame.f_globals is self.names:
                lines.append(self.lines[traceback.tb_lineno - 1])
            traceback = traceback.tb_next
        return lines


def translate(graph: KernelGraph) -> KernelProgram:
    """Write a kernel as Python and compile it."""
    entry = graph.entry
    names = vocabulary()
    names.update((f"math_{row.name}", row.meaning) for row in INTRINSICS.values())
    taken = frozenset(names) | _BUILTINS
    own = Identifiers(keyword.iskeyword, taken)
    functions = {f.name: python_name(own, f.name.rpartition(".")[2]) for f in graph.functions}
    waiting = waiting_functions(graph)
    lines: list[PythonLine] = []
    for function in graph.functions:
        heading = f"# {printable(function.name)}"
        if known(function.location):
            heading += f", {function.location.short}"
        lines.append(PythonLine(heading, function))
        lines += PythonFunctionWriter(function, functions, RENDERERS, taken, waiting).write()
        lines.append(PythonLine("", function))
    del lines[-1]
    _load(entry, lines, names)
    run = names[functions[entry.name]]
    prints = entry.name in reaching(graph, Print)
    return KernelProgram(entry, entry.name in waiting, tuple(lines), run, names, prints)


def call_chain(trail: list[PythonLine]) -> list[tuple[str, Location]]:
    """The helper calls on the way to an error, innermost first."""
    return [
        (short_name(inner.function.name), outer.op.location)
        for outer, inner in pairwise(trail)
        if outer.op is not None
    ][::-1]


def _load(entry: Func, lines: list[PythonLine], names: dict[str, Any]) -> None:
    """Run the module's text, which only defines its functions."""
    text = "\n".join(line.text for line in lines)
    try:
        code = compile(text, f"<interpreter: {printable(entry.name)}>", "exec")
    except SyntaxError as error:
        raise BuildError(
            f"the kernel `{short_name(entry.name)}` cannot be written as Python: {error.msg}",
            advice="move the innermost blocks to a function of their own (@tb.func)",
            location=known(entry.location),
        ) from error
    exec(code, names)  # noqa: S102 -- the text is our own, made of names and numbers
