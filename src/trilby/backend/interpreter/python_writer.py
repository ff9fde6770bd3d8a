"""One function of a model as lines of Python, while it is being written.

The writer keeps names, indentation and which op a line came from. What an op means is
told by the renderers that it is given; this module knows no op.
"""

import keyword
import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from trilby.codegen.identifiers import Identifiers
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op
from trilby.model.value import Value
from trilby.source import NOWHERE, Location

Renderer: TypeAlias = "Callable[[PythonFunctionWriter, Any], None]"
"""Writes one op of the class it stands for in the table."""


@dataclass(frozen=True, slots=True)
class PythonLine:
    """A line of Python, the function it is part of, and the op that it carries out."""

    text: str
    function: Func
    op: Op | None = None


def python_name(names: Identifiers, wish: str) -> str:
    """`wish` made an identifier of Python, with a number behind it where it is taken."""
    stem = re.sub(r"\W", "_", wish, flags=re.ASCII) or "v"
    return names.numbered(f"_{stem}" if stem[0].isdigit() else stem)


class PythonFunctionWriter:
    """Collects the lines of one function; renderers call its methods.

    `functions` gives the Python name of every symbol that may be called, `waiting` has those
    symbols whose functions may wait at a barrier.
    """

    def __init__(
        self,
        function: Func,
        functions: Mapping[str, str],
        renderers: Mapping[type[Op], Renderer],
        taken: frozenset[str],
        waiting: frozenset[str] = frozenset(),
    ) -> None:
        self.function = function
        self.functions = functions
        self.waiting = waiting
        self.lines: list[PythonLine] = []
        self._renderers = renderers
        self._names = Identifiers(keyword.iskeyword, taken | frozenset(functions.values()))
        self._texts: dict[Value, str] = {}
        self._depth = 0
        self.into = ""
        """The name that the `yield` of the block at hand is assigned to."""
        self._place = NOWHERE

    def write(self) -> list[PythonLine]:
        """The whole function."""
        params = ", ".join(self.name(param) for param in self.function.params)
        self.line(f"def {self.functions[self.function.name]}({params}):")
        self.block(self.function.body)
        return self.lines

    def line(self, text: str, op: Op | None = None) -> None:
        """Append a line, after a comment with its place where that is a new one."""
        if op is not None and op.location not in (NOWHERE, self._place):
            is_new = (op.location.file, op.location.line) != (self._place.file, self._place.line)
            self._place = op.location
            if is_new:
                self.line(f"# {op.location.short}")
        self.lines.append(PythonLine("    " * self._depth + text, self.function, op))

    def name(self, value: Value) -> str:
        """The text of a value: the Python name that holds it, or what `define` said."""
        if value not in self._texts:
            self._texts[value] = self.temporary(value.hint or "v")
        return self._texts[value]

    def define(self, value: Value, text: str) -> None:
        """Let a value be written as `text` wherever it is used: it must never change."""
        self._texts[value] = text

    def temporary(self, wish: str) -> str:
        """A name of its own for something that is no value of the model."""
        return python_name(self._names, wish)

    def assign(self, op: Op, expression: str) -> None:
        """`name = expression`, or the bare expression where nothing uses the result."""
        target = f"{self.name(op.result)} = " if op.result else ""
        self.line(target + expression, op)

    def block(self, block: Block, into: str = "") -> None:
        """Write a nested block, indented; its `yield` is assigned to the name `into`."""
        with self.nested(into):
            before = len(self.lines)
            for op in block.ops:
                self._renderers[type(op)](self, op)
            if len(self.lines) == before:
                self.line("pass")

    @contextmanager
    def nested(self, into: str = "") -> Generator[None]:
        """One step further to the right."""
        outer, self.into = self.into, into
        self._depth += 1
        yield
        self._depth -= 1
        self.into = outer


def known(location: Location) -> Location | None:
    """The location, or None where an op has none."""
    return None if location == NOWHERE else location
