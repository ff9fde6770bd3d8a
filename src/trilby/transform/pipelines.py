"""Named passes over models, and a record of what each of them did.

A pass is a pure function from a model to a model. What it made is checked at once, so that a
fault is found where it arises.

```
passed = run_passes(func, [Pass("inject_tracking", inject_tracking)])
print(to_text(passed.func, like=func))
```
"""

from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from functools import partial

from trilby.analysis.reach import ComputeGraph
from trilby.analysis.transfers.overlap import can_overlap
from trilby.dataclass import dataclass
from trilby.model.op import Func
from trilby.model.text import to_text
from trilby.options import Transfers
from trilby.shown import Shown
from trilby.transform.repeat_turns import repeat_turns


@dataclass(frozen=True, slots=True)
class Pass:
    """A change of models under a name."""

    name: str
    change: Callable[[Func], Func]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What one pass made of a model."""

    name: str
    before: Func
    after: Func

    @property
    def changed(self) -> bool:
        """False where the pass had nothing to do."""
        return self.after is not self.before


@dataclass(frozen=True, slots=True, eq=False)
class Passed(Shown):
    """A model behind all its passes, and the way to it."""

    original: Func
    steps: tuple[Step, ...]

    @property
    def func(self) -> Func:
        """The model in its last form."""
        return self.steps[-1].after if self.steps else self.original


def run_passes(func: Func, passes: Iterable[Pass]) -> Passed:
    """Send a model through passes, one after the other."""
    steps: list[Step] = []
    for one in passes:
        before = steps[-1].after if steps else func
        after = one.change(before)
        if after is not before:
            _verify(after)
        steps.append(Step(one.name, before, after))
    return Passed(func, tuple(steps))


def _verify(func: Func) -> None:
    from trilby.model.verify import verify  # noqa: PLC0415 -- most models stay as they are

    verify(func)


# ---------------------------------------------------------------------------------------- pipelines
# Which passes a compute function goes through, for each strategy of moving data.
#
# What a strategy needs is loaded when it is used: a plan takes a quarter of all of Trilby's code.


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
            return (_placing(graph, "place_transfers", ahead=False),)
        case Transfers.AUTO:
            repeating = Pass("repeat_turns", repeat_turns)
            if shares:
                return (repeating,)
            placing = _placing(graph, "place_certain_transfers", ahead=True)
            return (placing, repeating)


def _tracking(graph: ComputeGraph) -> Pass:
    from trilby.transform.inject_tracking import inject_tracking  # noqa: PLC0415 -- see above

    kernels = {symbol: kernel.entry for symbol, kernel in graph.kernels.items()}
    return Pass("inject_tracking", partial(inject_tracking, kernels=kernels))


def _placing(graph: ComputeGraph, name: str, *, ahead: bool) -> Pass:
    """Copies of a plan for the whole graph; a plan belongs to a model that nobody changed yet.

    With `ahead` there is none where no copy could overlap with other work.
    """
    if ahead and not can_overlap(graph):
        return Pass(name, lambda func: func)
    from trilby.transform.place_transfers import place_transfers  # noqa: PLC0415 -- see above

    placed = {func.name: func for func in place_transfers(graph, ahead=ahead).functions}
    return Pass(name, lambda func: placed[func.name])


# ------------------------------------------------------------------------------------------ listing
# A model before a pass and behind it, so that a reader sees what was put in.
#
# Values keep their numbers, and a `+` in the margin marks every line that is new, a `-` one that
# is no more. A `!` marks an access of a buffer, as in any text of a model.


def listing(passed: Passed) -> str:
    """The model before all passes, and behind each that changed it."""
    sections = [f"BEFORE\n{to_text(passed.original)}"]
    for step in passed.steps:
        made = "\n".join(changed_lines(step.before, step.after)) if step.changed else "no change"
        sections.append(f"AFTER {step.name}\n{made}")
    return "\n\n".join(sections)


def changed_lines(before: Func, after: Func) -> Iterator[str]:
    """The lines of a model, marked where they differ from those it had before."""
    old = to_text(before).splitlines()
    new = to_text(after, like=before).splitlines()
    for kind, old_start, old_end, start, end in SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            yield from new[start:end]
        else:
            yield from (f"-{line[1:]}" for line in old[old_start:old_end])
            yield from (f"+{line[1:]}" for line in new[start:end])
