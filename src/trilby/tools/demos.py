"""Finding the examples that come with Trilby, and running one as a command.

They are the files of the folder `examples`: beside the source in the repository, and under
`share/trilby` where Trilby was installed.
"""

from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from trilby.arguments import closest
from trilby.errors import ArgumentValueError, SourceError
from trilby.tools.programs import run_file

NEEDS = MappingProxyType({"PIL": "pillow", "cv2": "opencv-python-headless<5"})
"""The packages that examples import and Trilby itself does not need."""


def demos() -> Mapping[str, Path]:
    """The examples by name; a line of an example's docstring says what it shows."""
    return {path.stem: path for path in sorted(_folder().glob("*.py"))}


def summary_of(path: Path) -> str:
    """The first line of an example's docstring."""
    with path.open(encoding="utf-8") as file:
        return file.readline().strip().strip('"')


def demo_list() -> str:
    """Every example with what it shows, for people."""
    found = demos()
    width = max(map(len, found))
    lines = [f"{name:<{width}}  {summary_of(path)}" for name, path in found.items()]
    return "\n".join([*lines, "", "trilby demo NAME --help says what an example can do"])


def run_demo(name: str, arguments: Sequence[str]) -> None:
    """Run an example as `python examples/NAME.py` would."""
    path = _demo(name.replace("-", "_"))
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


def _demo(name: str) -> Path:
    found = demos()
    if name in found:
        return found[name]
    near = closest(name, found)
    advice = f"did you mean `{near}`?" if near else "`trilby demo` lists them"
    raise ArgumentValueError(f"there is no example called `{name}`", advice=advice)


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
