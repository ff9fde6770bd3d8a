"""Running a Python file as `python FILE` would: a program, or an example that comes with Trilby.

The examples are the files of the folder `examples`: beside the source in the repository, and under
`share/trilby` where Trilby was installed.
"""

import runpy
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from trilby.arguments import closest
from trilby.errors import ArgumentValueError, SourceError

_INTERRUPTED = 130
"""What a shell says of a program that was ended by Ctrl-C."""

_NOT_THE_PROGRAMS = (__file__, runpy.__file__, "<frozen runpy>")


def run_file(path: Path, arguments: Sequence[str]) -> None:
    """Run a file as the main program; whatever it raises gets through."""
    argv, places = sys.argv, sys.path
    sys.argv = [str(path), *arguments]
    sys.path = [str(path.resolve().parent), *places]
    try:
        runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv, sys.path = argv, places


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
        if ended.code is None or isinstance(ended.code, int):
            return ended.code or 0
        sys.stderr.write(f"{ended.code}\n")  # a text is an error that is printed
        return 1
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 -- what Python does at the end of a program
        steps = error.__traceback__
        while steps is not None and steps.tb_frame.f_code.co_filename in _NOT_THE_PROGRAMS:
            steps = steps.tb_next
        traceback.print_exception(error.with_traceback(steps))
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


NEEDS = MappingProxyType({"PIL": "pillow", "cv2": "opencv-python-headless<5"})
"""The packages that examples import and Trilby itself does not need."""


def demos() -> Mapping[str, Path]:
    """The examples by name; a line of an example's docstring says what it shows."""
    return {path.stem: path for path in sorted(_folder().glob("*.py"))}


def demo_list() -> str:
    """Every example with what it shows, which is the first line of its docstring."""
    found = demos()
    width = max(map(len, found))
    lines: list[str] = []
    for name, path in found.items():
        with path.open(encoding="utf-8") as file:
            summary = file.readline().strip().strip('"')
        lines.append(f"{name:<{width}}  {summary}")
    return "\n".join([*lines, "", "trilby demo NAME --help says what an example can do"])


def run_demo(name: str, arguments: Sequence[str]) -> None:
    """Run an example as `python examples/NAME.py` would."""
    name, found = name.replace("-", "_"), demos()
    if name not in found:
        near = closest(name, found)
        advice = f"did you mean `{near}`?" if near else "`trilby demo` lists them"
        raise ArgumentValueError(f"there is no example called `{name}`", advice=advice)
    path = found[name]
    try:
        run_file(path, arguments)
    except ModuleNotFoundError as error:
        package = NEEDS.get(error.name or "")
        if package is None:
            raise
        raise SourceError(
            f"the example `{path.stem}` needs the package {package}",
            advice="pip install 'trilby[demos]'",
        ) from error


def _folder() -> Path:
    beside = Path(__file__).parents[3] / "examples"
    if (beside / "squares.py").is_file():
        return beside
    for file in metadata.files("trilby") or ():
        if file.parts[-4:] == ("share", "trilby", "examples", "squares.py"):
            return Path(str(file.locate())).resolve().parent
    raise SourceError(
        "the examples are not here: this Trilby was installed without them",
        advice="install it with pip, or run them from the repository",
    )
