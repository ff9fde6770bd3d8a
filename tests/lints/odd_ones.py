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
