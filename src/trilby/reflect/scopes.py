"""Where the local variables of a function live, found before it is lowered.

Python's locals belong to the whole function; a device's belong to a block. A variable is
declared in the innermost block that holds every place where its name occurs.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from trilby.dataclass import dataclass

BlockPath: TypeAlias = tuple[tuple[int, str], ...]
"""The way to a block from the function's body: statements (by line and column) and parts."""


@dataclass(frozen=True, slots=True)
class LocalNames:
    """What a function does with names: where each one lives, how often it is assigned."""

    homes: Mapping[str, BlockPath]
    assignments: Mapping[str, int]


def local_names(body: Sequence[ast.stmt]) -> LocalNames:
    """For each name the innermost block that holds all its occurrences, and its assignments."""
    homes: dict[str, BlockPath] = {}
    assignments: dict[str, int] = {}
    for node, path in _occurrences(body, ()):
        name = node.id
        homes[name] = _common(homes[name], path) if name in homes else path
        if not isinstance(node.ctx, ast.Load):
            assignments[name] = assignments.get(name, 0) + 1
    return LocalNames(homes, assignments)


def inner_path(path: BlockPath, statement: ast.stmt, part: str) -> BlockPath:
    """The path of the block `part` (`body`, `orelse`) of a statement."""
    return (*path, (statement.lineno * 10_000 + statement.col_offset, part))


def _common(left: BlockPath, right: BlockPath) -> BlockPath:
    length = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        length += 1
    return left[:length]


def _occurrences(body: Sequence[ast.stmt], path: BlockPath) -> Iterator[tuple[ast.Name, BlockPath]]:
    for statement in body:
        yield from _own_names(statement, path)
        for part in ("body", "orelse"):
            inner: Sequence[ast.stmt] = getattr(statement, part, ())
            yield from _occurrences(inner, inner_path(path, statement, part))


def _own_names(statement: ast.stmt, path: BlockPath) -> Iterator[tuple[ast.Name, BlockPath]]:
    """The names in the parts of a statement that are not blocks.

    A loop's target belongs to its body: that is where it gets its value.
    """
    for field, part in ast.iter_fields(statement):
        if field in {"body", "orelse"}:
            continue
        is_target = isinstance(statement, ast.For) and field == "target"
        where = inner_path(path, statement, "body") if is_target else path
        for root in part if isinstance(part, list) else [part]:  # pyright: ignore[reportUnknownVariableType] -- an AST field is a node or a list of nodes
            if isinstance(root, ast.AST):
                for node in ast.walk(root):
                    if isinstance(node, ast.Name):
                        yield node, where
