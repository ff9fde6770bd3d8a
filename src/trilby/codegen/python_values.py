"""Which Python expression stands for a value of the IR, and when it has to be a variable.

A value that is used once, at once, becomes part of the expression that uses it, so that IR which
nobody changed gives back the source that it was made of. Whatever would be evaluated out of order
that way is put into a temporary variable. Every node gets its line and column of the user's file,
so that tracebacks show the user's source.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import field
from typing import TypeVar

from trilby.analysis.bound import sure_loads
from trilby.data.dtypes import Number
from trilby.dataclass import dataclass
from trilby.errors import ModelError
from trilby.model.host_code import HostCode, filled
from trilby.model.op import Block, Func, Op, blocks, operands, walk
from trilby.model.ops.core import Var, VarStore
from trilby.model.ops.host import HostFor, HostRun, HostValue, HostWith
from trilby.model.value import Value
from trilby.source import NOWHERE, Location, line_text

# ------------------------------------------------------------------------------ trees of host code

Node = TypeVar("Node", bound=ast.AST)


def expression(code: HostCode, operands: Sequence[ast.expr], location: Location) -> ast.expr:
    """The tree of an expression, or of a slice where it is one."""
    try:
        tree = code.expression
    except SyntaxError as error:
        raise _not_python(code, location, error) from error
    return filled(_moved(tree, code, location), operands)


def statements(
    code: HostCode, operands: Sequence[ast.expr], location: Location
) -> Sequence[ast.stmt]:
    """The trees of statements; all their lines are indented as the first one is."""
    try:
        trees = code.statements
    except SyntaxError as error:
        raise _not_python(code, location, error) from error
    return [filled(_moved(tree, code, location, indented=True), operands) for tree in trees]


def target(code: HostCode, location: Location) -> ast.expr:
    """The tree of what a loop or a `with` binds."""
    try:
        return _moved(code.target, code, location)
    except SyntaxError as error:
        raise _not_python(code, location, error) from error


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


def _not_python(code: HostCode, location: Location, error: SyntaxError) -> ModelError:
    return ModelError(
        f"the text of a host op is not Python ({error.msg}): {code.text}",
        advice="whatever made or rewrote this model is at fault",
        location=location,
    )


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


# ------------------------------------------------------------------------------------------ values

SLICE = "builtins.slice"
"""The symbol of Python's `slice`, which the user may have given another meaning."""

_LITERAL = (ast.Constant, ast.Slice, ast.UnaryOp, ast.USub, ast.expr_context)


@dataclass(slots=True)
class BlockUses:
    """How often values are used, and which of them in another block than their own."""

    left: Counter[Value] = field(default_factory=Counter[Value])
    crossing: set[Value] = field(default_factory=set[Value])

    @classmethod
    def of(cls, func: Func) -> "BlockUses":
        """Count the uses in a function."""
        uses = cls()
        uses._count(func.body, {})
        return uses

    def _count(self, block: Block, home: dict[Value, Block]) -> None:
        for op in block.ops:
            for value in operands(op):
                self.left[value] += 1
                if home.get(value) is not block:
                    self.crossing.add(value)
            for inner in blocks(op):
                self._count(inner, home)
            if op.result:
                home[op.result] = block


@dataclass(slots=True)
class Words:
    """The names in use in a function, and new ones that are not."""

    taken: set[str]

    @classmethod
    def of(cls, func: Func) -> "Words":
        """Every word in the texts and variables of a function."""
        taken: set[str] = set()
        for op in walk(func.body):
            if isinstance(op, HostValue | HostRun):
                taken |= op.code.names.words
            elif isinstance(op, HostFor | HostWith):
                taken.update(op.sets)
            elif isinstance(op, Var):
                taken.add(op.name)
        return cls(taken)

    def fresh(self, wanted: str, otherwise: str) -> str:
        """The wanted name, or a variation of the other one where it is taken."""
        number = 1
        name = wanted
        while name in self.taken:
            name = otherwise if number == 1 else f"{otherwise}_{number}"
            number += 1
        self.taken.add(name)
        return name


@dataclass(slots=True)
class NamedValues:
    """Values that a name or a number stands for, in all blocks of a function."""

    func: Func
    uses: BlockUses
    words: Words
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
        known = cls(func, BlockUses.of(func), Words.of(func), sure=sure_loads(func))
        declared = [op for op in walk(func.body) if isinstance(op, Var)]
        known.variables = {op.value: op.name for op in declared}
        begun = {op.init[0]: op.name for op in declared if op.init}
        for number, param in enumerate(func.params):
            name = begun.get(param) or param.hint or known.words.fresh(f"p{number}", f"_p{number}")
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

    def temporary(self, value: Value) -> str:
        """A name for a value of its own."""
        name = f"_v{self.temporaries}"
        self.temporaries += 1
        self.names[value] = self.words.fresh(name, f"_{name}")
        return self.names[value]

    def object_name(self, symbol: str) -> str:
        """The name of a kernel or compute function in the emitted code."""
        if symbol not in self.objects:
            simple = symbol.rpartition(".")[2]
            plain = simple if simple.isidentifier() else "function"
            self.objects[symbol] = self.words.fresh(plain, f"_{plain}")
        return self.objects[symbol]

    def error(self, op: Op, problem: str) -> ModelError:
        """What is wrong with an op."""
        return ModelError(
            f"`{op.mnemonic}` in `{self.func.name}` cannot be written in Python: {problem}",
            advice="whatever made or rewrote this model is at fault",
            location=None if op.location == NOWHERE else op.location,
        )


