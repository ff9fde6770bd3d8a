"""What becomes of the local names of a compute function that hold buffers."""

import re
from collections.abc import Iterator
from dataclasses import field

from trilby.analysis.access import Access, access_table
from trilby.analysis.reach import ComputeGraph, short_name
from trilby.dataclass import dataclass
from trilby.model.op import Func, Op, operands, walk
from trilby.model.ops.core import Var, VarLoad
from trilby.model.ops.host import Dispatch, HostFor, HostRun, HostValue, HostWith
from trilby.model.value import Value
from trilby.source import Location

_MADE = re.compile(r"\.(create|of|array)\(")


@dataclass(slots=True)
class Uses:
    """A name: whether its buffer is made in the function, who writes it, and whether it is read."""

    name: str
    location: Location
    is_made_here: bool
    written: list[str] = field(default_factory=list[str])
    read: bool = False


def uses_of(func: Func, graph: ComputeGraph) -> Iterator[Uses]:
    """Every local name that holds a buffer which is made in the function."""
    ops = list(walk(func.body))
    made = {op.result: op for op in ops if op.result is not None}
    for op in ops:
        if isinstance(op, Var) and op.init:
            source = made.get(op.init[0])
            is_made = isinstance(source, HostValue) and bool(_MADE.search(source.code))
            if is_made:
                uses = Uses(op.name, op.location, is_made_here=True)
                _follow(uses, op, ops, graph)
                yield uses


def _follow(uses: Uses, var: Var, ops: list[Op], graph: ComputeGraph) -> None:
    loads = {op.result for op in ops if isinstance(op, VarLoad) and op.var is var.result}
    for op in ops:
        texts = isinstance(op, HostValue | HostRun) and uses.name in op.uses
        sets = isinstance(op, HostFor | HostRun | HostWith) and uses.name in op.sets
        if texts or sets:
            uses.read = True
        elif any(value in loads for value in operands(op)):
            if isinstance(op, Dispatch):
                _dispatched(uses, op, loads, graph)
            else:
                uses.read = True


def _dispatched(uses: Uses, op: Dispatch, loads: set[Value | None], graph: ComputeGraph) -> None:
    kernel = graph.kernels.get(op.kernel)
    if kernel is None or op.range in loads:
        uses.read = True
        return
    access = {parameter.name: parameter.whole for parameter in access_table(kernel).parameters}
    for value, param in zip(op.args, kernel.entry.params[1:], strict=False):
        if value in loads:
            done = access.get(param.hint, Access.UNTOUCHED)
            uses.read = uses.read or Access.READS in done
            if Access.WRITES in done:
                uses.written.append(short_name(op.kernel))
