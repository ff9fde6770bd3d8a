"""Kernels of the corpus: what is seldom written, and easily got wrong by a lint.

Found by trying kernels on the interpreter, all work items of them, and comparing.
"""

from tests.lints.cases import Corpus

import trilby as tb
from trilby import F32Array, F32Array2D, KernelContext, NDRange, S32Array, f32, i32, u32

corpus = Corpus()


class Cells(tb.Buffer):
    class Bits(tb.Union):
        whole: i32
        other: u32

    length: i32
    cell: tb.Array[Bits] = tb.array("length")


class Lists(tb.Buffer):
    class Row(tb.Struct):
        entry: tb.Array[i32] = tb.array(4)

    length: i32
    row: tb.Array[Row] = tb.array("length")


# -- numbers


@corpus.bug("race-write-write", 64, a=64)
@tb.kernel
def a_product_that_wraps(kc: KernelContext, a: S32Array) -> None:
    half = u32(kc.x) * u32(2147483648) // u32(2147483648)
    if i32(half) < a.length:
        a.array[i32(half)] = kc.x


@corpus.clean(16, a=64)
@tb.kernel
def odd_ones_by_bits(kc: KernelContext, a: S32Array) -> None:
    i = (kc.x << 1) | 1
    if i < a.length:
        a.array[i] = kc.x


@corpus.bug("race-write-write", 16, a=64)
@tb.kernel
def pairs_by_bits(kc: KernelContext, a: S32Array) -> None:
    i = kc.x | 1
    if i < a.length:
        a.array[i] = kc.x


@corpus.clean(16, a=64)
@tb.kernel
def partners_by_bits(kc: KernelContext, a: S32Array) -> None:
    if (kc.x & 1) == 0 and (kc.x ^ 1) < a.length:
        a.array[kc.x] = a.array[kc.x ^ 1]


@corpus.bug("race-read-write", 16, a=64)
@tb.kernel
def all_partners_by_bits(kc: KernelContext, a: S32Array) -> None:
    if (kc.x ^ 1) < a.length:
        a.array[kc.x] = a.array[kc.x ^ 1]


