"""Which tests come by which lines: only those can notice that a line has changed."""

import ast
import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias, cast

from tests.runtime.mutants import change_functions

Place: TypeAlias = tuple[str, int]
"""A module by its name, and a line."""

_NOTED = "lines_reached"
"""What the functions of a module that is followed call the places that were reached."""


def follow(modules: Iterable[str]) -> set[Place]:
    """Let the functions of modules of the runtime add to the result the lines they come by.

    They do so themselves: a trace function would make everything else many times slower.
    """
    reached: set[Place] = set()
    for name in modules:
        module = importlib.import_module(f"trilby.runtime.{name}")
        setattr(module, _NOTED, reached)
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for node in [*ast.walk(tree)]:
            if isinstance(node, ast.FunctionDef):
                _note_blocks(node, name)
        change_functions(ast.fix_missing_locations(tree), module)
    return reached


def _note_blocks(node: ast.AST, module: str) -> None:
    """Put a note before every statement of a function that has none yet."""
    for name in ("body", "orelse", "finalbody", "handlers"):
        block: object = getattr(node, name, None)
        if not isinstance(block, list):
            continue
        statements = cast("list[ast.stmt]", block)
        for inner in statements:
            if not isinstance(inner, ast.FunctionDef | ast.ClassDef):
                _note_blocks(inner, module)
        if name != "handlers":
            setattr(node, name, [new for one in statements for new in _noted(one, module)])


def _noted(statement: ast.stmt, module: str) -> Iterator[ast.stmt]:
    """A statement, behind one that notes the lines where it stands."""
    block: object = getattr(statement, "body", None)
    stop = statement.end_lineno or statement.lineno
    if isinstance(block, list) and block:
        stop = max(cast("list[ast.stmt]", block)[0].lineno - 1, statement.lineno)
    places = {(module, line) for line in range(statement.lineno, stop + 1)}
    yield ast.copy_location(ast.parse(f"{_NOTED}.update({places})").body[0], statement)
    yield statement
