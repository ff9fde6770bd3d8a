"""Which functions of a kernel's graph wait at a barrier."""

from trilby.analysis.reach import KernelGraph
from trilby.model.op import walk
from trilby.model.ops.core import Call
from trilby.model.ops.grid import Barrier
from trilby.model.ops.memory import LocalArray


def waiting_functions(graph: KernelGraph) -> frozenset[str]:
    """The symbols of the functions that reach a barrier, themselves or through a call."""
    waiting: set[str] = set()
    for function in graph.functions:  # callees come first
        for op in walk(function.body):
            if isinstance(op, Barrier) or (isinstance(op, Call) and op.callee in waiting):
                waiting.add(function.name)
    return frozenset(waiting)


def works_in_groups(graph: KernelGraph) -> bool:
    """True where the result depends on whole work groups: barriers, or local memory."""
    has_local = any(isinstance(op, LocalArray) for f in graph.functions for op in walk(f.body))
    return has_local or bool(waiting_functions(graph))
