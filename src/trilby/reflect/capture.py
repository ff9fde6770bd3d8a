"""From a live Python function to the syntax tree that it was compiled from.

`inspect.getsource` gives whole lines, so two lambdas on one line look the same to it;
`capture` tells them apart. This module knows files, names and their values. It does not know
what a kernel is, nor which Python a kernel may use.
"""

import __future__

import ast
import inspect
import linecache
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
from typing import Final, Literal, TypeAlias, TypeGuard, cast

from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, SourceError
from trilby.source import Location
from trilby.syntax import compiled, parsed

# --------------------------------------------------------------------------------------- code sites
# Which function in a text a code object was compiled from.
#
# The text is parsed and compiled once more; the function whose code equals the given one is the
# answer. Bytecode, constants, names and argument counts are compared, not positions: those are
# absent under `-X no_debug_ranges` and for some lambdas. This module knows texts, trees and code
# objects; it reads no files and raises no errors of its own.

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# Only the features that change what a text compiles to: the others are long part of Python.
_FUTURES: Final = __future__.annotations.compiler_flag | __future__.barry_as_FLUFL.compiler_flag


Unit: TypeAlias = Literal["module", "statement"]
"""How much is compiled at once: a module as a whole, a notebook's cell by statements.

The byte code of a function depends on it: `math.sqrt(x)` is an attribute of a module where
`import math` is compiled together with it, and a call of a method otherwise.
"""

_UNITS: Final[tuple[Unit, ...]] = ("module", "statement")


Site: TypeAlias = tuple[FunctionNode, str]
"""A function in a tree, and the name of the innermost class around it."""


def find_site(text: str, code: CodeType, *, asserts_rewritten: bool = False) -> Site | None:
    """The function in a text that compiles to `code` and starts in the same line, if any.

    `asserts_rewritten` says that `code` went through pytest, which makes `assert` statements
    longer: a function that holds some is then found by its line, its name and its names.
    """
    wanted, flags = _fingerprint(code), code.co_flags & _FUTURES
    for unit in _UNITS:
        try:
            candidates = _candidates(text, flags, unit, code.co_firstlineno, code.co_name)
        except (SyntaxError, ValueError):  # a text that Python refuses is not what was compiled
            continue
        equal = [one for one in candidates if _fingerprint(one[1]) == wanted]
        if not equal and asserts_rewritten:
            equal = [one for one in candidates if _equal_but_for_asserts(code, *one)]
        if equal:
            return max(equal, key=lambda one: _likeness(code, one[1]))[0]
    return None


@lru_cache(maxsize=256)
def _candidates(
    text: str, flags: int, unit: Unit, line: int, name: str
) -> tuple[tuple[Site, CodeType], ...]:
    """The functions of that name which start in that line, and the code that each compiles to.

    There is at most one `def`. Of several lambdas each is compiled apart from the others.
    """
    tree, codes = _compiled(text, flags, unit)
    sites = [site for site in _sites(tree, line) if _name(site[0]) == name]
    found = [codes.get((line, name))]
    if len(sites) > 1:
        found = [_code_apart(text, flags, unit, line, number) for number in range(len(sites))]
    return tuple((site, code) for site, code in zip(sites, found, strict=False) if code)


@lru_cache(maxsize=16)
def _compiled(
    text: str, flags: int, unit: Unit
) -> tuple[ast.Module, Mapping[tuple[int, str], CodeType]]:
    """The tree of a text, and its code by first line and name."""
    tree = parsed(text, flags)
    return tree, _codes(tree, flags, unit)


def _codes(tree: ast.Module, flags: int, unit: Unit) -> dict[tuple[int, str], CodeType]:
    """Every code object by first line and name; the outer one where both are equal."""
    units = [tree] if unit == "module" else [ast.Module([part], []) for part in tree.body]
    # notebooks allow `await` outside of functions
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    level = [compiled(one, "<source>", flags) for one in units]
    found: dict[tuple[int, str], CodeType] = {}
    while level:
        for code in level:
            found.setdefault((code.co_firstlineno, code.co_name), code)
        level = [inner for code in level for inner in code.co_consts if isinstance(inner, CodeType)]
    return found


def _code_apart(text: str, flags: int, unit: Unit, line: int, number: int) -> CodeType | None:
    """The code of one of the lambdas that start in `line`; None for one that is never reached.

    The lambda is moved to a line of its own, so that the first line of its code names it. What is
    inside moves along, since bytecode depends on how lines lie to each other. Its defaults stay:
    they belong to the code around it.
    """
    tree = parsed(text, flags)
    lambdas = [node for node, _ in _sites(tree, line) if isinstance(node, ast.Lambda)]
    moved, lines = lambdas[number], text.count("\n") + 1
    ast.increment_lineno(moved.body, lines)
    moved.lineno += lines
    moved.end_lineno = (moved.end_lineno or 0) + lines
    return _codes(tree, flags, unit).get((line + lines, "<lambda>"))


