"""`cc.put(…)` and `cc.get(…)` inside a compute function, and chains of them.

They say where data is to be, and read none of it. Python would read a number that it is given,
`cc.get(table.count)`; what is given here is its place instead.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from trilby.model.value import COMPUTE_CONTEXT
from trilby.reflect.host_types import Typing
from trilby.source import Location

_MOVES = frozenset({"put", "get"})
_FLUENT = _MOVES | {"dispatch"}
"""The methods of a compute context that give it back, for the next call."""


def is_context(typing: Typing, node: ast.expr) -> bool:
    """Whether an expression is a compute context: its name, or a chain of calls on that."""
    return root(typing, node) is not None


def root(typing: Typing, node: ast.expr) -> ast.Name | None:
    """The name of the compute context at the beginning of a chain of calls."""
    match node:
        case ast.Name() if typing.of(node) == COMPUTE_CONTEXT:
            return node
        case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _FLUENT:
            return root(typing, inner)
        case _:
            return None


def move_of(typing: Typing, node: ast.expr) -> ast.Name | None:
    """The name of the context in `cc.put(…)` or `cc.get(…)`; None for anything else."""
    match node:
        case ast.Call(func=ast.Attribute(value=context, attr=method), args=args, keywords=[]) if (
            method in _MOVES and not any(isinstance(arg, ast.Starred) for arg in args)
        ):
            return root(typing, context)
        case _:
            return None


def place_given(node: ast.expr) -> tuple[ast.expr, str | ast.expr] | None:
    """What `owner.name` and `owner[index]` are made of; None for what is no place, or a view."""
    match node:
        case ast.Attribute(value=owner, attr=name):
            return owner, name
        case ast.Subscript(value=owner, slice=index) if not any(_parts(index)):
            return owner, index
        case _:
            return None


def _parts(index: ast.expr) -> Iterator[bool]:
    """Whether each index selects more than one element."""
    for one in index.elts if isinstance(index, ast.Tuple) else (index,):
        yield isinstance(one, ast.Slice | ast.Starred)


def link(whole: Location, method: Location, name: str) -> Location:
    """The place of the last call of a chain: from the name of its method on."""
    return replace(whole, line=method.end_line, column=max(0, method.end_column - len(name)))


def says_what_moves(typing: Typing, node: ast.FunctionDef) -> bool:
    """Whether a compute function has blocks, puts or gets of its own."""
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(
        isinstance(call.func, ast.Attribute)
        and (call.func.attr == "explicit" or move_of(typing, call) is not None)
        for call in calls
    )
