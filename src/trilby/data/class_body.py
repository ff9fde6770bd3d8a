"""The body of a class as its author wrote it: annotations, names in scope, source lines.

This module knows how Python scopes names in class bodies. It knows nothing of what the
annotations mean.
"""

import inspect
import linecache
import re
from collections import ChainMap
from collections.abc import Mapping
from types import FrameType
from typing import cast

from trilby.dataclass import dataclass
from trilby.errors import SchemaError
from trilby.source import Location


@dataclass(frozen=True, slots=True)
class ClassBody:
    """What stands in a class body. `file` and `line` are where its class statement begins."""

    cls: type
    annotations: Mapping[str, object]
    scope: Mapping[str, object]
    module: dict[str, object]
    file: str
    line: int

    def annotation(self, name: str) -> object:
        """The annotation of a field; one that is text is evaluated where it stands."""
        found = self.annotations[name]
        return self.evaluate(name, found) if isinstance(found, str) else found

    def evaluate(self, name: str, text: str) -> object:
        """What the text of an annotation means in this body."""
        try:
            # the author's own annotation, evaluated as typing.get_type_hints does it
            found = cast("object", eval(text, self.module, self.scope))  # noqa: S307
            is_quoted = text[:1] in {"'", '"'}  # where annotations are text anyway, twice
            return self.evaluate(name, found) if is_quoted and isinstance(found, str) else found
        except Exception as error:
            raise self.error(
                name,
                f"the annotation `{text}` of `{name}` cannot be evaluated: {error}",
                advice="declare or import the type before the class, or in its body; what is "
                "imported only under TYPE_CHECKING is not there when the class is made",
            ) from error

    def default(self, name: str) -> object:
        """What stands at the right of a field, or None."""
        return vars(self.cls).get(name)

    def error(self, name: str, problem: str, *, advice: str) -> SchemaError:
        """An error about one field, or, where `name` is empty, about the class."""
        return SchemaError(problem, advice=advice, location=self.location(name))

    def location(self, name: str) -> Location | None:
        """Where a field is declared; the class statement, if the field cannot be found."""
        if not self.line:
            return None
        lines = linecache.getlines(self.file, self.module)
        found = _line_of(name, lines, self.line) if name else None
        line = found or self.line
        text = lines[line - 1].rstrip() if line <= len(lines) else ""
        column = len(text) - len(text.lstrip())
        return Location(self.file, line, column, line, len(text))


def read_body(cls: type, frame: FrameType | None) -> ClassBody:
    """Read the body of a class that has just been made; `frame` is around its statement."""
    frames = _enclosing(cls, frame)
    scope = ChainMap(dict(vars(cls)), *(dict(around.f_locals) for around in frames))
    return ClassBody(
        cls,
        inspect.get_annotations(cls),
        scope,
        frame.f_globals if frame else {},
        frames[0].f_code.co_filename if frames else "",
        frames[0].f_lineno if frames else 0,
    )


def _enclosing(cls: type, frame: FrameType | None) -> list[FrameType]:
    """The frames of the class bodies and functions around a class, innermost first."""
    scopes = _enclosing_names(cls.__qualname__)
    found: list[FrameType] = []
    while frame is not None and len(found) < len(scopes):
        if frame.f_code.co_qualname == scopes[len(found)]:
            found.append(frame)
        frame = frame.f_back
    return found


def _enclosing_names(qualname: str) -> list[str]:
    """`f.<locals>.Outer.Inner` stands in `f.<locals>.Outer`, in `f`, in the module."""
    names: list[str] = []
    while "." in qualname:
        qualname = qualname.rpartition(".")[0].removesuffix(".<locals>")
        names.append(qualname)
    return [*names, "<module>"]


def _line_of(name: str, lines: list[str], class_line: int) -> int | None:
    """The number of the line in a class body that declares a name."""
    declares = re.compile(rf"\s+{re.escape(name)}\s*[:=]")
    head = lines[class_line - 1] if class_line <= len(lines) else ""
    depth = len(head) - len(head.lstrip())
    for number, text in enumerate(lines[class_line:], class_line + 1):
        if declares.match(text):
            return number
        if text.strip() and len(text) - len(text.lstrip()) <= depth and text.strip()[0] != "#":
            return None
    return None
