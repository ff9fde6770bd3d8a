"""The `trilby` command. It reads arguments, calls a tool, and prints; it decides nothing.

What only one command needs is loaded by that command.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TypeAlias, cast

from rich.console import Console

from trilby.backend.registry import as_preferences
from trilby.errors import TrilbyError
from trilby.options import MemoryKind, Options, Transfers, cache_folder
from trilby.tools.devices import as_json, check_device, devices_report, print_report
from trilby.tools.emit import TARGETS, emit
from trilby.tools.lint_command import lint_paths, list_lints
from trilby.tools.load import load_function, load_transform, named_function
from trilby.tools.programs import demo_list, run_demo
from trilby.tools.reference import math_page
from trilby.version import VERSION

AddParser: TypeAlias = Callable[..., argparse.ArgumentParser]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 if it went well, 1 if it failed, 2 for wrong arguments."""
    errors = _set_errors("backslashreplace")  # some terminals and files do not take all letters
    options = build_parser().parse_args(arguments)
    if options.run in {_run, _demo}:  # a program prints as it does without us
        _set_errors(errors)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except TrilbyError as error:
        sys.stderr.write(f"trilby: {error}\n")
        return 1
    except OSError as error:
        if not isinstance(error, BrokenPipeError):  # whoever read the output has enough
            place = error.filename or "standard output"
            sys.stderr.write(f"trilby: `{place}`: {error.strerror}\n")
        if error.filename is None:  # Python would complain once more at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _set_errors(errors: str) -> str:
    """What standard output does with letters that its encoding has not; gives what it did."""
    if not isinstance(sys.stdout, TextIOWrapper):
        return errors
    output = cast("TextIOWrapper[Any]", sys.stdout)
    before = output.errors or errors
    output.reconfigure(errors=errors)
    return before


def build_parser() -> argparse.ArgumentParser:
    """The commands with their arguments."""
    parser = argparse.ArgumentParser(
        prog="trilby",
        description="Kernels as Python functions: run them, look at them, check them.",
        epilog="`trilby COMMAND --help` says more. A command ends with 0 if all went well, with 1 "
        "if not, and with 2 where its arguments are wrong.",
    )
    parser.add_argument("--version", action="version", version=f"trilby {VERSION}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in _COMMANDS:
        add(commands.add_parser)
    return parser


def _add_run(add_parser: AddParser) -> None:
    running = add_parser(
        "run",
        help="run a program, and see what it moves",
        description="Run a Python program as `python SCRIPT` does, and end as it ends. What is "
        "given here holds wherever the program leaves it open: for `Accelerator()`, and not for "
        'what it says itself, as in `Accelerator("opencl")`.',
        epilog="example: trilby run --memory discrete --report life.html examples/life.py",
    )
    running.add_argument(
        "--backend", metavar="NAME", help="what Accelerator() opens: native, opencl:1, …"
    )
    _add_transfers(running)
    running.add_argument(
        "--memory",
        choices=["shared", "discrete"],
        help="work on the host's memory, or copy as a card with its own does",
    )
    running.add_argument(
        "--trace", type=Path, metavar="OUT.json", help="write a trace, for ui.perfetto.dev"
    )
    running.add_argument(
        "--report", type=Path, metavar="OUT.html", help="write a page that shows the run"
    )
    running.add_argument("script", metavar="SCRIPT", type=Path, help="a Python program")
    running.add_argument(
        "arguments", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="what the program is given"
    )
    running.set_defaults(run=_run)


def _add_transfers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--transfers",
        choices=[strategy.value for strategy in Transfers],
        default=Transfers.AUTO.value,
        help="when data moves (default: auto)",
    )


def _add_transforms(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--transform",
        dest="transforms",
        action="append",
        default=[],
        metavar="FILE:NAME",
        help="apply a transform first, as Accelerator(transforms=[…]) does; may be repeated",
    )


def _add_doctor(add_parser: AddParser) -> None:
    doctor = add_parser(
        "doctor",
        help="say what is installed, what is missing, and how to get it",
        description="Look at packages, devices and the cache of kernels, and test each device "
        "with a small kernel. Ends with 1 where nothing can run a kernel.",
    )
    doctor.add_argument("--json", action="store_true", help="for programs")
    doctor.set_defaults(run=_doctor)


