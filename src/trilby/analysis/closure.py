"""The closure of a compute call: all that it reaches, as a backend is handed it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from trilby.analysis.access import AccessTable
from trilby.analysis.footprint import KernelFootprint
from trilby.analysis.reach import ComputeGraph, KernelGraph
from trilby.dataclass import dataclass
from trilby.model.op import Func


@dataclass(frozen=True, slots=True, eq=False)
class ComputeClosure:
    """The models, graphs and side tables behind a compute call; tables are by kernel.

    For `square_all`, which launches `square_kernel`: `graph.functions` is `(square_all,)`,
    `graph.kernels["squares.square_kernel"].functions` is `(square, square_kernel)`, and
    `access["squares.square_kernel"]` says that `s32` is read and written.
    """

    graph: ComputeGraph
    access: Mapping[str, AccessTable]
    footprints: Mapping[str, KernelFootprint]
    run: Callable[..., Any] | None = None
    """Runs the call in place of the compute function, with the same arguments, context first."""

    @property
    def entry(self) -> Func | None:
        """The compute function; None for a kernel that is handed over alone."""
        return self.graph.functions[-1] if self.graph.functions else None

    def with_function(self, old: Func, new: Func) -> "ComputeClosure":
        """The closure with another model of one function, wherever that stands."""

        def changed(functions: tuple[Func, ...]) -> tuple[Func, ...]:
            return tuple(new if func is old else func for func in functions)

        kernels = {
            symbol: KernelGraph(changed(graph.functions)) if old in graph.functions else graph
            for symbol, graph in self.graph.kernels.items()
        }
        functions = changed(self.graph.functions)
        return replace(self, graph=replace(self.graph, functions=functions, kernels=kernels))
