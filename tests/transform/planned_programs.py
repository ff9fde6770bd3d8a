"""Compute functions in which it is not easy to say who has what: for plans to be tried on."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array, i32


@tb.kernel
def double(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] * 2


@tb.kernel
def step(kc: KernelContext, source: S32Array, to: S32Array) -> None:
    to.array[kc.x] = source.array[kc.x] + 1


@tb.kernel
def fill(kc: KernelContext, a: S32Array, value: i32) -> None:
    a.array[kc.x] = value


@tb.kernel
def half(kc: KernelContext, a: S32Array) -> None:
    if kc.x < a.length // 2:
        a.array[kc.x] = 7


@dataclass
class World:
    grid: S32Array
    spare: S32Array


@tb.compute
def written_at_times(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    for i in range(n):
        if i % 2 == 1:
            a.array[i % a.length] = i
        cc.dispatch(a.length, double, a)
        if i % 3 == 1:
            b.array[0] = a.array[1]
    return int(b.array[0])


@tb.compute
def elements(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> list[int]:
    cc.dispatch(a.length, step, a, b)
    found = [int(b.array[0])]
    for i in range(min(n, b.length)):
        found += [int(b.array[i])]
    for i in range(1, n):
        cc.dispatch(b.length, double, b)
        found.append(int(b.array[i % b.length] + b.array[0]))
    return found


@tb.compute
def nested(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    total = 0
    for i in range(n):
        for _ in range(i):
            cc.dispatch(a.length, step, a, b)
            a, b = b, a
        total += int(a.array[0])
        for k in range(2):
            total += int(b.array[k])
    return total


@tb.compute
def jumping(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    total = 0
    for i in range(n):
        if i == 1:
            continue
        cc.dispatch(a.length, double, a)
        if a.array[0] > 8:
            b.array[0] = 5
            break
        cc.dispatch(a.length, step, a, b)
        if i == 5:
            return int(b.array[1])
    else:
        total += int(a.array[:].sum())
    return total + int(b.array[0])


@tb.compute
def while_small(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    turns = 0
    while a.array[1] < n and turns < 5:
        turns += 1
        cc.dispatch(a.length, double, a)
        if turns == 2:
            a.array[0] = 1
    b.array[:] = a.array[:]
    return turns


@tb.compute
def through_views(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    view = a.array[1:3]
    numbers = b.array
    for _ in range(n):
        cc.dispatch(a.length, double, a)
        numbers[0] = int(view[0]) + int(view.sum())
        cc.dispatch(b.length, double, b)
    view[1] = 3
    return int(numbers[0]) + int(view[1])


def shown(*buffers: S32Array) -> int:
    return sum(int(buffer.array[0]) for buffer in buffers)


def changed(buffer: S32Array) -> None:
    buffer.array[0] = buffer.array[0] + 1


@tb.compute
def handed_over(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    total = 0
    for i in range(n):
        cc.dispatch(a.length, step, a, b)
        total += shown(a, b)
        if i % 2:
            changed(b)
        cc.dispatch(a.length, step, b, a)
    return total


@tb.compute
def with_callback(
    cc: ComputeContext, a: S32Array, b: S32Array, n: int, see: Callable[[S32Array], Any] = changed
) -> None:
    bufs = [a, b]
    for i in range(n):
        cc.dispatch(a.length, step, bufs[i % 2], bufs[1 - i % 2])
        see(bufs[1 - i % 2])


@tb.compute
def lists_that_change(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    bufs = [a, b]
    for _ in range(n):
        source, to = bufs
        cc.dispatch(a.length, step, source, to)
        bufs.reverse()
        bufs.append(bufs.pop(0))
    first = bufs[0]
    return int(first.array[0]) + int(bufs[-1].array[1])


@tb.compute
def in_a_world(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    world = World(a, b)
    grid = world.grid
    for _ in range(n):
        cc.dispatch(grid.length, step, grid, world.spare)
        world.grid, world.spare = world.spare, world.grid
        grid = world.grid
    return int(grid.array[0])


@tb.compute
def helper(cc: ComputeContext, a: S32Array, b: S32Array) -> S32Array:
    cc.dispatch(a.length, step, a, b)
    b.array[0] = b.array[0] + 1
    return b


@tb.compute
def through_calls(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    for _ in range(n):
        a, b = helper(cc, a, b), a
    cc.dispatch(a.length, double, a)
    return int(a.array[0])


@tb.compute
def recursive(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    cc.dispatch(a.length, step, a, b)
    if n > 0:
        recursive(cc, b, a, n - 1)
    return int(a.array[0] + b.array[0])


@tb.compute
def created_in_a_loop(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    total = 0
    last = b
    for i in range(n):
        new = S32Array.create(length=a.length)
        other = S32Array.of([i] * a.length)
        cc.dispatch(a.length, step, last, new)
        cc.dispatch(a.length, step, other, a)
        last = new
        total += int(a.array[0])
    return total + int(last.array[1])


@tb.compute
def partly_written(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    for _ in range(n):
        cc.dispatch(a.length, half, a)
        cc.dispatch(a.length, step, a, b)
    a.array[0] = 1
    cc.dispatch(a.length, half, a)
    return int(a.array[0] + b.array[1])


@tb.compute
def overwritten(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    for i in range(n):
        cc.dispatch(a.length, fill, a, i)
        a.array[:] = i
        cc.dispatch(a.length, step, a, b)
    b.array[:] = 0


@tb.compute
def under_a_with(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    with nullcontext(a) as inner:
        for _ in range(n):
            cc.dispatch(a.length, step, inner, b)
    try:
        b.array[0] = a.array[0]
    finally:
        total = int(b.array[0])
    return total


@tb.compute
def unbound_at_times(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    for i in range(n):
        x = a if i % 2 == 0 else b
        cc.dispatch(a.length, double, x)
    if n > 0:
        return int(x.array[0])  # pyright: ignore[reportPossiblyUnboundVariable] -- as n says
    return 0


@tb.compute
def one_by_one(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    c = S32Array.of(range(a.length))
    cc.dispatch(a.length, fill, a, n)
    cc.dispatch(b.length, double, b)
    c.array[0] = n
    total = sum(range(n)) + int(a.array[1])
    cc.dispatch(c.length, double, c)
    cc.dispatch(a.length, step, c, a)
    if total > 5:
        return int(c.array[0])
    cc.dispatch(b.length, step, a, b)
    total += int(b.array[:].sum())
    cc.dispatch(a.length, double, a)
    return total + int(b.array[2]) + int(a.array[0])


@tb.compute
def one_by_one_in_turns(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> int:
    total = 0
    for i in range(n):
        cc.dispatch(a.length, fill, a, i)
        cc.dispatch(b.length, double, b)
        total += int(a.array[i % a.length])
        b.array[0] = total
    return total


PROGRAMS = (
    written_at_times,
    elements,
    nested,
    jumping,
    while_small,
    through_views,
    handed_over,
    with_callback,
    lists_that_change,
    in_a_world,
    through_calls,
    recursive,
    created_in_a_loop,
    partly_written,
    overwritten,
    under_a_with,
    unbound_at_times,
    one_by_one,
    one_by_one_in_turns,
)
