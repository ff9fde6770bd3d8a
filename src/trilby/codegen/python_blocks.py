"""The ops of a compute model as Python statements, one function for each kind of op."""

import ast
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, TypeAlias

from trilby.codegen.python_values import (
    NamedValues,
    Stack,
    expression,
    is_literal,
    number_tree,
    outside_brackets,
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
from trilby.model.host_code import OPERATORS
from trilby.model.op import Block, Op, blocks, operands
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

# ----------------------------------------------------------------------------------- python changes
# Finding the augmented assignments in a model: a load, a change of it, a store to its place.
#
# They are written as one statement if what is added is one expression. If ops were put in
# between, the three are written one by one, with the same effect.


@dataclass(frozen=True, slots=True)
class InPlaceChange:
    """`old` is loaded, changed by `operand` at the op number `end`, and stored by the next."""

    old: VarLoad | Load | HostView
    sign: str
    operand: Value
    store: Op
    end: int


def change_at(
    ops: Sequence[Op], at: int, known: NamedValues, waiting: AbstractSet[Value]
) -> InPlaceChange | None:
    """The augmented assignment that begins with the op number `at`, if there is one.

    `waiting` are values from before that were not evaluated yet.
    """
    old, uses = ops[at], known.uses
    if not isinstance(old, VarLoad | Load | HostView) or uses.left[old.value] != 1:
        return None
    end = next((n for n in range(at + 1, len(ops)) if old.value in operands(ops[n])), len(ops))
    if end + 1 >= len(ops):
        return None
    change, store = ops[end], ops[end + 1]
    if not isinstance(change, HostValue) or not change.result or change.inputs[0] is not old.value:
        return None
    sign = change.code.sign
    if not sign or uses.left[change.result] != 1 or not _stores_back(old, change.result, store):
        return None
    operand = change.inputs[1]
    is_one = _is_one_expression(ops[at + 1 : end], operand, known, waiting)
    return InPlaceChange(old, sign, operand, store, end) if is_one else None


def _stores_back(old: VarLoad | Load | HostView, new: Value, store: Op) -> bool:
    if isinstance(old, VarLoad):
        return isinstance(store, VarStore) and store.var is old.var and store.stored is new
    return (
        isinstance(store, Store)
        and store.stored is new
        and (store.base, store.indices, store.path) == (old.base, old.indices, old.path)
    )


def _is_one_expression(
    ops: Sequence[Op], wanted: Value, known: NamedValues, waiting: AbstractSet[Value]
) -> bool:
    """Whether ops make a value that can be written where it is used, and nothing else."""
    stack: list[Value] = []
    for op in ops:
        if _is_name_or_number(op, known):
            continue
        needed = [value for value in operands(op) if value in stack]
        if not _is_plain(op, known) or not waiting.isdisjoint(operands(op)):
            return False
        if stack[len(stack) - len(needed) :] != needed:
            return False
        stack = [*stack[: len(stack) - len(needed)], *([op.result] if op.result else [])]
    return stack == [value for value in [wanted] if value in stack] and wanted not in waiting


def _is_name_or_number(op: Op, known: NamedValues) -> bool:
    """Whether the result of an op can be written anywhere."""
    if isinstance(op, VarLoad):
        is_used = known.uses.left[op.value] > 0 and op.value not in known.uses.crossing
        return is_used and op.value in known.sure
    return isinstance(op, Constant)


def _is_plain(op: Op, known: NamedValues) -> bool:
    """Whether an op is written as an expression in the place of its only use."""
    uses = known.uses
    if op.result is None or uses.left[op.result] != 1 or op.result in uses.crossing:
        return False
    is_change = isinstance(op, HostValue) and op.code.sign
    return not is_change and not isinstance(op, Var) and not any(blocks(op))


# ------------------------------------------------------------------------------------ python places
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
        if step == INDEX:
            count = len(rest) if number == last else _rank(here)
            tree = _subscript(tree, rest[:count], location)
            rest = rest[count:]
        else:
            tree = placed(ast.Attribute(tree, step, ast.Load()), location)
        here = step_into(here, step) if here else None
    if stored and isinstance(tree, ast.Attribute | ast.Subscript):
        tree.ctx = ast.Store()
    return tree


def _rank(array: Type | None) -> int:
    return array.rank if isinstance(array, ArrayType | NDArrayType) else 0


def _subscript(tree: ast.expr, indices: list[ast.expr], location: Location) -> ast.expr:
    if not indices:
        return tree
    index = indices[0] if len(indices) == 1 else placed(ast.Tuple(indices, ast.Load()), location)
    return placed(ast.Subscript(tree, index, ast.Load()), location)


# --------------------------------------------------------------------------------- python transfers
# Moving and tracking data, as calls of the compute context: `cc.to_host(a.array, 0)`.


def transfer_statement(
    op: Tracking | ToDevice | ToHost, trees: Sequence[ast.expr], known: NamedValues
) -> ast.stmt:
    """The call that an op is; `trees` are the context, the buffer and the indices."""
    context, *rest = trees
    name = op.mnemonic.rpartition(".")[2]
    # A method that stands on several lines, as a loop does, would be called on the last of them.
    first_line = replace(op.location, end_line=op.location.line)
    method = placed(ast.Attribute(context, name, ast.Load()), first_line)
    args = _part(op, rest, known) if isinstance(op, ToHost) else rest
    return placed(ast.Expr(placed(ast.Call(method, args, []), op.location)), op.location)


def _part(op: ToHost, trees: Sequence[ast.expr], known: NamedValues) -> list[ast.expr]:
    """What `to_host` is given.

    A view and the index in it: `t.result.x, i`. A view alone: `t.result.x`. A field that is a
    number has no view, and goes by its name: `t, "count"`.
    """
    held = op.buffer.type.to if isinstance(op.buffer.type, RefType) else op.buffer.type
    if INDEX not in op.path:
        whole, _, name = op.path.rpartition(".")
        if isinstance(type_at(held, op.path), ScalarType):
            field = placed(ast.Constant(name), op.location)
            return [place_tree(op.buffer.type, whole, trees, op.location), field]
        return [place_tree(op.buffer.type, op.path, trees, op.location)]
    before, _, behind = op.path.rpartition(INDEX)
    buffer, *indices = trees
    count = index_count(held, before)
    view = place_tree(op.buffer.type, before, [buffer, *indices[:count]], op.location)
    for step in path_steps(behind):
        view = placed(ast.Attribute(view, step, ast.Load()), op.location)
    return [view, *_index(op, indices[count:], known)]


def _index(op: ToHost, indices: list[ast.expr], known: NamedValues) -> list[ast.expr]:
    """Several indices are one tuple, as in brackets."""
    plain = [outside_brackets(index, known) for index in indices]
    return [placed(ast.Tuple(plain, ast.Load()), op.location)] if len(plain) > 1 else plain


# ------------------------------------------------------------------------------------ python blocks

Emit: TypeAlias = "Callable[[BlockWriter, Any], None]"


@dataclass(slots=True)
class BlockWriter:
    """Writes the ops of one block, in order."""

    known: NamedValues
    ops: Sequence[Op]
    stack: Stack
    at: int = 0

    @classmethod
    def of(cls, known: NamedValues, ops: Sequence[Op]) -> "BlockWriter":
        """A writer for some ops."""
        return cls(known, ops, Stack(known))

    def write(self) -> list[ast.stmt]:
        """The statements of the block."""
        self.until(len(self.ops))
        self.stack.settle()
        return self.stack.done

    def until(self, end: int) -> None:
        """Write the ops before `end`; some of their values may still wait to be used."""
        while self.at < end:
            op = self.ops[self.at]
            change = change_at(self.ops, self.at, self.known, self.stack.waiting)
            if change:
                self.change(change)
            elif isinstance(op, Var | VarStore):
                self.stores()
            else:
                self.at += 1
                self.one(op)

    def one(self, op: Op) -> None:
        """Write one op."""
        emit = EMITTED.get(type(op))
        if emit is None:
            raise self.known.error(op, "it belongs to kernels")
        emit(self, op)

    def take(self, *values: Value) -> list[ast.expr]:
        """The expressions of operands, which are evaluated in this order."""
        trees = self.stack.take(values)
        self.known.uses.left.subtract(values)
        return trees

    def define(self, op: Op, tree: ast.expr) -> None:
        """Decide where the result of an op is evaluated."""
        uses = self.known.uses
        count = uses.left[op.result] if op.result else 0
        if op.result is None or not count:
            self.run(placed(ast.Expr(tree), op.location))
        elif self._is_stored_only(op.result, count):
            self.stack.push(op.result, tree, op.location)
        elif count > 1 or op.result in uses.crossing:
            self.stack.keep(op.result, tree, op.location)
        else:
            self.stack.push(op.result, tree, op.location)

    def run(self, statement: ast.stmt, sets: Iterable[str] = ()) -> None:
        """Append a statement."""
        self.stack.run(statement, sets)

    def inner(self, block: Block, op: Op) -> list[ast.stmt]:
        """The statements of a nested block, at least one."""
        return BlockWriter.of(self.known, block.ops).write() or [placed(ast.Pass(), op.location)]

    # ---------------------------------------------------------------------------- variables

    def _is_stored_only(self, value: Value, count: int) -> bool:
        """Whether all uses of a value are the stores that follow: `a = b = value`."""
        following = self.ops[self.at : self.at + count]
        return len(following) == count and all(_stored(op) == (value,) for op in following)

    def stores(self) -> None:
        """Write the stores that stand here one after the other."""
        start = self.at
        while self.at < len(self.ops) and _stored(self.ops[self.at]) is not None:
            self.at += 1
        run = [op for op in self.ops[start : self.at] if list(self.known.sets(op))]
        if not run:
            return
        location = run[0].location
        sets = [name for op in run for name in self.known.sets(op)]
        names = [placed(ast.Name(name, ast.Store()), location) for name in sets]
        values = [value for op in run for value in _stored(op) or ()]
        if len(set(values)) == 1:
            (tree,) = self.take(values[0])
            self.known.uses.left.subtract(values[1:])
            self.run(placed(ast.Assign([*names], tree), location), sets)
        else:
            trees = placed(ast.Tuple(self.take(*values), ast.Load()), location)
            bound = placed(ast.Tuple([*names], ast.Store()), location)
            self.run(placed(ast.Assign([bound], trees), location), sets)

    def change(self, change: InPlaceChange) -> None:
        """Write `x += value` for the ops that it was made of."""
        old, store = change.old, change.store
        self.at += 1
        self.until(change.end)
        self.at = change.end + 2
        (operand,) = self.take(change.operand)
        location = store.location
        if isinstance(old, VarLoad):
            name = self.known.variables[old.var]
            bound: ast.expr = placed(ast.Name(name, ast.Store()), location)
            sets = [name]
        else:
            places = (old.base, *old.indices)
            self.known.uses.left.subtract(places)  # the load uses them as well as the store
            trees = self.take(*places)
            bound = place_tree(old.base.type, old.path, trees, location, stored=True)
            sets = []
        if not isinstance(bound, ast.Name | ast.Attribute | ast.Subscript):
            raise self.known.error(store, "nothing can be stored there")
        self.run(placed(ast.AugAssign(bound, OPERATORS[change.sign](), operand), location), sets)


def _stored(op: Op) -> tuple[Value, ...] | None:
    """What an op stores in a variable; None for an op that has nothing to do with variables."""
    match op:
        case Var(init=init):
            return init
        case VarStore(stored=stored):
            return (stored,)
        case _:
            return None


# ------------------------------------------------------------------------------------- values


def _constant(writer: BlockWriter, op: Constant) -> None:
    writer.known.literals[op.value] = placed(number_tree(op.literal), op.location)


def _variable_content(writer: BlockWriter, op: VarLoad) -> None:
    name = placed(ast.Name(writer.known.variables[op.var], ast.Load()), op.location)
    uses = writer.known.uses
    if op.value in writer.known.sure and uses.left[op.value] and op.value not in uses.crossing:
        writer.stack.load(op.value, name, op.location)
    else:
        writer.define(op, name)


def _host_value(writer: BlockWriter, op: HostValue) -> None:
    trees = writer.take(*op.inputs)
    sign = op.code.sign
    if not sign or op.result is None:
        tree = expression(op.code, trees, op.location)
        if op.result and is_literal(tree):
            writer.known.literals[op.result] = tree
        else:
            writer.define(op, tree)
        return
    old, operand = trees
    writer.stack.keep(op.value, old, op.location)
    name = placed(ast.Name(writer.known.names[op.value], ast.Store()), op.location)
    change = ast.AugAssign(name, OPERATORS[sign](), operand)
    writer.run(placed(change, op.location))


def _access(writer: BlockWriter, op: Load | HostView | Place) -> None:
    trees = writer.take(op.base, *op.indices)
    writer.define(op, place_tree(op.base.type, op.path, trees, op.location))


def _store(writer: BlockWriter, op: Store) -> None:
    stored, *trees = writer.take(op.stored, op.base, *op.indices)
    bound = place_tree(op.base.type, op.path, trees, op.location, stored=True)
    writer.run(placed(ast.Assign([bound], stored), op.location))


def _extent(writer: BlockWriter, op: Extent) -> None:
    (array,) = writer.take(op.base)
    shape = placed(ast.Attribute(array, "shape", ast.Load()), op.location)
    axis = placed(ast.Constant(op.axis), op.location)
    writer.define(op, placed(ast.Subscript(shape, axis, ast.Load()), op.location))


def _dispatch(writer: BlockWriter, op: Dispatch) -> None:
    context, size, *args = writer.take(op.context, op.range, *op.args)
    # Python finds the line of a call of a method by the end of the method's name
    end = replace(op.location, end_line=op.location.line, end_column=op.location.column + 1)
    method = placed(ast.Attribute(context, "dispatch", ast.Load()), end)
    kernel = placed(ast.Name(writer.known.object_name(op.kernel), ast.Load()), op.location)
    names = op.options if isinstance(op, DispatchPasses) else ()
    place = len(args) - len(names)
    options = [
        placed(ast.keyword(name, tree), op.location)
        for name, tree in zip(names, args[place:], strict=True)
    ]
    call = ast.Call(method, [size, kernel, *args[:place]], options)
    writer.define(op, placed(call, op.location))


def _host_call(writer: BlockWriter, op: HostCall) -> None:
    args = writer.take(*op.args)
    callee = placed(ast.Name(writer.known.object_name(op.callee), ast.Load()), op.location)
    writer.define(op, placed(ast.Call(callee, args, []), op.location))


# --------------------------------------------------------------------------------- statements


def _host_run(writer: BlockWriter, op: HostRun) -> None:
    trees = writer.take(*op.inputs)
    for statement in statements(op.code, trees, op.location):
        writer.run(statement, op.sets)


def _transfer(writer: BlockWriter, op: Tracking | ToDevice | ToHost) -> None:
    trees = writer.take(*operands(op))
    writer.run(transfer_statement(op, trees, writer.known))


def _return(writer: BlockWriter, op: Return) -> None:
    trees = writer.take(*op.returned)
    writer.run(placed(ast.Return(trees[0] if trees else None), op.location))


def _leave(writer: BlockWriter, op: Break | Continue) -> None:
    jump = ast.Break() if isinstance(op, Break) else ast.Continue()
    writer.run(placed(jump, op.location))


def _if(writer: BlockWriter, op: HostIf) -> None:
    (condition,) = writer.take(op.condition)
    writer.stack.settle()
    otherwise = writer.inner(op.otherwise, op) if op.otherwise.ops else []
    statement = ast.If(condition, writer.inner(op.then, op), otherwise)
    writer.run(placed(statement, op.location), writer.known.sets(op))


def _while(writer: BlockWriter, op: HostWhile) -> None:
    writer.stack.settle()
    test = BlockWriter.of(writer.known, op.test.ops[:-1])
    test.until(len(test.ops))
    (condition,) = test.take(*operands(op.test.ops[-1]))
    test.stack.settle()
    body = writer.inner(op.body, op)
    otherwise = writer.inner(op.otherwise, op) if op.otherwise.ops else []
    if test.stack.done:
        loop = _long_while(writer, op, test.stack.done, condition, (body, otherwise))
    else:
        loop = [placed(ast.While(condition, body, otherwise), op.location)]
    for statement in loop:
        writer.run(statement, writer.known.sets(op))


def _for(writer: BlockWriter, op: HostFor) -> None:
    (iterable,) = writer.take(op.iterable)
    writer.stack.settle()
    otherwise = writer.inner(op.otherwise, op) if op.otherwise.ops else []
    bound = target(op.target, op.location)
    statement = ast.For(bound, iterable, writer.inner(op.body, op), otherwise)
    writer.run(placed(statement, op.location), writer.known.sets(op))


def _with(writer: BlockWriter, op: HostWith) -> None:
    (manager,) = writer.take(op.manager)
    writer.stack.settle()
    bound = target(op.target, op.location) if op.target.text else None
    statement = ast.With([ast.withitem(manager, bound)], writer.inner(op.body, op))
    writer.run(placed(statement, op.location), writer.known.sets(op))


def _long_while(
    writer: BlockWriter,
    op: HostWhile,
    test: list[ast.stmt],
    condition: ast.expr,
    blocks: tuple[list[ast.stmt], list[ast.stmt]],
) -> list[ast.stmt]:
    """A loop whose test takes statements: they are run inside, and `break` ends the loop.

    `else` runs only where the test ended the loop, so that must be remembered.
    """
    body, otherwise = blocks
    at = op.location
    ended = writer.known.words.fresh("_ended", "_ended") if otherwise else ""
    remember = [_flag(ended, op, value=True)] if ended else []
    leave: list[ast.stmt] = [*remember, placed(ast.Break(), at)]
    stop = placed(ast.If(placed(ast.UnaryOp(ast.Not(), condition), at), leave, []), at)
    forever = placed(ast.Constant(value=True), at)
    loop = placed(ast.While(forever, [*test, stop, *body], []), at)
    if not ended:
        return [loop]
    rest = placed(ast.If(placed(ast.Name(ended, ast.Load()), at), otherwise, []), at)
    return [_flag(ended, op, value=False), loop, rest]


def _flag(name: str, op: Op, *, value: bool) -> ast.stmt:
    bound = placed(ast.Name(name, ast.Store()), op.location)
    return placed(ast.Assign([bound], placed(ast.Constant(value), op.location)), op.location)


EMITTED: dict[type[Op], Emit] = {
    Constant: _constant,
    VarLoad: _variable_content,
    Load: _access,
    Place: _access,
    Store: _store,
    Extent: _extent,
    Return: _return,
    Break: _leave,
    Continue: _leave,
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
