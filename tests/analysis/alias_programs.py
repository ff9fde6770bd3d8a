"""Compute functions whose names stand for buffers in roundabout ways."""

from dataclasses import dataclass
from typing import Any

import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array


@tb.kernel
def step(kc: KernelContext, source: S32Array, to: S32Array) -> None:
    to.array[kc.x] = source.array[kc.x] + 1


@dataclass
class World:
    grid: S32Array


@tb.compute
def plain(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    x = a
    y = x
    cc.dispatch(a.length, step, y, b)


@tb.compute
def swapped_once(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    a, b = b, a
    cc.dispatch(a.length, step, a, b)


@tb.compute
def swapped_in_a_loop(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    for _ in range(n):
        a, b = b, a
    cc.dispatch(a.length, step, a, b)


@tb.compute
def chosen(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    x = a if n % 2 == 0 else b
    y = a if 3 % 2 == 0 else b  # pyright: ignore[reportUnnecessaryComparison] -- to be found out
    cc.dispatch(a.length, step, x, y)


@tb.compute
def created(cc: ComputeContext, a: S32Array) -> None:
    fresh = S32Array.create(length=a.length)
    filled = S32Array.of([1, 2, 3])
    cc.dispatch(a.length, step, filled, fresh)


@tb.compute
def in_a_list(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    bufs = [a, b]
    cc.dispatch(a.length, step, bufs[0], bufs[n])


@tb.compute
def in_a_list_that_changes(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    bufs = [a, a]
    bufs.reverse()
    bufs[1] = b
    cc.dispatch(a.length, step, bufs[0], a)


@tb.compute
def in_an_attribute(cc: ComputeContext, world: World, a: S32Array) -> None:
    grid = world.grid
    cc.dispatch(a.length, step, grid, a)


@tb.compute
def put_in_an_attribute(cc: ComputeContext, world: World, a: S32Array) -> None:
    world.grid = a
    cc.dispatch(a.length, step, world.grid, a)


@tb.compute
def through_a_function(cc: ComputeContext, a: S32Array, b: S32Array, f: Any) -> None:
    x = f(a)
    cc.dispatch(a.length, step, x, b)


@tb.compute
def through_a_closure(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    give = lambda: x  # noqa: E731 -- what it gives is known when it runs
    x = a
    x = b
    y = give()
    cc.dispatch(a.length, step, y, b)


@tb.compute
def one_way(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    x = a
    if n > 3:
        x = b
    cc.dispatch(a.length, step, x, b)


@tb.compute
def other(cc: ComputeContext, a: S32Array) -> S32Array:
    cc.dispatch(a.length, step, a, a)
    return a


@tb.compute
def through_a_call(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    x = other(cc, a)
    cc.dispatch(a.length, step, x, b)


@tb.compute
def unpacked(cc: ComputeContext, pair: Any, a: S32Array) -> None:
    x, y = pair
    cc.dispatch(a.length, step, x, y)


@tb.compute
def walked_through(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    for x in (a, b):
        cc.dispatch(a.length, step, x, x)


@tb.compute
def set_in_an_expression(cc: ComputeContext, a: S32Array, b: S32Array, n: int) -> None:
    x = a
    if n and (x := b) is a:
        return
    cc.dispatch(a.length, step, x, b)


@tb.compute
def set_by_an_inner_function(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    x = a

    def change() -> None:
        nonlocal x
        x = b

    change()
    cc.dispatch(a.length, step, x, b)


@tb.compute
def named_like_a_builtin(cc: ComputeContext, a: S32Array, b: S32Array, print: Any) -> None:  # noqa: A002
    x = print(a)
    cc.dispatch(a.length, step, x, b)
