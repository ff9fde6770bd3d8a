"""All that there is to say of a compute function or a kernel: facts, without a form.

Its source with what moves at each line, its models before and after, the Python that runs, its
kernels with what they access and the code that a device gets, and, with a run, what really moved.
"""

import inspect
import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from trilby.codegen.llvm.target import TRANSFORMS
from trilby.codegen.opencl_c import generate
from trilby.codegen.python import to_python
from trilby.dataclass import dataclass
from trilby.errors import ArgumentValueError
from trilby.model.op import Func
from trilby.model.rewrite import Transform
from trilby.model.text import to_text
from trilby.options import Transfers
from trilby.reflect.functions import Reflectable, is_compute, is_kernel
from trilby.runtime.compile import AnalysedKernel, ContextOf, analyse_compute, analyse_kernel
from trilby.runtime.tracing import TracedRun
from trilby.source import printable
from trilby.tools.margin import Note, copies_made, planned_notes
from trilby.tools.named_launches import kernels_of
from trilby.transform.pipelines import Transformed, changed_lines, lower_kernel


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's program, and what stands beside it."""

    number: int
    text: str
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class ExplainedFunction:
    """A compute function: its source where it is known, and its models."""

    symbol: str
    source: tuple[SourceLine, ...]
    transformed: Transformed

    @property
    def python(self) -> str:
        """What runs."""
        return to_python(self.transformed.func)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What `explain` knows of a function; a kernel has no functions but itself.

    `str` of it is the text of `trilby explain`: the source with what moves in the margin, the
    models before and behind the transforms, the Python that runs, and the kernels with their
    tables, models and code.
    """

    name: str
    file: str
    transfers: Transfers
    functions: tuple[ExplainedFunction, ...]
    kernels: tuple[AnalysedKernel, ...]
    runs: tuple[TracedRun, ...] = ()
    device_functions: tuple[Func, ...] = ()
    """Those that compute functions call on the host."""

    def __str__(self) -> str:
        return "\n\n".join(_sections(self)) + "\n"


def explanation_of(
    function: Reflectable,
    transfers: Transfers,
    *,
    kernel: str | None = None,
    runs: Sequence[TracedRun] = (),
    transforms: Sequence[Transform] = (),
) -> Explanation:
    """Find out all about a function; with `kernel`, of its kernels only that one."""
    device_functions: tuple[Func, ...] = ()
    if is_kernel(function):
        kernels, functions = [analyse_kernel(function, transforms=transforms)], ()
    elif is_compute(function):
        context = analyse_compute(function, transforms)
        kernels, functions = context.kernels, tuple(_functions(function, context, transfers, runs))
        device_functions = context.graph.device_functions
    else:
        raise ArgumentValueError(
            f"`{function.name}` is a @tb.func, and only compute functions and kernels move data",
            advice="name a kernel that calls it, or a compute function",
        )
    names = [one.kernel.name for one in kernels]
    if kernel is not None and kernel not in names:
        raise ArgumentValueError(
            f"no kernel called `{kernel}` is dispatched here",
            advice=f"there is {', '.join(names) or 'none'}",
        )
    return Explanation(
        function.name,
        function.location.file,
        transfers,
        functions,
        tuple(one for one in kernels if kernel in {None, one.kernel.name}),
        tuple(runs),
        device_functions,
    )


def _functions(
    entry: Reflectable, context: ContextOf, transfers: Transfers, runs: Sequence[TracedRun]
) -> Iterator[ExplainedFunction]:
    """The entry point first, then what it calls."""
    known: dict[str, Reflectable] = {**context.entry.callees, context.entry.func.name: entry}
    kernels = kernels_of(context)
    transforms = context.transforms(transfers)
    for func in reversed(context.graph.functions):
        transformed = context.transformed[func.name].then(transforms)
        function = known.get(func.name)
        notes = [*planned_notes(transformed.func, kernels, transfers)]
        if function is not None:
            notes += copies_made(runs, function.location.file)
        source = source_lines(function, dict.fromkeys(notes)) if function is not None else ()
        yield ExplainedFunction(func.name, source, transformed)


def source_lines(
    function: Reflectable, notes: Collection[tuple[int, Note]] = ()
) -> tuple[SourceLine, ...]:
    """The source of a function, without the indentation that all of it has."""
    plain: Any = function.function
    try:
        lines, first = inspect.getsourcelines(plain)
    except OSError:  # it was typed into an interpreter that keeps nothing
        return ()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return tuple(
        SourceLine(
            number,
            line.rstrip()[indent:] if line.strip() else "",
            tuple(note for at, note in notes if at == number),
        )
        for number, line in enumerate(lines, first)
    )


def native_models(kernel: AnalysedKernel) -> Transformed:
    """The models of a kernel on the native device."""
    return lower_kernel(kernel.transformed, TRANSFORMS)


def opencl_code(kernel: AnalysedKernel) -> str:
    """What OpenCL devices get of a kernel."""
    return generate(kernel.graph, lines=False).text


def short_file(file: str) -> str:
    """A file's name without its folders."""
    return printable(Path(file).name)


