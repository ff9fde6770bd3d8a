"""Kernels of the corpus: items that meet in global memory, or just do not."""

from tests.lints.cases import Corpus

import trilby as tb
from trilby import (
    F32Array,
    F32Array2D,
    KernelContext,
    NDArray,
    S32Array,
    S32Array2D,
    f32,
    i32,
)

corpus = Corpus()


class Table(tb.Buffer):
    class Row(tb.Struct):
        key: i32
        value: f32

    count: tb.Atomic[i32]
    length: i32
    row: tb.Array[Row] = tb.array("length")


# -- one element each


@corpus.clean(64, a=64, b=64)
@tb.kernel
def copies(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[kc.x]


@corpus.clean(64, a=64)
@tb.kernel
def changes_its_own(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] * 2 + 1


@corpus.bug("race-write-write", 64, a=64)
@tb.kernel
def halves_its_index(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x // 2] = kc.x


@corpus.clean(64, a=64)
@tb.kernel
def one_of_each_pair(kc: KernelContext, a: S32Array) -> None:
    if kc.x % 2 == 0:
        a.array[kc.x // 2] = kc.x


@corpus.bug("race-write-write", 64, a=64)
@tb.kernel
def goes_round(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x % 8] = kc.x


@corpus.clean(64, a=64)
@tb.kernel
def goes_round_once(kc: KernelContext, a: S32Array) -> None:
    a.array[(kc.x + 5) % kc.max_x] = kc.x


@corpus.bug("race-write-write", 16, a=64)
@tb.kernel
def all_to_one(kc: KernelContext, a: S32Array) -> None:
    a.array[3] = kc.x


@corpus.clean(16, notes="race-write-write", a=64)
@tb.kernel
def all_say_the_same(kc: KernelContext, a: S32Array) -> None:
    a.array[3] = 1


@corpus.clean(16, notes="race-write-write", a=64, b=16)
@tb.kernel
def raises_a_flag(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if b.array[kc.x] > 2:
        a.array[0] = 1


@corpus.clean(16, a=64)
@tb.kernel
def one_item_writes(kc: KernelContext, a: S32Array) -> None:
    if kc.x == 0:
        a.array[0] = kc.max_x


@corpus.bug("race-write-write", 16, a=64)
@tb.kernel
def two_items_write(kc: KernelContext, a: S32Array) -> None:
    if kc.x < 2:
        a.array[0] = kc.x


# -- neighbours


@corpus.bug("race-read-write", 64, a=64)
@tb.kernel
def shifts_in_place(kc: KernelContext, a: S32Array) -> None:
    if kc.x + 1 < a.length:
        a.array[kc.x] = a.array[kc.x + 1]


@corpus.clean(64, a=64, b=64)
@tb.kernel
def shifts_aside(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if kc.x + 1 < a.length:
        b.array[kc.x] = a.array[kc.x + 1]


@corpus.bug("race-read-write", 32, a=64)
@tb.kernel
def smooths_in_place(kc: KernelContext, a: F32Array) -> None:
    if kc.x > 0 and kc.x < a.length - 1:
        a.array[kc.x] = (a.array[kc.x - 1] + a.array[kc.x + 1]) * 0.5


@corpus.clean(64, a=64)
@tb.kernel
def even_from_odd(kc: KernelContext, a: S32Array) -> None:
    if kc.x % 2 == 0 and kc.x + 1 < a.length:
        a.array[kc.x] = a.array[kc.x + 1]


@corpus.bug("race-read-write", 64, a=64)
@tb.kernel
def reverses_in_place(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[a.length - 1 - kc.x]


@corpus.clean(32, a=64)
@tb.kernel
def swaps_ends(kc: KernelContext, a: S32Array) -> None:
    other = a.length - 1 - kc.x
    if kc.x < other:
        a.array[kc.x], a.array[other] = a.array[other], a.array[kc.x]


@corpus.clean(32, a=64)
@tb.kernel
def adds_the_upper_half(kc: KernelContext, a: S32Array) -> None:
    if kc.x < a.length // 2:
        a.array[kc.x] += a.array[kc.x + (a.length + 1) // 2]


# -- loops


@corpus.clean(16, a=64)
@tb.kernel
def strides(kc: KernelContext, a: S32Array) -> None:
    for i in range(kc.x, a.length, kc.max_x):
        a.array[i] = i


@corpus.bug("race-write-write", 16, a=64)
@tb.kernel
def strides_too_short(kc: KernelContext, a: S32Array) -> None:
    for i in range(kc.x, a.length, 8):
        a.array[i] = kc.x


@corpus.clean(16, a=64)
@tb.kernel
def blocks_of_four(kc: KernelContext, a: S32Array) -> None:
    for i in range(4):
        a.array[kc.x * 4 + i] = i


@corpus.bug("race-write-write", 15, a=64)
@tb.kernel
def blocks_that_overlap(kc: KernelContext, a: S32Array) -> None:
    for i in range(5):
        a.array[kc.x * 4 + i] = kc.x


@corpus.clean(16, a=64)
@tb.kernel
def counts_itself(kc: KernelContext, a: S32Array) -> None:
    i = kc.x * 4
    while i < kc.x * 4 + 4:
        a.array[i] = i
        i += 1


@corpus.clean(16, a=64, rows=(16, 64))
@tb.kernel
def sums_its_row(kc: KernelContext, rows: NDArray[f32], a: F32Array) -> None:
    total = 0.0
    for i in range(rows.shape[1]):
        total += rows[kc.x, i]
    a.array[kc.x] = total


@corpus.bug("race-write-write race-read-write", 16, a=64, rows=(16, 64))
@tb.kernel
def sums_all_rows(kc: KernelContext, rows: NDArray[f32], a: F32Array) -> None:
    for i in range(rows.shape[1]):
        a.array[i] += rows[kc.x, i]


@corpus.clean(16, a=64)
@tb.kernel
def leaves_early(kc: KernelContext, a: S32Array) -> None:
    for i in range(4):
        if a.array[kc.x * 4 + i] > 7:
            break
        a.array[kc.x * 4 + i] = 0


# -- two dimensions, three dimensions


@corpus.clean((8, 8), a=(8, 8), b=(8, 8))
@tb.kernel
def transposes(kc: KernelContext, a: S32Array2D, b: S32Array2D) -> None:
    b.array[kc.x, kc.y] = a.array[kc.y, kc.x]


@corpus.bug("race-read-write", (8, 8), a=(8, 8))
@tb.kernel
def transposes_in_place(kc: KernelContext, a: S32Array2D) -> None:
    a.array[kc.y, kc.x] = a.array[kc.x, kc.y]


@corpus.clean((8, 8), a=64, width=8)
@tb.kernel
def rows_with_a_pitch(kc: KernelContext, a: S32Array, width: i32) -> None:
    a.array[kc.y * width + kc.x] += 1


@corpus.clean((9, 9), a=64, width=8)
@tb.kernel
def rows_with_a_guard(kc: KernelContext, a: S32Array, width: i32) -> None:
    if kc.x < width and kc.y * width + kc.x < a.length:
        a.array[kc.y * width + kc.x] += 1


@corpus.bug("race-write-write", (9, 7), a=128, width=8)
@tb.kernel
def a_guard_off_by_one(kc: KernelContext, a: S32Array, width: i32) -> None:
    if kc.x <= width:
        a.array[kc.y * width + kc.x] = kc.x - kc.y


@corpus.bug("race-write-write", (8, 8), a=64)
@tb.kernel
def adds_its_ids(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.y + kc.x] = kc.x


@corpus.bug("race-write-write", (16, 4), given=True, a=64)
@tb.kernel
def a_pitch_too_short(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.y * 15 + kc.x] = kc.x


@corpus.clean((4, 4, 4), a=64, width=4, height=4)
@tb.kernel
def a_volume(kc: KernelContext, a: F32Array, width: i32, height: i32) -> None:
    a.array[(kc.z * height + kc.y) * width + kc.x] = f32(kc.x)


@corpus.bug("race-write-write", (4, 4, 4), a=64)
@tb.kernel
def a_volume_too_flat(kc: KernelContext, a: F32Array) -> None:
    a.array[kc.y * kc.max_x + kc.x] = f32(kc.z)


@corpus.bug("race-write-write", (8, 8), a=(8, 8))
@tb.kernel
def only_its_row(kc: KernelContext, a: F32Array2D) -> None:
    a.array[0, kc.x] = f32(kc.y)


# -- helpers and aliases


@tb.func
def put(a: S32Array, place: i32, value: i32) -> i32:
    if place >= a.length:
        return 0
    a.array[place] = value
    return 1


@corpus.clean(64, a=32)
@tb.kernel
def puts_its_own(kc: KernelContext, a: S32Array) -> None:
    put(a, kc.x, kc.x)


@corpus.bug("race-write-write", 64, a=32)
@tb.kernel
def puts_at_the_half(kc: KernelContext, a: S32Array) -> None:
    put(a, kc.x // 2, kc.x)


@corpus.bug("race-read-write", 63, a=64, b=64)
@tb.kernel
def through_an_alias(kc: KernelContext, a: S32Array, b: S32Array, first: i32) -> None:
    target = a if first > 0 else b
    if kc.x + 1 < a.length:
        target.array[kc.x] = a.array[kc.x + 1]


@corpus.clean(16, table=16)
@tb.kernel
def rows_of_structs(kc: KernelContext, table: Table) -> None:
    row = table.row[kc.x]
    row.key = kc.x
    row.value = f32(kc.x)


@corpus.clean(16, table=16)
@tb.kernel
def other_members(kc: KernelContext, table: Table) -> None:
    table.row[kc.x].key = kc.x
    if kc.x > 0:
        table.row[kc.x].value = table.row[kc.x - 1].value if kc.x < 0 else 1.0


# -- atomics


@corpus.clean(16, a=16)
@tb.kernel
def counts_atomically(kc: KernelContext, a: S32Array) -> None:
    tb.atomic_add(a.array, 0, 1)


@corpus.bug("race-write-write race-read-write", 16, a=16)
@tb.kernel
def counts_plainly(kc: KernelContext, a: S32Array) -> None:
    a.array[0] += 1


@corpus.bug("race-write-write race-read-write", 16, a=16, b=[5] * 16)
@tb.kernel
def counts_some_plainly(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if b.array[kc.x] > 2:
        a.array[0] += 1


@corpus.bug("race-plain-atomic", 16, a=16, b=16)
@tb.kernel
def reads_a_counter(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    tb.atomic_add(a.array, 0, 1)
    b.array[kc.x] = a.array[0]


@corpus.bug("race-plain-atomic", 16, a=16)
@tb.kernel
def resets_a_counter(kc: KernelContext, a: S32Array) -> None:
    if kc.x == 0:
        a.array[0] = 0
    tb.atomic_add(a.array, 0, 1)


@corpus.clean(16, table=16)
@tb.kernel
def takes_a_ticket(kc: KernelContext, table: Table) -> None:
    slot = tb.atomic_add(table.count, 1)
    if slot < table.length:
        table.row[slot].key = kc.x


# -- data


@corpus.unknown("race-write-write", 16, a=16, b=list(range(16)))
@tb.kernel
def scatters(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    place = b.array[kc.x]
    if 0 <= place < a.length:
        a.array[place] = kc.x


@corpus.unknown("race-write-write race-read-write", 16, a=16, b=[3] * 16, sees="race")
@tb.kernel
def a_histogram(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    place = tb.clamp(b.array[kc.x], 0, a.length - 1)
    a.array[place] += 1


@corpus.clean(16, a=16, b=16, places=list(range(16)))
@tb.kernel
def gathers(kc: KernelContext, a: S32Array, b: S32Array, places: S32Array) -> None:
    a.array[kc.x] = b.array[tb.clamp(places.array[kc.x], 0, b.length - 1)]
