"""A user's program that looks at transfers, checked by pyright strict and mypy strict, and run."""

from collections.abc import Sequence
from typing import assert_type

import numpy as np
import numpy.typing as npt

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, Ledger, NDArray, S32Array, Transfers
from trilby.errors import GuardError, OutOfDeviceMemoryError
from trilby.oracle import Access, Excess, Minimum, Trace, minimum


@tb.kernel
def double(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] *= 2


@tb.compute
def double_often(cc: ComputeContext, a: S32Array, times: int) -> int:
    for _ in range(times):
        cc.dispatch(a.length, double, a)
    return a.array[0]


@tb.kernel
def negate(kc: KernelContext, a: NDArray[tb.f32]) -> None:
    a[kc.x] = -a[kc.x]


@tb.compute
def negate_all(cc: ComputeContext, a: NDArray[tb.f32]) -> None:
    cc.dispatch(a.shape[0], negate, a)


def copies_under(transfers: Transfers, backend: str) -> tuple[int, int]:
    """How often a buffer goes up and down when it is doubled three times."""
    with Accelerator(backend, transfers=transfers, memory="discrete", poison=True) as accelerator:
        a = S32Array.of([1, 2, 3])
        with accelerator.record() as ledger:
            assert_type(ledger, Ledger)
            assert_type(accelerator.compute(double_often, a, 3), int)
        return len(ledger.uploads), len(ledger.downloads)


def use_a_ledger(ledger: Ledger) -> str:
    assert_type(ledger.bytes_up + ledger.bytes_down, int)
    assert_type(ledger.optimal.buffer, Minimum)
    assert_type(ledger.optimal.range.bytes_down, int)
    assert_type(ledger.ratio, float)
    assert_type(ledger.excess, Sequence[Excess])
    for copy in (*ledger.uploads, *ledger.downloads):
        assert_type(copy.nbytes, int)
        assert_type(copy.cause, str)
        assert_type(copy.seconds, float)
        where = copy.location.line if copy.location else 0
        assert_type(where, int)
    return f"{ledger}\n{ledger.optimal}"


def use_every_strategy(accelerator: Accelerator, a: S32Array) -> Sequence[str]:
    told: list[str] = []
    for transfers in Transfers:
        with accelerator.strategy(transfers), accelerator.record() as ledger:
            accelerator.compute(lambda cc: double_often(cc, a, 1))
        told.append(use_a_ledger(ledger))
    accelerator.wait()
    return told


def is_quiet(accelerator: Accelerator, a: S32Array) -> bool:
    """Whether doubling once more moves nothing, the first element's way home included."""
    try:
        with accelerator.guard():
            accelerator.compute(double_often, a, 1)
    except GuardError as error:
        return error.location is None
    return True


def fits(backend: str, limit: int | str) -> bool:
    accelerator = Accelerator(backend, memory="discrete", memory_limit=limit)
    try:
        accelerator.compute(double_often, S32Array.create(length=1000), 1)
    except OutOfDeviceMemoryError:
        return False
    return True


def use_lent_memory(accelerator: Accelerator, mine: npt.NDArray[np.float32]) -> None:
    with accelerator.array(mine) as lent:
        accelerator.compute(negate_all, lent)


def least_of_a_trace() -> int:
    trace = Trace()
    a = trace.buffer("a", 8)
    trace.touch("gpu", {a: Access(reads=[(0, 4)])}, "look")
    return minimum(trace, "range").nbytes