def _add_devices(add_parser: AddParser) -> None:
    devices = add_parser(
        "devices", help="list every backend and device, and test each with a small kernel"
    )
    devices.add_argument("--json", action="store_true", help="for programs")
    devices.add_argument(
        "--prefer",
        metavar="gpu,cpu",
        default="",
        help="say what `Accelerator(prefer=[…])` would open: entries with commas between them",
    )
    devices.set_defaults(run=_devices)


def _add_emit(add_parser: AddParser) -> None:
    emitting = add_parser(
        "emit",
        help="print what a function becomes",
        description="Print what a function becomes. FILE is imported, which runs what stands "
        "outside of functions.",
    )
    emitting.add_argument("function", metavar="FILE:FUNCTION", help="a kernel or compute function")
    emitting.add_argument("--target", choices=list(TARGETS), default="opencl")
    emitting.add_argument(
        "--ranks",
        type=_ranks,
        metavar="2,1",
        help="the dimensions of the n-d array parameters (default: as they are indexed)",
    )
    emitting.add_argument(
        "--after",
        metavar="NAME",
        help="the model after this transform, such as inline_calls or inject_tracking",
    )
    _add_transforms(emitting)
    emitting.add_argument(
        "--no-lines", action="store_true", help="leave out the marks of the Python lines"
    )
    emitting.set_defaults(run=_emit)


def _add_explain(add_parser: AddParser) -> None:
    explaining = add_parser(
        "explain",
        help="show a compute function with its copies, before and after, and its kernels",
        description="Show a compute function: its source with the copies in the margin, its models "
        "before and after, what its kernels access, and the code that a device gets; with --run "
        "also what really moved, beside the least that had to. FILE is imported, which runs what "
        "stands outside of functions.",
        epilog="example: trilby explain examples/squares.py:square_all "
        '--run "run(accelerator, 32)" --html squares.html',
    )
    explaining.add_argument(
        "function", metavar="FILE:FUNCTION", help="a compute function or a kernel"
    )
    _add_transfers(explaining)
    explaining.add_argument("--kernel", metavar="NAME", help="show the tables of this kernel only")
    _add_transforms(explaining)
    explaining.add_argument(
        "--run",
        dest="expression",
        metavar="EXPRESSION",
        help="run this among the names of the file; `accelerator` is one with its own memory",
    )
    explaining.add_argument("--backend", metavar="NAME", help="where --run runs")
    forms = explaining.add_mutually_exclusive_group()
    forms.add_argument("--html", type=Path, metavar="OUT.html", help="write a page instead")
    forms.add_argument("--json", action="store_true", help="for programs")
    explaining.set_defaults(run=_explain)


def _add_demo(add_parser: AddParser) -> None:
    demo = add_parser("demo", help="list the examples, or run one")
    demo.add_argument("name", nargs="?", metavar="NAME", help="an example; without one, a list")
    demo.add_argument("arguments", nargs=argparse.REMAINDER, help="what the example is given")
    demo.set_defaults(run=_demo)


def _add_lint(add_parser: AddParser) -> None:
    linting = add_parser(
        "lint",
        help="find races, wrong indices, and waste",
        description="Find races, wrong indices, and waste in kernels and compute functions. PATH "
        "is imported, which runs what stands outside of functions: lint only code that you would "
        "run. A file is imported only if it has an `import trilby` or a `from trilby import` "
        "itself; in a folder, all such files are. A module that is named, as in `package.module`, "
        "always is.",
    )
    linting.add_argument(
        "paths", metavar="PATH", nargs="*", help="files, folders, or modules (default: .)"
    )
    linting.add_argument("--format", choices=["text", "json", "sarif"], default="text")
    linting.add_argument("--select", metavar="ID,…", default="", help="run these lints only")
    linting.add_argument("--ignore", metavar="ID,…", default="", help="leave these lints out")
    linting.add_argument(
        "--list", action="store_true", help="list all lints, or explain those of --select"
    )
    linting.set_defaults(run=_lint)


def _add_reference(add_parser: AddParser) -> None:
    reference = add_parser("reference", help="print a page of the reference")
    reference.add_argument("page", choices=["math"])
    reference.set_defaults(run=_reference)


