"""Which dispatches of a loop need other parts of their buffers in every turn.

What a launch touches depends on its range and its numbers. Where these change from turn to
turn, the parts that the turns need make up a whole that had better move at once.
"""

from collections.abc import Iterator, Mapping

from trilby.analysis.bound import names_of, names_set
from trilby.analysis.reach import ComputeGraph
from trilby.data.schema import BufferType, NDArrayType
from trilby.model.op import Block, Func, blocks, operands, ops_within, walk
from trilby.model.ops.core import VarLoad
from trilby.model.ops.host import Dispatch, HostFor, HostValue, HostWhile
from trilby.model.value import Value


def varying_dispatches(graph: ComputeGraph) -> frozenset[Dispatch]:
    """The dispatches whose range or numbers may differ between the turns of a loop."""
    found: set[Dispatch] = set()
    for function in graph.functions:
        names = names_of(function)
        sources = _sources(function, names)
        for changed, op in _in_loops(function.body, names, frozenset()):
            numbers = [op.range, *_numbers(op, graph)]
            if any(sources.get(value, frozenset()) & changed for value in numbers):
                found.add(op)
    return frozenset(found)


def _in_loops(
    block: Block, names: Mapping[Value, str], changed: frozenset[str]
) -> Iterator[tuple[frozenset[str], Dispatch]]:
    """Every dispatch, with the names that the loops around it change."""
    for op in block.ops:
        if isinstance(op, Dispatch):
            yield changed, op
        inner = changed
        if isinstance(op, HostFor | HostWhile):
            inner = changed.union(*(names_set(one, names) for one in (op, *ops_within(op))))
        for nested in blocks(op):
            yield from _in_loops(nested, names, inner)


def _sources(function: Func, names: Mapping[Value, str]) -> dict[Value, frozenset[str]]:
    """The names of the variables that each value comes from."""
    found: dict[Value, frozenset[str]] = {}
    for op in walk(function.body):
        if op.result is None:
            continue
        used = [found.get(value, frozenset[str]()) for value in operands(op)]
        own: tuple[str, ...] = ()
        if isinstance(op, VarLoad):
            own = (names[op.var],)
        elif isinstance(op, HostValue):
            own = op.uses
        found[op.result] = frozenset(own).union(*used)
    return found


def _numbers(op: Dispatch, graph: ComputeGraph) -> Iterator[Value]:
    """The arguments that are no buffers."""
    params = graph.kernels[op.kernel].entry.params[1:]
    for value, param in zip(op.args, params, strict=False):
        if not isinstance(param.type, BufferType | NDArrayType):
            yield value
