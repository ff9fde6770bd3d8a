"""What becomes of a compute function, as a text: its source, its models, what its kernels touch."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from trilby.codegen.python import to_python
from trilby.options import Transfers
from trilby.reflect.functions import Reflectable
from trilby.runtime.tracing import TracedRun
from trilby.tools.explanation import (
    ExplainedFunction,
    ExplainedKernel,
    Explanation,
    SourceLine,
    explanation_of,
    short_file,
)
from trilby.transform.listing import listing
from trilby.transform.passes import Passed


def explain(function: Reflectable, transfers: Transfers, *, kernel: str | None = None) -> str:
    """The text of `trilby explain`.

    For a compute function: its source with what moves in the margin, its model and those of the
    compute functions that it calls, before and behind the passes of a strategy, the Python that
    runs, and the tables and the code of its kernels, or of the one that is named. For a kernel its
    tables and its code alone.
    """
    return explanation_text(explanation_of(function, transfers, kernel=kernel))


def explanation_text(explanation: Explanation) -> str:
    """An explanation for a terminal."""
    return "\n\n".join(_sections(explanation)) + "\n"


def _sections(explanation: Explanation) -> Iterator[str]:
    for function in explanation.functions:
        yield f'compute @"{function.symbol}" under {explanation.transfers}'
        if function.source:
            yield f"SOURCE {short_file(explanation.file)}\n" + "\n".join(_beside(function.source))
        yield compute_section(function.passed)
    for kernel in explanation.kernels:
        yield str(kernel.analysed.access)
        yield str(kernel.analysed.footprint)
    for kernel in explanation.kernels:
        yield f'OPENCL "{kernel.name}"\n{_without_gaps(kernel.code)}'
    for run in explanation.runs:
        yield f"RUN on {run.place}\n{run_text(run)}"


def compute_section(passed: Passed) -> str:
    """A compute function before and after, and as Python."""
    return f"{listing(passed)}\n\nPYTHON\n{to_python(passed.func)}"


def _beside(lines: Sequence[SourceLine]) -> Iterator[str]:
    """Each line with its number, and below it what moves there."""
    width = len(str(lines[-1].number))
    for line in lines:
        yield f"{line.number:{width}} | {line.text}".rstrip()
        indent = " " * (len(line.text) - len(line.text.lstrip()))
        yield from (f"{'':{width}} : {indent}{note}" for note in line.notes)


def _without_gaps(code: str) -> str:
    """Code without empty lines: they stand between sections."""
    return "\n".join(line for line in code.splitlines() if line.strip())


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
        "functions": [_function(one) for one in explanation.functions],
        "kernels": [_kernel(one) for one in explanation.kernels],
        "runs": [_run(one) for one in explanation.runs],
    }
    return json.dumps(found, indent=2)


def _function(function: ExplainedFunction) -> dict[str, Any]:
    return {
        "symbol": function.symbol,
        "lines": [
            {
                "line": line.number,
                "text": line.text,
                "notes": [note._asdict() for note in line.notes],
            }
            for line in function.source
        ],
        "models": listing(function.passed),
        "python": function.python,
    }


def _kernel(kernel: ExplainedKernel) -> dict[str, Any]:
    access = kernel.analysed.access
    return {
        "name": kernel.name,
        "access": {
            one.name: {path: str(what) for path, what in one.fields.items()}
            for one in access.parameters
        },
        "footprint": str(kernel.analysed.footprint),
        "opencl": kernel.code,
    }


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
