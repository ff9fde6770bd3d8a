"""`trilby run`: a program with other defaults, watched by a trace on every accelerator it opens."""

import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trilby.dataclass import dataclass
from trilby.options import Options, default_options
from trilby.runtime.accelerator import Accelerator
from trilby.runtime.openings import hearing_of_openings
from trilby.runtime.tracing import TracedRun
from trilby.tools.html.numbers import counted
from trilby.tools.html.report import save_report
from trilby.tools.output_files import check_output
from trilby.tools.programs import exit_code_of
from trilby.tools.trace_events import save_trace


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What the program's accelerators begin with, and which files are wanted of its run."""

    defaults: Options
    trace: Path | None = None
    report: Path | None = None


def run_program(script: Path, arguments: Sequence[str], settings: RunSettings) -> int:
    """Run a program and write the files; gives the program's own exit code.

    The files are written also where the program fails: then it is wanted most.
    """
    files = [file for file in (settings.trace, settings.report) if file is not None]
    for file in files:
        check_output(file)
    with default_options(settings.defaults), watching_accelerators(watch=bool(files)) as runs:
        code = exit_code_of(script, arguments)
    if settings.trace is not None:
        save_trace(runs, settings.trace)
    if settings.report is not None:
        save_report(runs, settings.report, title=" ".join([script.name, *arguments]))
    for line in _said(runs, files):
        sys.stderr.write(f"trilby: {line}\n")
    return code


@contextmanager
def watching_accelerators(*, watch: bool = True) -> Generator[list[TracedRun]]:
    """Trace each accelerator that is opened in a `with` block, until the block or it ends."""
    runs: list[TracedRun] = []
    with ExitStack() as traces:

        def hear(accelerator: Accelerator) -> None:
            runs.append(traces.enter_context(accelerator.trace()))

        with ExitStack() as hearing:
            if watch:
                hearing.enter_context(hearing_of_openings(hear))
            yield runs


def _said(runs: Sequence[TracedRun], files: Sequence[Path]) -> Iterator[str]:
    """A line for each accelerator, and where the files are."""
    if not files:
        return
    if not runs:
        yield "the program opened no accelerator, and there is nothing to show"
    for run in runs:
        ledger, total = run.ledger, run.profile.total
        moved = ledger.bytes_up + ledger.bytes_down
        copies = len(ledger.uploads) + len(ledger.downloads)
        yield (
            f"{run.place}: {counted(total.dispatches, 'dispatch', 'dispatches')}, "
            f"{counted(copies, 'copy', 'copies')} of {moved:,} bytes, "
            f"{ledger.ratio:.2f} × the least in whole buffers"
        )
    yield f"see {' and '.join(map(str, files))}"
