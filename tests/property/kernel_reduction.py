"""Making a failing program smaller, as text: what is not needed for the failure is cut out."""

import ast
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from tests.property.kernel_programs import Program

KEPT = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
NEEDED = re.compile(r"i = |n\d+_i32 \+= 1$|(a|tile)\d+_\w+(\[.*\])? = |kc\.barrier|wait\(")
"""Statements without which a kernel would race, read what nobody has set, or never end."""

PLAIN = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript)
"""Expressions that are as small as they get."""


def reduced(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """A smaller program that still fails; the best that is found within some seconds.

    A statement is left out or gives way to its body, an expression to one of its parts. What
    has no meaning any more does not fail in the same way, and is tried no further. What makes
    a program end, and give the same in every run, stays.
    """
    until = time.monotonic() + seconds
    smallest, before = replace(program, text=ast.unparse(ast.parse(program.text))), ""
    while smallest.text != before and time.monotonic() < until:
        before = smallest.text
        smallest = _one_pass(smallest, fails, until)
    return smallest


def _one_pass(program: Program, fails: Callable[[Program], bool], until: float) -> Program:
    number = 0
    while time.monotonic() < until:
        texts = list(_smaller(program.text, number))
        if not texts and number >= len(_nodes(ast.parse(program.text))):
            break
        candidates = (replace(program, text=text) for text in texts)
        found = next((candidate for candidate in candidates if fails(candidate)), None)
        program, number = (found, number) if found else (program, number + 1)
    return program


def _nodes(tree: ast.Module) -> list[ast.AST]:
    """Statements and expressions of the functions that hold something to cut."""
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name != "run"]
    inside = [node for f in functions for statement in f.body for node in ast.walk(statement)]
    fixed = {id(part) for node in inside for root in _fixed(node) for part in ast.walk(root)}
    cuttable = [n for n in inside if isinstance(n, ast.stmt | ast.expr) and id(n) not in fixed]
    return [n for n in cuttable if not isinstance(n, PLAIN)]


def _fixed(node: ast.AST) -> list[ast.AST]:
    """What says how often a loop runs, and which number an item has."""
    if isinstance(node, ast.For):
        return [node.iter]
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "i":
        return [node.value]
    if isinstance(node, ast.If) and re.match(r"n\d+_i32 > 4$", ast.unparse(node.test)):
        return [node]
    return [node.test] if isinstance(node, ast.While) else []


def _smaller(text: str, number: int) -> Iterator[str]:
    """The program with one node replaced by less, in each way there is.

    With an array go all statements that set its elements.
    """
    for way in range(4):
        tree = ast.parse(text)
        nodes = _nodes(tree)
        ways = _replacements(nodes[number]) if number < len(nodes) else []
        if way < len(ways):
            given_up = {nodes[number], *_settings_of(nodes[number], nodes)}
            changed = _Replacing(given_up, ways[way]).visit(tree)
            yield ast.unparse(ast.fix_missing_locations(cast("ast.Module", changed)))


def _replacements(node: ast.AST) -> list[list[ast.AST]]:
    if isinstance(node, ast.stmt) and NEEDED.match(ast.unparse(node)):
        return [[]] if _array_of(node) else []
    if isinstance(node, ast.If | ast.For | ast.While):
        return [[], [*node.body], [*node.orelse]]
    if isinstance(node, ast.stmt):
        return [] if isinstance(node, (*KEPT, ast.Pass)) else [[]]
    return [[part] for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]


def _array_of(node: ast.AST) -> str | None:
    """The name of the array that a statement makes."""
    found = re.match(r"(\w+) = tb\.(private|local)\(", ast.unparse(node))
    return found[1] if found else None


def _settings_of(node: ast.AST, nodes: list[ast.AST]) -> list[ast.AST]:
    array = _array_of(node)
    if array is None:
        return []
    statements = [n for n in nodes if isinstance(n, ast.Assign)]
    return [n for n in statements if ast.unparse(n).startswith(f"{array}[")]


class _Replacing(ast.NodeTransformer):
    def __init__(self, targets: set[ast.AST], by: list[ast.AST]) -> None:
        self.targets = targets
        self.by = by

    def visit(self, node: ast.AST) -> ast.AST | list[ast.AST]:
        if node not in self.targets:
            return self.generic_visit(node)
        if isinstance(node, ast.expr):
            return self.by[0]
        return self.by or [ast.Pass()]
