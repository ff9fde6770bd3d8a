"""Kernels of the corpus: barriers that are easily got wrong by a lint.

Found by trying kernels on the interpreter, all work items of them, and comparing.
"""

from tests.lints.cases import Corpus

import trilby as tb
from trilby import F32Array2D, KernelContext, NDRange, S32Array, f32, i32

corpus = Corpus()


@tb.func
def wait_if(kc: KernelContext, flag: i32) -> None:
    if flag == 0:
        return
    kc.barrier()


@corpus.bug("race-read-write", NDRange(16, local=16), a=16, flag=0)
@tb.kernel
def a_helper_that_may_wait(kc: KernelContext, a: S32Array, flag: i32) -> None:
    tile = tb.local(i32, 16)
    tile[kc.local_x] = kc.x
    wait_if(kc, flag)
    a.array[kc.x] = tile[15 - kc.local_x]


@tb.func
def wait_below(kc: KernelContext, x: i32) -> i32:
    if x > 3:
        return 0
    kc.barrier()
    return 1


@corpus.bug("barrier-divergence", NDRange(16, local=8), sees="divergence", a=16)
@tb.kernel
def a_helper_that_some_leave(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = wait_below(kc, kc.local_x)


@corpus.bug("race-read-write", NDRange(16, local=16), a=list(range(16)))
@tb.kernel
def a_turn_without_a_barrier(kc: KernelContext, a: S32Array) -> None:
    tile = tb.local(i32, 16)
    tile[kc.local_x] = kc.x
    kc.barrier()
    for i in range(4):
        a.array[kc.x] += tile[(kc.local_x + 1) % 16]
        if i % 2 == 0:
            continue
        kc.barrier()
        tile[kc.local_x] = i


@corpus.clean(NDRange(16, local=16), a=16)
@tb.kernel
def there_and_back(kc: KernelContext, a: S32Array) -> None:
    one = tb.local(i32, 16)
    two = tb.local(i32, 16)
    one[kc.local_x] = a.array[kc.x]
    kc.barrier()
    for _ in range(4):
        two[kc.local_x] = one[(kc.local_x + 1) % 16]
        kc.barrier()
        one[kc.local_x] = two[(kc.local_x + 1) % 16]
        kc.barrier()
    a.array[kc.x] = one[kc.local_x]


@corpus.bug("race-read-write", NDRange(16, local=16), a=list(range(16)))
@tb.kernel
def there_and_back_too_soon(kc: KernelContext, a: S32Array) -> None:
    one = tb.local(i32, 16)
    two = tb.local(i32, 16)
    one[kc.local_x] = a.array[kc.x]
    kc.barrier()
    for _ in range(4):
        two[kc.local_x] = one[(kc.local_x + 1) % 16]
        kc.barrier()
        one[kc.local_x] = two[(kc.local_x + 1) % 16]
    a.array[kc.x] = one[kc.local_x]


@corpus.clean(NDRange(8, local=8), a=64, b=8)
@tb.kernel
def two_tiles_in_turn(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    tile = tb.local(i32, 2, 8)
    total = 0
    for t in range(a.length // 8):
        tile[t % 2, kc.local_x] = a.array[t * 8 + kc.local_x]
        kc.barrier()
        total += tile[t % 2, 7 - kc.local_x]
    b.array[kc.x] = total


@corpus.bug("race-read-write", NDRange(8, local=8), a=list(range(64)), b=8)
@tb.kernel
def one_tile_in_turn(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    tile = tb.local(i32, 2, 8)
    total = 0
    for t in range(a.length // 8):
        tile[0, kc.local_x] = a.array[t * 8 + kc.local_x]
        kc.barrier()
        total += tile[0, 7 - kc.local_x]
    b.array[kc.x] = total


@corpus.clean(NDRange(16, local=16), a=16)
@tb.kernel
def adds_all_before(kc: KernelContext, a: S32Array) -> None:
    tile = tb.local(i32, 16)
    tile[kc.local_x] = a.array[kc.x]
    kc.barrier()
    step = 1
    while step < 16:
        more = 0
        if kc.local_x >= step:
            more = tile[kc.local_x - step]
        kc.barrier()
        tile[kc.local_x] += more
        kc.barrier()
        step *= 2
    a.array[kc.x] = tile[kc.local_x]


@corpus.bug("race-read-write", NDRange(16, local=16), a=list(range(1, 17)))
@tb.kernel
def adds_all_before_too_soon(kc: KernelContext, a: S32Array) -> None:
    tile = tb.local(i32, 16)
    tile[kc.local_x] = a.array[kc.x]
    kc.barrier()
    step = 1
    while step < 16:
        more = 0
        if kc.local_x >= step:
            more = tile[kc.local_x - step]
        tile[kc.local_x] += more
        kc.barrier()
        step *= 2
    a.array[kc.x] = tile[kc.local_x]


@corpus.bug("race-read-write", NDRange(16, local=8), a=list(range(1, 17)), sums=2)
@tb.kernel
def stops_waiting_at_last(kc: KernelContext, a: S32Array, sums: S32Array) -> None:
    tile = tb.local(i32, 8)
    tile[kc.local_x] = a.array[kc.x]
    kc.barrier()
    n = 4
    while n > 0:
        if kc.local_x < n:
            tile[kc.local_x] += tile[kc.local_x + n]
        if n > 2:
            kc.barrier()
        n //= 2
    if kc.local_x == 0:
        sums.array[kc.group_x] = tile[0]


@corpus.clean(NDRange(16, local=8), a=16)
@tb.kernel
def every_other_group_waits(kc: KernelContext, a: S32Array) -> None:
    if kc.x // kc.local_max_x % 2 == 0:
        kc.barrier()
    a.array[kc.x] = kc.x


@corpus.bug("barrier-divergence", NDRange(16, local=8), sees="divergence", a=16)
@tb.kernel
def every_other_four_wait(kc: KernelContext, a: S32Array) -> None:
    if kc.x // 4 % 2 == 0:
        kc.barrier()
    a.array[kc.x] = kc.x


@corpus.bug("race-write-write", NDRange((16, 16), local=(8, 8)), a=(16, 16), b=(16, 16))
@tb.kernel
def tiles_on_the_diagonal(kc: KernelContext, a: F32Array2D, b: F32Array2D) -> None:
    tile = tb.local(f32, 8, 8)
    tile[kc.local_y, kc.local_x] = a.array[kc.y, kc.x] + f32(kc.x)
    kc.barrier()
    down, along = kc.group_y * 8 + kc.local_y, kc.group_y * 8 + kc.local_x
    b.array[down, along] = tile[kc.local_x, kc.local_y] + f32(kc.group_x)


@corpus.unknown("race-write-write", NDRange(32, local=16), sees="race", a=64)
@tb.kernel
def a_counter_for_each_group(kc: KernelContext, a: S32Array) -> None:
    count = tb.local(i32, 1)
    if kc.local_x == 0:
        count[0] = 0
    kc.barrier()
    slot = tb.atomic_add(count, 0, 1)
    if 0 <= slot < a.length:
        a.array[slot] = kc.x
