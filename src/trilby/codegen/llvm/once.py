"""What the work items of a group compute alike, between barriers: it is computed once for all.

A counter that halves with each turn of a loop around barriers, and the test of that loop, need not
be kept and computed for each vector. Numbers from memory are left alone, and so is what a branch or
a loop without barriers holds.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from trilby.model.op import Func, Op, blocks, operands, walk
from trilby.model.ops import arith
from trilby.model.ops.control import For
from trilby.model.ops.core import Constant, Var, VarLoad, VarStore
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Extent
from trilby.model.value import KERNEL_CONTEXT, Value

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

Runs: TypeAlias = list[tuple[Op, ...]]


def computed_once(func: Func, runs: Runs, is_same: Callable[[Value], bool]) -> set[Op]:
    """The ops of some runs, of which each is without barriers, that a group need run only once.

    `is_same` tells which values are the same for all work items of a group.
    """
    outside = _outside(func, runs)
    variables = _variables(func, runs, is_same)
    while True:
        found = _found(runs, outside, variables, is_same)
        kept = {var for var in variables if _all_of(var, func, found)}
        if kept == variables:
            return found
        variables = kept


def _outside(func: Func, runs: Runs) -> set[Value]:
    """The values that no run makes: parameters, and counters of loops around barriers."""
    inside = {inner for run in runs for op in run for block in blocks(op) for inner in walk(block)}
    inside |= {op for run in runs for op in run}
    counters = {
        op.body.params[0] for op in walk(func.body) if isinstance(op, For) and op not in inside
    }
    return {*func.params, *counters}


def _variables(func: Func, runs: Runs, is_same: Callable[[Value], bool]) -> set[Value]:
    """The variables that may be kept once for a group.

    A run in which they are set must not read them anywhere else than between its own ops.
    """
    made = {op.value for op in walk(func.body) if isinstance(op, Var) and is_same(op.value)}
    for run in runs:
        changed = {op.var for op in run if isinstance(op, VarStore)}
        changed |= {op.value for op in run if isinstance(op, Var)}
        made -= changed & {op.var for op in _nested(run) if isinstance(op, VarLoad)}
    return made


def _nested(run: tuple[Op, ...]) -> Iterator[Op]:
    for op in run:
        for block in blocks(op):
            yield from walk(block)


def _found(
    runs: Runs, outside: set[Value], variables: set[Value], is_same: Callable[[Value], bool]
) -> set[Op]:
    found: set[Op] = set()
    known = set(outside)
    for op in (op for run in runs for op in run):
        wanted = [value for value in operands(op) if value not in variables]
        if not all(value.type == KERNEL_CONTEXT or value in known for value in wanted):
            continue
        touched = _variable(op)
        is_fine = isinstance(op, _COMPUTED) if touched is None else touched in variables
        if (
            is_fine
            and all(map(is_same, operands(op)))
            and (op.result is None or is_same(op.result))
        ):
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


def _all_of(var: Value, func: Func, found: set[Op]) -> bool:
    """Whether a variable is made and set by such ops alone."""
    setting = [op for op in walk(func.body) if isinstance(op, Var | VarStore)]
    return all(op in found for op in setting if _variable(op) is var)
