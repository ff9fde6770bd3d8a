"""Finding a function that was named on the command line: `FILE:FUNCTION`."""

import difflib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from trilby.errors import ArgumentValueError
from trilby.reflect.functions import Reflectable


def load_function(spec: str) -> Reflectable:
    """The decorated function that `examples/squares.py:square_kernel` names."""
    path, _, name = spec.rpartition(":")
    if not path or not name:
        raise ArgumentValueError(
            f"`{spec}` does not name a function", advice="write FILE:FUNCTION, as in app.py:kernel"
        )
    module = load_module(Path(path))
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, Reflectable):
        return found
    names = [n for n, thing in vars(module).items() if isinstance(thing, Reflectable)]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean `{close[0]}`? " if close else ""
    raise ArgumentValueError(
        f"`{path}` has no kernel, func or compute function called `{name}`",
        advice=f"{hint}it has {', '.join(names) or 'none'}",
    )


def load_module(path: Path) -> ModuleType:
    """Import a file as Python would run it, with its folder on the path."""
    if not path.is_file():
        raise ArgumentValueError(f"there is no file `{path}`", advice="check the path")
    path = path.resolve()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ArgumentValueError(f"`{path}` is not a Python file", advice="name a .py file")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
