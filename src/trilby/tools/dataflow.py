"""Who reads and writes which buffers: the host's lines and the kernels, in a run or before one."""

from collections import Counter
from typing import Literal, NamedTuple

from trilby.model.op import walk
from trilby.model.ops.host import Dispatch
from trilby.oracle.trace import HOST
from trilby.runtime.compile import ContextOf
from trilby.runtime.ledger import Ledger
from trilby.source import NOWHERE
from trilby.tools.movements import buffer_names
from trilby.tools.named_launches import kernels_of, launch_of, value_names


class Dataflow(NamedTuple):
    """Actors with their kinds, names of buffers by number, and edges, as they appeared.

    An actor is a line of the host's program, or a kernel. An edge has an actor, a buffer, and true
    for a write; its count says how often.
    """

    actors: dict[str, Literal["host", "kernel"]]
    buffers: dict[int, str]
    edges: Counter[tuple[str, int, bool]]


def dataflow_of(ledger: Ledger) -> Dataflow:
    """The graph of a recorded run."""
    trace = ledger.recording.trace
    flow = Dataflow({}, {}, Counter())
    for touch in trace.touches:
        name = touch.label
        if touch.place == HOST:
            name = touch.location.short if touch.location is not NOWHERE else name or "host"
        flow.actors.setdefault(name, "host" if touch.place == HOST else "kernel")
        for buffer, access in touch.accesses.items():
            if access.reads:
                flow.edges[name, buffer, False] += 1
            if access.writes or access.covers:
                flow.edges[name, buffer, True] += 1
    names = buffer_names(trace)
    flow.buffers.update((n, names[n]) for n in sorted({n for _, n, _ in flow.edges}))
    return flow


def dataflow_of_context(context: ContextOf) -> Dataflow:
    """The graph of what is behind an entry point, before it runs: its variables and kernels."""
    kernels = kernels_of(context)
    flow = Dataflow({}, {}, Counter())
    numbers: dict[str, int] = {}
    for func in reversed(context.graph.functions):
        name_of = value_names(func)
        for op in walk(func.body):
            launch = launch_of(op, name_of, kernels) if isinstance(op, Dispatch) else None
            if launch is None:
                continue
            for names, is_write in ((launch.reads, False), (launch.writes, True)):
                for name in names:
                    number = numbers.setdefault(name, len(numbers))
                    flow.actors[launch.kernel] = "kernel"
                    flow.buffers[number] = name
                    flow.edges[launch.kernel, number, is_write] += 1
    return flow
