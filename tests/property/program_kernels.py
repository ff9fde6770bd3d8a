"""The kernels that random programs dispatch: few, so that each is compiled once.

Each touches memory in another way. None of them has races, as long as those buffers are
apart of which the palette says so. Their meaning in NumPy stands in `program_twins.py`.
"""

import trilby as tb
from trilby import (
    F32Array,
    KernelContext,
    NDArray,
    S32Array,
    S32Array2D,
    U8Array,
    f32,
    i32,
    u8,
)


class Table(tb.Buffer):
    class Row(tb.Struct):
        key: i32
        value: f32

    total: tb.Atomic[i32]
    length: i32
    row: tb.Array[Row] = tb.array("length")


@tb.func
def put(a: S32Array, i: i32, v: i32) -> None:
    a.array[i] = v


@tb.func
def at(a: S32Array, i: i32) -> i32:
    return a.array[i % a.length]


# ------------------------------------------------------------------- lines: `S32Array`


@tb.kernel
def number(kc: KernelContext, a: S32Array, v: i32) -> None:
    a.array[kc.x] = kc.x + v


@tb.kernel
def increase(kc: KernelContext, a: S32Array, v: i32) -> None:
    a.array[kc.x] = (a.array[kc.x] + v) % 1000


@tb.kernel
def copy(kc: KernelContext, to: S32Array, source: S32Array) -> None:
    to.array[kc.x] = source.array[kc.x]


@tb.kernel
def add_to(kc: KernelContext, to: S32Array, source: S32Array) -> None:
    to.array[kc.x] = (to.array[kc.x] + source.array[kc.x]) % 1000


@tb.kernel
def add_both(kc: KernelContext, to: S32Array, left: S32Array, right: S32Array) -> None:
    to.array[kc.x] = (left.array[kc.x] + right.array[kc.x]) % 1000


@tb.kernel
def first_half(kc: KernelContext, a: S32Array, v: i32) -> None:
    if kc.x < a.length // 2:
        a.array[kc.x] = v


@tb.kernel
def last_half(kc: KernelContext, a: S32Array, v: i32) -> None:
    if kc.x < a.length // 2:
        return
    put(a, kc.x, v + kc.x)


@tb.kernel
def every_other(kc: KernelContext, a: S32Array, v: i32) -> None:
    """Launched for half of the length."""
    a.array[2 * kc.x] = v


@tb.kernel
def where_odd(kc: KernelContext, to: S32Array, source: S32Array) -> None:
    if source.array[kc.x] % 2 == 1:
        to.array[kc.x] = kc.x


@tb.kernel
def poke(kc: KernelContext, a: S32Array, i: i32, v: i32) -> None:
    """Launched for one item."""
    a.array[i] = v + kc.x


@tb.kernel
def between(kc: KernelContext, a: S32Array, low: i32, high: i32, v: i32) -> None:
    if low <= kc.x < high:
        a.array[kc.x] = v


@tb.kernel
def shifted(kc: KernelContext, a: S32Array, low: i32, v: i32) -> None:
    """Launched for the part behind `low`, or less."""
    a.array[low + kc.x] = v - kc.x


@tb.kernel
def fill_guarded(kc: KernelContext, a: S32Array, v: i32) -> None:
    """Launched for whole groups, more items than there are elements."""
    if kc.x < a.length:
        a.array[kc.x] = v


@tb.kernel
def fill_alone(kc: KernelContext, a: S32Array, count: i32, v: i32) -> None:
    """Launched for one item, which walks."""
    for i in range(count):
        a.array[i] = v + i + kc.x


@tb.kernel
def gather(kc: KernelContext, to: S32Array, source: S32Array, index: S32Array) -> None:
    to.array[kc.x] = source.array[index.array[kc.x] % source.length]


@tb.kernel
def backwards(kc: KernelContext, to: S32Array, source: S32Array) -> None:
    to.array[kc.x] = source.array[source.length - 1 - kc.x]


@tb.kernel
def smooth(kc: KernelContext, to: S32Array, source: S32Array) -> None:
    """Each from its neighbours, around the ends."""
    to.array[kc.x] = (at(source, kc.x - 1) + at(source, kc.x) + at(source, kc.x + 1)) % 1000


