"""Footprints of small kernels whose sets are known by hand."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.analysis.recorded_accesses import as_set
from tests.reflect.kernel_cases import analysed, indented, kernel, lined

from trilby.analysis.footprint import KernelFootprint, LaunchNumbers, footprints
from trilby.data.ranges import Ranges
from trilby.data.touched import Touched

PARAMS = "a: NDArray[i32], b: NDArray[i32], n: i32, w: i32, yes: bool"
LENGTH, N, W = 12, 5, 4
HELPERS = """
@tb.func
def put(to: NDArray[i32], i: i32) -> None:
    if i >= 7:
        return
    to[i] = 1

@tb.func
def twice(i: i32) -> i32:
    return 2 * i

@tb.func
def at_most(i: i32, top: i32) -> i32:
    if i > top:
        return top
    return i

@tb.func
def checked(i: i32) -> i32:
    assert i < 3
    return i
"""


def footprint(
    lines: str, params: str = PARAMS, head: str = HELPERS, ranks: tuple[int, ...] | None = None
) -> KernelFootprint:
    source = f"{head}\n@tb.kernel\ndef k(kc: KernelContext, {params}):\n{indented(lines)}"
    return footprints(analysed(kernel(source), ranks).graph)


def of_a(
    lines: str, size: tuple[int, int, int] = (6, 1, 1), local: tuple[int, int, int] | None = None
) -> tuple[set[int], set[int], set[int]]:
    """The elements of `a` that may be read, may be written, and are surely written."""
    numbers = LaunchNumbers(size, local, ((LENGTH,), (LENGTH,), N, W, True))
    found, _ = footprint(lines, ranks=(1, 1)).at(numbers)
    return elements(found.reads), elements(found.writes), elements(found.covers)


def elements(ranges: Ranges, size: int = 4, start: int = 0) -> set[int]:
    """The elements whose bytes are all in a set; none may be there in part."""
    found = as_set(ranges)
    whole = {(byte - start) // size for byte in found}
    assert found == {start + n * size + byte for n in whole for byte in range(size)}
    return whole


NARROW = """
j = u8(250)
turn = 0
while j < u8(255):
    b[0] = a[i32(j) // 25]
    j += u8(2)
    turn += 1
    if turn > 20:
        break
"""
"""A counter that wraps before it comes to its limit."""
SKIPPING = """
j = 0
for i in range(n):
    if i == 2:
        continue
    j += 1
    b[0] = a[j]
"""
"""A variable that does not grow in every turn."""
MANY = "".join(f"{'ab'[n % 2]} if b[{n}] == {n} else (" for n in range(9)) + "a" + ")" * 9
"""A choice of so many buffers that nobody tells them apart."""
EVERYTHING = set(range(LENGTH))
NOTHING: set[int] = set()

READS: list[tuple[str, Iterable[int]]] = [
    ("b[0] = a[kc.x]", range(6)),
    ("b[0] = a[kc.x + 3]", range(3, 9)),
    ("b[0] = a[5 - kc.x]", range(6)),
    ("b[0] = a[2 * kc.x]", (0, 2, 4, 6, 8, 10)),
    ("b[0] = a[kc.x - 1] + a[kc.x + 1]", range(7)),
    ("b[0] = a[n]", [5]),
    ("b[0] = a[kc.max_x - 1]", [5]),
    ("b[0] = a[a.shape[0] - 1]", [11]),
    ("b[0] = a[b[kc.x]]", EVERYTHING),
    ("j = b[kc.x]\nif 2 <= j < n:\n    b[0] = a[j]", range(2, 5)),
    ("b[0] = a[b[kc.x] % 3]", range(3)),
    ("b[0] = a[b[kc.x] & 3]", range(4)),
    ("b[0] = a[min(kc.x + 2, 4)]", range(2, 5)),
    ("b[0] = a[max(kc.x - 2, 0)]", range(4)),
    ("b[0] = a[tb.clamp(kc.x, 2, 3)]", range(2, 4)),
    ("b[0] = a[kc.x // 2]", range(3)),
    ("b[0] = a[(kc.x // w) * w + kc.x % w]", range(6)),
    ("b[0] = a[kc.x << 1]", (0, 2, 4, 6, 8, 10)),
    ("b[0] = a[i32(u8(kc.x) + u8(253))]", EVERYTHING),
    ("b[0] = a[i32(u8(kc.x) + u8(3))]", range(3, 9)),
    ("b[0] = a[kc.x if kc.x < n else 11]", range(12)),
    ("b[0] = a[twice(kc.x)]", (0, 2, 4, 6, 8, 10)),
    ("b[0] = a[at_most(kc.x, 20)]", range(6)),
    ("for j in range(1, n):\n    b[0] = a[j]", range(1, 5)),
    ("for j in range(10, 0, -3):\n    b[0] = a[j]", (10, 7, 4, 1)),
    ("for j in range(0):\n    b[0] = a[j]", ()),
    ("for j in range(kc.x):\n    b[0] = a[j]", range(5)),
    ("for j in range(kc.x, kc.x + 2):\n    b[0] = a[j]", range(7)),
    ("for j in range(kc.x, n):\n    b[0] = a[j]", range(5)),
    ("j = 1\nwhile j < n:\n    b[0] = a[j]\n    j += 1", range(1, 5)),
    ("j = n\nwhile j >= 2:\n    j -= 1\n    b[0] = a[j]", range(1, 5)),
    ("j = 0\nwhile j < n and a[j] > 0:\n    j += 1", range(5)),
    ("j = 0\nwhile a[j] > 0:\n    j = a[j]", EVERYTHING),
    (NARROW, range(11)),
    (SKIPPING, EVERYTHING),
    ("b[0] = a[b[kc.x] & 6]", range(7)),
    ("c = a if yes else b\nb[0] = c[kc.x]", range(6)),
    ("c = b if yes else a\nb[0] = c[kc.x]", ()),
    ("c = a\nfor j in range(3):\n    b[0] = c[j]\n    c = b", range(3)),
    ("if kc.x > 8:\n    b[0] = a[0]", ()),
    ("tb.atomic_add(a, kc.x, 1)", range(6)),
    ("a[kc.x] = 0\na[kc.x] += 1", ()),
    ("a[kc.x] = 0\nfor j in range(n):\n    a[kc.x] += b[j]", ()),
    ("a[kc.x] = 0\na[kc.x + 1] += 1", range(1, 7)),
    ("if b[0] > 0:\n    a[kc.x] = 0\na[kc.x] += 1", range(6)),
    ("if b[0] > 0:\n    a[kc.x] = 0\nelse:\n    a[kc.x] = 2\na[kc.x] += 1", ()),
    ("for j in range(n):\n    a[j] = 0\na[0] += 1", [0]),
    ("put(a, kc.x)\na[kc.x] += 1", range(6)),
]

WRITES: list[tuple[str, Iterable[int], Iterable[int]]] = [
    ("a[kc.x] = 1", range(6), range(6)),
    ("a[kc.x] += 1", range(6), range(6)),
    ("tb.atomic_add(a, kc.x, 1)", range(6), ()),
    ("if kc.x < n:\n    a[kc.x] = 1", range(5), range(5)),
    ("if kc.x >= n:\n    return\na[kc.x] = 1", range(5), range(5)),
    ("if 0 < kc.x < n - 1:\n    a[kc.x] = 1", range(1, 4), range(1, 4)),
    ("if kc.x == 0 or kc.x == 5:\n    return\na[kc.x] = 1", range(1, 5), range(1, 5)),
    ("if not (kc.x < 2 or kc.x > 3):\n    a[kc.x] = 1", range(2, 4), range(2, 4)),
    ("if kc.x != 3:\n    a[kc.x] = 1", (0, 1, 2, 4, 5), (0, 1, 2, 4, 5)),
    ("if b[kc.x] > 0:\n    a[kc.x] = 1", range(6), ()),
    ("if b[kc.x] > 0 and kc.x < 3:\n    a[kc.x] = 1", range(3), ()),
    ("if b[kc.x] > 0:\n    return\na[kc.x] = 1", range(6), ()),
    ("if b[kc.x] % 3 > 0:\n    a[kc.x] = 1", range(6), ()),
    ("if b[kc.x] % 3 != 1:\n    a[kc.x] = 1", range(6), ()),
    ("if kc.group_x % 2 == 0:\n    a[kc.x] = 1", range(6), ()),
    ("if tb.clamp(b[kc.x], 1, 2) % 2 == 0:\n    a[kc.x] = 1", range(6), ()),
    ("if yes:\n    a[kc.x] = 1", range(6), range(6)),
    ("if not yes:\n    a[kc.x] = 1", (), ()),
    ("if b[kc.x] > 0:\n    a[kc.x] = 1\nelse:\n    a[kc.x] = 2", range(6), range(6)),
    ("if b[0] > 0:\n    a[0] = 1\nelif n > 9:\n    a[0] = 2\nelse:\n    a[0] = 3", [0], [0]),
    ("if b[kc.x] > 0:\n    a[kc.x] = 1\nelse:\n    a[kc.x + 1] = 2", range(7), ()),
    ("a[kc.x] = 1 if b[kc.x] > 0 else 2", range(6), range(6)),
    ("a[b[kc.x]] = 1", range(12), ()),
    ("a[3] = 1", [3], [3]),
    ("a[kc.x // 2] = 1", range(3), range(3)),
    ("a[kc.x % w] = 1", range(4), range(4)),
    ("a[min(kc.x, n - 1)] = 1", range(5), ()),
    ("a[min(kc.x, 9)] = 1", range(6), range(6)),
    ("a[2 * kc.x + 1] = 1", (1, 3, 5, 7, 9, 11), (1, 3, 5, 7, 9, 11)),
    ("for j in range(2):\n    a[2 * kc.x + j] = 1", range(12), range(12)),
    ("for j in range(n):\n    a[j] = 1", range(5), range(5)),
    ("for j in range(b[0]):\n    a[j] = 1", range(12), ()),
    ("for j in range(n):\n    a[j] = 1\n    if b[j] > 0:\n        break", range(5), ()),
    ("for j in range(0, n):\n    if b[j] > 0:\n        break\n    a[j] = 1", range(5), ()),
    (
        "for j in range(n):\n    if j == 2:\n        continue\n    a[j] = 1",
        (0, 1, 3, 4),
        (0, 1, 3, 4),
    ),
    ("for j in range(n):\n    if b[j] > 0:\n        return\na[kc.x] = 1", range(6), ()),
    ("for j in range(n):\n    if b[j] > 0:\n        break\na[kc.x] = 1", range(6), range(6)),
    ("for j in range(3, 3 + kc.x):\n    a[j] = 1", range(3, 8), ()),
    ("for j in range(3, 5 + kc.x):\n    a[j] = 1", range(3, 10), (3, 4)),
    ("j = 0\nwhile j < n:\n    a[j] = 1\n    j += 2", (0, 2, 4), (0, 2, 4)),
    ("j = 2\nfor i in range(3):\n    a[j] = 1\n    j += w", (2, 6, 10), (2, 6, 10)),
    ("j = 2\nfor i in range(3):\n    j += 2\na[j] = 1", [8], [8]),
    ("j = 0\nfor i in range(n):\n    j = i * 2\na[j] = 1", range(12), ()),
    ("j = 0\nwhile j < n and b[j] > 0:\n    a[j] = 1\n    j += 1", range(5), ()),
    ("if kc.x < 3:\n    b[0] = 1\nelse:\n    return\na[kc.x] = 1", range(3), range(3)),
    ("a[kc.x & 6] = 1", range(7), ()),
    (f"c = {MANY}\nc[kc.x] = 1", range(6), ()),
    (f"put({MANY}, kc.x)", range(6), ()),
    ("put(a, kc.x + 2)", range(2, 7), range(2, 7)),
    ("put(a if kc.x < 3 else b, kc.x)", range(3), range(3)),
    ("a[checked(kc.x)] = 1", range(6), range(3)),
    ("c = b\nif kc.x < 2:\n    c = a\nc[kc.x] = 1", range(2), range(2)),
    ("c = a\nif b[0] > 0:\n    c = b\nc[kc.x] = 1", range(6), ()),
    ("assert b[kc.x] > 0\na[kc.x] = 1", range(6), ()),
    ("a[kc.x + 8] = 1", range(8, 12), range(8, 12)),
]


@pytest.mark.parametrize(("lines", "expected"), READS)
def test_what_is_read(lines: str, expected: Iterable[int]) -> None:
    assert of_a(lines)[0] == set(expected)


@pytest.mark.parametrize(("lines", "perhaps", "surely"), WRITES)
def test_what_is_written(lines: str, perhaps: Iterable[int], surely: Iterable[int]) -> None:
    assert of_a(lines)[1:] == (set(perhaps), set(surely))


@pytest.mark.parametrize("local", [None, (4, 1, 1)])
def test_groups_and_their_items_make_up_the_id(local: tuple[int, int, int] | None) -> None:
    lines = "a[kc.group_x * kc.local_max_x + kc.local_x] = 1"
    assert of_a(lines, local=local)[1:] == (set(range(6)), set(range(6)))


def test_groups_are_known_with_their_size() -> None:
    lines = "a[kc.group_x] = 1\na[8 + kc.local_x] = 1"
    assert of_a(lines, local=(4, 1, 1))[2] == {0, 1, 8, 9, 10, 11}
    assert of_a(lines)[2] == NOTHING


def test_a_launch_of_nothing_touches_nothing() -> None:
    assert of_a("a[kc.x] += 1", size=(0, 1, 1)) == (NOTHING, NOTHING, NOTHING)


def test_a_sum_of_the_turns_is_no_multiple_of_their_number() -> None:
    found = footprint("s = 0\nfor i in range(n):\n    a[s] = 1\n    s += i", ranks=(1, 1))
    assert "may write [?] for i in range(n)" in str(found)


# -- more dimensions


def grid(lines: str, size: tuple[int, int, int], shape: tuple[int, ...]) -> Touched:
    params = "g: NDArray[f32], n: i32"
    numbers = LaunchNumbers(size, None, (shape, 3))
    return footprint(lines, params, ranks=(len(shape),)).at(numbers)[0]


def test_rows_and_columns() -> None:
    inner = grid("if 0 < kc.x < 4 and 0 < kc.y < 3:\n    g[kc.y, kc.x] = 1.0", (5, 4, 1), (4, 5))
    assert elements(inner.covers) == {6, 7, 8, 11, 12, 13}
    assert inner.writes == inner.covers


def test_whole_rows_are_one_range() -> None:
    rows = grid("g[kc.y + 1, kc.x] = 1.0", (5, 2, 1), (4, 5))
    assert tuple(rows.covers) == ((20, 60),)


def test_a_column() -> None:
    assert elements(grid("g[kc.x, 2] = 1.0", (4, 1, 1), (4, 5)).covers) == {2, 7, 12, 17}


def test_three_dimensions() -> None:
    whole = grid("g[kc.z, kc.y, kc.x] = 1.0", (4, 3, 2), (2, 3, 4))
    assert whole.covers == Ranges.span(0, 96)
    plane = grid("g[1, kc.y, kc.x] = 1.0", (4, 3, 1), (2, 3, 4))
    assert elements(plane.covers) == set(range(12, 24))


def test_one_id_taken_apart_for_two_indices() -> None:
    lines = "g[kc.x // 5, kc.x % 5] = 1.0"
    assert grid(lines, (20, 1, 1), (4, 5)).covers == Ranges.span(0, 80)
    assert elements(grid(lines, (13, 1, 1), (4, 5)).covers) == set(range(13))
    wide = grid(lines, (13, 1, 1), (4, 7))
    assert elements(wide.covers) == {0, 1, 2, 3, 4, 7, 8, 9, 10, 11, 14, 15, 16}


def test_one_id_taken_apart_for_three_indices() -> None:
    lines = "i = kc.x\ng[i // 12, i // 4 % 3, i % 4] = 1.0"
    assert grid(lines, (24, 1, 1), (2, 3, 4)).covers == Ranges.span(0, 96)
    lines = "i = kc.x\ng[i // 12, i % 12 // 4, i % 4] = 1.0"
    assert grid(lines, (24, 1, 1), (2, 3, 4)).covers == Ranges.span(0, 96)


def test_guards_on_the_parts_of_an_id() -> None:
    lines = "x = kc.x % 5\ny = kc.x // 5\nif 0 < x < 4 and 0 < y < 3:\n    g[y, x] = 1.0"
    assert elements(grid(lines, (20, 1, 1), (4, 5)).covers) == {6, 7, 8, 11, 12, 13}


def test_guards_on_an_id_after_guards_on_its_parts() -> None:
    found = grid("if kc.x % 5 > 0:\n    if kc.x < 13:\n        g[kc.x] = 1.0", (20, 1, 1), (20,))
    assert elements(found.covers) <= {1, 2, 3, 4, 6, 7, 8, 9, 11, 12} <= elements(found.writes)


def test_work_items_that_share_an_array() -> None:
    """Each begins at its id and goes on in steps of the number of all."""
    lines = "for i in range(g.shape[0]):\n    for j in range(kc.x, g.shape[1], kc.max_x):\n        "
    assert grid(lines + "g[i, j] = 1.0", (3, 1, 1), (4, 5)).covers == Ranges.span(0, 80)
    assert grid(lines + "g[i, j] = 1.0", (7, 1, 1), (4, 5)).covers == Ranges.span(0, 80)
    assert not grid(lines + "g[i, kc.x] = 1.0", (3, 1, 1), (4, 5)).covers
    assert not grid(lines + "if kc.x > 0:\n            g[i, j] = 1.0", (3, 1, 1), (4, 5)).covers
    lines = "for j in range(kc.x, g.shape[1], kc.max_x - 1):\n    g[0, j] = 1.0"
    assert not grid(lines, (3, 1, 1), (4, 5)).covers
    lines = "if kc.x > 0:\n    for j in range(kc.x, g.shape[1], kc.max_x):\n        g[0, j] = 1.0"
    assert not grid(lines, (3, 1, 1), (4, 5)).covers


def test_loops_over_rows() -> None:
    lines = "for i in range(g.shape[0]):\n    g[i, kc.x] = 1.0"
    assert grid(lines, (5, 1, 1), (4, 5)).covers == Ranges.span(0, 80)


def test_a_long_column_is_one_piece() -> None:
    column = grid("g[kc.x, 0] = 1.0", (5000, 1, 1), (5000, 2))
    assert column.writes is column.covers
    assert column.covers == Ranges.span(0, 4).repeated(8, 5000)
    assert len(column.covers.pieces) == 1


def test_too_many_pieces_become_one_for_what_may_be_and_none_for_what_must() -> None:
    planes = grid("g[kc.z, kc.y, 0] = 1.0", (1, 5000, 3), (3, 5001, 2))
    assert planes.writes == Ranges.span(0, 3 * 5001 * 8 - 12)
    assert planes.covers == Ranges.EMPTY


def test_conditions_that_cut_into_too_many_pieces_are_not_used() -> None:
    holes = [f"kc.x != {2 * hole + 1}" for hole in range(70)]
    first, second = " and ".join(holes[:35]), " and ".join(holes[35:])
    found = grid(f"if {first}:\n    if {second}:\n        g[kc.x] = 1.0", (150, 1, 1), (150,))
    real = set(range(150)) - {2 * hole + 1 for hole in range(70)}
    assert real <= elements(found.writes)
    assert elements(found.covers) <= real


# -- buffers and structs

TABLE = """
class Cell(tb.Struct):
    x: f32
    hits: u8
    pos: tb.f32x2

class Table(tb.Buffer):
    count: i32
    length: i32
    cell: tb.Array[Cell] = tb.array("length")
    last: f64
"""
CELL = 16


def table(lines: str, length: int = 3) -> Touched:
    numbers = LaunchNumbers((3, 1, 1), None, ({"length": length},))
    return footprint(lines, "t: Table", TABLE).at(numbers)[0]


def test_members_are_told_apart() -> None:
    found = table("t.cell[kc.x].pos.y = t.cell[kc.x].x")
    assert tuple(found.reads) == ((8, 12), (24, 28), (40, 44))
    assert tuple(found.covers) == ((20, 24), (36, 40), (52, 56))


def test_all_members_are_the_element_padding_included() -> None:
    lines = "r = t.cell[kc.x]\nr.x = 1.0\nr.hits = u8(1)\nr.pos = tb.f32x2(1.0, 2.0)"
    assert tuple(table(lines).covers) == ((8, 56),)
    assert tuple(table(lines, length=10_000).covers) == ((8, 56),)


PACKED = """
class Row(tb.Struct):
    k: u8
    m: tb.Array[i32] = tb.array(3)
    d: f64
    tail: u8

class Rows(tb.Buffer):
    length: i64
    row: tb.Array[Row] = tb.array("length")
"""


def rows(lines: str, length: int) -> Touched:
    numbers = LaunchNumbers((length, 1, 1), None, ({"length": length},))
    return footprint(lines, "t: Rows", PACKED).at(numbers)[0]


def test_members_that_are_written_in_a_loop_make_up_the_element() -> None:
    lines = "r = t.row[kc.x]\nr.k = u8(1)\nfor j in range(3):\n    r.m[j] = 1\nr.tail = u8(1)\n"
    assert rows(lines + "r.d = 1.0", 10_000).covers == Ranges.span(8, 8 + 32 * 10_000)
    assert rows(lines, 3).covers.nbytes == 3 * (32 - 8)


def test_padding_follows_only_what_stands_before_it() -> None:
    found = rows("if kc.x == 1:\n    t.row[0].m[2 - kc.x] = 1", 2)
    assert tuple(found.covers) == ((16, 20),)
    found = rows("if kc.x == 0:\n    t.row[0].m[2 - kc.x] = 1", 2)
    assert tuple(found.covers) == ((20, 24),)


def test_a_buffer_is_covered_without_its_lengths() -> None:
    lines = "r = t.cell[kc.x]\nr.x = 1.0\nr.hits = u8(1)\nr.pos = tb.f32x2(1.0, 2.0)\nt.count = 0"
    assert tuple(table(lines).covers) == ((0, 4), (8, 56))
    assert tuple(table(f"{lines}\nt.last = 1.0").covers) == ((0, 4), (8, 64))
    assert tuple(table(f"{lines}\nt.last = 1.0", length=4).covers) == ((0, 4), (8, 56), (72, 80))


def test_lengths_are_no_data() -> None:
    found = table("if kc.x < t.length - 1:\n    t.cell[kc.x].x = f32(t.length)")
    assert found.reads == Ranges.EMPTY
    assert tuple(found.covers) == ((8, 12), (24, 28))


def test_raw_code_does_what_it_says_anywhere() -> None:
    head = """
    @tb.raw(opencl="to[0] = of[i];", reads=("of",), writes=("to",))
    def copied(to: NDArray[i32], of: NDArray[i32], i: i32) -> None:
        to[0] = of[i]
    """
    made = footprint("copied(a, b, 1)", "a: NDArray[i32], b: NDArray[i32]", lined(head), (1, 1))
    a, b = made.at(LaunchNumbers((1, 1, 1), None, ((4,), (4,))))
    assert (a.reads, a.writes, a.covers) == (Ranges.EMPTY, Ranges.span(0, 16), Ranges.EMPTY)
    assert (b.reads, b.writes) == (Ranges.span(0, 16), Ranges.EMPTY)


# -- what is looked at


def test_only_relevant_scalars_are_told() -> None:
    params = "a: NDArray[f32], scale: f32, n: i32, seed: i32, yes: bool"
    made = footprint("if kc.x < n and yes:\n    a[kc.x] = scale * f32(seed)", params, ranks=(1,))
    assert made.relevant == {2, 4}


def test_what_is_not_known_is_nothing_sure() -> None:
    made = footprint("if kc.x < n:\n    a[kc.x] = 1", ranks=(1, 1))
    found, _ = made.at(LaunchNumbers((6, 1, 1), None, ((8,), (8,), None, None, None)))
    assert (elements(found.writes), elements(found.covers)) == (set(range(6)), NOTHING)


def test_deep_and_long_models_are_followed() -> None:
    """Long chains of sums, of conditions and of calls: nothing here may recurse over them."""
    sums = "i = 0\n" + "i += kc.x\n" * 600 + "a[i] = 1"
    assert of_a(sums, size=(1, 1, 1))[2] == {0}
    returns = "\n".join(f"if b[{n}] > 0:\n    return" for n in range(400))
    assert of_a(f"if n == 5:\n{indented(returns)}\na[kc.x] = 1")[1:] == (set(range(6)), NOTHING)


def test_calls_that_multiply_are_followed_only_so_far() -> None:
    chain = ["@tb.func\ndef f0(to: NDArray[i32], i: i32) -> None:\n    to[i] = 1"]
    chain += [
        f"@tb.func\ndef f{n}(to: NDArray[i32], i: i32) -> None:\n"
        f"    f{n - 1}(to, i)\n    f{n - 1}(to, i + 1)"
        for n in range(1, 25)
    ]
    made = footprint("f24(a, 0)", "a: NDArray[i32]", "\n\n".join(chain), (1,))
    found = made.at(LaunchNumbers((1, 1, 1), None, ((40,),)))[0]
    assert elements(found.writes) == set(range(40))
    assert elements(found.covers) <= set(range(25))
    assert len(made.touches) < 2000


# -- words


def text(lines: str, **more: Any) -> str:
    heading, *rest = str(footprint(lines, **more)).splitlines()
    assert heading == 'footprint @"app.k"'
    return "\n".join(line[2:] for line in rest)


def test_the_text_says_what_is_touched_and_when() -> None:
    lines = "if 0 < kc.x < n:\n    a[kc.x] = b[kc.x - 1] + b[kc.x] + b[kc.x + 1]"
    assert text(lines, ranks=(1, 1)) == lined("""
        a : NDArray<i32, 1>
          covers [x] where x > 0 and x < n
        b : NDArray<i32, 1>
          reads [x - 1 … x + 1] where x > 0 and x < n
    """)


def test_the_text_of_loops_and_structs() -> None:
    lines = """
        r = t.cell[kc.x // 2]
        for j in range(1, t.length, 2):
            r.pos.x += t.cell[j * 3 + kc.x].x
    """
    assert text(lined(lines), params="t: Table", head=TABLE) == lined("""
        t : Table
          reads cell[x // 2].pos.x for j in range(1, t.length, 2)
          reads cell[3 * j + x].x for j in range(1, t.length, 2)
          covers cell[x // 2].pos.x for j in range(1, t.length, 2)
    """)


def test_the_text_tells_what_is_not_known() -> None:
    lines = "if b[kc.x] > 0:\n    a[kc.x] = 1\na[b[kc.x]] = 1\ntb.atomic_add(a, n, 1)"
    assert text(lines, ranks=(1, 1)) == lined("""
        a : NDArray<i32, 1>
          may write [x]
          may write [?]
          reads [n]
          may write [n]
        b : NDArray<i32, 1>
          reads [x]
    """)


def test_the_text_puts_indices_together_again() -> None:
    lines = "x = kc.x % w\ny = kc.x // w\na[y * w + x] = b[(y + 1) * w + x - 1]"
    assert text(lines, ranks=(1, 1)) == lined("""
        a : NDArray<i32, 1>
          covers [x]
        b : NDArray<i32, 1>
          reads [w + x - 1]
    """)
