"""The syntax trees of host ops with operands put in, at their lines and columns of the user's file.

Tracebacks show the user's source this way. This module knows no ops.
"""

import ast
from collections.abc import Sequence
from copy import deepcopy
from typing import TypeVar

from trilby.errors import ModelError
from trilby.model.host_code import HostCode, filled
from trilby.source import Location, line_text

Node = TypeVar("Node", bound=ast.AST)


def expression(code: HostCode, operands: Sequence[ast.expr], location: Location) -> ast.expr:
    """The tree of an expression, or of a slice where it is one."""
    try:
        tree = code.expression
    except SyntaxError as error:
        raise _not_python(code, location, error) from error
    return filled(_moved(tree, code, location), operands)


def statements(
    code: HostCode, operands: Sequence[ast.expr], location: Location
) -> Sequence[ast.stmt]:
    """The trees of statements; all their lines are indented as the first one is."""
    try:
        trees = code.statements
    except SyntaxError as error:
        raise _not_python(code, location, error) from error
    return [filled(_moved(tree, code, location, indented=True), operands) for tree in trees]


def target(code: HostCode, location: Location) -> ast.expr:
    """The tree of what a loop or a `with` binds."""
    try:
        return _moved(code.target, code, location)
    except SyntaxError as error:
        raise _not_python(code, location, error) from error


def placed(node: Node, location: Location) -> Node:
    """Give one node, without those inside of it, a place in the user's file."""
    line, end_line = max(1, location.line), max(1, location.line, location.end_line)
    start = _bytes(location, location.column)
    end = location.end_column
    vars(node).update(
        lineno=line,
        col_offset=start,
        end_lineno=end_line,
        end_col_offset=max(end, start) if end_line == line else end,
    )
    return node


def _bytes(location: Location, column: int) -> int:
    """`ast` counts bytes."""
    text = line_text(location)
    return column if text.isascii() else len(text[:column].encode())


def _not_python(code: HostCode, location: Location, error: SyntaxError) -> ModelError:
    return ModelError(
        f"the text of a host op is not Python ({error.msg}): {code.text}",
        advice="whatever made or rewrote this model is at fault",
        location=location,
    )


def _moved(node: Node, code: HostCode, location: Location, *, indented: bool = False) -> Node:
    """A tree of the user's file as it is; one that was made of text, moved to a place there."""
    if code.start is None:
        return node
    moved = deepcopy(node)
    lines = max(1, location.line) - code.start[0]
    column = _bytes(location, location.column)
    for part in ast.walk(moved):
        places = vars(part)
        for line, offset in (("lineno", "col_offset"), ("end_lineno", "end_col_offset")):
            if line not in places:
                continue
            if places[line] == code.start[0]:
                places[offset] += column - code.start[1]
            elif indented:
                places[offset] += column
            places[line] += lines
    return moved
