"""Questions about the syntax trees of host code that need not know what names stand for."""

import ast
import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from trilby.analysis.host import known_calls
from trilby.data.numpy_calls import argument_names, only_touches_arguments, written_parameters
from trilby.model.host_code import HostCode
from trilby.model.op import Op
from trilby.model.ops.host import HostValue

Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp

_OPERATIONS: Mapping[type[ast.AST], tuple[str, Callable[..., int]]] = {
    ast.Add: ("+", int.__add__),
    ast.Sub: ("-", int.__sub__),
    ast.Mult: ("*", int.__mul__),
    ast.FloorDiv: ("//", int.__floordiv__),
    ast.Mod: ("%", int.__mod__),
    ast.Eq: ("==", int.__eq__),
    ast.NotEq: ("!=", int.__ne__),
    ast.Lt: ("<", int.__lt__),
    ast.LtE: ("<=", int.__le__),
    ast.Gt: (">", int.__gt__),
    ast.GtE: (">=", int.__ge__),
    ast.Is: ("is", operator.is_),
    ast.IsNot: ("is not", operator.is_not),
    ast.Not: ("not", operator.not_),
    ast.USub: ("neg", int.__neg__),
}
"""The operations on numbers: their signs, and what they do."""

_COMPUTED = dict(_OPERATIONS.values())


def sign_of(node: ast.expr) -> str:
    """The sign of an operation on numbers; empty for any other expression."""
    match node:
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.Compare(ops=[op]):
            return _OPERATIONS[type(op)][0] if type(op) in _OPERATIONS else ""
        case _:
            return ""


def computed(sign: str, numbers: list[int]) -> int | None:
    """The integer that an operation makes of integers, if that is known."""
    with suppress(ZeroDivisionError):
        return int(_COMPUTED[sign](*numbers)) if sign in _COMPUTED else None
    return None


def number_of(node: ast.expr) -> int | None:
    """The integer or truth value that is written there."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    return None


def expression_of(op: Op | None) -> ast.expr | None:
    """The tree of an expression of the host; None for any other op, and for a change in place."""
    return op.code.expression if isinstance(op, HostValue) and not op.code.sign else None


def expressions_in(node: ast.AST) -> list[ast.expr]:
    """The expressions directly inside of a tree, in order."""
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def is_dotted(node: ast.expr) -> bool:
    """A name, or names with dots."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_dotted(node.value))


def indices_of(node: ast.Subscript) -> list[ast.expr]:
    """What stands in the brackets."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def is_slice(node: ast.expr) -> bool:
    """`1:n`, `:` or `...`."""
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Constant) and node.value is ...)


def is_whole_slice(node: ast.expr) -> bool:
    """A slice that leaves nothing out."""
    return is_slice(node) and not expressions_in(node)


def arguments(call: ast.Call) -> list[ast.expr]:
    """All arguments of a call: those by position, then those by name."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def keywords(call: ast.Call) -> tuple[str, ...]:
    """The names of the arguments that are given by name; `**all` has none."""
    return tuple(keyword.arg or "" for keyword in call.keywords)


def is_unpacked(call: ast.Call) -> bool:
    """Whether a call has arguments of which nobody can say which they are: `*all`, `**all`."""
    return "" in keywords(call) or any(isinstance(arg, ast.Starred) for arg in call.args)


def written_by_module(call: ast.Call, name: str, method: str) -> frozenset[int] | None:
    """The numbers of the arguments that a function of a module writes.

    None where the function is not known, or nobody can say which argument is which.
    """
    if name in known_calls.READING_MODULES:
        return frozenset()
    is_numpy = known_calls.MODULES.get(name) == "numpy"
    function: Any = getattr(np, method, None) if is_numpy else None
    if is_unpacked(call) or not only_touches_arguments(function):
        return None
    names = argument_names(function, len(call.args), keywords(call))
    written = written_parameters(function, names)
    return frozenset(number for number, name in enumerate(names) if name in written)


def written_by(call: ast.Call, name: str, method: str) -> frozenset[int] | None:
    """The numbers of the arguments that a well-known function writes; None for any other."""
    if not method:
        return frozenset() if name in known_calls.READING else None
    if name and method in known_calls.MAKERS:
        return frozenset()
    return written_by_module(call, name, method)


def made_by(node: Comprehension) -> list[ast.expr]:
    """The elements that a comprehension makes in each turn."""
    made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    return [one for one in made if one]  # `{**a for a in b}` has no value, from Python 3.15 on


def calls_method(code: HostCode, *methods: str) -> bool:
    """Whether a method by one of some names is called anywhere in some code."""
    called = (call.func for call in code.calls())
    return any(isinstance(one, ast.Attribute) and one.attr in methods for one in called)


def names_within(node: ast.AST) -> tuple[str, ...]:
    """All names in a tree, those of inner scopes included."""
    return tuple(dict.fromkeys(part.id for part in ast.walk(node) if isinstance(part, ast.Name)))


@lru_cache(maxsize=4096)
def source_of(node: ast.expr) -> str:
    """The text of an expression."""
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


@lru_cache(maxsize=4096)
def plain_names(node: ast.expr) -> tuple[str, ...] | None:
    """The names in an expression of nothing but names, numbers, choices, items and slices.

    None for any other. Whether such an expression may be evaluated once more depends on what its
    names stand for: `Sorts.may_repeat`.
    """
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.IfExp() | ast.Slice():
            parts = expressions_in(node)
        case ast.Constant():
            return () if number_of(node) is not None or is_slice(node) else None
        case ast.Subscript():
            parts = [node.value, *indices_of(node)]
        case _ if sign_of(node):
            parts = expressions_in(node)
        case _:
            return None
    found: dict[str, None] = {}
    for part in parts:
        names = plain_names(part)
        if names is None:
            return None
        found.update(dict.fromkeys(names))
    return tuple(found)
