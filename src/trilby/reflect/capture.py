"""From a live Python function to the syntax tree that it was compiled from.

`inspect.getsource` gives whole lines, so two lambdas on one line look the same to it;
`capture` tells them apart. This module knows files, names and their values. It does not know
what a kernel is, nor which Python a kernel may use.
"""

import ast
import inspect
import linecache
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CellType, FunctionType, MethodType
from typing import Final, TypeAlias, TypeGuard

from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, SourceError
from trilby.reflect.code_sites import FunctionNode, find_site
from trilby.source import Location

_Placed: TypeAlias = ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.excepthandler


class Missing(Enum):
    """The type of `MISSING`."""

    MISSING = "MISSING"


_MANY_TEXTS: Final = frozenset({"<string>", "<stdin>"})
"""Names that many texts share: of `python -c`, of `exec`, and of each line at a prompt."""

MISSING: Final = Missing.MISSING
"""What `Captured.lookup` gives for a name that has no value."""


@dataclass(frozen=True, repr=False)
class Captured:
    """A function together with its syntax tree.

    The tree is shared by all captures of the same text: read it, do not change it. Default
    values and annotations are the function's own (`__defaults__`, `__annotations__`); the
    tree only shows how they were written.
    """

    # written out because a type checker takes a field that holds a function for a method
    # unless it is a slot
    __slots__ = ("class_name", "file", "function", "lines", "node")

    function: FunctionType
    node: FunctionNode
    file: str
    class_name: str
    """The innermost class around the function, or nothing: it decides what `__name` means."""
    lines: tuple[str, ...]
    """The text of the file that the tree was made of."""

    def __repr__(self) -> str:
        return f"<captured {self.function.__qualname__} at {self.location(self.node)}>"

    def location(self, node: ast.AST) -> Location:
        """The place of a node; of the nearest thing with a place where it has none itself."""
        place = node
        if not _has_place(place):
            place = next((part for part in ast.walk(node) if _has_place(part)), self.node)
        end_line = place.end_lineno or place.lineno
        end_offset = place.col_offset if place.end_col_offset is None else place.end_col_offset
        return Location(
            self.file,
            place.lineno,
            self._column(place.lineno, place.col_offset),
            end_line,
            self._column(end_line, end_offset),
        )

    def lookup(self, name: str) -> object:
        """The value of a name that the function does not bind itself.

        Python's order: the enclosing functions, the module, the builtins. The answer is
        `MISSING` for a name that is unknown, and for one of an enclosing function that has
        no value yet (`is_closure` tells the two apart).
        """
        name = self.mangled(name)
        cell = self.cells.get(name)
        if cell is not None:
            return _contents(cell)
        for scope in (self.function.__globals__, self.function.__builtins__):
            if name in scope:
                return scope[name]
        return MISSING

    def is_closure(self, name: str) -> bool:
        """Whether the name belongs to an enclosing function."""
        return self.mangled(name) in self.function.__code__.co_freevars

    @property
    def cells(self) -> Mapping[str, CellType]:
        """The variables of enclosing functions that the function uses."""
        names = self.function.__code__.co_freevars
        return dict(zip(names, self.function.__closure__ or (), strict=True))

    def mangled(self, name: str) -> str:
        """The name as Python knows it at run time: `__x` in a class `C` is `_C__x`."""
        owner = self.class_name.lstrip("_")
        if not owner or not name.startswith("__") or name.endswith("__"):
            return name
        return f"_{owner}{name}"

    def _column(self, line: int, offset: int) -> int:
        """Characters for the bytes that `ast` counts."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if text.isascii():
            return offset
        return len(text.encode()[:offset].decode(errors="ignore"))


def capture(function: object) -> Captured:
    """Find the syntax tree of a function or lambda.

    >>> twice = [lambda v: v + 1, lambda v: v * 2][1]
    >>> ast.unparse(capture(twice).node)
    'lambda v: v * 2'

    A function that wraps another (`functools.wraps`) is captured as what it is, the wrapper:
    leaving out what a wrapper does would change the meaning.
    """
    if not isinstance(function, FunctionType):
        raise _not_a_function(function)
    code = function.__code__
    # pytest rewrites `assert` in the modules that it imports, and leaves its mark on them
    rewritten = "@pytest_ar" in function.__globals__
    read = False
    for text in _texts(function):
        read = True
        site = find_site(text, code, asserts_rewritten=rewritten)
        if site is not None:
            lines = tuple(text.split("\n"))
            return Captured(function, site.node, code.co_filename, site.class_name, lines)
    is_named = code.co_filename not in _MANY_TEXTS
    raise _changed(function) if read and is_named else _no_source(function)


def _has_place(node: ast.AST) -> TypeGuard[_Placed]:
    return hasattr(node, "lineno")


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


# -------------------------------------------------------------------------------- the text


def _texts(function: FunctionType) -> Iterator[str]:
    """The text as it was first read, then, where it changed since, as it is now.

    The first fits a module that was edited while it ran, the second one that was reloaded.
    """
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if text:
        yield text
    linecache.checkcache(code.co_filename)
    now = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if now and now != text:
        yield now
    if not text and not now:
        yield from _typed_text(function)


def _typed_text(function: FunctionType) -> Iterator[str]:
    """What newer interactive prompts remember of their input, under a key of their own."""
    try:
        lines, _ = inspect.findsource(function)
    except OSError:
        return
    yield "".join(lines)


# ----------------------------------------------------------------------------------- errors


def _no_source(function: FunctionType) -> SourceError:
    if function.__code__.co_name == "<lambda>":
        advice = "name the function and its arguments: `accelerator.compute(function, args…)`"
    else:
        advice = (
            "write the function in a file, or in a notebook's cell without `%%time` and its like"
        )
    return SourceError(
        f"{_spoken(function)} has no source that can be read: it was typed at a prompt, given "
        "with `python -c`, made by `exec` or by a magic such as `%time`, or only its .pyc file is "
        "there",
        advice=advice,
        location=Location(function.__code__.co_filename, function.__code__.co_firstlineno),
    )


def _changed(function: FunctionType) -> SourceError:
    return SourceError(
        f"{_spoken(function)} is not what stands here: the file changed since it was imported",
        advice="start the program again, or reload the module; if nobody edited the file, a "
        "tool rewrites the code while it is imported, and has to leave this module alone",
        location=Location(function.__code__.co_filename, function.__code__.co_firstlineno),
    )


def _spoken(function: FunctionType) -> str:
    name = function.__code__.co_name
    return "the lambda" if name == "<lambda>" else f"`{name}`"


def _not_a_function(thing: object) -> ArgumentTypeError:
    what, advice = _description(thing)
    return ArgumentTypeError(f"a Python function is needed, and this is {what}", advice=advice)


def _description(thing: object) -> tuple[str, str]:
    """What a thing is that is not a function, and what to give instead."""
    kind = type(thing).__name__
    match thing:
        case partial():
            advice = "give the function and its arguments apart: `accelerator.compute(f, args…)`"
            return "a functools.partial", advice
        case MethodType():
            advice = "write a function that takes what it needs of the object as arguments"
            return f"`{thing.__name__}`, a method bound to an object", advice
        case BuiltinFunctionType():
            advice = "write a function in Python that calls it"
            return f"`{thing.__name__}`, which is not written in Python", advice
        case staticmethod() | classmethod():
            return f"a {kind}", f"place the decorator below `@{kind}`, next to `def`"
        case type():
            advice = "give a function, or call the class inside of one"
            return f"the class `{thing.__name__}`", advice
        case object(__wrapped__=FunctionType()):
            advice = "remove the decorator; what it adds would be lost if it were looked through"
            return f"a function behind a decorator that made a `{kind}` of it", advice
        case _:
            advice = "give a function written with `def` or `lambda`"
            return f"an object of the class `{kind}`", advice
