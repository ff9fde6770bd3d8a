"""Kernels of the corpus: work groups, local memory, barriers."""

from tests.lints.cases import Corpus

import trilby as tb
from trilby import F32Array, KernelContext, NDRange, S32Array, f32, i32

corpus = Corpus()

GROUP = 16


@corpus.clean(NDRange(64, local=16), a=64, sums=4)
@tb.kernel
def sums_groups(kc: KernelContext, a: F32Array, sums: F32Array) -> None:
    shared = tb.local(f32, GROUP)
    shared[kc.local_x] = a.array[kc.x]
    kc.barrier("local")
    step = GROUP // 2
    while step > 0:
        if kc.local_x < step:
            shared[kc.local_x] += shared[kc.local_x + step]
        kc.barrier("local")
        step //= 2
    if kc.local_x == 0:
        sums.array[kc.group_x] = shared[0]


@corpus.bug("race-read-write", NDRange(64, local=16), a=64, sums=4)
@tb.kernel
def sums_without_a_barrier(kc: KernelContext, a: F32Array, sums: F32Array) -> None:
    shared = tb.local(f32, GROUP)
    shared[kc.local_x] = a.array[kc.x]
    kc.barrier("local")
    step = GROUP // 2
    while step > 0:
        if kc.local_x < step:
            shared[kc.local_x] += shared[kc.local_x + step]
        step //= 2
    kc.barrier("local")
    if kc.local_x == 0:
        sums.array[kc.group_x] = shared[0]


@corpus.clean(NDRange(64, local=16), a=64, sums=4)
@tb.kernel
def sums_upwards(kc: KernelContext, a: F32Array, sums: F32Array) -> None:
    shared = tb.local(f32, GROUP)
    shared[kc.local_x] = a.array[kc.x]
    kc.barrier("local")
    stride = 1
    while stride < GROUP:
        if kc.local_x % (2 * stride) == 0:
            shared[kc.local_x] += shared[kc.local_x + stride]
        kc.barrier("local")
        stride *= 2
    if kc.local_x == 0:
        sums.array[kc.group_x] = shared[0]


