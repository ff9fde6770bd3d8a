"""Effects of a compute function that cannot be undone, so that it must not run again.

A compute function can be run once more from its start if the first run left no trace outside:
kernels are undone by whoever runs it, local names are made anew. Writes to buffers, changes of
objects that were not made here, and calls of code that is not known are traces. Operators,
attributes and loops are taken for harmless, and well-known names for what they stand for.
"""

from collections.abc import Collection, Iterator

from trilby.analysis.host.host_ops import HostOps
from trilby.analysis.host.reader import CALLS, is_context
from trilby.analysis.reach import ComputeGraph
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops.core import Constant, Var
from trilby.model.ops.host import DispatchPasses, HostCall, HostWith
from trilby.source import Location


@dataclass(frozen=True, slots=True)
class VisibleEffect:
    """An effect that lasts, and where it is: "writes to a buffer" for the line `a.array[0] = 1`."""

    what: str
    location: Location


def visible_effects(
    graph: ComputeGraph,
    line: int | None = None,
    fixed: Collection[str] = (),
    renamed: frozenset[str] = frozenset(),
) -> list[VisibleEffect]:
    """What may have been done for good when a compute function has come to a line of its own.

    Without a line: when it has come to its end. `fixed` are the parameters whose arguments
    cannot be changed: numbers, texts. `renamed` are well-known names with another meaning.
    """
    functions = {func.name: func for func in graph.functions}
    entry = graph.entry
    reached = entry.body if line is None else _until(entry.body, line)
    return list(_of_block(HostOps.of(entry, fixed, renamed), reached, functions))


def _until(body: Block, line: int) -> Block:
    """The ops of a body that may have run, the loops among them as a whole."""
    starts = [(op, min(_lines(op))) for op in body.ops]
    last = max((max(_lines(op)) for op, start in starts if start <= line), default=line)
    return Block(tuple(op for op, start in starts if start <= max(last, line)))


def _lines(op: Op) -> list[int]:
    """The first and the last line of an op and of all within."""
    inside = (one for one in walk(Block((op,))) if not isinstance(one, Var))
    return [n for one in inside for n in (one.location.line, one.location.end_line) if n] or [0]


def _of_block(ops: HostOps, body: Block, functions: dict[str, Func]) -> Iterator[VisibleEffect]:
    _, effects = ops.anywhere()
    for op in walk(body):
        if isinstance(op, HostCall):
            callee = functions[op.callee]
            called = HostOps.of(callee, renamed=ops.renamed)
            yield from _of_block(called, callee.body, functions)
        elif what := effects[op].lasting or _runs_others(ops, op):
            yield VisibleEffect(what, op.location)


def _runs_others(ops: HostOps, op: Op) -> str:
    """Passes may tell their progress to somebody, and a `with` may not be one of ours."""
    if isinstance(op, HostWith):
        return "" if is_context(ops.seen(op.manager)) else CALLS
    given = op.given.get("progress") if isinstance(op, DispatchPasses) else None
    return "" if given is None or isinstance(ops.makers.get(given), Constant) else CALLS
