"""`cc.dispatch(n, lambda kc: k(kc, a))` in its direct form, `cc.dispatch(n, k, a)`.

The lambda is never executed: it only says which kernel is launched with what. It is taken
away in the text, and everything that stays keeps its line and column. Evaluation order is
that of the text.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from trilby.errors import UnsupportedSyntaxError
from trilby.model.host_code import Position, parameters, substituted
from trilby.reflect.capture import Captured
from trilby.reflect.functions import Kernel
from trilby.reflect.host_text import end_of, start_of
from trilby.reflect.quote import quoted_call

Resolve = Callable[[ast.expr], object]
"""Gives the value of a dotted name that the function does not bind itself."""

DISPATCH = "dispatch"


def direct_form(
    captured: Captured, node: ast.FunctionDef, resolve: Resolve
) -> tuple[Captured, ast.FunctionDef]:
    """The function without lambdas around launches; the same one where there are none."""
    params = parameters(node.args)
    context = params[0].arg if params else ""
    found = [
        (call, quoted)
        for call in _dispatches(node)
        if (quoted := _quoted(captured, call, resolve, context))
    ]
    if not found:
        return captured, node
    _check_strings(captured, {call for call, _ in found})
    canvas = [bytearray(line.encode()) for line in captured.lines]
    for call, quoted in reversed(found):  # inner calls first
        _rewrite(canvas, call, quoted)
    lines = tuple(row.decode() for row in canvas)
    direct = _direct(node, {id(call): quoted for call, quoted in found})
    return replace(captured, lines=lines, node=direct), direct


def _dispatches(node: ast.AST) -> Iterator[ast.Call]:
    """Every call of the form `X.dispatch(range, lambda …)`, outer before inner."""
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(attr=name), args=[_, ast.Lambda(), *_]):
                if name == DISPATCH:
                    yield part
            case _:
                continue


def _quoted(captured: Captured, call: ast.Call, resolve: Resolve, context: str) -> ast.Call | None:
    """The call inside the lambda of a launch.

    Anything else may have a method `dispatch` too: unless it is called on the function's own
    context, only a lambda around a known kernel is taken for a launch.
    """
    function, wanted = call.func, call.args[1]
    if not isinstance(function, ast.Attribute) or not isinstance(wanted, ast.Lambda):
        return None
    if isinstance(function.value, ast.Name) and function.value.id == context:
        return _checked(captured, call, wanted)
    try:
        quoted = _checked(captured, call, wanted)
    except UnsupportedSyntaxError:
        return None
    return quoted if isinstance(resolve(quoted.func), Kernel) else None


def _checked(captured: Captured, call: ast.Call, wanted: ast.Lambda) -> ast.Call:
    quoted = quoted_call(captured, wanted)
    for extra in call.args[2:]:
        raise UnsupportedSyntaxError(
            "the arguments of a kernel stand inside the lambda, and this one is outside",
            advice=f"write `lambda kc: {ast.unparse(quoted.func)}(kc, …)` with all arguments",
            location=captured.location(extra),
        )
    for part in ast.walk(wanted):
        if isinstance(part, ast.NamedExpr):
            raise UnsupportedSyntaxError(
                "a lambda that is never executed cannot set a variable",
                advice=f"write `{part.target.id} = …` on a line before the dispatch",
                location=captured.location(part),
            )
    return quoted


def _check_strings(captured: Captured, launches: set[ast.Call]) -> None:
    """Inside of f-strings positions are not known exactly, so nothing can be taken away."""
    for part in ast.walk(captured.node):
        if isinstance(part, ast.JoinedStr) and not launches.isdisjoint(_calls(part)):
            raise UnsupportedSyntaxError(
                "a dispatch cannot stand inside an f-string",
                advice="dispatch on a line of its own",
                location=captured.location(part),
            )


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Call))


def _direct(node: ast.FunctionDef, quoted: Mapping[int, ast.Call]) -> ast.FunctionDef:
    """The tree without the lambdas; everything else keeps its place."""

    def find(part: ast.AST) -> ast.AST | None:
        inner = quoted.get(id(part))
        if inner is None or not isinstance(part, ast.Call):
            return None
        given = [part.args[0], inner.func, *inner.args[1:]]
        args = [substituted(one, find) for one in given]
        named = [substituted(one, find) for one in (*inner.keywords, *part.keywords)]
        return ast.copy_location(ast.Call(substituted(part.func, find), args, named), part)

    return substituted(node, find)


# ------------------------------------------------------------------------ editing the text


def _rewrite(canvas: list[bytearray], call: ast.Call, quoted: ast.Call) -> None:
    """Keep range, kernel, arguments and keywords where they stand, and blank the rest."""
    pieces = [
        call.args[0],
        quoted.func,
        *sorted([*quoted.args[1:], *quoted.keywords], key=start_of),
        *call.keywords,
    ]
    kept = [_cut(canvas, start_of(piece), end_of(piece)) for piece in pieces]
    line, column = end_of(call)
    _blank(canvas, _after_parenthesis(canvas, call), (line, column - 1))
    for piece, rows in zip(pieces, kept, strict=True):
        _paste(canvas, start_of(piece), rows)
    for piece in pieces[:-1]:
        _paste(canvas, end_of(piece), [b","])


def _after_parenthesis(canvas: list[bytearray], call: ast.Call) -> Position:
    """The place behind the parenthesis that opens the arguments of a call."""
    line, column = end_of(call.func)
    while True:
        found = canvas[line - 1][column:].split(b"#")[0].find(b"(")
        if found >= 0:
            return line, column + found + 1
        line, column = line + 1, 0


def _columns(
    canvas: list[bytearray], start: Position, end: Position
) -> Iterator[tuple[int, int, int]]:
    """The rows of a stretch of text, each with its first and last column."""
    for line in range(start[0], end[0] + 1):
        row = canvas[line - 1]
        first = start[1] if line == start[0] else 0
        yield line - 1, first, end[1] if line == end[0] else len(row)


def _cut(canvas: list[bytearray], start: Position, end: Position) -> list[bytes]:
    return [bytes(canvas[row][a:b]) for row, a, b in _columns(canvas, start, end)]


def _blank(canvas: list[bytearray], start: Position, end: Position) -> None:
    for row, a, b in list(_columns(canvas, start, end)):
        canvas[row][a:b] = b" " * (b - a)


def _paste(canvas: list[bytearray], start: Position, rows: list[bytes]) -> None:
    line, column = start
    for text in rows:
        row = canvas[line - 1]
        row.extend(b" " * (column - len(row)))
        row[column : column + len(text)] = text
        line, column = line + 1, 0
