"""The compute functions of HAT's documents, kept with their tracking in `tests/golden/tracking`.

    python -m tests.transform.golden_tracking

writes those files anew. Each holds the model before and after, to be laid beside the listings in
"Compute Analysis or Runtime tracing". Read what changed before you keep it: tests run the
functions, but whether the calls stand where they should is for people to say.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array, S32Array2D, f32, i32
from trilby.options import Transfers
from trilby.reflect.functions import Compute
from trilby.runtime.compile import analyse_compute
from trilby.tools.explanation import compute_section
from trilby.transform.pipelines import compute_transforms, run_transforms

FOLDER = Path(__file__).parent.parent / "golden" / "tracking"


@tb.kernel
def fill(kc: KernelContext, memory: S32Array) -> None:
    memory.array[kc.x] = kc.x


@tb.kernel
def doubleup(kc: KernelContext, memory: S32Array) -> None:
    memory.array[kc.x] = memory.array[kc.x] * 2


@tb.kernel
def conway(kc: KernelContext, source: S32Array2D, to: S32Array2D) -> None:
    total = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            x = kc.x + dx
            y = kc.y + dy
            if 0 <= x < source.width and 0 <= y < source.height and (dx != 0 or dy != 0):
                total += source.array[y, x]
    alive = source.array[kc.y, kc.x]
    to.array[kc.y, kc.x] = 1 if total == 3 or (total == 2 and alive == 1) else 0


@tb.kernel
def mandel_kernel(
    kc: KernelContext, image: S32Array2D, palette: S32Array, x: f32, y: f32, scale: f32
) -> None:
    cx = x + f32(kc.x) * scale
    cy = y + f32(kc.y) * scale
    image.array[kc.y, kc.x] = palette.array[i32(cx * cx + cy * cy) % palette.length]


def scale_up(f: float) -> float:
    return f * 2


@tb.compute
def filled(cc: ComputeContext, memory: S32Array) -> None:
    cc.dispatch(memory.length, lambda kc: fill(kc, memory))


@tb.compute
def doubled(cc: ComputeContext, memory: S32Array, count: int) -> None:
    for _i in range(count):
        cc.dispatch(memory.length, lambda kc: doubleup(kc, memory))


@tb.compute
def doubled_and_shown(cc: ComputeContext, memory: S32Array, count: int) -> None:
    for _i in range(count):
        cc.dispatch(memory.length, lambda kc: doubleup(kc, memory))
        slot0 = memory.array[0]
        print("slot0", slot0)  # noqa: T201 -- as in the document


@tb.compute
def aliased(cc: ComputeContext, memory: S32Array) -> None:
    alias = memory
    cc.dispatch(alias.length, lambda kc: doubleup(kc, alias))
    alias.array[0] = memory.array[0] + 1


@tb.compute
def life(cc: ComputeContext, game_state: S32Array2D, generations: int) -> None:
    s1 = game_state
    s2 = S32Array2D.create(width=s1.width, height=s1.height)
    for generation in range(generations):
        source = s1 if generation % 2 == 0 else s2
        to = s1 if generation % 2 == 1 else s2
        cc.dispatch((s1.width, s1.height), lambda kc: conway(kc, source, to))  # noqa: B023 -- quoted
    if generations % 2 == 1:
        game_state.array[:] = s2.array


@tb.compute
def life_displayed(
    cc: ComputeContext,
    game_state: S32Array2D,
    generations: int,
    display: Callable[[S32Array2D], None],
) -> None:
    s1 = game_state
    s2 = S32Array2D.create(width=s1.width, height=s1.height)
    for generation in range(generations):
        source = s1 if generation % 2 == 0 else s2
        to = s1 if generation % 2 == 1 else s2
        cc.dispatch((s1.width, s1.height), lambda kc: conway(kc, source, to))  # noqa: B023 -- quoted
        display(to)


@tb.compute
def life_in_a_list(cc: ComputeContext, game_state: S32Array2D, generations: int) -> int:
    both = [game_state, S32Array2D.create(width=game_state.width, height=game_state.height)]
    alive = 0
    for generation in range(generations):
        to = both[(generation + 1) % 2]
        cc.dispatch((to.width, to.height), conway, both[generation % 2], to)
        alive += to.array[:].sum()
    return alive


@tb.compute
def mandel(
    cc: ComputeContext, s32: S32Array2D, palette: S32Array, x: float, y: float, scale: float
) -> None:
    scale = scale_up(scale)
    size = (s32.width, s32.height)
    i = s32.array[10, 10]
    s32.array[10, 10] = i
    cc.dispatch(size, lambda kc: mandel_kernel(kc, s32, palette, x, y, scale))


GOLDEN: Mapping[str, Compute[..., Any]] = {
    "filled": filled,
    "doubled": doubled,
    "doubled_and_shown": doubled_and_shown,
    "aliased": aliased,
    "life": life,
    "life_displayed": life_displayed,
    "life_in_a_list": life_in_a_list,
    "mandel": mandel,
}


def text_of(function: Compute[..., Any]) -> str:
    """What a golden file holds."""
    closure = analyse_compute(function).closure
    transforms = compute_transforms(Transfers.TRACKED, closure)
    return compute_section(run_transforms([closure.graph.entry], transforms)) + "\n"


def write() -> None:
    """Write all files anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, function in GOLDEN.items():
        (FOLDER / f"{name}.txt").write_text(text_of(function), encoding="utf-8")


if __name__ == "__main__":
    import_module("tests.transform.golden_tracking").write()  # under its own name
