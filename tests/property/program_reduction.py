"""Making a failing program smaller, as text: what is not needed for the failure is cut out."""

import ast
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias, cast

Place: TypeAlias = tuple[ast.AST, str, int | None]
"""A field of a node; with a number, one entry of the list that the field is."""

PLAIN = (ast.Name, ast.Constant)
"""Expressions that are as small as they get."""


def reduced(text: str, fails: Callable[[str], bool], seconds: float) -> str:
    """A smaller program that still fails; the best that is found within some seconds.

    Statements are left out, many at once and then one by one, or give way to what is in
    them, and expressions to one of their parts. What has no meaning any more does not fail
    in the same way.
    """
    until = time.monotonic() + seconds
    smallest, before = ast.unparse(ast.parse(text)), ""
    while smallest != before and time.monotonic() < until:
        before = smallest
        for candidates in (_with_fewer_statements, _with_opened_blocks, _with_less_to_say):
            smallest = _reduced_by(candidates, smallest, fails, until)
    return smallest


def _reduced_by(
    candidates: Callable[[str], Iterator[str]],
    text: str,
    fails: Callable[[str], bool],
    until: float,
) -> str:
    """Take the first candidate that fails, and go on from there where it was found."""
    start = 0
    while time.monotonic() < until:
        for number, candidate in enumerate(candidates(text)):
            if number >= start and candidate != text and fails(candidate):
                text, start = candidate, number
                break
            if time.monotonic() > until:
                return text
        else:
            return text
    return text


def _with_fewer_statements(text: str) -> Iterator[str]:
    """From each block, a half, a quarter, … and then single statements are left out."""
    for number in range(len(_blocks(ast.parse(text)))):
        length = len(_blocks(ast.parse(text))[number])
        size = length
        while size:
            for start in range(length - size, -1, -size):
                tree = ast.parse(text)
                block = _blocks(tree)[number]
                block[start : start + size] = [] if size < length else [ast.Pass()]
                yield _text_of(tree)
            size //= 2


def _with_opened_blocks(text: str) -> Iterator[str]:
    """A loop, a branch or a `with` gives way to what is in it."""
    for number, block in enumerate(_blocks(ast.parse(text))):
        for place, statement in enumerate(block):
            for name in ("body", "orelse", "finalbody"):
                if isinstance(statement, ast.FunctionDef) or not getattr(statement, name, None):
                    continue
                tree = ast.parse(text)
                changed = _blocks(tree)[number]
                changed[place : place + 1] = getattr(changed[place], name)
                yield _text_of(tree)


def _with_less_to_say(text: str) -> Iterator[str]:
    """An expression gives way to one of its parts, an argument is left out."""
    for number in range(len(_expressions(ast.parse(text)))):
        for way in range(6):
            tree = ast.parse(text)
            node, field, place = _expressions(tree)[number]
            found: Any = getattr(node, field)
            held = found if place is None else found[place]
            parts = [part for part in ast.iter_child_nodes(held) if isinstance(part, ast.expr)]
            if way < len(parts):
                _put(node, field, place, parts[way])
                yield _text_of(tree)


def _put(node: ast.AST, field: str, place: int | None, value: ast.AST) -> None:
    if place is None:
        setattr(node, field, value)
    else:
        getattr(node, field)[place] = value


def _blocks(tree: ast.Module) -> list[list[ast.stmt]]:
    """All lists of statements."""
    return [
        block
        for node in ast.walk(tree)
        for _, block in ast.iter_fields(node)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt)
    ]


def _expressions(tree: ast.Module) -> list[Place]:
    """All expressions that have parts."""
    places: list[Place] = []
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            entries: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
            places += [
                (node, field, place if isinstance(value, list) else None)
                for place, entry in enumerate(entries)
                if isinstance(entry, ast.expr) and not isinstance(entry, PLAIN)
            ]
    return places


def _text_of(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))