@tb.kernel
def smooth_inside(kc: KernelContext, to: S32Array, source: S32Array) -> None:
    """The same, and the ends are left alone."""
    if 0 < kc.x < to.length - 1:
        i = kc.x
        to.array[i] = (source.array[i - 1] + source.array[i + 1]) % 1000


@tb.kernel
def sums(kc: KernelContext, to: S32Array, source: S32Array) -> None:
    total = 0
    for i in range(kc.x + 1):
        total += source.array[i]
    to.array[kc.x] = total % 1000


@tb.kernel
def set_and_add(kc: KernelContext, a: S32Array, v: i32) -> None:
    """Reads only what it has written itself."""
    a.array[kc.x] = v
    a.array[kc.x] += kc.x


@tb.kernel
def tally(kc: KernelContext, counts: S32Array, source: S32Array) -> None:
    tb.atomic_add(counts.array, source.array[kc.x] % counts.length, 1)


@tb.kernel
def note_above(kc: KernelContext, flag: S32Array, source: S32Array, limit: i32) -> None:
    if source.array[kc.x] > limit:
        tb.atomic_max(flag.array, 0, 1)


@tb.kernel
def split(kc: KernelContext, one: S32Array, other: S32Array, source: S32Array) -> None:
    """One half of the items writes here, the other half there."""
    if kc.x < source.length // 2:
        one.array[kc.x] = source.array[kc.x]
    else:
        other.array[kc.x] = source.array[kc.x]


@tb.kernel
def clear_or_copy(kc: KernelContext, to: S32Array, source: S32Array, clear: bool) -> None:  # noqa: FBT001 -- kernels take truth values like other numbers
    to.array[kc.x] = 0 if clear else source.array[kc.x]


@tb.kernel
def ignore(kc: KernelContext, to: S32Array, source: S32Array) -> None:
    """Looks at nothing but the length of what it is given."""
    to.array[kc.x] = source.length + kc.max_x


# --------------------------------------------------- flat arrays and grids: `NDArray[i32]`


@tb.kernel
def flat_number(kc: KernelContext, a: NDArray[i32], v: i32) -> None:
    a[kc.x] = 2 * kc.x + v


@tb.kernel
def flat_add(kc: KernelContext, to: NDArray[i32], source: NDArray[i32]) -> None:
    to[kc.x] = (to[kc.x] + source[kc.x]) % 1000


@tb.kernel
def flat_rotate(kc: KernelContext, to: NDArray[i32], source: NDArray[i32], by: i32) -> None:
    to[kc.x] = source[(kc.x + by) % source.shape[0]]


@tb.kernel
def flat_from_line(kc: KernelContext, to: NDArray[i32], source: S32Array) -> None:
    to[kc.x] = source.array[kc.x]


@tb.kernel
def line_from_flat(kc: KernelContext, to: S32Array, source: NDArray[i32]) -> None:
    if source[kc.x] > 20:
        to.array[kc.x] = source[kc.x]


@tb.kernel
def grid_number(kc: KernelContext, g: NDArray[i32], v: i32) -> None:
    g[kc.y, kc.x] = 10 * kc.y + kc.x + v


@tb.kernel
def grid_add(kc: KernelContext, to: NDArray[i32], source: NDArray[i32]) -> None:
    to[kc.y, kc.x] = (to[kc.y, kc.x] + source[kc.y, kc.x]) % 1000


@tb.kernel
def grid_around(kc: KernelContext, to: NDArray[i32], source: NDArray[i32]) -> None:
    height, width = source.shape[0], source.shape[1]
    above = source[(kc.y + height - 1) % height, kc.x]
    left = source[kc.y, (kc.x + width - 1) % width]
    to[kc.y, kc.x] = (above + left + 1) % 1000


@tb.kernel
def grid_inside(kc: KernelContext, to: NDArray[i32], source: NDArray[i32]) -> None:
    """Launched for the cells that are not at an edge."""
    y, x = kc.y + 1, kc.x + 1
    to[y, x] = (source[y - 1, x] + source[y + 1, x]) % 1000


@tb.kernel
def grid_row(kc: KernelContext, g: NDArray[i32], y: i32, v: i32) -> None:
    g[y, kc.x] = v + kc.x


