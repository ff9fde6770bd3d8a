"""The text of pieces of a compute function, as the user wrote it, with holes for operands.

Line breaks stay where they are, so that line numbers inside a text can be told from the place
of its op. This module knows positions and texts; it does not know what they mean.
"""

import ast
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from trilby.dataclass import dataclass
from trilby.model.host_code import HostCode, Position, new_operand, substituted

Numbers: TypeAlias = Mapping[ast.expr, int]
"""The numbers of holes."""

_HOLE_NAME = "_trilby_hole_{}_"
_HOLE_NAMES = re.compile(_HOLE_NAME.format(r"(\d+)"))


def start_of(node: ast.expr | ast.stmt | ast.keyword) -> Position:
    """Where a node begins."""
    return node.lineno, node.col_offset


def end_of(node: ast.expr | ast.stmt | ast.keyword) -> Position:
    """Where a node ends."""
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


@dataclass(frozen=True, slots=True)
class Pages:
    """The lines of a file as bytes, which is how `ast` counts columns."""

    rows: tuple[bytes, ...]

    @classmethod
    def around(cls, lines: Sequence[str], node: ast.stmt) -> "Pages":
        """The pages of a file, of which only the lines of one statement are read."""
        read = range(node.lineno - 1, node.end_lineno or node.lineno)
        return cls(tuple(line.encode() if n in read else b"" for n, line in enumerate(lines)))

    def slice(self, start: Position, end: Position) -> str:
        """The text between two positions."""
        first, last = start[0] - 1, end[0] - 1
        rows = list(self.rows[first : last + 1])
        rows[-1] = rows[-1][: end[1]]
        rows[0] = rows[0][start[1] :]
        return b"\n".join(rows).decode()

    def code(self, node: ast.expr, holes: Sequence[ast.expr] = ()) -> HostCode:
        """An expression in which some subtrees are operands."""
        if not holes:
            return HostCode(self.slice(start_of(node), end_of(node)), 0, node)
        return HostCode(self.template(node, holes), len(holes), punched(node, holes))

    def template(self, node: ast.expr, holes: Sequence[ast.expr], first: int = 0) -> str:
        """The text of an expression in which the subtrees `holes` are `{0}`, `{1}` …

        The numbers begin with `first`; braces of the text itself are doubled.
        """
        numbers = {hole: number for number, hole in enumerate(holes, first)}
        strings = _strings_with(node, numbers)
        inside = {part for string in strings for part in ast.walk(string)}
        patches = [_Patch(string, _joined_text(string, numbers)) for string in strings]
        patches += [
            _Patch(hole, f"{{{number}}}") for hole, number in numbers.items() if hole not in inside
        ]
        return self._patched(start_of(node), end_of(node), patches)

    def statements(self, nodes: Sequence[ast.stmt]) -> HostCode:
        """Statements that follow each other; their text is moved to the left margin."""
        start = self.start(nodes[0])
        rows = self.slice(start, end_of(nodes[-1])).split("\n")
        fixed = {line - start[0] for node in nodes for line in _lines_inside_strings(node)}
        margin = start[1]
        text = "\n".join(
            row if number == 0 or number in fixed else _moved(row, margin)
            for number, row in enumerate(rows)
        )
        return HostCode(text, 0, nodes)

    def start(self, node: ast.stmt) -> Position:
        """Where a statement begins, its decorators included."""
        decorated = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        if not decorated or not node.decorator_list:
            return start_of(node)
        line = node.decorator_list[0].lineno
        while not self.rows[line - 1].lstrip().startswith(b"@"):
            line -= 1
        return line, node.col_offset

    def _patched(self, start: Position, end: Position, patches: "list[_Patch]") -> str:
        parts: list[str] = []
        at = start
        for patch in sorted(patches, key=lambda patch: start_of(patch.node)):
            parts += (escaped(self.slice(at, start_of(patch.node))), _padded(patch))
            at = end_of(patch.node)
        return "".join((*parts, escaped(self.slice(at, end))))


def punched(node: ast.expr, holes: Sequence[ast.expr], first: int = 0) -> ast.expr:
    """An expression with operands in the place of some subtrees."""
    numbers = {hole: number for number, hole in enumerate(holes, first)}

    def find(part: ast.AST) -> ast.AST | None:
        if isinstance(part, ast.expr) and part in numbers:
            return ast.copy_location(new_operand(numbers[part]), part)
        return None

    return substituted(node, find)


@dataclass(frozen=True, slots=True)
class _Patch:
    """What stands in the place of a node."""

    node: ast.expr
    text: str


def escaped(text: str) -> str:
    """Text whose braces do not stand for operands."""
    return text.replace("{", "{{").replace("}", "}}")


def _padded(patch: _Patch) -> str:
    """The text of a patch, with as many line breaks as the node had.

    A generator's parentheses may be those of the call around it.
    """
    node = patch.node
    breaks = (node.end_lineno or node.lineno) - node.lineno - patch.text.count("\n")
    padded = patch.text + "\n" * breaks
    return f"({padded})" if isinstance(node, ast.GeneratorExp) else padded


def _strings_with(node: ast.AST, holes: Numbers) -> list[ast.JoinedStr]:
    """The outermost f-strings that hold a hole.

    They are written anew, because before Python 3.12 positions inside of them are wrong.
    """
    if isinstance(node, ast.JoinedStr):
        parts = (part for part in ast.walk(node) if isinstance(part, ast.expr))
        return [node] if any(part in holes for part in parts) else []
    return [s for child in ast.iter_child_nodes(node) for s in _strings_with(child, holes)]


def _joined_text(string: ast.JoinedStr, holes: Numbers) -> str:
    names = {id(hole): ast.Name(_HOLE_NAME.format(n), ast.Load()) for hole, n in holes.items()}
    # `deepcopy` puts in the place of an object what its memo holds for it
    written = ast.unparse(copy.deepcopy(string, names))
    return _HOLE_NAMES.sub(r"{\1}", escaped(written))


def _lines_inside_strings(node: ast.AST) -> Iterator[int]:
    """Lines that begin within a string, whose indentation is part of it."""
    match node:
        case ast.JoinedStr() | ast.Constant(value=str() | bytes()):
            yield from range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _lines_inside_strings(child)


def _moved(row: str, margin: int) -> str:
    indent = len(row) - len(row.lstrip())
    return row[min(margin, indent) :]
