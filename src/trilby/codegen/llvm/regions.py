"""A kernel with barriers, cut into regions: stretches that each work item runs without waiting.

What stands between regions, the control flow around barriers, is run once for a whole group.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from trilby.data.schema import sizes_of
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, blocks, operands, walk
from trilby.model.ops import arith
from trilby.model.ops.control import Break, Continue, For, While
from trilby.model.ops.core import Constant, Inlined, Return, Var, VarLoad, VarStore, Yield
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.ops.memory import Extent, Load, LocalArray, Place, PrivateArray
from trilby.model.ops.structs import Pack, Unpack
from trilby.model.value import KERNEL_CONTEXT, Value

# --------------------------------------------------------------------------------------------- once
# What the work items of a group compute alike, between barriers: it is computed once for all.
#
# A counter that halves with each turn of a loop around barriers, and the test of that loop, need
# not be kept and computed for each vector. Numbers from memory are left alone, and so is what a
# branch or a loop without barriers holds.

_COMPUTED = (
    Constant,
    Grid,
    Extent,
    arith.Binary,
    arith.Compare,
    arith.Unary,
    arith.Cast,
    arith.Math,
)


def computed_once(
    func: Func, runs: list[tuple[Op, ...]], is_same: Callable[[Value], bool]
) -> set[Op]:
    """The ops of some runs, of which each is without barriers, that a group need run only once.

    `is_same` tells which values are the same for all work items of a group.
    """
    ops = [op for run in runs for op in run]
    everything = list(walk(func.body))
    inside = {*ops, *_nested(ops)}
    counters = {op.body.params[0] for op in everything if isinstance(op, For) and op not in inside}
    setting = [op for op in everything if isinstance(op, Var | VarStore)]
    # The variables that may be kept once for a group: a run in which they are set must not read
    # them anywhere else than between its own ops, and no other op may set them.
    variables = {op.value for op in setting if isinstance(op, Var) and is_same(op.value)}
    for run in runs:
        changed = {_variable(op) for op in run if isinstance(op, Var | VarStore)}
        variables -= changed & {op.var for op in _nested(run) if isinstance(op, VarLoad)}
    while True:
        found = _found(ops, {*func.params, *counters}, variables, is_same)
        kept = variables - {_variable(op) for op in setting if op not in found}
        if kept == variables:
            return found
        variables = kept


def _nested(ops: Iterable[Op]) -> Iterator[Op]:
    for op in ops:
        for block in blocks(op):
            yield from walk(block)


def _found(
    ops: list[Op], known: set[Value], variables: set[Value], is_same: Callable[[Value], bool]
) -> set[Op]:
    """The ops that use nothing but what is known, and give what is the same."""
    found: set[Op] = set()
    for op in ops:
        wanted = [value for value in operands(op) if value not in variables]
        if not all(value.type == KERNEL_CONTEXT or value in known for value in wanted):
            continue
        touched = _variable(op)
        is_fine = isinstance(op, _COMPUTED) if touched is None else touched in variables
        if is_fine and all(map(is_same, (*operands(op), *([op.result] if op.result else [])))):
            found.add(op)
            if op.result is not None:
                known.add(op.result)
    return found


def _variable(op: Op) -> Value | None:
    match op:
        case Var():
            return op.value
        case VarLoad() | VarStore():
            return op.var
        case _:
            return None


# ------------------------------------------------------------------------------------------ regions

LONGEST = 24
"""How many ops are computed again at the most, where a value is used in another region."""

_EXITS = (Break, Continue, Return)
_PURE = (
    Constant,
    Grid,
    Extent,
    LocalArray,
    PrivateArray,
    Place,
    Pack,
    Unpack,
    arith.Compare,
    arith.Unary,
    arith.Cast,
)
_SLOW = (arith.FloorDiv, arith.Mod, arith.Pow, arith.TrueDiv)


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Ops that stand one after the other and hold no barrier.

    `once` are those that are run once for the whole group, before the others.
    """

    ops: tuple[Op, ...]
    once: tuple[Op, ...] = ()