@corpus.clean(64, a=64, w=5)
@tb.kernel
def apart_and_together(kc: KernelContext, a: S32Array, w: i32) -> None:
    if w > 0:
        a.array[kc.x // w * w + kc.x % w] = kc.x


@corpus.bug("race-write-write", 60, a=64, w=5)
@tb.kernel
def apart_and_exchanged(kc: KernelContext, a: S32Array, w: i32) -> None:
    if w > 0:
        at = kc.x % w * w + kc.x // w
        if at < a.length:
            a.array[at] = kc.x


@corpus.bug("race-write-write", (8, 4), a=128, pitch=8)
@tb.kernel
def rows_that_overlap(kc: KernelContext, a: S32Array, pitch: i32) -> None:
    if kc.x < pitch:
        a.array[kc.y * (pitch - 1) + kc.x] = kc.x


@corpus.clean((4, 4, 4), a=256, w=4, h=4)
@tb.kernel
def a_volume_with_guards(kc: KernelContext, a: S32Array, w: i32, h: i32) -> None:
    if kc.x < w and kc.y < h:
        a.array[(kc.z * h + kc.y) * w + kc.x] = kc.x


@corpus.bug("race-write-write", (4, 4, 4), a=256, w=2, h=4)
@tb.kernel
def a_volume_of_wrong_height(kc: KernelContext, a: S32Array, w: i32, h: i32) -> None:
    if kc.x < w and kc.y < h:
        a.array[(kc.z * w + kc.y) * w + kc.x] = kc.x + kc.z


# -- loops


@corpus.clean(8, a=64)
@tb.kernel
def from_the_end_in_steps(kc: KernelContext, a: S32Array) -> None:
    for i in range(a.length - 1 - kc.x, -1, -kc.max_x):
        a.array[i] = kc.x


@corpus.bug("race-write-write", 8, a=64)
@tb.kernel
def from_the_end_in_short_steps(kc: KernelContext, a: S32Array) -> None:
    for i in range(a.length - 1 - kc.x, -1, -(kc.max_x - 1)):
        a.array[i] = kc.x


@corpus.clean(8, a=64)
@tb.kernel
def skips_those_of_others(kc: KernelContext, a: S32Array) -> None:
    for i in range(a.length):
        if i % kc.max_x != kc.x:
            continue
        a.array[i] = kc.x


@corpus.bug("race-write-write", 8, a=64)
@tb.kernel
def skips_too_few(kc: KernelContext, a: S32Array) -> None:
    for i in range(a.length):
        if i % kc.max_x < kc.x:
            continue
        a.array[i] = kc.x


@corpus.bug("race-write-write", 8, a=64)
@tb.kernel
def doubles_its_way(kc: KernelContext, a: S32Array) -> None:
    i = kc.x + 1
    while i < a.length:
        a.array[i] = kc.x
        i *= 2


@corpus.bug(
    "out-of-bounds",
    8,
    sees="nothing",
    disagrees="what lies left of the first element is the length, inside of the buffer's bytes",
    a=8,
)
@tb.kernel
def counts_down_too_far(kc: KernelContext, a: S32Array) -> None:
    if kc.x == 0:
        for i in range(a.length - 1, -2, -1):
            a.array[i] = i


# -- places


@corpus.bug("race-read-write", 16, cells=16)
@tb.kernel
def two_members_of_a_union(kc: KernelContext, cells: Cells) -> None:
    if kc.x + 1 < cells.length:
        cells.cell[kc.x].whole = i32(cells.cell[kc.x + 1].other)


@corpus.clean(16, lists=16)
@tb.kernel
def entries_of_lists(kc: KernelContext, lists: Lists) -> None:
    lists.row[kc.x // 4].entry[kc.x % 4] = kc.x


@corpus.bug(
    "out-of-bounds",
    16,
    sees="nothing",
    disagrees="the fifth entry of a list of four is in the next list, which Oclgrind cannot tell",
    lists=17,
)
@tb.kernel
def a_fifth_entry(kc: KernelContext, lists: Lists) -> None:
    if kc.x % 5 == 4:
        lists.row[kc.x].entry[kc.x % 5] = kc.x


@corpus.clean(16, a=16, b=16, flag=1)
@tb.kernel
def one_to_the_other(kc: KernelContext, a: S32Array, b: S32Array, flag: i32) -> None:
    source = a if flag > 0 else b
    target = b if flag > 0 else a
    if kc.x + 1 < source.length and kc.x < target.length:
        target.array[kc.x] = source.array[kc.x + 1]


@corpus.bug("race-read-write", 16, a=16, b=16, flag=0)
@tb.kernel
def one_to_itself(kc: KernelContext, a: S32Array, b: S32Array, flag: i32) -> None:
    source = a if flag > 0 else b
    target = a if flag > 1 else b
    if kc.x + 1 < source.length and kc.x < target.length:
        target.array[kc.x] = source.array[kc.x + 1]


@corpus.clean(16, a=16, b=16)
@tb.kernel
def by_turns_into_two(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    target = a if kc.x % 2 == 0 else b
    if kc.x // 2 < target.length:
        target.array[kc.x // 2] = kc.x


@corpus.bug("race-write-write", 16, a=16, b=16, c=16, d=16)
@tb.kernel
def one_of_many(kc: KernelContext, a: S32Array, b: S32Array, c: S32Array, d: S32Array) -> None:
    first = a if kc.x == 1 else b
    second = c if kc.x == 2 else d
    third = first if kc.x < 5 else second
    fourth = third if kc.x < 7 else first
    fifth = fourth if kc.x < 9 else second
    sixth = fifth if kc.x < 11 else third
    sixth.array[0] = kc.x


# -- passes


@corpus.clean(16, a=64)
@tb.kernel
def sorts_pairs(kc: KernelContext, a: S32Array) -> None:
    i = 2 * kc.x + kc.pass_id % 2
    if i + 1 < a.length and a.array[i] > a.array[i + 1]:
        larger = a.array[i]
        a.array[i] = a.array[i + 1]
        a.array[i + 1] = larger


# -- barriers


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


# -- and just right


@corpus.clean(8, a=64)
@tb.kernel
def strides_its_way(kc: KernelContext, a: S32Array) -> None:
    i = kc.x
    while i < a.length:
        a.array[i] = kc.x
        i += kc.max_x


@corpus.clean(8, a=64)
@tb.kernel
def a_triangle(kc: KernelContext, a: S32Array) -> None:
    for i in range(kc.x + 1):
        at = kc.x * (kc.x + 1) // 2 + i
        if at < a.length:
            a.array[at] = i


@corpus.clean((8, 4), a=128, pitch=8)
@tb.kernel
def rows_with_a_gap(kc: KernelContext, a: S32Array, pitch: i32) -> None:
    if kc.x < pitch:
        a.array[kc.y * (pitch + 1) + kc.x] = kc.x


@corpus.clean(16, a=64)
@tb.kernel
def atomic_beside_plain(kc: KernelContext, a: S32Array) -> None:
    if kc.x % 2 == 0:
        tb.atomic_add(a.array, kc.x // 4 * 2, 1)
    else:
        a.array[kc.x] = 5


@corpus.bug("race-plain-atomic", 16, a=64)
@tb.kernel
def atomic_upon_plain(kc: KernelContext, a: S32Array) -> None:
    if kc.x % 2 == 0:
        tb.atomic_add(a.array, kc.x // 2, 1)
    else:
        a.array[kc.x] = 5


@corpus.clean(NDRange(16, local=8), a=16)
@tb.kernel
def shifts_within_groups(kc: KernelContext, a: S32Array) -> None:
    v = 0
    if kc.local_x + 1 < kc.local_max_x and kc.x + 1 < a.length:
        v = a.array[kc.x + 1]
    kc.barrier()
    if kc.x < a.length:
        a.array[kc.x] = v


@corpus.bug("race-read-write", NDRange(16, local=8), a=list(range(16)))
@tb.kernel
def shifts_between_groups(kc: KernelContext, a: S32Array) -> None:
    v = 0
    if kc.x + 1 < a.length:
        v = a.array[kc.x + 1]
    kc.barrier()
    if kc.x < a.length:
        a.array[kc.x] = v


@corpus.clean(NDRange((16, 16), local=(8, 8)), a=(16, 16), b=(16, 16))
@tb.kernel
def tiles_exchanged(kc: KernelContext, a: F32Array2D, b: F32Array2D) -> None:
    tile = tb.local(f32, 8, 9)
    tile[kc.local_y, kc.local_x] = a.array[kc.y, kc.x]
    kc.barrier()
    down, along = kc.group_x * 8 + kc.local_y, kc.group_y * 8 + kc.local_x
    b.array[down, along] = tile[kc.local_x, kc.local_y]


@corpus.clean(NDRange(16, local=8), a=16, sums=2)
@tb.kernel
def adds_neighbours(kc: KernelContext, a: S32Array, sums: S32Array) -> None:
    tile = tb.local(i32, 8)
    tile[kc.local_x] = a.array[kc.x]
    kc.barrier()
    n = 1
    while n < 8:
        at = 2 * n * kc.local_x
        if at + n < 8:
            tile[at] += tile[at + n]
        kc.barrier()
        n *= 2
    if kc.local_x == 0:
        sums.array[kc.group_x] = tile[0]


@corpus.clean(NDRange(16, local=8), a=16, n=8)
@tb.kernel
def whole_groups_return(kc: KernelContext, a: S32Array, n: i32) -> None:
    tile = tb.local(i32, 8)
    tile[kc.local_x] = kc.x
    if kc.group_x * kc.local_max_x >= n:
        return
    kc.barrier()
    a.array[kc.x] = tile[7 - kc.local_x]


@corpus.clean(8, a=64)
@tb.kernel
def goes_round_from_the_left(kc: KernelContext, a: S32Array) -> None:
    a.array[(kc.x - 4) % 8 + kc.x // 8 * 8] = kc.x


@corpus.clean(16, notes="race-write-write", a=16, found=1)
@tb.kernel
def any_negative(kc: KernelContext, a: F32Array, found: S32Array) -> None:
    if a.array[kc.x] < 0.0:
        found.array[0] = 1


@corpus.clean(16, notes="race-write-write", places=[3] * 16, found=16)
@tb.kernel
def marks_places(kc: KernelContext, places: S32Array, found: S32Array) -> None:
    place = places.array[kc.x]
    if 0 <= place < found.length:
        found.array[place] = 1