# --------------------------------------------------------------------------------------- for people


def _sections(explanation: Explanation) -> Iterator[str]:
    for function in explanation.functions:
        yield f'compute @"{function.symbol}" under {explanation.transfers}'
        if function.source:
            yield f"SOURCE {short_file(explanation.file)}\n" + "\n".join(_beside(function.source))
        yield compute_section(function.transformed)
    for func in explanation.device_functions:
        yield f"CALLED\n{to_text(func)}"
    for kernel in explanation.kernels:
        yield str(kernel.access)
        yield str(kernel.footprint)
    for kernel in explanation.kernels:
        yield from _kernel_models(kernel)
    for kernel in explanation.kernels:
        code = "\n".join(line for line in opencl_code(kernel).splitlines() if line.strip())
        yield f'OPENCL "{kernel.kernel.name}"\n{code}'
    for run in explanation.runs:
        yield f"RUN on {run.place}\n{run_text(run)}"


def compute_section(transformed: Transformed) -> str:
    """A compute function before and after, and as Python."""
    return f"{transformed}\n\nPYTHON\n{to_python(transformed.func)}"


def _kernel_models(kernel: AnalysedKernel) -> Iterator[str]:
    """A kernel as it was reflected, after transforms of users, and after those of native code."""
    name, transformed = kernel.kernel.name, native_models(kernel)
    models = "\n".join(map(to_text, transformed.original))
    yield f'MODEL "{name}"\n{models}'
    for step in transformed.steps:
        where = " on native" if step.name in TRANSFORMS else ""
        made = "\n".join(changed_lines(step)) if step.changed else "no change"
        yield f'MODEL "{name}" AFTER {step.name}{where}\n{made}'


def _beside(lines: Sequence[SourceLine]) -> Iterator[str]:
    """Each line with its number, and below it what moves there."""
    width = len(str(lines[-1].number))
    for line in lines:
        yield f"{line.number:{width}} | {line.text}".rstrip()
        indent = " " * (len(line.text) - len(line.text.lstrip()))
        yield from (f"{'':{width}} : {indent}{note}" for note in line.notes)


def run_text(run: TracedRun) -> str:
    """What really moved, and the least that had to."""
    ledger = run.ledger
    least = ledger.optimal.buffer
    moved = ledger.bytes_up + ledger.bytes_down
    return (
        f"{ledger}\n"
        f"{moved:,} bytes moved, and {least.nbytes:,} is the least in whole buffers: "
        f"{ledger.ratio:.2f}"
    )


# ------------------------------------------------------------------------------- for programs


def explanation_json(explanation: Explanation) -> str:
    """An explanation for programs."""
    found = {
        "name": explanation.name,
        "file": explanation.file,
        "transfers": explanation.transfers.value,
        "functions": [
            {
                "symbol": function.symbol,
                "lines": [
                    {
                        "line": line.number,
                        "text": line.text,
                        "notes": [note._asdict() for note in line.notes],
                    }
                    for line in function.source
                ],
                "models": str(function.transformed),
                "python": function.python,
            }
            for function in explanation.functions
        ],
        "device_functions": {f.name: to_text(f) for f in explanation.device_functions},
        "kernels": [
            {
                "name": kernel.kernel.name,
                "access": {
                    one.name: {path: str(what) for path, what in one.fields.items()}
                    for one in kernel.access.parameters
                },
                "footprint": str(kernel.footprint),
                "models": str(native_models(kernel)),
                "opencl": opencl_code(kernel),
            }
            for kernel in explanation.kernels
        ],
        "runs": [_run(one) for one in explanation.runs],
    }
    return json.dumps(found, indent=2)


def _run(run: TracedRun) -> dict[str, Any]:
    ledger = run.ledger
    return {
        "device": run.place,
        "copies": [
            {
                "direction": copy.direction,
                "buffer": copy.buffer,
                "field": copy.field,
                "start": copy.start,
                "bytes": copy.nbytes,
                "because": copy.cause,
                "location": str(copy.location) if copy.location else None,
            }
            for copy in ledger.copies
        ],
        "bytes_up": ledger.bytes_up,
        "bytes_down": ledger.bytes_down,
        "least_bytes": ledger.optimal.buffer.nbytes,
        "ratio": ledger.ratio,
    }
