"""Kernels and compute functions that the tests of the runtime share."""

from typing import Any

import trilby as tb
from trilby import (
    ComputeContext,
    F32Array,
    KernelContext,
    NDArray,
    NDRange,
    S32Array,
    S32Array2D,
    f32,
    i32,
)

Size = int | tuple[int, ...] | NDRange


class Table(tb.Buffer):
    class Row(tb.Struct):
        key: i32
        value: f32

    count: tb.Atomic[i32]
    length: i32
    row: tb.Array[Row] = tb.array("length")


@tb.func
def square(v: i32) -> i32:
    return v * v


@tb.kernel
def square_kernel(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = square(a.array[kc.x])


@tb.kernel
def add(kc: KernelContext, a: S32Array, n: i32) -> None:
    a.array[kc.x] += n


@tb.kernel
def copy(kc: KernelContext, source: S32Array, to: S32Array) -> None:
    to.array[kc.x] = source.array[kc.x]


@tb.kernel
def number(kc: KernelContext, a: S32Array) -> None:
    """Write and never read: each element its own index plus 100."""
    a.array[kc.x] = kc.x + 100


@tb.kernel
def add_to(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + b.array[kc.x]


@tb.kernel
def lengths(kc: KernelContext, a: S32Array, out: S32Array) -> None:
    """Look at nothing of `a` but its length."""
    out.array[kc.x] = a.length


@tb.kernel
def scale(kc: KernelContext, a: F32Array, factor: f32) -> None:
    a.array[kc.x] = a.array[kc.x] * factor


@tb.kernel
def one_if(kc: KernelContext, a: S32Array, condition: bool) -> None:  # noqa: FBT001 -- it is the test
    if condition:
        a.array[kc.x] = 1


@tb.kernel
def collect(kc: KernelContext, a: S32Array, table: Table) -> None:
    """Enter what is even into a table."""
    if a.array[kc.x] % 2 == 0:
        slot = tb.atomic_add(table.count, 1)
        table.row[slot].key = a.array[kc.x]


@tb.kernel
def plus_one(kc: KernelContext, a: NDArray[f32], b: NDArray[f32]) -> None:
    b[kc.x] = a[kc.x] + 1.0


@tb.kernel
def where_2d(kc: KernelContext, a: S32Array2D) -> None:
    a.array[kc.y, kc.x] = 10 * kc.y + kc.x


@tb.kernel
def where_3d(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.z, kc.y, kc.x] = 100 * kc.z + 10 * kc.y + kc.x


@tb.kernel
def fail_in_the_middle(kc: KernelContext, a: S32Array, at: i32) -> None:
    """Work item `at` leaves the array, after others have written."""
    if kc.x == at:
        a.array[a.length] = 1
    a.array[kc.x] = -1


@tb.compute
def dispatch(cc: ComputeContext, size: Any, kernel: Any, *args: Any, **kwargs: Any) -> str:
    """Dispatch anything: what is wrong is found when it runs, not before."""
    cc.dispatch(size, kernel, *args, **kwargs)
    return "done"


@tb.compute
def square_all(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, square_kernel, a)


@tb.compute
def square_all_quoted(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, lambda kc: square_kernel(kc, a))


@tb.compute
def add_to_all(cc: ComputeContext, a: S32Array, n: int = 1) -> int:
    cc.dispatch(a.length, add, a, n)
    return n * 10


@tb.kernel
def write_evens(kc: KernelContext, a: S32Array) -> None:
    """Each work item its own element; those between stay as they are."""
    a.array[2 * kc.x] = -1


@tb.kernel
def take(kc: KernelContext, a: S32Array, start: i32, out: S32Array) -> None:
    """Read as many elements from `start` on as there are work items."""
    out.array[kc.x] = a.array[start + kc.x]


@tb.kernel
def write_some(kc: KernelContext, a: S32Array, limit: i32) -> None:
    """Write what is below a limit, so that nobody knows beforehand what is written."""
    if a.array[kc.x] < limit:
        a.array[kc.x] = -limit


@tb.kernel
def spin(kc: KernelContext, a: S32Array, turns: i32) -> None:
    """Take long: what comes out is `spun`."""
    n = a.array[kc.x]
    for _ in range(turns):
        n = n * 3 % 1000003
    a.array[kc.x] = n


def spun(n: int, turns: int) -> int:
    return n * pow(3, turns, 1000003) % 1000003
