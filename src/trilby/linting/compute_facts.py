"""What lints of compute functions are given: their models, plans and dispatches."""

from collections.abc import Iterator, Mapping
from dataclasses import field

from trilby.analysis.closure import ComputeClosure
from trilby.analysis.reach import ComputeGraph
from trilby.analysis.transfers.transfer_plan import (
    Action,
    PlannedCopy,
    TransferPlan,
    plan_transfers,
)
from trilby.dataclass import dataclass
from trilby.linting.dispatches import SeenDispatch, seen_dispatches
from trilby.locks import computed_once
from trilby.model.op import Block, Func, Op, blocks
from trilby.model.ops.host import HostFor, HostIf, HostWhile
from trilby.model.ops.memory import Store


@dataclass(frozen=True, slots=True)
class PlacedCopy:
    """A copy of the plan: before which op, in how many loops, and whether in each turn."""

    copy: PlannedCopy
    op: Op
    func: Func
    loops: tuple[Op, ...]
    every_turn: bool
    writer: Op | None = None
    """For a copy to the device: what the host writes in each turn of the innermost loop."""


@dataclass(eq=False)
class ComputeFacts:
    """A compute function, as lints see it."""

    closure: ComputeClosure
    constants: Mapping[str, int] = field(default_factory=dict[str, int])
    """The integers of its module, by name."""
    is_explicit: bool = False
    """True where it says itself what moves."""

    @property
    def graph(self) -> ComputeGraph:
        """The models of all functions."""
        return self.closure.graph

    @property
    def name(self) -> str:
        """The symbol of the function."""
        return self.graph.entry.name

    @computed_once
    def plans(self) -> dict[str, TransferPlan]:
        """Where copies would be placed, by function."""
        return {} if self.is_explicit else plan_transfers(self.closure)

    def dispatches(self) -> Iterator[SeenDispatch]:
        """Every dispatch, with what is known of its launches."""
        return seen_dispatches(self.graph, self.constants)

    def copies(self) -> Iterator[PlacedCopy]:
        """Every copy that the plan places."""
        for plan in self.plans.values():
            for op, loops, every in _walked(plan.func.body, (), every=True):
                for copy, is_sure in _copies(plan.before.get(op, ())):
                    writer = _writer(plan, loops[-1]) if loops else None
                    yield PlacedCopy(copy, op, plan.func, loops, every and is_sure, writer)


def _writer(plan: TransferPlan, loop: Op) -> Op | None:
    """A store of the host in each turn of a loop."""
    for block in blocks(loop):
        for op, loops, every in _walked(block, (), every=True):
            if isinstance(op, Store) and op in plan.writers and every and not loops:
                return op
    return None


def _walked(
    block: Block, loops: tuple[Op, ...], *, every: bool
) -> Iterator[tuple[Op, tuple[Op, ...], bool]]:
    """Every op with the loops around it, and whether it runs in each of their turns."""
    for op in block.ops:
        yield op, loops, every
        if isinstance(op, HostFor | HostWhile):
            for inner in blocks(op):
                yield from _walked(inner, (*loops, op), every=True)
        else:
            sure = every and not isinstance(op, HostIf)
            for inner in blocks(op):
                yield from _walked(inner, loops, every=sure)


def _copies(actions: tuple[Action, ...]) -> Iterator[tuple[PlannedCopy, bool]]:
    """The copies of some actions, and whether each is made on every way."""
    for action in actions:
        if isinstance(action, PlannedCopy):
            yield action, not action.sometimes
        else:
            arms = [[copy for copy, _ in _copies(arm)] for arm in (action.then, action.otherwise)]
            for copy in sorted((*arms[0], *arms[1]), key=lambda one: not one.indices):
                alike = [
                    any(other.to == copy.to and other.what == copy.what for other in arm)
                    for arm in arms
                ]
                yield copy, all(alike)
