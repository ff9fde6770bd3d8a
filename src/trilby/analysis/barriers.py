"""Which kernels depend on whole work groups."""

from trilby.analysis.reach import KernelGraph, reaching
from trilby.model.ops.grid import Barrier
from trilby.model.ops.memory import LocalArray


def waiting_functions(graph: KernelGraph) -> frozenset[str]:
    """The symbols of the functions that reach a barrier, themselves or through a call."""
    return reaching(graph, Barrier)


def works_in_groups(graph: KernelGraph) -> bool:
    """True where the result depends on whole work groups: barriers, or local memory."""
    return graph.entry.name in reaching(graph, Barrier, LocalArray)
