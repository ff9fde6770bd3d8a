"""The names and trees of values in generated Python.

Host code is written as the syntax tree that it is. Every node gets its line and column of the
user's file, so that tracebacks show the user's source; a node that has none of its own gets that of
the node around it when the function is complete.
"""

import ast
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import field
from typing import TypeVar

from trilby.analysis.bound import names_of, sure_loads
from trilby.codegen.identifiers import Identifiers
from trilby.codegen.value_uses import count_uses
from trilby.data.dtypes import Number
from trilby.dataclass import dataclass
from trilby.errors import ModelError
from trilby.model.host_code import HostCode, filled
from trilby.model.op import Func, Op, blocks, walk
from trilby.model.ops.core import Var, VarStore
from trilby.model.ops.host import HostFor, HostRun, HostValue, HostWith
from trilby.model.value import Value
from trilby.source import NOWHERE, Location, line_text

# ------------------------------------------------------------------------------ trees of host code

Node = TypeVar("Node", bound=ast.AST)


def expression(code: HostCode, operands: Sequence[ast.expr], location: Location) -> ast.expr:
    """The tree of an expression, or of a slice where it is one."""
    with _parsing(code, location):
        return filled(_moved(code.expression, code, location), operands)


def statements(
    code: HostCode, operands: Sequence[ast.expr], location: Location
) -> Sequence[ast.stmt]:
    """The trees of statements; all their lines are indented as the first one is."""
    with _parsing(code, location):
        trees = [_moved(tree, code, location, indented=True) for tree in code.statements]
        return [filled(tree, operands) for tree in trees]


def target(code: HostCode, location: Location) -> ast.expr:
    """The tree of what a loop or a `with` binds."""
    with _parsing(code, location):
        return _moved(code.target, code, location)


@contextmanager
def _parsing(code: HostCode, location: Location) -> Generator[None]:
    """Within, text that is not Python raises the error of the model that it is part of."""
    try:
        yield
    except SyntaxError as error:
        raise ModelError(
            f"the text of a host op is not Python ({error.msg}): {code.text}",
            advice="whatever made or rewrote this model is at fault",
            location=location,
        ) from error


def placed(node: Node, location: Location) -> Node:
    """Give one node, without those inside of it, a place in the user's file."""
    line, end_line = max(1, location.line), max(1, location.line, location.end_line)
    start = _bytes(location, location.column)
    end = location.end_column
    vars(node).update(
        lineno=line,
        col_offset=start,
        end_lineno=end_line,
        end_col_offset=max(end, start) if end_line == line else end,
    )
    return node


def _bytes(location: Location, column: int) -> int:
    """`ast` counts bytes."""
    text = line_text(location)
    return column if text.isascii() else len(text[:column].encode())


def _moved(node: Node, code: HostCode, location: Location, *, indented: bool = False) -> Node:
    """A tree of the user's file as it is; one that was made of text, moved to a place there."""
    if code.start is None:
        return node
    moved = deepcopy(node)
    lines = max(1, location.line) - code.start[0]
    column = _bytes(location, location.column)
    for part in ast.walk(moved):
        places = vars(part)
        for line, offset in (("lineno", "col_offset"), ("end_lineno", "end_col_offset")):
            if line not in places:
                continue
            if places[line] == code.start[0]:
                places[offset] += column - code.start[1]
            elif indented:
                places[offset] += column
            places[line] += lines
    return moved


_LITERAL = (ast.Constant, ast.Slice, ast.UnaryOp, ast.USub, ast.expr_context)


def is_literal(tree: ast.expr) -> bool:
    """Whether an expression is the same wherever and whenever it is evaluated."""
    return all(isinstance(part, _LITERAL) for part in ast.walk(tree))


def number_tree(number: Number) -> ast.expr:
    """A number as it is written: the minus is an operator."""
    if not isinstance(number, bool) and str(number).startswith("-"):
        return ast.UnaryOp(ast.USub(), ast.Constant(-number))
    return ast.Constant(number)


# ------------------------------------------------------------------------------------------ values

SLICE = "builtins.slice"
"""The symbol of Python's `slice`, which the user may have given another meaning."""