@tb.kernel
def grid_column(kc: KernelContext, g: NDArray[i32], x: i32, v: i32) -> None:
    g[kc.x, x] = v + kc.x


@tb.kernel
def grid_rows_from(kc: KernelContext, g: NDArray[i32], low: i32, v: i32) -> None:
    if kc.y >= low:
        g[kc.y, kc.x] = v


@tb.kernel
def line_from_grid(kc: KernelContext, to: S32Array, g: NDArray[i32], y: i32) -> None:
    """A row of the grid; launched for its width, or for the length where that is less."""
    to.array[kc.x] = g[y, kc.x]


# --------------------------------------------------------------- planes: `S32Array2D`


@tb.kernel
def plane_number(kc: KernelContext, p: S32Array2D, v: i32) -> None:
    p.array[kc.y, kc.x] = v - kc.y - kc.x


@tb.kernel
def plane_add(kc: KernelContext, to: S32Array2D, source: S32Array2D) -> None:
    to.array[kc.y, kc.x] = (to.array[kc.y, kc.x] + source.array[kc.y, kc.x]) % 1000


@tb.kernel
def plane_turn(kc: KernelContext, to: S32Array2D, source: S32Array2D) -> None:
    y, x = source.height - 1 - kc.y, source.width - 1 - kc.x
    to.array[kc.y, kc.x] = source.array[y, x]


@tb.kernel
def plane_column(kc: KernelContext, p: S32Array2D, x: i32, v: i32) -> None:
    p.array[kc.x, x] = v


@tb.kernel
def grid_from_plane(kc: KernelContext, g: NDArray[i32], p: S32Array2D) -> None:
    g[kc.y, kc.x] = p.array[kc.y, kc.x]


# --------------------------------------------------- floats and bytes: `F32Array`, `U8Array`


@tb.kernel
def real_fill(kc: KernelContext, r: F32Array, v: f32) -> None:
    r.array[kc.x] = v + f32(kc.x)


@tb.kernel
def real_mean(kc: KernelContext, to: F32Array, source: F32Array) -> None:
    to.array[kc.x] = (to.array[kc.x] + source.array[kc.x]) * 0.5


@tb.kernel
def real_from_line(kc: KernelContext, to: F32Array, source: S32Array) -> None:
    if source.array[kc.x] % 2 == 0:
        to.array[kc.x] = f32(source.array[kc.x])


@tb.kernel
def bits_fill(kc: KernelContext, b: U8Array, v: i32) -> None:
    b.array[kc.x] = u8(v % 200)


@tb.kernel
def bits_from(kc: KernelContext, b: U8Array, low: i32, v: i32) -> None:
    if kc.x >= low:
        b.array[kc.x] = u8(v % 200)


@tb.kernel
def bits_of(kc: KernelContext, to: U8Array, source: S32Array) -> None:
    to.array[kc.x] = u8(source.array[kc.x] % 250)


# ---------------------------------------------------------------------- tables: `Table`


@tb.kernel
def table_keys(kc: KernelContext, t: Table, v: i32) -> None:
    t.row[kc.x].key = v + kc.x


@tb.kernel
def table_values(kc: KernelContext, t: Table) -> None:
    row = t.row[kc.x]
    row.value = f32(row.key) + 0.5


@tb.kernel
def table_rows(kc: KernelContext, t: Table, v: i32) -> None:
    t.row[kc.x].key = v
    t.row[kc.x].value = f32(kc.x)


@tb.kernel
def table_copy(kc: KernelContext, to: Table, source: Table) -> None:
    to.row[kc.x].key = source.row[kc.x].key
    to.row[kc.x].value = source.row[kc.x].value


@tb.kernel
def table_collect(kc: KernelContext, t: Table, source: S32Array) -> None:
    """Rows in use are alike, so that the order of their finding does not show."""
    if source.array[kc.x] % 2 == 0:
        slot = tb.atomic_add(t.total, 1)
        if slot < t.length:
            t.row[slot].key = 77


@tb.kernel
def line_from_table(kc: KernelContext, to: S32Array, t: Table) -> None:
    to.array[kc.x] = (t.row[kc.x].key + t.total) % 1000