def _sites(tree: ast.Module, line: int) -> Iterator[Site]:
    """The functions that start in `line`, in the order in which they are written."""
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, class_name = pending.pop()
        if isinstance(node, ast.stmt) and not _spans(node, line):
            continue
        if isinstance(node, FunctionNode) and _first_line(node) == line:
            yield node, class_name
        inner = node.name if isinstance(node, ast.ClassDef) else class_name
        children = [
            (child, inner if part == "body" else class_name) for part, child in _children(node)
        ]
        pending += reversed(children)


def _children(node: ast.AST) -> list[tuple[str, ast.AST]]:
    parts = [(part, cast("object", getattr(node, part, None))) for part in node._fields]
    return [
        (part, child)
        for part, value in parts
        for child in (cast("list[object]", value) if isinstance(value, list) else (value,))
        if isinstance(child, ast.AST)
    ]


def _spans(statement: ast.stmt, line: int) -> bool:
    return _first_line(statement) <= line <= (statement.end_lineno or statement.lineno)


def _first_line(node: ast.stmt | ast.Lambda) -> int:
    """The line that Python counts as the first: a decorator's, if there is one."""
    decorated = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    decorators = node.decorator_list if decorated else ()
    return decorators[0].lineno if decorators else node.lineno


def _name(node: FunctionNode) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


# -------------------------------------------------------------------------------- comparing


def _likeness(left: CodeType, right: CodeType) -> tuple[bool, bool]:
    """What tells apart lambdas that mean the same: the function around them, the columns."""
    return left.co_qualname == right.co_qualname, _columns(left) == _columns(right)


def _columns(code: CodeType) -> list[tuple[int | None, int | None]]:
    return [place[2:] for place in code.co_positions()]


def _fingerprint(code: CodeType) -> tuple[object, ...]:
    """All that decides what a code object does, and nothing of where it stands."""
    return (
        _signature(code),
        code.co_code,
        code.co_exceptiontable,
        code.co_names,
        code.co_varnames,
        code.co_cellvars,
        tuple(_constant(value) for value in code.co_consts),
    )


def _signature(code: CodeType) -> tuple[object, ...]:
    stars = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    count = code.co_argcount + code.co_kwonlyargcount + stars.bit_count()
    return (
        code.co_name,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        stars,
        code.co_varnames[:count],
        code.co_freevars,
    )


def _constant(value: object) -> object:
    """A stand-in that is equal only for the same constant: 1, 1.0 and True differ."""
    if isinstance(value, CodeType):
        return _fingerprint(value)
    if isinstance(value, tuple):
        return tuple(_constant(item) for item in cast("tuple[object, ...]", value))
    if isinstance(value, frozenset):
        return frozenset(_constant(item) for item in cast("frozenset[object]", value))
    # the text of a number keeps -0.0 apart from 0.0, and makes nan equal to itself
    return type(value), repr(value)


def _equal_but_for_asserts(code: CodeType, site: Site, plain: CodeType) -> bool:
    """Whether the code can be the plain one with its `assert` statements made longer.

    pytest adds names and takes none away.
    """
    has_assert = any(isinstance(part, ast.Assert) for part in ast.walk(site[0]))
    known = {*code.co_names, *code.co_varnames, *code.co_cellvars}
    return (
        has_assert
        and _signature(code) == _signature(plain)
        and known.issuperset((*plain.co_names, *plain.co_varnames, *plain.co_cellvars))
    )


# ------------------------------------------------------------------------- files that import Trilby
# Whether a file imports Trilby, by its source: nothing of it is run.


def imports_trilby(source: bytes) -> bool:
    """Whether there is an import of Trilby, wherever it stands.

    What is not Python counts if it speaks of Trilby: importing it says what is wrong.
    """
    if b"trilby" not in source:
        return False
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    for node in ast.walk(tree):
        imported: list[str] = []
        if isinstance(node, ast.Import):
            imported = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported = [node.module or ""]
        if any(name.partition(".")[0] == "trilby" for name in imported):
            return True
    return False


# ------------------------------------------------------------------------------------------ capture

_Placed: TypeAlias = ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.excepthandler


_MANY_TEXTS: Final = frozenset({"<string>", "<stdin>"})
"""Names that many texts share: of `python -c`, of `exec`, and of each line at a prompt."""

MISSING: Final = object()
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

    @property
    def head(self) -> Location:
        """The line of `def`, without the body."""
        whole = self.location(self.node)
        return replace(whole, end_line=whole.line, end_column=len(self.lines[whole.line - 1]))

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
            node, class_name = site
            return Captured(function, node, code.co_filename, class_name, tuple(text.split("\n")))
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
        # newer interactive prompts remember their input under a key of their own
        with suppress(OSError):
            lines, _ = inspect.findsource(function)
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
