"""The compute functions of HAT's documents, kept with their copies in `tests/golden/planned`.

    python -m tests.transform.golden_planned

writes those files anew. Each holds the model before and after, and the Python that runs, to be
laid beside the listings in "Compute Analysis or Runtime tracing": a copy before the loop and one
behind it, one in the loop before the host's look, one element with everything in the last turn,
flipping generations. The last two have no loops: there copies start as early as it is right. Read
what changed before you keep it.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.transform.golden_tracking import GOLDEN as TRACKED
from tests.transform.golden_tracking import conway, doubleup

import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array, S32Array2D
from trilby.model.rewrite import Transform
from trilby.reflect.functions import Compute
from trilby.runtime.compile import analyse_compute
from trilby.tools.explanation import compute_section
from trilby.transform.pipelines import run_transforms
from trilby.transform.place_transfers import place_transfers

FOLDER = Path(__file__).parent.parent / "golden" / "planned"


@tb.kernel
def finish(kc: KernelContext, huge: S32Array, done: S32Array) -> None:
    huge.array[kc.x] = huge.array[kc.x] + 1
    if huge.array[kc.x] > 100:
        done.array[0] = 1


@tb.compute
def doubled_once(cc: ComputeContext, memory: S32Array) -> None:
    cc.dispatch(memory.length, lambda kc: doubleup(kc, memory))


@tb.compute
def read_between(cc: ComputeContext, memory: S32Array) -> list[int]:
    before = int(memory.array.sum())
    cc.dispatch(memory.length, lambda kc: doubleup(kc, memory))
    between = int(memory.array.sum())
    cc.dispatch(memory.length, lambda kc: doubleup(kc, memory))
    return [before, between, int(memory.array.sum())]


@tb.compute
def mutated_at_times(cc: ComputeContext, memory: S32Array, count: int, every: int) -> None:
    for i in range(count):
        if i % every == 0:
            memory.array[0] = i
        cc.dispatch(memory.length, lambda kc: doubleup(kc, memory))


@tb.compute
def until_done(cc: ComputeContext, huge: S32Array, done: S32Array) -> None:
    while not done.array[0]:
        cc.dispatch(huge.length, lambda kc: finish(kc, huge, done))


@tb.compute
def life_swapped(
    cc: ComputeContext, s1: S32Array2D, s2: S32Array2D, generations: int
) -> S32Array2D:
    for _ in range(generations):
        cc.dispatch((s1.width, s1.height), conway, s1, s2)
        s1, s2 = s2, s1
    return s1


@tb.compute
def life_displayed_at_times(
    cc: ComputeContext,
    s1: S32Array2D,
    generations: int,
    every: int,
    display: Callable[[S32Array2D], None],
) -> None:
    s2 = S32Array2D.create(width=s1.width, height=s1.height)
    for generation in range(generations):
        cc.dispatch((s1.width, s1.height), conway, s1, s2)
        s1, s2 = s2, s1
        if generation % every == 0:
            display(s1)


@tb.compute
def one_step(cc: ComputeContext, memory: S32Array) -> None:
    cc.dispatch(memory.length, lambda kc: doubleup(kc, memory))


@tb.compute
def through_calls(cc: ComputeContext, memory: S32Array, count: int) -> int:
    for _ in range(count):
        one_step(cc, memory)
    return memory.array[0]


@tb.kernel
def add(kc: KernelContext, left: S32Array, right: S32Array, total: S32Array) -> None:
    total.array[kc.x] = left.array[kc.x] + right.array[kc.x]


@tb.compute
def one_after_the_other(
    cc: ComputeContext, memory: S32Array, board: S32Array2D, other: S32Array2D
) -> int:
    cc.dispatch(memory.length, doubleup, memory)
    board.array[0, 0] = 1
    highest = max(range(memory.length))
    cc.dispatch(memory.length, doubleup, memory)
    cc.dispatch((board.width, board.height), conway, board, other)
    return highest + int(memory.array.sum())


@tb.compute
def added_twice(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array, d: S32Array) -> None:
    cc.dispatch(a.length, add, a, b, c)
    cc.dispatch(a.length, add, d, d, b)


GOLDEN: Mapping[str, Compute[..., Any]] = {
    **TRACKED,
    "doubled_once": doubled_once,
    "read_between": read_between,
    "mutated_at_times": mutated_at_times,
    "until_done": until_done,
    "life_swapped": life_swapped,
    "life_displayed_at_times": life_displayed_at_times,
    "through_calls": through_calls,
    "one_after_the_other": one_after_the_other,
    "added_twice": added_twice,
}


def text_of(function: Compute[..., Any]) -> str:
    """What a golden file holds: every compute function of the graph, the entry point first."""
    closure = analyse_compute(function).closure
    placed = {func.name: func for func in place_transfers(closure)}
    place = Transform("place_transfers", lambda func: placed[func.name], ("compute",))
    done = [run_transforms([func], [place]) for func in reversed(closure.graph.functions)]
    return "\n\n".join(map(compute_section, done)) + "\n"


def write() -> None:
    """Write all files anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, function in GOLDEN.items():
        (FOLDER / f"{name}.txt").write_text(text_of(function), encoding="utf-8")


if __name__ == "__main__":
    import_module("tests.transform.golden_planned").write()  # under its own name