@corpus.bug("race-read-write", NDRange(64, local=16), a=64, b=64)
@tb.kernel
def turns_a_tile_too_early(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    tile = tb.local(f32, GROUP)
    tile[kc.local_x] = a.array[kc.x]
    b.array[kc.x] = tile[GROUP - 1 - kc.local_x]


@corpus.clean(NDRange(64, local=16), a=64, b=64)
@tb.kernel
def turns_a_tile(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    tile = tb.local(f32, GROUP)
    tile[kc.local_x] = a.array[kc.x]
    kc.barrier("local")
    b.array[kc.x] = tile[GROUP - 1 - kc.local_x]


@corpus.bug("race-read-write", NDRange(64, local=16), a=64, b=64)
@tb.kernel
def waits_for_other_memory(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    tile = tb.local(f32, GROUP)
    tile[kc.local_x] = a.array[kc.x]
    kc.barrier("global")
    b.array[kc.x] = tile[GROUP - 1 - kc.local_x]


@corpus.clean(NDRange((16, 16), local=(8, 8)), a=256, b=256, width=16)
@tb.kernel
def transposes_tiles(kc: KernelContext, a: F32Array, b: F32Array, width: i32) -> None:
    tile = tb.local(f32, 8, 8)
    tile[kc.local_y, kc.local_x] = a.array[kc.y * width + kc.x]
    kc.barrier("local")
    x = kc.group_y * 8 + kc.local_x
    y = kc.group_x * 8 + kc.local_y
    if x < width:
        b.array[y * width + x] = tile[kc.local_x, kc.local_y]


@corpus.clean(NDRange(32, local=16), a=64, b=32)
@tb.kernel
def tile_after_tile(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    tile = tb.local(f32, GROUP)
    total = 0.0
    for start in range(0, a.length - GROUP + 1, GROUP):
        tile[kc.local_x] = a.array[start + kc.local_x]
        kc.barrier("local")
        for i in range(GROUP):
            total += tile[i]
        kc.barrier("local")
    b.array[kc.x] = total


@corpus.bug("race-read-write", NDRange(32, local=16), a=64, b=32)
@tb.kernel
def tile_over_tile(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    tile = tb.local(f32, GROUP)
    total = 0.0
    for start in range(0, a.length - GROUP + 1, GROUP):
        tile[kc.local_x] = a.array[start + kc.local_x]
        kc.barrier("local")
        for i in range(GROUP):
            total += tile[i]
    b.array[kc.x] = total


@corpus.clean(NDRange(64, local=16), a=64, b=64)
@tb.kernel
def with_a_halo(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    tile = tb.local(f32, GROUP + 2)
    tile[kc.local_x + 1] = a.array[kc.x]
    if kc.local_x == 0:
        tile[0] = a.array[max(kc.x - 1, 0)]
    if kc.local_x == GROUP - 1:
        tile[GROUP + 1] = a.array[min(kc.x + 1, a.length - 1)]
    kc.barrier("local")
    b.array[kc.x] = tile[kc.local_x] + tile[kc.local_x + 1] + tile[kc.local_x + 2]


@corpus.bug(
    "local-unwritten",
    NDRange(64, local=16),
    sees="nothing",
    disagrees="Oclgrind's check for uninitialised memory cannot be combined with that for races",
    a=64,
    b=64,
)
@tb.kernel
def with_a_hollow_halo(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    tile = tb.local(f32, GROUP + 2)
    tile[kc.local_x + 1] = a.array[kc.x]
    kc.barrier("local")
    b.array[kc.x] = tile[kc.local_x] + tile[kc.local_x + 1] + tile[kc.local_x + 2]


@corpus.bug(
    "local-unwritten",
    NDRange(64, local=16),
    sees="nothing",
    disagrees="Oclgrind's check for uninitialised memory cannot be combined with that for races",
    b=64,
)
@tb.kernel
def reads_what_nobody_wrote(kc: KernelContext, b: F32Array) -> None:
    tile = tb.local(f32, GROUP)
    kc.barrier("local")
    b.array[kc.x] = tile[kc.local_x]


@corpus.bug("race-write-write", NDRange(64, local=16), a=list(range(64)), sums=4)
@tb.kernel
def all_of_a_group_write(kc: KernelContext, a: F32Array, sums: F32Array) -> None:
    sums.array[kc.group_x] = a.array[kc.x]


@corpus.clean(NDRange(64, local=16), a=64, sums=4)
@tb.kernel
def the_first_of_a_group_writes(kc: KernelContext, a: F32Array, sums: F32Array) -> None:
    if kc.local_x == 0:
        sums.array[kc.group_x] = a.array[kc.x]


@corpus.bug("race-write-write", NDRange(64, local=16), a=16)
@tb.kernel
def the_same_of_each_group(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.local_x] = kc.x


@corpus.clean(NDRange(64, local=16), a=64)
@tb.kernel
def by_group_and_place(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.group_x * kc.local_max_x + kc.local_x] = kc.x


@corpus.bug("race-read-write", NDRange(64, local=16), a=64)
@tb.kernel
def a_barrier_between_groups(kc: KernelContext, a: S32Array) -> None:
    value = a.array[(kc.x + 1) % kc.max_x]
    kc.barrier("global")
    a.array[kc.x] = value


@corpus.clean(NDRange(64, local=16), a=64)
@tb.kernel
def a_barrier_within_groups(kc: KernelContext, a: S32Array) -> None:
    value = a.array[kc.group_x * kc.local_max_x + (kc.local_x + 1) % kc.local_max_x]
    kc.barrier("global")
    a.array[kc.x] = value


@corpus.clean(NDRange(64, local=16), a=64, sums=4)
@tb.kernel
def counts_in_a_group(kc: KernelContext, a: S32Array, sums: S32Array) -> None:
    count = tb.local(i32, 1)
    if kc.local_x == 0:
        count[0] = 0
    kc.barrier("local")
    if a.array[kc.x] > 2:
        tb.atomic_add(count, 0, 1)
    kc.barrier("local")
    if kc.local_x == 0:
        sums.array[kc.group_x] = count[0]


@corpus.bug("race-plain-atomic", NDRange(64, local=16), a=64, sums=4)
@tb.kernel
def counts_before_it_is_zero(kc: KernelContext, a: S32Array, sums: S32Array) -> None:
    count = tb.local(i32, 1)
    if kc.local_x == 0:
        count[0] = 0
    tb.atomic_add(count, 0, 1)
    kc.barrier("local")
    if kc.local_x == 0:
        sums.array[kc.group_x] = count[0]


# -- barriers that part


@corpus.bug("barrier-divergence", NDRange(32, local=16), sees="divergence", a=32, n=24)
@tb.kernel
def waits_under_a_condition(kc: KernelContext, a: S32Array, n: i32) -> None:
    if kc.x < n:
        kc.barrier()
    a.array[kc.x] = 1


@corpus.bug("barrier-divergence", NDRange(32, local=16), sees="divergence", a=32, n=24)
@tb.kernel
def returns_before_it_waits(kc: KernelContext, a: S32Array, n: i32) -> None:
    if kc.x >= n:
        return
    a.array[kc.x] = 1
    kc.barrier()
    a.array[kc.x] += 1


@corpus.bug("barrier-divergence", NDRange(32, local=16), sees="divergence", a=32)
@tb.kernel
def waits_in_its_own_loop(kc: KernelContext, a: S32Array) -> None:
    for _ in range(kc.local_x):
        kc.barrier()
    a.array[kc.x] = 1


@corpus.clean(NDRange(32, local=16), a=32, n=2)
@tb.kernel
def waits_in_one_loop(kc: KernelContext, a: S32Array, n: i32) -> None:
    for _ in range(n):
        a.array[kc.x] += 1
        kc.barrier()


@corpus.clean(NDRange(32, local=16), a=32, n=1)
@tb.kernel
def waits_by_group(kc: KernelContext, a: S32Array, n: i32) -> None:
    if kc.group_x < n:
        kc.barrier()
    a.array[kc.x] = 1


@corpus.clean(NDRange(32, local=16), a=32, n=24)
@tb.kernel
def guards_around_a_barrier(kc: KernelContext, a: S32Array, n: i32) -> None:
    if kc.x < n:
        a.array[kc.x] = 1
    kc.barrier()
    if kc.x < n:
        a.array[kc.x] += 1


@corpus.unknown("barrier-divergence", NDRange(32, local=16), a=[5] * 32)
@tb.kernel
def waits_if_the_data_says_so(kc: KernelContext, a: S32Array) -> None:
    if a.array[kc.x] > 2:
        kc.barrier()


@tb.func
def settle(kc: KernelContext, tile: S32Array) -> None:
    tile.array[kc.x] += 1
    kc.barrier("global")


@corpus.clean(NDRange(32, local=16), a=32)
@tb.kernel
def waits_in_a_helper(kc: KernelContext, a: S32Array) -> None:
    settle(kc, a)
    start = kc.group_x * kc.local_max_x
    value = a.array[start + kc.local_max_x - 1 - kc.local_x]
    kc.barrier("global")
    a.array[kc.x] = value
