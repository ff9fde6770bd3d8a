"""A whole run of the game of life, from cells on the host to cells on the host.

2048 × 2048 cells, 100 generations in two buffers that change places, on a device with a memory
of its own. Next to it the same by hand: the same algorithm in OpenCL C, pyopencl, each copy where
it belongs, and the group size that is the fastest of some. Both sides take turns; the ratio is
the median of the ratios of neighbours. Both results are compared with each other and, for some
generations, with NumPy.
"""

import statistics
import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyopencl as cl

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, U8Array2D, i32, u8

Cells: TypeAlias = npt.NDArray[np.uint8]
Play: TypeAlias = Callable[[Cells, int], Cells]

SIDE = 2048
GENERATIONS = 100
TURNS = 7
GROUPS = (None, (256, 1), (1024, 1), (2048, 1), (64, 4), (32, 32))

CODE = """
__kernel void live(__global const uchar *now, __global uchar *next, int width, int height) {
    int x = get_global_id(0), y = get_global_id(1);
    uchar lives = 0;
    if (x > 0 && x < width - 1 && y > 0 && y < height - 1) {
        int at = y * width + x;
        int around = now[at - width - 1] + now[at - width] + now[at - width + 1]
                   + now[at - 1] + now[at + 1]
                   + now[at + width - 1] + now[at + width] + now[at + width + 1];
        lives = around == 3 || (around == 2 && now[at] == 1) ? 1 : 0;
    }
    next[y * width + x] = lives;
}"""


@tb.kernel
def live(kc: KernelContext, now: U8Array2D, next_: U8Array2D) -> None:
    x, y = kc.x, kc.y
    lives = u8(0)
    if 0 < x < now.width - 1 and 0 < y < now.height - 1:
        above = i32(now.array[y - 1, x - 1]) + now.array[y - 1, x] + now.array[y - 1, x + 1]
        beside = i32(now.array[y, x - 1]) + now.array[y, x + 1]
        below = i32(now.array[y + 1, x - 1]) + now.array[y + 1, x] + now.array[y + 1, x + 1]
        around = above + beside + below
        lives = u8(1 if around == 3 or (around == 2 and now.array[y, x] == 1) else 0)
    next_.array[y, x] = lives


@tb.compute
def life(cc: ComputeContext, now: U8Array2D, next_: U8Array2D, generations: int) -> U8Array2D:
    for _ in range(generations):
        cc.dispatch((now.width, now.height), live, now, next_)
        now, next_ = next_, now
    return now


def our_side() -> Play:
    """A run with nothing about devices in it."""
    accelerator = Accelerator("opencl", memory="discrete")
    first, second = (U8Array2D.create(accelerator, width=SIDE, height=SIDE) for _ in range(2))

    def play(cells: Cells, generations: int) -> Cells:
        first.array[:] = cells
        return accelerator.compute(life, first, second, generations).array[:].copy()

    return play


def raw_side(device: cl.Device) -> Play:
    """A run with each copy where it belongs, with the fastest group size of some."""
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    kernel = cl.Kernel(cl.Program(context, CODE).build(), "live")
    kernel.set_scalar_arg_dtypes([None, None, np.int32, np.int32])  # pyright: ignore[reportUnknownMemberType] -- pyopencl left it untyped
    flags = cl.mem_flags.READ_WRITE
    first, second = (cl.Buffer(context, flags, SIDE * SIDE) for _ in range(2))

    def player(group: tuple[int, int] | None) -> Play:
        def play(cells: Cells, generations: int) -> Cells:
            now, next_ = first, second
            cl.enqueue_copy(queue, now, cells, is_blocking=False)
            for _ in range(generations):
                kernel(queue, (SIDE, SIDE), group, now, next_, SIDE, SIDE)
                now, next_ = next_, now
            result = np.empty_like(cells)
            cl.enqueue_copy(queue, result, now)
            return result

        return play

    players = {group: player(group) for group in GROUPS}
    start = beginning()
    for play in players.values():
        play(start, 1)
    fastest = min(players, key=lambda group: min(seconds(players[group], 10) for _ in range(3)))
    print(f"by hand, the fastest group size of {len(GROUPS)} is {fastest}")
    return players[fastest]


def beginning() -> Cells:
    """Every third cell lives, as chance has it; the border is dead and stays so."""
    cells = np.random.default_rng(1).random((SIDE, SIDE)) < 1 / 3
    cells[[0, -1]] = cells[:, [0, -1]] = False
    return cells.astype(np.uint8)


def by_numpy(cells: Cells, generations: int) -> Cells:
    """The same by whole grids."""
    inside = SIDE - 2
    for _ in range(generations):
        parts = [cells[y : y + inside, x : x + inside] for y in range(3) for x in range(3)]
        middle = parts.pop(4)
        around = sum(parts[1:], parts[0])
        cells = np.pad(((around == 3) | ((around == 2) & (middle == 1))).astype(np.uint8), 1)
    return cells


def seconds(play: Play, generations: int) -> float:
    """The time of a run."""
    start = beginning()
    started = time.perf_counter()
    play(start, generations)
    return time.perf_counter() - started


def main() -> None:
    """Compare the results, then the times."""
    device = next(d for p in cl.get_platforms() for d in p.get_devices())
    ours, raw = our_side(), raw_side(device)
    start = beginning()
    np.testing.assert_array_equal(ours(start, 5), by_numpy(start, 5))
    np.testing.assert_array_equal(ours(start, GENERATIONS), raw(start, GENERATIONS))
    pairs = [(seconds(raw, GENERATIONS), seconds(ours, GENERATIONS)) for _ in range(TURNS)]
    ratio = statistics.median(own / other for other, own in pairs)
    middle = [statistics.median(column) for column in zip(*pairs, strict=True)]
    least = [min(column) for column in zip(*pairs, strict=True)]
    print(
        f"life, {SIDE}², {GENERATIONS} generations   pyopencl {middle[0] * 1e3:6.0f} ms   "
        f"trilby {middle[1] * 1e3:6.0f} ms   {ratio:5.2f}x   "
        f"(shortest: {least[0] * 1e3:.0f} and {least[1] * 1e3:.0f} ms, {least[1] / least[0]:.2f}x)"
    )


if __name__ == "__main__":
    main()
