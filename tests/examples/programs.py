"""The programs in `examples/`: loaded, and started as commands."""

import importlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from trilby import Accelerator

FOLDER = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))
DEVICES = ("interpreter", "opencl", "native")


def program(name: str) -> ModuleType:
    return importlib.import_module(name)


def call(name: str, *arguments: object) -> None:
    """Run a program's command in this process."""
    given = sys.argv
    sys.argv = [f"{name}.py", *map(str, arguments)]
    try:
        program(name).main()
    finally:
        sys.argv = given


@cache
def opened(name: str, *, poison: bool) -> Accelerator:
    return Accelerator(name, poison=poison)


def started(name: str, *arguments: object, **environment: str) -> Any:
    given = {key: text for key, text in os.environ.items() if not key.startswith("TRILBY_")}
    return subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**given, **environment},
    )
