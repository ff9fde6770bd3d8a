"""Where the local variables of a function live, found before it is lowered.

Python's locals belong to the whole function; a device's belong to a block. A variable is
declared in the innermost block that holds every place where its name occurs.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import TypeAlias

BlockPath: TypeAlias = tuple[tuple[int, str], ...]
"""The way to a block from the function's body: statements (by line and column) and parts."""


def stored_names(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Every name that the function assigns."""
    return frozenset(
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    )


def assignment_counts(body: Sequence[ast.stmt]) -> dict[str, int]:
    """How often each name is assigned in the text of the function."""
    counts: dict[str, int] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                counts[node.id] = counts.get(node.id, 0) + 1
    return counts


def home_blocks(body: Sequence[ast.stmt]) -> dict[str, BlockPath]:
    """For each name the innermost block that holds all its occurrences."""
    homes: dict[str, BlockPath] = {}
    for name, path in _occurrences(body, ()):
        homes[name] = _common(homes[name], path) if name in homes else path
    return homes


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


def _occurrences(
    body: Sequence[ast.stmt], path: BlockPath
) -> Iterator[tuple[str, BlockPath]]:
    for statement in body:
        yield from _own_names(statement, path)
        for part in ("body", "orelse"):
            inner: Sequence[ast.stmt] = getattr(statement, part, ())
            yield from _occurrences(inner, inner_path(path, statement, part))


def _own_names(statement: ast.stmt, path: BlockPath) -> Iterator[tuple[str, BlockPath]]:
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
                        yield node.id, where
