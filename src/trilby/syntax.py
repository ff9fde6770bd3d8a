"""Python's own parser and compiler, for several threads at once and without their warnings.

Python 3.11 counts the depth of all trees that are being made in one place: while one is made, no
garbage is collected, which would let another thread make one. Who wrote the text got its warnings
from Python.
"""

import ast
import gc
import warnings
from types import CodeType
from typing import Any, cast

from trilby.locks import new_rlock

_LOCK = new_rlock()
_IGNORED: Any = ("ignore", None, Warning, None, 0)


def parsed(text: str | bytes, flags: int = 0) -> ast.Module:
    """The tree of a text."""
    tree = _compiled(text, "<text>", "exec", flags | ast.PyCF_ONLY_AST)
    return cast("ast.Module", tree)


def parsed_expression(text: str) -> ast.expr:
    """The tree of an expression."""
    tree = _compiled(text, "<text>", "eval", ast.PyCF_ONLY_AST)
    return cast("ast.Expression", tree).body


def compiled(tree: ast.Module, file: str, flags: int) -> CodeType:
    """The code of a tree, as if it were that of a file."""
    return cast("CodeType", _compiled(tree, file, "exec", flags))


def _compiled(source: str | bytes | ast.Module, file: str, mode: str, flags: int) -> object:
    """What is set here is set back at once: no call comes before, after which Ctrl-C is heard."""
    collects = gc.isenabled()
    try:
        gc.disable()
        with _LOCK:
            filters = warnings.filters
            try:
                warnings.filters = [_IGNORED]
                made: object = compile(source, file, mode, flags, dont_inherit=True)
            finally:
                warnings.filters = filters
    finally:
        if collects:
            gc.enable()
    return made
