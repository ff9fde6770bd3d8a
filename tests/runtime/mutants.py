"""Copies of a module that each lack one rule.

One statement is left out, one condition turned round, or one part of an expression dropped.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FunctionType, ModuleType
from typing import TypeAlias, cast

Change: TypeAlias = tuple[ast.AST, str, int | None, ast.AST]
"""A node, its field, the place in that field if it is a list, and what to put there instead."""


@dataclass(frozen=True)
class Mutant:
    """A module with one change. `name` says where and which, and stays when lines move."""

    module: str
    line: int
    name: str
    function: str
    source: str
    number: int

    def __str__(self) -> str:
        return f"{self.module}.py:{self.line}: {self.name}"

    @property
    def tree(self) -> ast.Module:
        """The module with the change."""
        tree = ast.parse(self.source)
        _apply(next(islice(_changes(tree), self.number, None))[1])
        return ast.fix_missing_locations(tree)


def mutants_of(module: str, source: str) -> Iterator[Mutant]:
    """All mutants of a module."""
    seen: Counter[str] = Counter()
    for number, (function, change) in enumerate(_changes(ast.parse(source))):
        line, what = _described(change)
        name = f"{function}: {what}"
        seen[name] += 1
        if seen[name] > 1:
            name += f", no. {seen[name]}"
        yield Mutant(module, line, name, function, source, number)


def _apply(change: Change) -> None:
    node, name, place, new = change
    if place is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[place] = new


def _described(change: Change) -> tuple[int, str]:
    node, name, place, new = change
    old = getattr(node, name) if place is None else getattr(node, name)[place]
    before = ast.unparse(old).split("\n")[0]
    after = "nothing" if isinstance(new, ast.Pass) else f"`{ast.unparse(new)}`"
    return old.lineno, f"`{before}` became {after}"


def _changes(tree: ast.Module) -> Iterator[tuple[str, Change]]:
    """Every change that is worth a try. The same tree gives the same ones in the same order."""
    for name, function in _functions(tree.body, ""):
        bound = _first_bound(function)
        yield from ((name, change) for change in _statements(function, bound))
        for statement in function.body:
            for node in _walk(statement):
                found = (*_statements(node, bound), *_conditions(node), *_parts(node))
                yield from ((name, change) for change in found)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, but for types, which decide about nothing."""
    yield node
    for name, value in ast.iter_fields(node):
        for child in cast("list[object]", value if isinstance(value, list) else [value]):
            if name != "annotation" and isinstance(child, ast.AST):
                yield from _walk(child)


def _functions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """All functions and methods, by their names; those inside of others belong to these."""
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            yield prefix + statement.name, statement
        elif isinstance(statement, ast.ClassDef):
            yield from _functions(statement.body, f"{prefix}{statement.name}.")


def _first_bound(function: ast.FunctionDef) -> dict[str, int]:
    """The line that gives each name of a function its first value."""
    found: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            found[node.arg] = node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = min(node.lineno, found.get(node.id, node.lineno))
    return found


def _statements(node: ast.AST, bound: dict[str, int]) -> Iterator[Change]:
    """Statements that are left out."""
    for name in ("body", "orelse", "finalbody"):
        block: object = getattr(node, name, None)
        if isinstance(node, ast.stmt | ast.ExceptHandler) and isinstance(block, list):
            for place, statement in enumerate(block):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
                if isinstance(statement, ast.stmt) and _can_go(statement, bound):
                    yield node, name, place, ast.copy_location(ast.Pass(), statement)


def _can_go(statement: ast.stmt, bound: dict[str, int]) -> bool:
    """False for what has no effect, and for what the rest cannot be without."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign):
        return all(
            bound[node.id] < node.lineno
            for target in statement.targets
            for node in ast.walk(target)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
    jumps = ast.Raise | ast.Continue | ast.Break
    return isinstance(statement, ast.AugAssign | ast.If | ast.For | ast.While | ast.Delete | jumps)


def _conditions(node: ast.AST) -> Iterator[Change]:
    """Conditions that turn round, or hold always."""
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node, "test", None, _not(node.test)
    if isinstance(node, ast.comprehension):
        for place, test in enumerate(node.ifs):
            yield node, "ifs", place, ast.copy_location(ast.Constant(value=True), test)
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Compare | ast.BoolOp):
        yield node, "value", None, _not(node.value)


def _not(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _parts(node: ast.AST) -> Iterator[Change]:
    """Of `a and b`, `a | b`, `a - b`, `a + b`, `not a`, `(*a, *b)`: without one of its parts."""
    for name, value in ast.iter_fields(node):
        if name == "annotation":
            continue
        entries = cast("list[object]", value if isinstance(value, list) else [value])
        for number, entry in enumerate(entries):
            place = number if isinstance(value, list) else None
            if isinstance(entry, ast.Starred) and isinstance(node, ast.Tuple | ast.List):
                nothing = ast.Starred(ast.Tuple([], ast.Load()), ast.Load())
                yield node, name, place, ast.copy_location(nothing, entry)
            for new in _without_a_part(entry):
                yield node, name, place, new


def _without_a_part(value: object) -> Iterator[ast.expr]:
    if isinstance(value, ast.BoolOp):
        for place in range(len(value.values)):
            rest = [one for number, one in enumerate(value.values) if number != place]
            new = rest[0] if len(rest) == 1 else ast.BoolOp(value.op, rest)
            yield ast.copy_location(new, value)
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
        yield value.left
    elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr | ast.BitAnd | ast.Add):
        yield value.left
        yield value.right
    elif isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        yield value.operand


def change_here(mutant: Mutant, module: ModuleType) -> None:
    """Let the function of a mutant, which is in use already, lack its rule from now on."""
    change_functions(mutant.tree, module, mutant.function)


def change_functions(tree: ast.Module, module: ModuleType, only: str = "") -> None:
    """Let functions of a module that are in use be as in another text of it from now on."""
    codes: dict[str, list[CodeType]] = {}
    for code in _codes(compile(tree, vars(module).get("__file__", ""), "exec")):
        codes.setdefault(code.co_qualname, []).append(code)
    for name in dict.fromkeys(name for name, _ in _functions(tree.body, "")):
        if only in {"", name}:
            found: object = module
            for part in name.split("."):
                found = vars(found)[part]
            parts = (found.fget, found.fset) if isinstance(found, property) else (found,)
            for function, code in zip(parts, codes[name], strict=False):
                cast("FunctionType", function).__code__ = code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)
