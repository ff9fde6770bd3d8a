"""The ops of a compute model as Python statements, one function for each kind of op.

A value that is used once, at once, becomes part of the expression that uses it, so that IR which
nobody changed gives back the source that it was made of. Whatever would be evaluated out of order
that way is put into a temporary variable.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import field, replace
from typing import Any, TypeAlias

from trilby.codegen.python_values import (
    NamedValues,
    expression,
    is_literal,
    number_tree,
    placed,
    statements,
    target,
)
from trilby.data.dtypes import ScalarType, Type
from trilby.data.schema import (
    INDEX,
    ArrayType,
    NDArrayType,
    index_count,
    path_steps,
    step_into,
    type_at,
)
from trilby.dataclass import dataclass
from trilby.errors import ModelError
from trilby.model.host_code import OPERATORS
from trilby.model.op import Block, Op, operands
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Constant, Return, Var, VarLoad, VarStore
from trilby.model.ops.host import (
    Dispatch,
    DispatchPasses,
    HostCall,
    HostFor,
    HostIf,
    HostRun,
    HostValue,
    HostView,
    HostWhile,
    HostWith,
)
from trilby.model.ops.memory import Extent, Load, Place, Store
from trilby.model.ops.transfer import TRANSFER_OPS, ToDevice, ToHost, Tracking
from trilby.model.value import RefType, Value
from trilby.source import Location

# ------------------------------------------------------------------------------------------ blocks


@dataclass(frozen=True, slots=True)
class Pending:
    """An expression that was not evaluated yet."""

    value: Value
    tree: ast.expr
    location: Location
    behind: int = 0
    """How many statements of the block were written before it."""


@dataclass(slots=True)
class BlockWriter:
    """Writes the ops of one block, in order.

    `pending` are the values that wait to be used, in the order of their evaluation. `loads` are
    contents of variables, by their values: such a value is written as the name of the variable for
    as long as nothing is assigned to it.
    """

    known: NamedValues
    ops: Sequence[Op]
    at: int = 0
    done: list[ast.stmt] = field(default_factory=list[ast.stmt])
    pending: list[Pending] = field(default_factory=list[Pending])
    loads: dict[Value, Pending] = field(default_factory=dict[Value, Pending])

    def write(self) -> list[ast.stmt]:
        """The statements of the block."""
        self.until(len(self.ops))
        self.settle()
        return self.done

    def until(self, end: int) -> None:
        """Write the ops before `end`; some of their values may still wait to be used."""
        while self.at < end:
            op = self.ops[self.at]
            if isinstance(op, Var | VarStore):
                self._stores()
                continue
            self.at += 1
            emit = EMITTED.get(type(op))
            if emit is None:
                raise self.known.error(op, "it belongs to kernels")
            emit(self, op)

    def inner(self, block: Block, op: Op) -> list[ast.stmt]:
        """The statements of a nested block, at least one."""
        return BlockWriter(self.known, block.ops).write() or [placed(ast.Pass(), op.location)]

    def otherwise(self, op: HostIf | HostFor | HostWhile) -> list[ast.stmt]:
        """The statements of an `else`, if there is one."""
        return self.inner(op.otherwise, op) if op.otherwise.ops else []

    # -- values -----------------------------------------------------------------------

    def take(self, *values: Value) -> list[ast.expr]:
        """The expressions of values that will be evaluated one after the other, now."""
        waiting = self._waiting()
        wanted = [value for value in values if value in waiting]
        first = len(self.pending) - len(wanted)
        if [one.value for one in self.pending[first:]] != wanted:
            self.settle()
            first = 0
        trees = {one.value: one.tree for one in self.pending[first:]}
        del self.pending[first:]
        found = [trees[value] if value in trees else self._read(value) for value in values]
        self.known.left.subtract(values)
        return found

    def _waiting(self) -> set[Value]:
        return {one.value for one in self.pending}

    def _read(self, value: Value) -> ast.expr:
        if value in self.known.literals:
            return deepcopy(self.known.literals[value])
        if value in self.loads:
            return deepcopy(self.loads[value].tree)
        if value in self.known.names:
            return ast.Name(self.known.names[value], ast.Load())
        raise ModelError(
            f"a value of `{self.known.func.name}` is used before it is defined",
            advice="check the model with `verify`",
        )

    def define(self, op: Op, tree: ast.expr) -> None:
        """Decide where the result of an op is evaluated."""
        left = self.known.left[op.result] if op.result else 0
        if op.result is None or not left:
            self.run(op, ast.Expr(tree))
            return
        stored = self.ops[self.at : self.at + left]  # by all its uses: `a = b = value`
        is_stored = len(stored) == left and all(_stored(each) == (op.result,) for each in stored)
        if not is_stored and (left > 1 or op.result in self.known.crossing):
            self.keep(op.result, tree, op.location)
        else:
            self.pending.append(Pending(op.result, tree, op.location))

    def keep(self, value: Value, tree: ast.expr, location: Location) -> None:
        """Evaluate a value now, into a variable of its own."""
        self.settle()
        self._keep(Pending(value, tree, location))

    def settle(self) -> None:
        """Evaluate everything that waits."""
        for one in self.pending:
            self._keep(one)
        self.pending.clear()

    def _keep(self, one: Pending) -> None:
        name = ast.Name(self.known.temporary(one.value), ast.Store())
        tree = self.known.outside_brackets(one.tree)
        self.done.append(placed(ast.Assign([name], tree), one.location))

    # -- statements -------------------------------------------------------------------

    def run(self, op: Op, statement: ast.stmt, sets: Iterable[str] = ()) -> None:
        """Append the statement of an op, which sets some variables."""
        self.append(placed(statement, op.location), sets)

    def append(self, statement: ast.stmt, sets: Iterable[str]) -> None:
        """Append a statement; what was to be evaluated before it, is."""
        self.settle()
        changed = set(sets)
        for value, load in list(self.loads.items()):
            is_changed = isinstance(load.tree, ast.Name) and load.tree.id in changed
            if self.known.left[value] > 0 and is_changed:
                self._keep(load)
                del self.loads[value]
        self.done.append(statement)

    def _stores(self) -> None:
        """Write the stores that stand here one after the other."""
        start = self.at
        while self.at < len(self.ops) and _stored(self.ops[self.at]) is not None:
            self.at += 1
        stores = [op for op in self.ops[start : self.at] if list(self.known.sets(op))]
        if not stores:
            return
        sets = [name for op in stores for name in self.known.sets(op)]
        names: list[ast.expr] = [ast.Name(name, ast.Store()) for name in sets]
        values = [value for op in stores for value in _stored(op) or ()]
        if len(set(values)) == 1:
            (tree,) = self.take(values[0])
            self.known.left.subtract(values[1:])
            self.run(stores[0], ast.Assign(names, tree), sets)
        else:
            trees = ast.Tuple(self.take(*values), ast.Load())
            self.run(stores[0], ast.Assign([ast.Tuple(names, ast.Store())], trees), sets)

    def change_in_place(self, op: HostValue, old: ast.expr, operand: ast.expr) -> bool:
        """Write `x += value` if the next op stores what has changed where the old value is.

        If ops were put in between, the old value is in a temporary variable, or was loaded before
        other statements. Then the load, the change and the store are written one by one, with the
        same effect. Gives whether it was written.
        """
        store = self.ops[self.at] if self.at < len(self.ops) else None
        load = self.loads.get(op.inputs[0])
        if load is not None and load.behind < len(self.done):
            return False
        match store:
            case VarStore(var, stored):
                places: tuple[Value, ...] = ()
                bound: ast.expr = ast.Name(self.known.variables[var], ast.Store())
            case Store(base, indices, stored, path) if self._waiting().isdisjoint((base, *indices)):
                places = (base, *indices)
                trees = [self._read(place) for place in places]
                bound = place_tree(base.type, path, trees, store.location, stored=True)
            case _:
                return False
        is_same = stored is op.result and self.known.left[stored] == 1
        if not is_same or not isinstance(bound, ast.Name | ast.Attribute | ast.Subscript):
            return False
        if ast.unparse(bound) != ast.unparse(old):
            return False
        self.at += 1
        self.known.left.subtract((stored, *places))
        statement = ast.AugAssign(bound, OPERATORS[op.code.sign](), operand)
        self.run(store, statement, self.known.sets(store))
        return True


def _stored(op: Op) -> tuple[Value, ...] | None:
    """What an op stores in a variable; None for an op that has nothing to do with variables."""
    match op:
        case Var(init=init):
            return init
        case VarStore(stored=stored):
            return (stored,)
        case _:
            return None


Emit: TypeAlias = Callable[[BlockWriter, Any], None]

# ------------------------------------------------------------------------------------------ places
# Places in buffers as Python expressions: `table.result[i].x` from a base, a path, indices.


def place_tree(
    base: Type, path: str, trees: Sequence[ast.expr], location: Location, *, stored: bool = False
) -> ast.expr:
    """The expression of a place; `trees` are the base, of type `base`, and the indices.

    The last `[]` of a path takes all indices that are left: views may have fewer than there
    are dimensions, or more (`None`), or none, and then the step leaves no trace.
    """
    tree, *rest = trees
    here: Type | None = base.to if isinstance(base, RefType) else base
    steps = list(path_steps(path))
    last = max((n for n, step in enumerate(steps) if step == INDEX), default=-1)
    for number, step in enumerate(steps):
        if step != INDEX:
            tree = placed(ast.Attribute(tree, step, ast.Load()), location)
        else:
            rank = here.rank if isinstance(here, ArrayType | NDArrayType) else 0
            count = len(rest) if number == last else rank
            if rest[:count]:
                index = _one_index(rest[:count])
                tree = placed(ast.Subscript(tree, index, ast.Load()), location)
            rest = rest[count:]
        here = step_into(here, step) if here else None
    if stored and isinstance(tree, ast.Attribute | ast.Subscript):
        tree.ctx = ast.Store()
    return tree


def _one_index(indices: list[ast.expr]) -> ast.expr:
    """Several indices are one tuple."""
    return indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load())


def _access(writer: BlockWriter, op: Load | HostView | Place) -> None:
    trees = writer.take(op.base, *op.indices)
    writer.define(op, place_tree(op.base.type, op.path, trees, op.location))


def _store(writer: BlockWriter, op: Store) -> None:
    stored, *trees = writer.take(op.stored, op.base, *op.indices)
    bound = place_tree(op.base.type, op.path, trees, op.location, stored=True)
    writer.run(op, ast.Assign([bound], stored))


def _extent(writer: BlockWriter, op: Extent) -> None:
    (array,) = writer.take(op.base)
    shape = ast.Attribute(array, "shape", ast.Load())
    extent = ast.Subscript(shape, ast.Constant(op.axis), ast.Load())
    writer.define(op, placed(extent, op.location))


def _transfer(writer: BlockWriter, op: Tracking | ToDevice | ToHost) -> None:
    """Moving or tracking data, as a call of the compute context: `cc.to_host(a.array, 0)`."""
    context, *args = writer.take(*operands(op))
    if isinstance(op, ToHost):
        args = _part(writer, op, args)
    # A method that stands on several lines, as a loop does, would be called on the last of them.
    first_line = replace(op.location, end_line=op.location.line)
    method = placed(ast.Attribute(context, op.mnemonic.rpartition(".")[2], ast.Load()), first_line)
    writer.run(op, ast.Expr(ast.Call(method, args, [])))


def _part(writer: BlockWriter, op: ToHost, trees: list[ast.expr]) -> list[ast.expr]:
    """What `to_host` is given.

    A view and the index in it: `t.result.x, i`. A view alone: `t.result.x`. A field that is a
    number has no view, and goes by its name: `t, "count"`.
    """
    type_ = op.buffer.type
    whole = type_.to if isinstance(type_, RefType) else type_
    if INDEX not in op.path:
        before, _, name = op.path.rpartition(".")
        if isinstance(type_at(whole, op.path), ScalarType):
            return [place_tree(type_, before, trees, op.location), ast.Constant(name)]
        return [place_tree(type_, op.path, trees, op.location)]
    before, _, behind = op.path.rpartition(INDEX)
    count = 1 + index_count(whole, before)
    view = place_tree(type_, before, trees[:count], op.location)
    for step in path_steps(behind):
        view = placed(ast.Attribute(view, step, ast.Load()), op.location)
    indices = [writer.known.outside_brackets(index) for index in trees[count:]]
    return [view, _one_index(indices)] if indices else [view]


# ------------------------------------------------------------------------------------------ values


def _constant(writer: BlockWriter, op: Constant) -> None:
    writer.known.literals[op.value] = placed(number_tree(op.literal), op.location)


def _variable_content(writer: BlockWriter, op: VarLoad) -> None:
    known = writer.known
    name = placed(ast.Name(known.variables[op.var], ast.Load()), op.location)
    if op.value in known.sure and known.left[op.value] and op.value not in known.crossing:
        writer.loads[op.value] = Pending(op.value, name, op.location, len(writer.done))
    else:
        writer.define(op, name)


def _host_value(writer: BlockWriter, op: HostValue) -> None:
    trees = writer.take(*op.inputs)
    if not op.code.sign or op.result is None:
        tree = expression(op.code, trees, op.location)
        if op.result and is_literal(tree):
            writer.known.literals[op.result] = tree
        else:
            writer.define(op, tree)
        return
    old, operand = trees
    if not writer.change_in_place(op, old, operand):
        writer.keep(op.value, old, op.location)
        name = ast.Name(writer.known.names[op.value], ast.Store())
        writer.run(op, ast.AugAssign(name, OPERATORS[op.code.sign](), operand))


def _dispatch(writer: BlockWriter, op: Dispatch) -> None:
    context, size, *args = writer.take(op.context, op.range, *op.args)
    # Python finds the line of a call of a method by the end of the method's name
    end = replace(op.location, end_line=op.location.line, end_column=op.location.column + 1)
    method = placed(ast.Attribute(context, "dispatch", ast.Load()), end)
    kernel = ast.Name(writer.known.object_name(op.kernel), ast.Load())
    names = op.options if isinstance(op, DispatchPasses) else ()
    place = len(args) - len(names)
    options = [ast.keyword(name, tree) for name, tree in zip(names, args[place:], strict=True)]
    call = ast.Call(method, [size, kernel, *args[:place]], options)
    writer.define(op, placed(call, op.location))


def _host_call(writer: BlockWriter, op: HostCall) -> None:
    args = writer.take(*op.args)
    callee = ast.Name(writer.known.object_name(op.callee), ast.Load())
    writer.define(op, placed(ast.Call(callee, args, []), op.location))


# -------------------------------------------------------------------------------------- statements


def _host_run(writer: BlockWriter, op: HostRun) -> None:
    trees = writer.take(*op.inputs)
    for statement in statements(op.code, trees, op.location):
        writer.append(statement, op.sets)


def _return(writer: BlockWriter, op: Return) -> None:
    trees = writer.take(*op.returned)
    writer.run(op, ast.Return(trees[0] if trees else None))


def _if(writer: BlockWriter, op: HostIf) -> None:
    (condition,) = writer.take(op.condition)
    writer.settle()
    otherwise = writer.otherwise(op)
    statement = ast.If(condition, writer.inner(op.then, op), otherwise)
    writer.run(op, statement, writer.known.sets(op))


def _while(writer: BlockWriter, op: HostWhile) -> None:
    """A loop whose test takes statements runs them inside, and `break` ends the loop.

    `else` runs only where the test ended the loop, so that must be remembered.
    """
    writer.settle()
    test = BlockWriter(writer.known, op.test.ops[:-1])
    test.until(len(test.ops))
    (condition,) = test.take(*operands(op.test.ops[-1]))
    test.settle()
    body = writer.inner(op.body, op)
    otherwise = writer.otherwise(op)
    if not test.done:
        writer.run(op, ast.While(condition, body, otherwise), writer.known.sets(op))
        return
    leave: list[ast.stmt] = [ast.Break()]
    ended = writer.known.words.numbered("_ended") if otherwise else ""
    if ended:
        writer.run(op, _flag(ended, value=False), writer.known.sets(op))
        leave.insert(0, _flag(ended, value=True))
    stop = placed(ast.If(ast.UnaryOp(ast.Not(), condition), leave, []), op.location)
    loop = ast.While(ast.Constant(value=True), [*test.done, stop, *body], [])
    writer.run(op, loop, writer.known.sets(op))
    if ended:
        rest = ast.If(ast.Name(ended, ast.Load()), otherwise, [])
        writer.run(op, rest, writer.known.sets(op))


def _flag(name: str, *, value: bool) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))


def _for(writer: BlockWriter, op: HostFor) -> None:
    (iterable,) = writer.take(op.iterable)
    writer.settle()
    otherwise = writer.otherwise(op)
    bound = target(op.target, op.location)
    statement = ast.For(bound, iterable, writer.inner(op.body, op), otherwise)
    writer.run(op, statement, writer.known.sets(op))


def _with(writer: BlockWriter, op: HostWith) -> None:
    (manager,) = writer.take(op.manager)
    writer.settle()
    bound = target(op.target, op.location) if op.target.text else None
    statement = ast.With([ast.withitem(manager, bound)], writer.inner(op.body, op))
    writer.run(op, statement, writer.known.sets(op))


EMITTED: dict[type[Op], Emit] = {
    Constant: _constant,
    VarLoad: _variable_content,
    Load: _access,
    Place: _access,
    Store: _store,
    Extent: _extent,
    Return: _return,
    Break: lambda writer, op: writer.run(op, ast.Break()),
    Continue: lambda writer, op: writer.run(op, ast.Continue()),
    HostValue: _host_value,
    HostRun: _host_run,
    HostView: _access,
    HostIf: _if,
    HostWhile: _while,
    HostFor: _for,
    HostWith: _with,
    HostCall: _host_call,
    Dispatch: _dispatch,
    DispatchPasses: _dispatch,
    **dict.fromkeys(TRANSFER_OPS, _transfer),
}
"""How each op is written. Variables are written by the run, and `yield` by what holds it."""
