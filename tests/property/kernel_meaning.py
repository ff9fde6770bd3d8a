"""What a random kernel means, told by NumPy: the third judge beside two backends.

The text of the program runs as plain Python on NumPy scalars. A few things are rewritten
before, because Python does not know them: a name that carries a type converts what it gets,
parameters and results are converted to what they are declared as, and a barrier hands over
to the next work item.
"""

import ast
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import numpy as np
from tests.property.kernel_programs import Program
from tests.property.kernel_types import CONSTANTS, DTYPES, TYPED_CONSTANTS, VECTORS
from tests.property.kernel_writer import RECORD
from tests.property.numpy_kernel_scalars import TYPES, Scalar
from tests.property.numpy_kernel_values import (
    ATOMICS,
    BUILTINS,
    MATH,
    TOOLKIT,
    Cells,
    Memory,
    Record,
    unknown,
)

from trilby.model.intrinsics import INTRINSICS

Element: TypeAlias = "Scalar | Callable[[Any], Any]"
"""The type of an array's elements: a number, or what copies a vector or struct."""

NOT_CONVERTED = {"KernelContext", "Table", "S64Array"}
"""Annotations of things that are not values."""


class _Rewriting(ast.NodeTransformer):
    """Python that means on NumPy scalars what the kernel says."""

    def __init__(self) -> None:
        self.result: ast.expr | None = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        is_kernel = node.name == "kernel"
        self.result = None if is_kernel else node.returns
        body: list[ast.stmt] = []
        for argument in node.args.args:
            declared = argument.annotation
            if isinstance(declared, ast.Name | ast.Attribute) and _is_value(declared):
                body.append(_set(argument.arg, _call(declared, _name(argument.arg))))
            argument.annotation = None
        body += [cast("ast.stmt", self.visit(part)) for part in node.body]
        if is_kernel:
            body.append(ast.Expr(ast.Yield()))
        return ast.FunctionDef(node.name, node.args, body, [], None)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.Pass()
        return ast.Assign([node.target], _call(node.annotation, self.visit(node.value)))

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        value = self.visit(node.value)
        first = node.targets[0]
        if isinstance(first, ast.Name) and not first.id.startswith(("a", "tile")):
            value = _converted(first.id, value)
        return ast.Assign([self.visit(target) for target in node.targets], value)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        value = self.visit(node.value)
        if isinstance(node.target, ast.Name):
            name = node.target.id
            return _set(name, _converted(name, ast.BinOp(_name(name), node.op, value)))
        return ast.AugAssign(self.visit(node.target), node.op, value)

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        if node.value is None or self.result is None:
            return node
        return ast.Return(_call(self.result, self.visit(node.value)))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        changed = ast.UnaryOp(node.op, self.visit(node.operand))
        return _call(_name("bool"), changed) if isinstance(node.op, ast.Not) else changed

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        if isinstance(call, ast.Call) and ast.unparse(call.func) in {"kc.barrier", "wait"}:
            return ast.Expr(ast.Yield())
        return ast.Expr(self.visit(call))


def _is_value(annotation: ast.expr) -> bool:
    return ast.unparse(annotation) not in NOT_CONVERTED


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _call(function: ast.expr, value: ast.expr) -> ast.Call:
    return ast.Call(function, [value], [])


def _set(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _converted(name: str, value: ast.expr) -> ast.expr:
    """The type stands behind the last `_` of a name."""
    _, line, type_ = name.rpartition("_")
    if type_ in VECTORS:
        return _call(ast.Attribute(_name("tb"), type_, ast.Load()), value)
    return _call(_name(type_), value) if line and type_ in {*TYPES, RECORD} else value


# -- work items ---------------------------------------------------------------------------


@dataclass
class Group:
    """The local arrays of a work group; items make them in the same order."""

    arrays: list[Memory | Cells] = field(default_factory=list[Memory | Cells])
    asked: int = 0

    def local(self, element: Element, *dims: int) -> Memory | Cells:
        """The array that the first item made, for all of them."""
        if self.asked == len(self.arrays):
            self.arrays.append(_private(element, *dims))
        self.asked += 1
        return self.arrays[self.asked - 1]


def _private(element: Element, *dims: int) -> Memory | Cells:
    is_number = isinstance(element, Scalar)
    return Memory(np.zeros(dims, DTYPES[element.name])) if is_number else Cells(element)


@dataclass
class Current:
    """The group that runs."""

    group: Group = field(default_factory=Group)

    def local(self, element: Element, *dims: int) -> Memory | Cells:
        """A local array of that group."""
        return self.group.local(element, *dims)


def _compiled(program: Program, current: Current) -> Callable[..., Generator[None]]:
    functions = [node for node in ast.parse(program.text).body if isinstance(node, ast.FunctionDef)]
    kept = [node for node in functions if node.name not in {"run", "wait"}]
    module = ast.Module([_Rewriting().visit(node) for node in kept], [])
    inexact = dict.fromkeys(INTRINSICS, unknown)
    toolkit = {**inexact, **TOOLKIT, **ATOMICS, "private": _private, "local": current.local}
    names: dict[str, Any] = {**TYPES, **BUILTINS, **CONSTANTS, RECORD: Record}
    names |= {name: TYPES[type_](n) for name, (type_, n) in TYPED_CONSTANTS.items()}
    names |= {"tb": SimpleNamespace(**toolkit), "math": SimpleNamespace(**(inexact | MATH))}
    exec(compile(ast.fix_missing_locations(module), "<meaning>", "exec"), names)  # noqa: S102 -- our own text
    return names["kernel"]


def run_with_numpy(program: Program, arguments: dict[str, Any]) -> None:
    """Run every work item; arrays and tables among the arguments are changed in place."""
    current = Current()
    kernel = _compiled(program, current)
    local = program.local or program.size
    counts = [-(-n // step) for n, step in zip(program.size, local, strict=True)]
    with np.errstate(all="ignore"):
        for number in product(*(range(n) for n in reversed(counts))):
            current.group = Group()
            items = _items(program, local, number[::-1])
            _run_group(current.group, [kernel(kc, **arguments) for kc in items])


def _items(
    program: Program, local: tuple[int, ...], number: tuple[int, ...]
) -> list[SimpleNamespace]:
    """The contexts of the items of one group that lie within the range, those along x first."""
    contexts: list[SimpleNamespace] = []
    for place in product(*(range(n) for n in reversed(local))):
        axes = zip("xyz", program.size, local, number, place[::-1], strict=False)
        fields: dict[str, int] = {}
        for letter, size, step, group, inner in axes:
            fields |= {letter: group * step + inner, f"max_{letter}": size}
            fields |= {f"local_{letter}": inner, f"local_max_{letter}": step}
            fields |= {f"group_{letter}": group, f"group_max_{letter}": -(-size // step)}
        if all(fields[a] < size for a, size in zip("xyz", program.size, strict=False)):
            contexts.append(SimpleNamespace(**{k: np.int32(v) for k, v in fields.items()}))
    return contexts


def _run_group(group: Group, items: list[Generator[None]]) -> None:
    """All items to the first barrier, all to the next, until they have ended."""
    running = items
    while running:
        still: list[Generator[None]] = []
        for item in running:
            group.asked = 0
            if next(item, "ended") is None:
                still.append(item)
        running = still