def _ranks(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and int(part) for part in parts):
        message = f"`{text}` is not made of dimensions: write 1, or 2,1"
        raise argparse.ArgumentTypeError(message)
    return tuple(map(int, parts))


def _run(options: argparse.Namespace) -> int:
    from trilby.tools.run import run_program  # noqa: PLC0415 -- see the docstring

    outputs = {"trace": options.trace, "report": options.report}
    defaults = _defaults(options, memory=options.memory)
    return run_program(options.script, options.arguments, defaults, **outputs)


def _defaults(options: argparse.Namespace, *, memory: MemoryKind | None) -> Options:
    """What accelerators begin with: what is given here, or else what the environment says."""
    given = Options.from_environment()
    transfers = Transfers(options.transfers)
    return replace(
        given, backend=options.backend or given.backend, transfers=transfers, memory=memory
    )


def _doctor(options: argparse.Namespace) -> int:
    from trilby.tools import doctor  # noqa: PLC0415 -- see the docstring

    folder = cache_folder()
    diagnosis = doctor.diagnose(devices_report(check_device), Path(folder) if folder else None)
    if options.json:
        sys.stdout.write(doctor.diagnosis_as_json(diagnosis) + "\n")
    else:
        doctor.print_diagnosis(diagnosis, Console())
    return 0 if diagnosis.is_usable else 1


def _devices(options: argparse.Namespace) -> int:
    given: str = options.prefer
    wanted = as_preferences(given.split(",") if given else (), "prefer")
    report = devices_report(check_device, prefer=wanted)
    if options.json:
        sys.stdout.write(as_json(report) + "\n")
    else:
        print_report(report, Console())
    return 0 if report.chosen is not None else 1


def _demo(options: argparse.Namespace) -> int:
    if options.name is None:
        sys.stdout.write(demo_list() + "\n")
    else:
        run_demo(options.name, options.arguments)
    return 0


def _ids(given: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(",") if name.strip())


def _lint(options: argparse.Namespace) -> int:
    """0 where nothing is found, 1 for findings, 2 where something cannot be looked at."""
    select, ignore = _ids(options.select), _ids(options.ignore)
    if options.list:
        sys.stdout.write(list_lints(select))
        return 0
    try:
        text, code = lint_paths(options.paths or ["."], options.format, select, ignore)
    except TrilbyError as error:
        sys.stderr.write(f"trilby: {error}\n")
        return 2
    sys.stdout.write(text)
    return code


def _reference(_options: argparse.Namespace) -> int:
    sys.stdout.write(math_page())
    return 0


def _explain(options: argparse.Namespace) -> int:
    from trilby.tools import explanation  # noqa: PLC0415
    from trilby.tools.html.explain_page import save_explanation  # noqa: PLC0415
    from trilby.tools.output_files import check_outputs  # noqa: PLC0415
    from trilby.tools.run import run_expression  # noqa: PLC0415 -- see the docstring

    if options.html is not None:
        check_outputs([options.html], [named_function(options.function)[0]])
    function = load_function(options.function)
    defaults = _defaults(options, memory=None)
    expression: str | None = options.expression
    runs = run_expression(function, expression, defaults) if expression else ()
    found = explanation.explanation_of(
        function,
        defaults.transfers,
        kernel=options.kernel,
        runs=runs,
        transforms=list(map(load_transform, options.transforms)),
    )
    if options.html is not None:
        save_explanation(found, options.html)
    elif options.json:
        sys.stdout.write(explanation.explanation_json(found) + "\n")
    else:
        sys.stdout.write(str(found))
    return 0


def _emit(options: argparse.Namespace) -> int:
    function = load_function(options.function)
    text = emit(
        function,
        options.target,
        ranks=options.ranks,
        lines=not options.no_lines,
        transforms=list(map(load_transform, options.transforms)),
        after=options.after,
    )
    sys.stdout.write(text + "\n")
    return 0


_COMMANDS = (
    _add_run,
    _add_explain,
    _add_lint,
    _add_emit,
    _add_demo,
    _add_devices,
    _add_doctor,
    _add_reference,
)
"""In the order of the help."""