@dataclass(slots=True)
class NamedValues:
    """The values of a function that a name or a number stands for, and the uses of all values."""

    func: Func
    words: Identifiers
    """All names in use in the function."""
    left: Counter[Value]
    """How often each value is still used."""
    crossing: set[Value]
    """The values that are used in another block than their own."""
    names: dict[Value, str] = field(default_factory=dict[Value, str])
    """Temporary variables, and parameters."""
    temporaries: int = 0
    literals: dict[Value, ast.expr] = field(default_factory=dict[Value, ast.expr])
    """Numbers, and text that is made of nothing but literals: `...`, `1:3`."""
    variables: dict[Value, str] = field(default_factory=dict[Value, str])
    """The names of the variables that `var` declares."""
    parameters: dict[Value, str] = field(default_factory=dict[Value, str])
    """The names of the parameters: those of the variables that begin with them."""
    sure: frozenset[Value] = frozenset()
    """The loads of variables that surely find a value."""
    objects: dict[str, str] = field(default_factory=dict[str, str])
    """The names under which kernels and compute functions are reached, by their symbols."""

    @classmethod
    def of(cls, func: Func) -> "NamedValues":
        """What is known before the first op."""
        words = Identifiers(lambda _: False, _words(func))
        known = cls(func, words, *count_uses(func), sure=sure_loads(func))
        known.variables = names_of(func)
        variables = (op for op in walk(func.body) if isinstance(op, Var))
        begun = {op.init[0]: op.name for op in variables if op.init}
        for number, param in enumerate(func.params):
            name = begun.get(param) or param.hint or known.fresh(f"p{number}")
            known.parameters[param] = name
        return known

    def sets(self, op: Op) -> Iterator[str]:
        """The names of the variables that an op changes, also in its blocks."""
        match op:
            case VarStore():
                yield self.variables[op.var]
            case Var(init=(first,)) if self.parameters.get(first) != op.name:
                yield op.name
            case HostRun() | HostFor() | HostWith():
                yield from op.sets
            case HostValue() if op.code.names.wild:
                yield from op.uses
            case _:
                pass
        for block in blocks(op):
            for inner in block.ops:
                yield from self.sets(inner)

    def fresh(self, wanted: str) -> str:
        """A name that is not in use; where the wanted one is, it gets an underscore."""
        return self.words.numbered(wanted if self.words.is_free(wanted) else f"_{wanted}")

    def temporary(self, value: Value) -> str:
        """A name for a value of its own."""
        self.names[value] = self.fresh(f"_v{self.temporaries}")
        self.temporaries += 1
        return self.names[value]

    def object_name(self, symbol: str) -> str:
        """The name of a kernel or compute function in the emitted code."""
        if symbol not in self.objects:
            simple = symbol.rpartition(".")[2]
            self.objects[symbol] = self.fresh(simple if simple.isidentifier() else "function")
        return self.objects[symbol]

    def outside_brackets(self, tree: ast.expr) -> ast.expr:
        """An expression that may have been an index: `1:n` is `slice(1, n)` anywhere else."""
        match tree:
            case ast.Tuple(elts=items):
                plain = [self.outside_brackets(item) for item in items]
                return ast.copy_location(ast.Tuple(plain, tree.ctx), tree)
            case ast.Slice(lower=lower, upper=upper, step=step):
                bounds = [bound or ast.Constant(None) for bound in (lower, upper, step)]
                called = ast.Name(self.object_name(SLICE), ast.Load())
                return ast.copy_location(ast.Call(called, bounds, []), tree)
            case _:
                return tree

    def error(self, op: Op, problem: str) -> ModelError:
        """What is wrong with an op."""
        return ModelError(
            f"`{op.mnemonic}` in `{self.func.name}` cannot be written in Python: {problem}",
            advice="whatever made or rewrote this model is at fault",
            location=None if op.location == NOWHERE else op.location,
        )


def _words(func: Func) -> Iterator[str]:
    """Every word in the texts and variables of a function."""
    for op in walk(func.body):
        if isinstance(op, HostValue | HostRun):
            yield from op.code.names.words
        elif isinstance(op, HostFor | HostWith):
            yield from op.sets
        elif isinstance(op, Var):
            yield op.name