@dataclass(frozen=True, slots=True)
class Pending:
    """An expression that was not evaluated yet."""

    value: Value
    tree: ast.expr
    location: Location


@dataclass(frozen=True, slots=True)
class VariableLoad:
    """The content of a variable, as long as nothing else is assigned to it."""

    value: Value
    tree: ast.Name
    location: Location


@dataclass(slots=True)
class Stack:
    """The values of one block that wait to be used, in the order of their evaluation.

    `loads` are contents of variables: such a value is written as the name of the variable
    for as long as nothing is assigned to it.
    """

    known: NamedValues
    done: list[ast.stmt] = field(default_factory=list[ast.stmt])
    pending: list[Pending] = field(default_factory=list[Pending])
    loads: dict[Value, VariableLoad] = field(default_factory=dict[Value, VariableLoad])

    def push(self, value: Value, tree: ast.expr, location: Location) -> None:
        """A value that the next ops will use."""
        self.pending.append(Pending(value, tree, location))

    def take(self, values: Sequence[Value]) -> list[ast.expr]:
        """The expressions of values that will be evaluated one after the other, now."""
        waiting = self.waiting
        wanted = [value for value in values if value in waiting]
        first = len(self.pending) - len(wanted)
        if [one.value for one in self.pending[first:]] != wanted:
            self.settle()
            first = 0
        trees = {one.value: one.tree for one in self.pending[first:]}
        del self.pending[first:]
        return [trees[value] if value in trees else self._read(value) for value in values]

    @property
    def waiting(self) -> set[Value]:
        """The values that were not evaluated yet."""
        return {one.value for one in self.pending}

    def load(self, value: Value, name: ast.Name, location: Location) -> None:
        """The content of a variable."""
        self.loads[value] = VariableLoad(value, name, location)

    def run(self, statement: ast.stmt, sets: Iterable[str] = ()) -> None:
        """Append a statement; what was to be evaluated before it, is."""
        self.settle()
        changed = set(sets)
        for value, load in list(self.loads.items()):
            if self.known.uses.left[value] > 0 and load.tree.id in changed:
                self._keep(load)
                del self.loads[value]
        self.done.append(statement)

    def settle(self) -> None:
        """Evaluate everything that waits."""
        for one in self.pending:
            self._keep(one)
        self.pending.clear()

    def keep(self, value: Value, tree: ast.expr, location: Location) -> None:
        """Evaluate a value now, into a variable of its own."""
        self.settle()
        self._keep(Pending(value, tree, location))

    def _keep(self, one: "Pending | VariableLoad") -> None:
        name = ast.Name(self.known.temporary(one.value), ast.Store())
        tree = outside_brackets(one.tree, self.known)
        statement = ast.Assign([placed(name, one.location)], tree)
        self.done.append(placed(statement, one.location))

    def _read(self, value: Value) -> ast.expr:
        if value in self.known.literals:
            return deepcopy(self.known.literals[value])
        if value in self.loads:
            load = self.loads[value]
            return placed(ast.Name(load.tree.id, ast.Load()), load.location)
        if value in self.known.names:
            return ast.Name(self.known.names[value], ast.Load())
        raise ModelError(
            f"a value of `{self.known.func.name}` is used before it is defined",
            advice="check the model with `verify`",
        )


def outside_brackets(tree: ast.expr, known: NamedValues) -> ast.expr:
    """An expression that may have been an index: `1:n` is `slice(1, n)` anywhere else."""
    match tree:
        case ast.Tuple(elts=items):
            plain = [outside_brackets(item, known) for item in items]
            return ast.copy_location(ast.Tuple(plain, tree.ctx), tree)
        case ast.Slice(lower=lower, upper=upper, step=step):
            bounds = [bound or ast.Constant(None) for bound in (lower, upper, step)]
            called = ast.Name(known.object_name(SLICE), ast.Load())
            return ast.copy_location(ast.Call(called, bounds, []), tree)
        case _:
            return tree


def is_literal(tree: ast.expr) -> bool:
    """Whether an expression is the same wherever and whenever it is evaluated."""
    return all(isinstance(part, _LITERAL) for part in ast.walk(tree))


def number_tree(number: Number) -> ast.expr:
    """A number as it is written: the minus is an operator."""
    if not isinstance(number, bool) and str(number).startswith("-"):
        return ast.UnaryOp(ast.USub(), ast.Constant(-number))
    return ast.Constant(number)
