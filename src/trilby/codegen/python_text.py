"""The text in host ops as Python syntax trees, with operands put into the holes.

Nodes get the lines and columns that the text has in the user's file, so that tracebacks show
the user's source. This module knows no ops.
"""

import ast
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from trilby.errors import ModelError
from trilby.model.holes import marked, operand_number
from trilby.source import Location, line_text
from trilby.syntax import parsed, parsed_expression

OPERATORS: dict[str, type[ast.operator]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "@": ast.MatMult,
    "/": ast.Div,
    "//": ast.FloorDiv,
    "%": ast.Mod,
    "**": ast.Pow,
    "<<": ast.LShift,
    ">>": ast.RShift,
    "&": ast.BitAnd,
    "|": ast.BitOr,
    "^": ast.BitXor,
}
"""The operators of augmented assignments by their signs."""

Node = TypeVar("Node", bound=ast.AST)


def expression(code: str, operands: Sequence[ast.expr], location: Location) -> ast.expr:
    """The tree of an expression, or of a slice where it is one."""
    text = marked(code, len(operands))
    try:
        found, lead = _parsed(parsed_expression, f"({text}\n)", location), 1
    except ModelError:
        # `1:n` is Python only inside of brackets
        indexed = _parsed(parsed_expression, f"_[{text}\n]", location)
        found, lead = cast("ast.Subscript", indexed).slice, 2
    return _filled(_moved(found, location, lead=lead), operands)


def statements(code: str, operands: Sequence[ast.expr], location: Location) -> list[ast.stmt]:
    """The trees of statements; all their lines are indented as the first one is."""
    tree = _parsed(parsed, marked(code, len(operands)), location)
    for node in tree.body:
        _moved(node, location, lead=0, indented=True)
    return [_filled(node, operands) for node in tree.body]


def target(code: str, location: Location) -> ast.expr:
    """The tree of what a loop or a `with` binds."""
    tree = _parsed(parsed, f"({code}\n) = 0", location)
    (bound,) = cast("ast.Assign", tree.body[0]).targets
    return _moved(bound, location, lead=1)


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


def _parsed(parse: Callable[[str], Node], text: str, location: Location) -> Node:
    try:
        return parse(text)
    except SyntaxError as error:
        raise ModelError(
            f"the text of a host op is not Python ({error.msg}): {text}",
            advice="whatever made or rewrote this model is at fault",
            location=location,
        ) from error


def _moved(node: Node, location: Location, *, lead: int, indented: bool = False) -> Node:
    """Move a tree from the text to the file; `lead` characters stood before the text."""
    first = max(1, location.line) - 1
    column = _bytes(location, location.column)
    for part in ast.walk(node):
        if hasattr(part, "lineno"):
            _shift(part, first, column, lead, indented=indented)
    return node


def _shift(part: ast.AST, lines: int, column: int, lead: int, *, indented: bool) -> None:
    places = vars(part)
    for line, offset in (("lineno", "col_offset"), ("end_lineno", "end_col_offset")):
        if places[line] == 1:
            places[offset] += column - lead
        elif indented:
            places[offset] += column
        places[line] += lines


class _Filler(ast.NodeTransformer):
    def __init__(self, operands: Sequence[ast.expr]) -> None:
        self.operands = operands

    def visit_Name(self, node: ast.Name) -> ast.expr:
        number = operand_number(node.id)
        return node if number is None else self.operands[number]


def _filled(node: Node, operands: Sequence[ast.expr]) -> Node:
    return cast("Node", _Filler(operands).visit(node)) if operands else node