Item: TypeAlias = Region | Op


def waits(op: Op) -> bool:
    """Whether an op is a barrier or holds one."""
    return any(isinstance(inner, Barrier) for inner in walk(Block((op,))))


class RegionPlan:
    """The regions of a kernel, and the values that are used in another one than they are made."""

    def __init__(self, func: Func, is_same: Callable[[Value], bool]) -> None:
        self._once = computed_once(func, [*_runs(func.body)], is_same)
        self.made: dict[Value, Op] = {}
        self.crossing: set[Value] = set()
        self._homes: dict[Value, Region] = {}
        self._items: dict[Block, list[Item]] = {}
        self._users: list[tuple[Value, Region | None]] = []
        self._visit(func.body)
        for value, user in self._users:
            home = self._homes.get(value)
            if home is not None and home is not user:
                self.crossing.add(value)

    def items(self, block: Block) -> list[Item]:
        """The regions of a block, and the ops between them."""
        if block not in self._items:
            self._items[block] = [self._split(item) for item in _cut(block)]
        return self._items[block]

    def _split(self, item: Item) -> Item:
        if not isinstance(item, Region):
            return item
        once = tuple(op for op in item.ops if op in self._once)
        return Region(tuple(op for op in item.ops if op not in self._once), once)

    def _visit(self, block: Block) -> None:
        for item in self.items(block):
            if isinstance(item, Region):
                for op in item.ops:
                    if op.result is not None:
                        self._homes[op.result] = item
                        self.made[op.result] = op
                self._users += [(value, item) for value in values_of(item)]
                continue
            self._users += [(value, None) for value in operands(item)]
            for inner in blocks(item):
                self._visit(inner)

    def is_repeatable(self, value: Value) -> bool:
        """Whether a value is computed again rather than kept."""
        return self._steps(value) <= LONGEST

    def _steps(self, value: Value) -> int:
        op = self.made.get(value)
        if op is None:
            return 0
        if not _is_pure(op):
            return LONGEST + 1
        total = 1
        for operand in operands(op):
            total += self._steps(operand)
            if total > LONGEST:
                break
        return total


def _cut(block: Block) -> Iterator[Item]:
    run: list[Op] = []
    for op in block.ops:
        if not waits(op) and not isinstance(op, (*_EXITS, Yield)):
            run.append(op)
            continue
        if run:
            yield Region(tuple(run))
            run = []
        yield op
    if run:
        yield Region(tuple(run))


def _runs(block: Block) -> Iterator[tuple[Op, ...]]:
    """The ops of all regions, in order."""
    for item in _cut(block):
        if isinstance(item, Region):
            yield item.ops
        else:
            for inner in blocks(item):
                yield from _runs(inner)


def values_of(region: Region) -> list[Value]:
    """All values that a region uses, and the variables that it makes, in order."""
    found: dict[Value, None] = {}
    for op in walk(Block(region.ops)):
        found.update(dict.fromkeys(operands(op)))
        if isinstance(op, Var):
            found[op.value] = None
    return list(found)


def _is_pure(op: Op) -> bool:
    if isinstance(op, Load):
        return op.path in sizes_of(op.base.type)
    return isinstance(op, _PURE) or (isinstance(op, arith.Binary) and not isinstance(op, _SLOW))


def leaves_outwards(item: Item) -> bool:
    """Whether work items may leave, inside of a region, what goes on around it."""
    if isinstance(item, Region):
        return any(_leaves(op, in_loop=False) for op in item.ops)
    return any(leaves_outwards(inner) for block in blocks(item) for inner in _cut(block))


def _leaves(op: Op, *, in_loop: bool) -> bool:
    if isinstance(op, Return):
        return True
    if isinstance(op, Break | Continue):
        return not in_loop
    if isinstance(op, Inlined):
        return False
    inner = in_loop or isinstance(op, For | While)
    return any(_leaves(one, in_loop=inner) for block in blocks(op) for one in block.ops)
