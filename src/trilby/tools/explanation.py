"""All that there is to say of a compute function or a kernel: facts, without a form.

Its source with what moves at each line, its models before and after, the Python that runs, its
kernels with what they access and the code that a device gets, and, with a run, what really moved.
"""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from trilby.codegen.opencl import generate
from trilby.codegen.python import to_python
from trilby.dataclass import dataclass
from trilby.errors import ArgumentValueError
from trilby.options import Transfers
from trilby.reflect.functions import Reflectable, is_compute, is_kernel
from trilby.runtime.compile import AnalysedKernel, ContextOf, analyse_compute, analyse_kernel
from trilby.runtime.tracing import TracedRun
from trilby.source import printable
from trilby.tools.launches import kernels_of
from trilby.tools.margin import Note, copies_made, planned_notes
from trilby.transform.passes import Passed, run_passes


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's program, and what stands beside it."""

    number: int
    text: str
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class ExplainedFunction:
    """A compute function: its source where it is known, its models, and the Python that runs."""

    symbol: str
    source: tuple[SourceLine, ...]
    passed: Passed
    python: str


@dataclass(frozen=True, slots=True)
class ExplainedKernel:
    """A kernel: its source, what it accesses, and the code that an OpenCL device gets."""

    analysed: AnalysedKernel
    source: tuple[SourceLine, ...]
    code: str

    @property
    def name(self) -> str:
        """What the user calls it."""
        return self.analysed.kernel.name


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `explain` knows of a function; a kernel has no functions but itself."""

    name: str
    file: str
    transfers: Transfers
    functions: tuple[ExplainedFunction, ...]
    kernels: tuple[ExplainedKernel, ...]
    runs: tuple[TracedRun, ...] = ()


def explanation_of(
    function: Reflectable,
    transfers: Transfers,
    *,
    kernel: str | None = None,
    runs: Sequence[TracedRun] = (),
) -> Explanation:
    """Find out all about a function; with `kernel`, of its kernels only that one."""
    if is_kernel(function):
        kernels, functions = [analyse_kernel(function)], ()
    elif is_compute(function):
        context = analyse_compute(function)
        kernels, functions = context.kernels, tuple(_functions(function, context, transfers, runs))
    else:
        raise ArgumentValueError(
            f"`{function.name}` is a @tb.func, and only compute functions and kernels move data",
            advice="name a kernel that calls it, or a compute function",
        )
    return Explanation(
        function.name,
        function.location.file,
        transfers,
        functions,
        tuple(map(_kernel, _wanted(kernels, kernel))),
        tuple(runs),
    )


def _functions(
    entry: Reflectable, context: ContextOf, transfers: Transfers, runs: Sequence[TracedRun]
) -> Iterator[ExplainedFunction]:
    """The entry point first, then what it calls."""
    known: dict[str, Reflectable] = {**context.entry.callees, context.entry.func.name: entry}
    kernels = kernels_of(context)
    passes = context.passes(transfers)
    for func in reversed(context.graph.functions):
        passed = run_passes(func, passes)
        function = known.get(func.name)
        notes = [*planned_notes(passed.func, kernels, transfers)]
        if function is not None:
            notes += copies_made(runs, function.location.file)
        source = tuple(_noted(_lines(function), notes))
        yield ExplainedFunction(func.name, source, passed, to_python(passed.func))


def _noted(source: Sequence[SourceLine], notes: Iterable[tuple[int, Note]]) -> Iterator[SourceLine]:
    """Lines with their notes, each of which is said once."""
    beside: dict[int, dict[Note, None]] = {}
    for line, note in notes:
        beside.setdefault(line, {})[note] = None
    for line in source:
        yield SourceLine(line.number, line.text, tuple(beside.get(line.number, ())))


def _kernel(analysed: AnalysedKernel) -> ExplainedKernel:
    code = generate(analysed.graph, lines=False).text
    return ExplainedKernel(analysed, _lines(analysed.kernel), code)


def _lines(function: Reflectable | None) -> tuple[SourceLine, ...]:
    """The source of a function, without the indentation that all of it has."""
    if function is None:
        return ()
    plain: Any = function.function
    try:
        lines, first = inspect.getsourcelines(plain)
    except OSError:  # it was typed into an interpreter that keeps nothing
        return ()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return tuple(
        SourceLine(number, line.rstrip()[indent:] if line.strip() else "")
        for number, line in enumerate(lines, first)
    )


def _wanted(kernels: Sequence[AnalysedKernel], name: str | None) -> Iterator[AnalysedKernel]:
    names = [analysed.kernel.name for analysed in kernels]
    if name is not None and name not in names:
        raise ArgumentValueError(
            f"no kernel called `{name}` is dispatched here",
            advice=f"there is {', '.join(names) or 'none'}",
        )
    return (one for one in kernels if name in {None, one.kernel.name})


def short_file(file: str) -> str:
    """A file's name without its folders."""
    return printable(Path(file).name)
