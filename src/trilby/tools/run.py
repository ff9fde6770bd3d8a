"""`trilby run`: a program with other defaults, watched by a trace on every accelerator it opens."""

import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from trilby.errors import SourceError
from trilby.options import Options, default_options
from trilby.reflect.functions import Reflectable
from trilby.runtime.accelerator import Accelerator
from trilby.runtime.profiles import hearing_of_openings
from trilby.runtime.tracing import TracedRun
from trilby.tools.html.elements import counted
from trilby.tools.html.report import save_report
from trilby.tools.output_files import check_outputs
from trilby.tools.programs import exit_code_of
from trilby.tools.trace_events import save_trace

# ----------------------------------------------------------------------------------------- evaluate
# Running an expression among the names of the user's file, and watching what it moves.


def run_expression(function: Reflectable, expression: str, options: Options) -> Sequence[TracedRun]:
    """Evaluate `main(accelerator)` or the like; gives what was traced on each accelerator used.

    The names are those of the file of the function; `accelerator` is one that copies as a card
    with its own memory does, unless the file has that name itself.
    """
    names = dict(vars(sys.modules[function.function.__module__]))
    with default_options(options), watching_accelerators() as runs:
        names.setdefault("accelerator", Accelerator(memory=options.memory or "discrete"))
        try:
            eval(expression, names)  # noqa: S307 -- it is the user's own, from the command line
        except Exception as error:
            raise SourceError(
                f"`{expression}` fails: {type(error).__name__}: {error}",
                advice="it is run among the names of the file, and `accelerator`",
            ) from error
    used = [run for run in runs if run.book.seen]
    return used or runs[:1]


# ---------------------------------------------------------------------------------------------- run


def run_program(
    script: Path,
    arguments: Sequence[str],
    defaults: Options,
    *,
    trace: Path | None = None,
    report: Path | None = None,
) -> int:
    """Run a program and write the files; gives the program's own exit code.

    The files are written also where the program fails: then they are wanted most. Where one of
    them cannot be written, the code is never 0.
    """
    title = " ".join([script.name, *arguments])
    outputs = (trace, save_trace), (report, partial(save_report, title=title))
    wanted = {file.absolute(): save for file, save in outputs if file}  # the program may go away
    check_outputs([file for file, _ in outputs if file], [script])
    with default_options(defaults), watching_accelerators(watch=bool(wanted)) as runs:
        code = exit_code_of(script, arguments)
    problems = dict.fromkeys(wanted, "")
    for file, save in wanted.items():
        try:
            save(runs, file)
        except OSError as error:
            problems[file] = error.strerror or str(error)
    for line in _said(runs, problems) if wanted else ():
        sys.stderr.write(f"trilby: {line}\n")
    return code or int(any(problems.values()))


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


def _said(runs: Sequence[TracedRun], problems: Mapping[Path, str]) -> Iterator[str]:
    """A line for each accelerator, where the files are, and what is wrong with them."""
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
    written = [str(file) for file, problem in problems.items() if not problem]
    if written:
        yield f"see {' and '.join(written)}"
    for file, problem in problems.items():
        if problem:
            yield f"`{file}` cannot be written: {problem}"
