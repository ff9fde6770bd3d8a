"""Making a failing program smaller, as text: what is not needed for the failure is cut out."""

import ast
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from tests.property.kernel_programs import Program

KEPT = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
KEPT_TEXT = re.compile(
    r"i = |n\d+_i32 (\+= 1|= i32\(0\))$|(a|tile)\d+_\w+(\[.*\])? = |kc\.barrier|wait\(|if n\d+_i32 > 4:"
)
"""Without these statements a kernel would race, read what nobody has set, or never end."""

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
    ends = {id(node) for loop in inside for end in _ends(loop) for node in ast.walk(end)}
    cuttable = [n for n in inside if isinstance(n, ast.stmt | ast.expr) and id(n) not in ends]
    return [n for n in cuttable if not isinstance(n, PLAIN)]


def _ends(loop: ast.AST) -> list[ast.AST]:
    """What says how often a loop runs."""
    if isinstance(loop, ast.For):
        return [loop.iter]
    return [loop.test] if isinstance(loop, ast.While) else []


def _smaller(text: str, number: int) -> Iterator[str]:
    """The program with one node replaced by less, in each way there is."""
    for way in range(4):
        tree = ast.parse(text)
        nodes = _nodes(tree)
        ways = _replacements(nodes[number]) if number < len(nodes) else []
        if way < len(ways):
            changed = _Replacing(nodes[number], ways[way]).visit(tree)
            yield ast.unparse(ast.fix_missing_locations(cast("ast.Module", changed)))


def _replacements(node: ast.AST) -> list[list[ast.AST]]:
    if isinstance(node, ast.stmt) and KEPT_TEXT.match(ast.unparse(node)):
        return []
    if isinstance(node, ast.If | ast.For | ast.While):
        return [[], [*node.body], [*node.orelse]]
    if isinstance(node, ast.stmt):
        return [] if isinstance(node, (*KEPT, ast.Pass)) else [[]]
    return [[part] for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]


class _Replacing(ast.NodeTransformer):
    def __init__(self, target: ast.AST, by: list[ast.AST]) -> None:
        self.target = target
        self.by = by

    def visit(self, node: ast.AST) -> ast.AST | list[ast.AST]:
        if node is not self.target:
            return self.generic_visit(node)
        if isinstance(node, ast.expr):
            return self.by[0]
        return self.by or [ast.Pass()]
