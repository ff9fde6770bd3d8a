"""A user's program with many passes: pyright strict, mypy strict, and run."""

import threading
from typing import assert_type

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDRange, S32Array, i32
from trilby.errors import PassesCancelledError, PassesStoppedError, PassesTimeoutError


class Found(tb.Buffer):
    count: tb.Atomic[i32]
    length: i32
    key: tb.Array[i32] = tb.array("length")


@tb.kernel
def flip(kc: KernelContext, a: S32Array, b: S32Array, by: i32) -> None:
    if kc.pass_id % 2 == 0:
        b.array[kc.x] = a.array[kc.x] + by
    else:
        a.array[kc.x] = b.array[kc.x] + by


@tb.kernel
def collect(kc: KernelContext, a: S32Array, found: Found) -> None:
    if a.array[kc.x] == kc.pass_id:
        found.key[tb.atomic_add(found.count, 1)] = kc.x


@tb.compute
def run(cc: ComputeContext, a: S32Array, b: S32Array) -> int:
    assert_type(cc.dispatch(a.length, flip, a, b, 1, passes=3), ComputeContext)
    cc.dispatch((a.length, 1), lambda kc: flip(kc, a, b, 2), passes=4)
    cc.dispatch(NDRange(a.length), flip, a, b, by=2).dispatch(a.length, flip, a, b, 1, passes=0)
    assert_type(cc.passes_done, int)
    return cc.passes_done


@tb.compute
def run_until(cc: ComputeContext, a: S32Array, found: Found) -> int:
    cc.dispatch(a.length, collect, a, found, passes=9, until=found.count, check_every=3)
    cc.dispatch(a.length, collect, a, found, passes=9, until=found.key[0])
    cc.dispatch(a.length, collect, a, found, passes=9, until=found)
    return cc.passes_done


def tell(done: int, passes: int) -> None:
    if done > passes:
        raise AssertionError(done)


@tb.compute
def run_stoppable(cc: ComputeContext, a: S32Array, b: S32Array, stop: threading.Event) -> None:
    cc.dispatch(a.length, flip, a, b, 1, passes=9, progress=tell, cancel=stop, timeout=60)
    cc.dispatch(a.length, lambda kc: flip(kc, a, b, 1), passes=9, progress=False)


def use(accelerator: Accelerator) -> int:
    a, b = S32Array.of(range(8)), S32Array.create(length=8)
    accelerator.compute(run, a, b)
    stop = threading.Event()
    try:
        accelerator.compute(run_stoppable, a, b, stop)
        stop.set()
        accelerator.compute(lambda cc: run_stoppable(cc, a, b, stop))
    except PassesCancelledError as error:
        assert_type(error.done, int)
    except (PassesTimeoutError, PassesStoppedError) as error:
        raise AssertionError from error
    found = Found.create(accelerator, length=100)
    return accelerator.compute(run_until, S32Array.of([7, 5, 9]), found)
