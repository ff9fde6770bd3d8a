"""Finding a function that was named on the command line: `FILE:FUNCTION`."""

import importlib.util
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from trilby.arguments import closest
from trilby.errors import ArgumentValueError, SourceError, TrilbyError
from trilby.model.rewrite import Transform
from trilby.reflect.functions import Reflectable
from trilby.source import Location


def load_function(spec: str) -> Reflectable:
    """The decorated function that `examples/squares.py:square_kernel` names."""
    path, name = named_function(spec)
    module = load_module(path)
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, Reflectable):
        return found
    names = list(_functions(module))
    close = closest(name, names)
    hint = f"did you mean `{close}`? " if close else ""
    problem = f"has no kernel, func or compute function called `{name}`"
    raise ArgumentValueError(
        f"`{path}` {problem if name else 'names a file and no function in it'}",
        advice=f"{hint}it has {', '.join(names) or 'none'}; write FILE:FUNCTION",
    )


def load_transform(spec: str) -> Transform:
    """The transform that `changes.py:without_prints` names."""
    path, name = named_function(spec)
    found = getattr(load_module(path), name, None)
    if isinstance(found, Transform):
        return found
    raise ArgumentValueError(
        f"`{path}` has no transform called `{name}`",
        advice='write FILE:NAME, with a function that is decorated with `@transform("kernel")`',
    )


def named_function(spec: str) -> tuple[Path, str]:
    """The file and the name in `FILE:FUNCTION`."""
    path, colon, name = spec.rpartition(":")
    return (Path(path), name) if colon else (Path(spec), "")


def load_module(path: Path) -> ModuleType:
    """Import a file as Python would run it, with its folder on the path."""
    if not path.is_file():
        raise ArgumentValueError(
            f"there is no file `{path}`", advice="write FILE:FUNCTION, as in app.py:kernel"
        )
    path = path.resolve()
    name = path.stem  # never that of another module, as `random` might be
    while name in sys.modules and getattr(sys.modules[name], "__file__", None) != str(path):
        name += "_"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ArgumentValueError(f"`{path}` is not a Python file", advice="name a .py file")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        if isinstance(error, TrilbyError) and error.location:
            raise
        raise _fails(path, error) from error
    return module


def _functions(module: ModuleType) -> Iterator[str]:
    """The decorated functions of a module, also those that are members of its classes."""
    for name, thing in vars(module).items():
        if isinstance(thing, Reflectable):
            yield name
        elif isinstance(thing, type) and thing.__module__ == module.__name__:
            members = ((member, getattr(thing, member, None)) for member in vars(thing))
            yield from (f"{name}.{m}" for m, inner in members if isinstance(inner, Reflectable))


def _fails(path: Path, error: BaseException) -> SourceError:
    """What goes wrong in a file, and on which of its lines."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    if isinstance(error, SyntaxError) and error.filename == str(path):
        lines.append(error.lineno)
    where = Location(str(path), 1)
    if lines and lines[-1]:
        where = Location(str(path), lines[-1], 0, lines[-1], sys.maxsize)
    problem = error.problem if isinstance(error, TrilbyError) else f"{error}"
    return SourceError(
        f"this file cannot be imported: {type(error).__name__}: {problem}",
        advice=f"see to it that `python {path.name}` starts without errors, and that what it "
        'does stands under `if __name__ == "__main__":`',
        location=where,
    )
