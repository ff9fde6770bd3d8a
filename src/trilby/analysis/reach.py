"""Which functions a program reaches: the graphs that are analysed and compiled as one."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace

from trilby.dataclass import dataclass
from trilby.errors import RecursionRefusedError, TrilbyError
from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops.core import Call
from trilby.model.ops.grid import Barrier
from trilby.model.ops.host import Dispatch, HostCall
from trilby.model.ops.memory import LocalArray
from trilby.source import Location

DEEPEST = 256
"""How deep calls may lie within each other."""

Resolve = Callable[[str], Func]
"""Gives the model of a symbol; whoever reflects knows how."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelGraph:
    """A kernel and every helper it reaches, callees before callers, the kernel last.

    `KernelGraph((square, square_kernel))`
    """

    functions: tuple[Func, ...]

    @property
    def entry(self) -> Func:
        """The kernel."""
        return self.functions[-1]

    def function(self, symbol: str) -> Func:
        """The function of that symbol."""
        return next(f for f in self.functions if f.name == symbol)


@dataclass(frozen=True, slots=True, eq=False)
class ComputeGraph:
    """A compute function, the compute functions it calls, and the kernels they dispatch.

    `ComputeGraph((square_all,), {"squares.square_kernel": KernelGraph((square, square_kernel))})`.
    `device_functions` are the functions (`@tb.func`) that they name, and those that these call,
    callees first. The host runs them as plain Python.
    """

    functions: tuple[Func, ...]
    kernels: dict[str, KernelGraph] = field(default_factory=dict[str, KernelGraph])
    device_functions: tuple[Func, ...] = ()

    @property
    def entry(self) -> Func:
        """The entry point."""
        return self.functions[-1]


def reaching(graph: KernelGraph, *kinds: type[Op]) -> frozenset[str]:
    """The symbols of the functions that hold such an op, themselves or through a call."""
    found: set[str] = set()
    for function in graph.functions:  # callees come first
        for op in walk(function.body):
            if isinstance(op, kinds) or (isinstance(op, Call) and op.callee in found):
                found.add(function.name)
    return frozenset(found)


def as_on_device(graph: KernelGraph) -> KernelGraph:
    """The graph without the ops of raw functions, and without what only those reach."""
    if not any(function.raw for function in graph.functions):
        return graph
    functions = [replace(f, body=Block()) if f.raw else f for f in graph.functions]
    reached = {graph.entry.name}
    for function in reversed(functions):  # callers come first
        if function.name in reached:
            reached.update(callee for callee, _ in _helper_calls(function))
    return KernelGraph(tuple(f for f in functions if f.name in reached))


def kernel_graph(entry: Func, resolve: Resolve) -> KernelGraph:
    """Close over the helpers of a kernel. Recursion is refused: devices have no stack."""
    done: dict[str, Func] = {}
    active: list[str] = []

    def visit(function: Func) -> None:
        active.append(function.name)
        for callee, location in _helper_calls(function):
            if callee in active:
                raise _recursion([*active[active.index(callee) :], callee], location)
            if len(active) >= DEEPEST:
                raise _too_deep(active[0], location)
            if callee not in done:
                try:
                    visit(resolve(callee))
                except TrilbyError as error:
                    raise error.within(short_name(callee), location) from error.__cause__
        active.pop()
        done[function.name] = function

    visit(entry)
    return KernelGraph(tuple(done.values()))


def compute_graph(
    entry: Func,
    resolve: Resolve,
    kernel: Callable[[str], KernelGraph],
    device_functions: Callable[[str], Iterable[Func]] = lambda _symbol: (),
) -> ComputeGraph:
    """Close over all that an entry point reaches: compute functions, kernels, device functions.

    `device_functions` gives those of one compute function, by its symbol.
    """
    functions = tuple(_reached(entry, resolve))
    symbols = dict.fromkeys(
        op.kernel for f in functions for op in walk(f.body) if isinstance(op, Dispatch)
    )
    kernels = {symbol: kernel(symbol) for symbol in symbols}
    named = {f.name: f for function in functions for f in device_functions(function.name)}
    return ComputeGraph(functions, kernels, tuple(named.values()))


def _helper_calls(function: Func) -> Iterator[tuple[str, Location]]:
    for op in walk(function.body):
        if isinstance(op, Call):
            yield op.callee, op.location


def _too_deep(entry: str, location: Location) -> RecursionRefusedError:
    return RecursionRefusedError(
        f"the calls of `{short_name(entry)}` lie more than {DEEPEST} deep",
        advice="devices have little room for calls: write a loop",
        location=location,
    )


def _recursion(cycle: list[str], location: Location) -> RecursionRefusedError:
    names = " → ".join(f"`{short_name(symbol)}`" for symbol in cycle)
    return RecursionRefusedError(
        f"recursion cannot run on a device: {names}",
        advice="devices have no call stack: write a loop, or keep a small stack in a private array",
        location=location,
    )


def short_name(symbol: str) -> str:
    """What the user called a function: without its module, its ranks, its number."""
    return symbol.partition("[")[0].partition("#")[0].rpartition(".")[2]


def _reached(entry: Func, resolve: Resolve) -> Iterator[Func]:
    """Compute functions may call each other in circles, so each is visited once."""
    done = {entry.name}

    def visit(function: Func) -> Iterator[Func]:
        for op in walk(function.body):
            if isinstance(op, HostCall) and op.callee not in done:
                done.add(op.callee)
                yield from visit(resolve(op.callee))
        yield function

    return visit(entry)


# ----------------------------------------------------------------------------------------- barriers
# Which kernels depend on whole work groups.


def waiting_functions(graph: KernelGraph) -> frozenset[str]:
    """The symbols of the functions that reach a barrier, themselves or through a call."""
    return reaching(graph, Barrier)


def works_in_groups(graph: KernelGraph) -> bool:
    """True where the result depends on whole work groups: barriers, or local memory."""
    return graph.entry.name in reaching(graph, Barrier, LocalArray)
