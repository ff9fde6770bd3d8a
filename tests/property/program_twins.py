"""What the kernels of random programs mean, in NumPy: one call is a whole launch.

Every function here is the twin of the kernel of the same name in `program_kernels.py`.
`kc.x` and `kc.y` are the ids of all work items at once. This file must not know Trilby.
"""

from typing import Any

import numpy as np
from tests.property.program_simulation import Launch, apart

Twin = Any
"""A simulated buffer."""

# --------------------------------------------------------------------------------- lines


def number(kc: Launch, a: Twin, v: int) -> None:
    a.array[kc.x] = kc.x + v


def increase(kc: Launch, a: Twin, v: int) -> None:
    a.array[kc.x] = (a.array[kc.x] + v) % 1000


def copy(kc: Launch, to: Twin, source: Twin) -> None:
    to.array[kc.x] = source.array[kc.x]


def add_to(kc: Launch, to: Twin, source: Twin) -> None:
    to.array[kc.x] = (to.array[kc.x] + source.array[kc.x]) % 1000


def add_both(kc: Launch, to: Twin, left: Twin, right: Twin) -> None:
    to.array[kc.x] = (left.array[kc.x] + right.array[kc.x]) % 1000


def first_half(kc: Launch, a: Twin, v: int) -> None:
    a.array[kc.x[kc.x < a.length // 2]] = v


def last_half(kc: Launch, a: Twin, v: int) -> None:
    x = kc.x[kc.x >= a.length // 2]
    a.array[x] = v + x


def every_other(kc: Launch, a: Twin, v: int) -> None:
    a.array[2 * kc.x] = v


def where_odd(kc: Launch, to: Twin, source: Twin) -> None:
    x = kc.x[source.array[kc.x] % 2 == 1]
    to.array[x] = x


def poke(kc: Launch, a: Twin, i: int, v: int) -> None:
    a.array[i] = v + kc.x[0]


def between(kc: Launch, a: Twin, low: int, high: int, v: int) -> None:
    a.array[kc.x[(low <= kc.x) & (kc.x < high)]] = v


def shifted(kc: Launch, a: Twin, low: int, v: int) -> None:
    a.array[low + kc.x] = v - kc.x


def fill_guarded(kc: Launch, a: Twin, v: int) -> None:
    a.array[kc.x[kc.x < a.length]] = v


def fill_alone(kc: Launch, a: Twin, count: int, v: int) -> None:
    a.array[:count] = np.arange(v, v + count) + kc.x[0]


def gather(kc: Launch, to: Twin, source: Twin, index: Twin) -> None:
    apart(to, source)
    to.array[kc.x] = source.array[index.array[kc.x] % source.length]


def backwards(kc: Launch, to: Twin, source: Twin) -> None:
    apart(to, source)
    to.array[kc.x] = source.array[source.length - 1 - kc.x]


def smooth(kc: Launch, to: Twin, source: Twin) -> None:
    apart(to, source)
    a, x, n = source.array, kc.x, source.length
    to.array[x] = (a[(x - 1) % n] + a[x] + a[(x + 1) % n]) % 1000


def smooth_inside(kc: Launch, to: Twin, source: Twin) -> None:
    apart(to, source)
    x = kc.x[(kc.x > 0) & (kc.x < to.length - 1)]
    to.array[x] = (source.array[x - 1] + source.array[x + 1]) % 1000


def sums(kc: Launch, to: Twin, source: Twin) -> None:
    apart(to, source)
    to.array[kc.x] = np.cumsum(source.array)[kc.x] % 1000


def set_and_add(kc: Launch, a: Twin, v: int) -> None:
    a.array[kc.x] = v + kc.x


def tally(kc: Launch, counts: Twin, source: Twin) -> None:
    apart(counts, source)
    np.add.at(counts.array, source.array[kc.x] % counts.length, 1)


def note_above(kc: Launch, flag: Twin, source: Twin, limit: int) -> None:
    apart(flag, source)
    if (source.array[kc.x] > limit).any():
        flag.array[0] = max(flag.array[0], 1)


def split(kc: Launch, one: Twin, other: Twin, source: Twin) -> None:
    half = source.length // 2
    low, high = kc.x[kc.x < half], kc.x[kc.x >= half]
    one.array[low] = source.array[low]
    other.array[high] = source.array[high]


def clear_or_copy(kc: Launch, to: Twin, source: Twin, clear: bool) -> None:  # noqa: FBT001 -- as its twin
    to.array[kc.x] = 0 if clear else source.array[kc.x]


def ignore(kc: Launch, to: Twin, source: Twin) -> None:
    to.array[kc.x] = source.length + kc.x.size


# ---------------------------------------------------------------- flat arrays and grids


def flat_number(kc: Launch, a: Twin, v: int) -> None:
    a[kc.x] = 2 * kc.x + v


def flat_add(kc: Launch, to: Twin, source: Twin) -> None:
    to[kc.x] = (to[kc.x] + source[kc.x]) % 1000


def flat_rotate(kc: Launch, to: Twin, source: Twin, by: int) -> None:
    apart(to, source)
    to[kc.x] = source[(kc.x + by) % len(source)]


def flat_from_line(kc: Launch, to: Twin, source: Twin) -> None:
    to[kc.x] = source.array[kc.x]


def line_from_flat(kc: Launch, to: Twin, source: Twin) -> None:
    x = kc.x[source[kc.x] > 20]
    to.array[x] = source[x]


def grid_number(kc: Launch, g: Twin, v: int) -> None:
    g[kc.y, kc.x] = 10 * kc.y + kc.x + v


def grid_add(kc: Launch, to: Twin, source: Twin) -> None:
    to[kc.y, kc.x] = (to[kc.y, kc.x] + source[kc.y, kc.x]) % 1000


def grid_around(kc: Launch, to: Twin, source: Twin) -> None:
    apart(to, source)
    around = np.roll(source, 1, axis=0) + np.roll(source, 1, axis=1) + 1
    to[kc.y, kc.x] = around[kc.y, kc.x] % 1000


def grid_inside(kc: Launch, to: Twin, source: Twin) -> None:
    apart(to, source)
    y, x = kc.y + 1, kc.x + 1
    to[y, x] = (source[y - 1, x] + source[y + 1, x]) % 1000


def grid_row(kc: Launch, g: Twin, y: int, v: int) -> None:
    g[y, kc.x] = v + kc.x


def grid_column(kc: Launch, g: Twin, x: int, v: int) -> None:
    g[kc.x, x] = v + kc.x


def grid_rows_from(kc: Launch, g: Twin, low: int, v: int) -> None:
    chosen = kc.y >= low
    g[kc.y[chosen], kc.x[chosen]] = v


def line_from_grid(kc: Launch, to: Twin, g: Twin, y: int) -> None:
    to.array[kc.x] = g[y, kc.x]


# -------------------------------------------------------------------------------- planes


def plane_number(kc: Launch, p: Twin, v: int) -> None:
    p.array[kc.y, kc.x] = v - kc.y - kc.x


def plane_add(kc: Launch, to: Twin, source: Twin) -> None:
    grid_add(kc, to.array, source.array)


def plane_turn(kc: Launch, to: Twin, source: Twin) -> None:
    apart(to, source)
    to.array[kc.y, kc.x] = source.array[::-1, ::-1][kc.y, kc.x]


def plane_column(kc: Launch, p: Twin, x: int, v: int) -> None:
    p.array[kc.x, x] = v


def grid_from_plane(kc: Launch, g: Twin, p: Twin) -> None:
    g[kc.y, kc.x] = p.array[kc.y, kc.x]


# ---------------------------------------------------------------------- floats and bytes


def real_fill(kc: Launch, r: Twin, v: float) -> None:
    r.array[kc.x] = np.float32(v) + kc.x.astype(np.float32)


def real_mean(kc: Launch, to: Twin, source: Twin) -> None:
    to.array[kc.x] = (to.array[kc.x] + source.array[kc.x]) * np.float32(0.5)


def real_from_line(kc: Launch, to: Twin, source: Twin) -> None:
    x = kc.x[source.array[kc.x] % 2 == 0]
    to.array[x] = source.array[x]


def bits_fill(kc: Launch, b: Twin, v: int) -> None:
    b.array[kc.x] = v % 200


def bits_from(kc: Launch, b: Twin, low: int, v: int) -> None:
    b.array[kc.x[kc.x >= low]] = v % 200


def bits_of(kc: Launch, to: Twin, source: Twin) -> None:
    to.array[kc.x] = source.array[kc.x] % 250


# -------------------------------------------------------------------------------- tables


def table_keys(kc: Launch, t: Twin, v: int) -> None:
    t.row.key[kc.x] = v + kc.x


def table_values(kc: Launch, t: Twin) -> None:
    t.row.value[kc.x] = t.row.key[kc.x].astype(np.float32) + np.float32(0.5)


def table_rows(kc: Launch, t: Twin, v: int) -> None:
    t.row.key[kc.x], t.row.value[kc.x] = v, kc.x


def table_copy(kc: Launch, to: Twin, source: Twin) -> None:
    to.row.key[kc.x] = source.row.key[kc.x]
    to.row.value[kc.x] = source.row.value[kc.x]


def table_collect(kc: Launch, t: Twin, source: Twin) -> None:
    found = int((source.array[kc.x] % 2 == 0).sum())
    t.row.key[t.total : t.total + found] = 77
    t.total += found


def line_from_table(kc: Launch, to: Twin, t: Twin) -> None:
    to.array[kc.x] = (t.row.key[kc.x] + t.total) % 1000
