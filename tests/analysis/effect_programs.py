"""Compute functions that leave traces, and some that leave none."""

# ruff: noqa: ARG001, T201, NPY002, FBT001, PLC0415, B023, A002, PLW0603 -- odd on purpose
# pyright: reportConstantRedefinition=false

from collections.abc import Callable
from typing import Any

import numpy as np

import trilby as tb
from trilby import ComputeContext, KernelContext, NDRange, S32Array

COUNT = 0


@tb.kernel
def step(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + 1


@tb.compute
def writes(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    a.array[0] = 1
    a.array[1] += 1
    b.array[:] = a.array[:]


@tb.compute
def changes(cc: ComputeContext, things: list[int], thing: Any, table: dict[str, int]) -> None:
    things[0] = 1
    thing.count = 2
    table["x"] += 1
    thing += 1
    del things[1]
    for thing.number in range(3):
        pass


@tb.compute
def calls(cc: ComputeContext, a: S32Array, f: Callable[[object], Any], things: Any) -> None:
    f(a)
    print(a.array[0])
    things.append(1)
    things.sort()
    first = f(next(things))
    np.random.shuffle(things)
    np.apply_along_axis(f, 0, things)
    np.fromiter(things, int)
    np.add(*things)
    np.sum(things, **things)
    np.add.at(things, 0, 1)
    things.create(length=3)
    list(iter(things, 0))
    max(things, **things)
    tb.Accelerator("interpreter")
    ordered = sorted(things, key=f)
    list(map(f, things))
    [f(x) for x in things]
    with things:
        pass
    sum(first, ordered)


@tb.compute
def writes_by_functions(cc: ComputeContext, a: Any, things: Any) -> None:
    np.copyto(things, 3)
    np.copyto(a.array, 3, "same_kind", things)
    np.add(things, 3, out=things)
    np.add(a.array, 3, things)
    np.add(a.array, 3, a.array)
    np.cumsum(things, 0, None, a.array)
    np.put_along_axis(a.array, things, 3, 0)
    np.put(ind=0, v=1, a=things)
    np.nan_to_num(things, copy=False)


@tb.compute
def sets_a_global(cc: ComputeContext, a: S32Array) -> None:
    global COUNT
    COUNT = 1
    cc.dispatch(a.length, step, a)


@tb.compute
def hides_names(cc: ComputeContext, things: list[list[int]], len: Callable[[], int]) -> None:
    log: list[int] = []
    len()
    [log.append(1) for log in things]
    other = things[0]
    other.append(1)
    last = log
    last = other
    last.append(1)
    if log := things[0]:
        log.append(1)


@tb.compute
def leaves_nothing(
    cc: ComputeContext, a: S32Array, buffers: list[S32Array], n: int, flag: bool
) -> object:
    if n < 0:
        raise ValueError("negative")
    assert n >= 0, f"{n}"
    import math

    scratch = S32Array.create(cc.accelerator, length=n)
    scratch.array[:] = 3
    scratch.array[0] += 1
    log: list[float] = []
    np.nan_to_num(a.array)
    table = {"x": 1}
    total = 0
    first, second = a, scratch
    for i in range(0, n, 2):
        cc.dispatch(NDRange(a.length, local=1), step, first)
        cc.dispatch(tb.NDRange(first.length), lambda kc: step(kc, second))
        first, second = second, first
        total += a.array[i]
        log.append(math.sqrt(total) + np.sum(a.array[:]) + a.array.sum())
        table["x"] = len(log)
        if max(log, default=0) > 3 and flag:
            break
    for buffer in buffers:
        cc.dispatch(buffer.length, step, buffer)
    lengths = sorted([buffer.length for buffer in buffers], reverse=True)
    while total > 3:
        total //= 2
    return first, total, lengths, int(a.array[0]), [*table.items()]


@tb.compute
def counts_down(cc: ComputeContext, a: S32Array, n: int) -> None:
    while n > 0:
        cc.dispatch(a.length, step, a)
        n -= 1


@tb.compute
def calls_another(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, step, a)
    writes(cc, a, a)


@tb.compute
def in_order(cc: ComputeContext, a: S32Array, f: Callable[[object], int]) -> None:
    cc.dispatch(a.length, step, a)
    f(1)
    for _ in range(3):
        cc.dispatch(
            f(2),
            step,
            a,
        )
        f(3)
    cc.dispatch(
        f(4),
        step,
        a,
    )
    f(5)


@tb.compute
def moves_data_itself(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    with cc.explicit():
        cc.put(a).put(b)
        cc.put(a, b).dispatch(a.length, step, a).get(a.array[:3])
        cc.get(a)
    try:
        cc.get(a).put(b)
        cc.accelerator.put(a)
        cc.accelerator.get(a, b)
        cc.put(a, b).dispatch(a.length, step, a).get(a.array[:3])
    finally:
        block = cc.put(a).explicit()
    with block:
        cc.get(a)
