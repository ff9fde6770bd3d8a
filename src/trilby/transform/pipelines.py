"""Which passes a compute function goes through, for each strategy of moving data.

What a strategy needs is loaded when it is used: a plan takes a quarter of all of Trilby's code.
"""

from functools import partial

from trilby.analysis.reach import ComputeGraph
from trilby.model.op import Func
from trilby.options import Transfers
from trilby.transform.passes import Pass
from trilby.transform.repeat_turns import repeat_turns


def compute_passes(
    strategy: Transfers, graph: ComputeGraph, *, shares: bool = False
) -> tuple[Pass, ...]:
    """The passes for the compute functions of a graph, as they were reflected.

    `ALWAYS` and `BY_ACCESS` have none: their copies stand around every dispatch. Nor does `AUTO`
    place any where a device shares the memory of the host: there is nothing to bring early.
    """
    match strategy:
        case Transfers.ALWAYS | Transfers.BY_ACCESS:
            return ()
        case Transfers.TRACKED:
            return (_tracking(graph),)
        case Transfers.PLANNED:
            return (_placing(graph, "place_transfers", only_certain=False),)
        case Transfers.AUTO:
            repeating = Pass("repeat_turns", repeat_turns)
            if shares:
                return (repeating,)
            placing = _placing(graph, "place_certain_transfers", only_certain=True)
            return (placing, repeating)


def _tracking(graph: ComputeGraph) -> Pass:
    from trilby.transform.inject_tracking import inject_tracking  # noqa: PLC0415 -- see above

    kernels = {symbol: kernel.entry for symbol, kernel in graph.kernels.items()}
    return Pass("inject_tracking", partial(inject_tracking, kernels=kernels))


def _placing(graph: ComputeGraph, name: str, *, only_certain: bool) -> Pass:
    """Copies of a plan for the whole graph; a plan belongs to a model that nobody changed yet."""
    from trilby.analysis.residency_plan import plan_transfers  # noqa: PLC0415 -- see above
    from trilby.transform.certain_copies import certain_copies  # noqa: PLC0415
    from trilby.transform.place_transfers import carry_out  # noqa: PLC0415

    plans = plan_transfers(graph)

    def place(func: Func) -> Func:
        plan = plans[func.name]
        return carry_out(certain_copies(plan) if only_certain else plan)

    return Pass(name, place)
