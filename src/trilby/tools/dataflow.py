"""Who reads and writes which buffers: the host's lines and the kernels, in a run or before one."""

from collections import Counter

from trilby.dataclass import dataclass
from trilby.model.op import walk
from trilby.model.ops.host import Dispatch
from trilby.oracle.trace import HOST, Trace
from trilby.runtime.compile import ContextOf
from trilby.runtime.ledger import Ledger
from trilby.source import NOWHERE
from trilby.tools.named_launches import ValueNames, kernels_of, launch_of


@dataclass(frozen=True, slots=True)
class Edge:
    """An actor reads a buffer, or writes it, so many times."""

    actor: str
    buffer: int
    writes: bool
    count: int


@dataclass(frozen=True, slots=True)
class Dataflow:
    """Actors, buffers and edges, each in the order in which they appeared.

    `hosts` are lines of the host's program, `kernels` have names; `buffers` are number and label.
    """

    hosts: tuple[str, ...]
    kernels: tuple[str, ...]
    buffers: tuple[tuple[int, str], ...]
    edges: tuple[Edge, ...]


def dataflow_of(ledger: Ledger) -> Dataflow:
    """The graph of a recorded run."""
    trace = ledger.recording.trace
    counts: Counter[tuple[str, int, bool]] = Counter()
    actors: dict[str, bool] = {}
    for touch in trace.touches:
        is_host = touch.place == HOST
        name = touch.label
        if is_host:
            name = touch.location.short if touch.location is not NOWHERE else name or "host"
        actors.setdefault(name, is_host)
        for buffer, access in touch.accesses.items():
            if access.reads:
                counts[name, buffer, False] += 1
            if access.writes or access.covers:
                counts[name, buffer, True] += 1
    edges = tuple(Edge(*key, count) for key, count in counts.items())
    return Dataflow(
        tuple(name for name, is_host in actors.items() if is_host),
        tuple(name for name, is_host in actors.items() if not is_host),
        tuple(_buffers(trace, edges)),
        edges,
    )


def dataflow_of_context(context: ContextOf) -> Dataflow:
    """The graph of what is behind an entry point, before it runs: its variables and kernels."""
    kernels = kernels_of(context)
    counts: Counter[tuple[str, str, bool]] = Counter()
    for func in reversed(context.graph.functions):
        names = ValueNames(func)
        for op in walk(func.body):
            launch = launch_of(op, names, kernels) if isinstance(op, Dispatch) else None
            if launch is not None:
                counts.update((launch.kernel, name, False) for name in launch.reads)
                counts.update((launch.kernel, name, True) for name in launch.writes)
    numbers = {name: n for n, name in enumerate(dict.fromkeys(name for _, name, _ in counts))}
    edges = (Edge(kernel, numbers[name], way, n) for (kernel, name, way), n in counts.items())
    return Dataflow(
        (),
        tuple(dict.fromkeys(kernel for kernel, _, _ in counts)),
        tuple((number, name) for name, number in numbers.items()),
        tuple(edges),
    )


def _buffers(trace: Trace, edges: tuple[Edge, ...]) -> list[tuple[int, str]]:
    """Those that somebody touched; the same name twice gets a number."""
    used = {edge.buffer for edge in edges}
    names = Counter(trace.buffers[number].name for number in used)
    seen: Counter[str] = Counter()
    found: list[tuple[int, str]] = []
    for buffer in trace.buffers:
        if buffer.number in used:
            seen[buffer.name] += 1
            number = f" #{seen[buffer.name]}" if names[buffer.name] > 1 else ""
            found.append((buffer.number, buffer.name + number))
    return found
