"""Running a Python file as `python FILE` would, and ending as it ends."""

import runpy
import sys
import traceback
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from trilby.errors import ArgumentValueError

_INTERRUPTED = 130
"""What a shell says of a program that was ended by Ctrl-C."""

_NOT_THE_PROGRAMS = (__file__, runpy.__file__, "<frozen runpy>")


def run_file(path: Path, arguments: Sequence[str]) -> None:
    """Run a file as the main program; whatever it raises gets through."""
    with _as_main(path, arguments):
        runpy.run_path(str(path), run_name="__main__")


def exit_code_of(path: Path, arguments: Sequence[str]) -> int:
    """Run a file as the main program, and say with which code `python FILE` would end.

    What it does not catch is shown as Python shows it, without the steps that led to the file.
    """
    if not path.is_file():
        raise ArgumentValueError(
            f"there is no file `{path}`", advice="name a Python program: trilby run app.py"
        )
    try:
        run_file(path, arguments)
    except SystemExit as ended:
        return _code(ended.code)
    except KeyboardInterrupt as error:
        _show(error)
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 -- what Python does at the end of a program
        _show(error)
        return 1
    return 0


@contextmanager
def _as_main(path: Path, arguments: Sequence[str]) -> Generator[None]:
    argv, places = sys.argv, sys.path
    sys.argv = [str(path), *arguments]
    sys.path = [str(path.resolve().parent), *places]
    try:
        yield
    finally:
        sys.argv, sys.path = argv, places


def _code(given: object) -> int:
    """The code of `sys.exit(given)`: a text is an error that is printed."""
    if given is None:
        return 0
    if isinstance(given, int):
        return given
    sys.stderr.write(f"{given}\n")
    return 1


def _show(error: BaseException) -> None:
    steps = error.__traceback__
    while steps is not None and steps.tb_frame.f_code.co_filename in _NOT_THE_PROGRAMS:
        steps = steps.tb_next
    traceback.print_exception(error.with_traceback(steps))
