"""A user's program that moves its data itself: pyright strict, mypy strict, and run."""

from typing import assert_type

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, i32
from trilby.errors import StaleReadError


class Evens(tb.Buffer):
    count: tb.Atomic[i32]
    length: i32
    key: tb.Array[i32] = tb.array("length")


@tb.kernel
def double(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] *= 2


@tb.kernel
def find(kc: KernelContext, a: S32Array, evens: Evens) -> None:
    if a.array[kc.x] % 2 == 0:
        evens.key[tb.atomic_add(evens.count, 1)] = a.array[kc.x]


@tb.compute
def find_evens(cc: ComputeContext, a: S32Array, evens: Evens) -> list[int]:
    with cc.explicit():
        assert_type(cc.put(a, evens.count), ComputeContext)
        cc.dispatch(a.length, find, a, evens).get(evens.count)
        cc.get(evens.key[: evens.count])
        return sorted(evens.key[: evens.count].tolist())


@tb.compute(explicit=True)
def double_all(cc: ComputeContext, a: S32Array, times: int) -> int:
    cc.put(a)
    for _ in range(times):
        cc.dispatch(a.length, lambda kc: double(kc, a))
    cc.get(a.array[0])
    return a.array[0]


def use(accelerator: Accelerator, a: S32Array) -> tuple[list[int], int]:
    evens = Evens.create(accelerator, length=a.length)
    with accelerator.record() as ledger:
        found = accelerator.compute(find_evens, a, evens)
        doubled = accelerator.compute(double_all, a, 3)
    assert_type(doubled, int)
    for one in ledger.redundant:
        assert_type(one.buffer, str)
        assert_type(one.location.line, int)
    return found, doubled


def use_outside(accelerator: Accelerator, a: S32Array, evens: Evens) -> str:
    with accelerator.explicit(stale="warn"):
        assert_type(accelerator.put(a).put(evens, "count"), Accelerator)
    try:
        with accelerator.explicit():
            accelerator.put(a.array[:2], evens.key).get(evens, "count")
    except StaleReadError as error:
        return error.advice
    return ""
