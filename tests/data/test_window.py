"""What accessors announce: exact ranges, nothing read for nothing, no gap destroyed."""

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.watching import Device, recorded

from trilby.data.buffer import Buffer
from trilby.data.library import F32Array, S16Array, S32Array
from trilby.data.library_2d import S32Array2D
from trilby.data.markers import Atomic, array
from trilby.data.names import f32, i16, i32, u8
from trilby.data.ndarray import NDArray
from trilby.data.struct import Struct
from trilby.data.views import Array


class Table(Buffer):
    class Item(Struct):
        x: f32
        tag: u8
        y: f32
        trace: Array[i16] = array(2)

    count: Atomic[i32]
    length: i32
    item: Array[Item] = array("length")
    wide: Array[i32] = array("length", stride=16)
    total: f32


# by hand: Item is x 0, tag 4, y 8, trace 12, size 16; the header is count 0, length 4
ITEMS, ITEM, LENGTH = 8, 16, 10
WIDES = ITEMS + LENGTH * ITEM
TOTAL = WIDES + LENGTH * 16


def table() -> Table:
    return Table.create(length=LENGTH)


Act = Callable[[Table], object]

READS: list[tuple[str, Act, int, int]] = [
    ("a field", lambda t: t.count, 0, 4),
    ("a field behind arrays", lambda t: t.total, TOTAL, 4),
    ("a member", lambda t: t.item[3].y, ITEMS + 3 * ITEM + 8, 4),
    ("a small member", lambda t: t.item[3].tag, ITEMS + 3 * ITEM + 4, 1),
    ("the last member", lambda t: t.item[-1].x, ITEMS + 9 * ITEM, 4),
    ("an element in a member", lambda t: t.item[2].trace[1], ITEMS + 2 * ITEM + 14, 2),
    ("an element of a column", lambda t: t.item.x[4], ITEMS + 4 * ITEM, 4),
    ("an element with a stride", lambda t: t.wide[3], WIDES + 48, 4),
    ("a backward slice", lambda t: t.wide[4:1:-1].tolist(), WIDES + 32, 2 * 16 + 4),
    ("a struct as text", lambda t: repr(t.item[5]), ITEMS + 5 * ITEM, ITEM),
    ("all structs", lambda t: np.asarray(t.item), ITEMS, LENGTH * ITEM),
    ("a slice in a sum", lambda t: t.wide[2:4] + 1, WIDES + 32, 20),
    ("an iteration's first step", lambda t: next(iter(t.wide)), WIDES, 4),
    ("a mask", lambda t: t.wide[np.arange(LENGTH) > 5], WIDES, 9 * 16 + 4),
]


@pytest.mark.parametrize(
    ("act", "start", "nbytes"), [r[1:] for r in READS], ids=[r[0] for r in READS]
)
def test_a_read_announces_its_bytes(act: Act, start: int, nbytes: int) -> None:
    made = table()
    recorder = recorded(made.segment)
    act(made)
    assert recorder.events == [("read", start, nbytes)]


def test_pieces_are_announced_one_by_one() -> None:
    made = table()
    recorder = recorded(made.segment)
    made.item.y[2:4].tolist()
    assert recorder.take() == [
        ("read", ITEMS + 2 * ITEM + 8, 4),
        ("read", ITEMS + 3 * ITEM + 8, 4),
    ]
    made.wide[::4] = 0  # elements 0, 4 and 8, and what lies between is left alone
    assert recorder.take() == [
        (kind, WIDES + element * 16, 4) for kind in ("write", "wrote") for element in (0, 4, 8)
    ]


def test_a_block_of_rows_is_announced_row_by_row() -> None:
    made: NDArray[Any] = NDArray(np.zeros((5, 8), np.int32))
    recorder = recorded(made.segment)
    made[1:3, 2:5].sum()
    assert recorder.take() == [("read", 32 + 8, 12), ("read", 64 + 8, 12)]
    made[1:3, ::-1].sum()
    assert recorder.take() == [("read", 32, 64)]


def test_too_many_pieces_are_announced_as_one_range() -> None:
    made: NDArray[Any] = NDArray(np.zeros(10_001, np.int8))
    recorder = recorded(made.segment)
    made[::2] = 1
    assert recorder.take() == [("read", 0, 10_001), ("write", 0, 10_001), ("wrote", 0, 10_001)]


def test_where_nothing_is_copied_by_itself_all_pieces_are_announced() -> None:
    made: NDArray[Any] = NDArray(np.zeros(10_001, np.int8))
    recorder = recorded(made.segment)
    recorder.copies_nothing = True
    made[::2] = 1
    assert recorder.take() == [
        (kind, place, 1) for kind in ("write", "wrote") for place in range(0, 10_001, 2)
    ]
    assert made[1::2].sum() == 0
    assert recorder.take() == [("read", place, 1) for place in range(1, 10_001, 2)]


SILENT: list[tuple[str, Act]] = [
    ("the length", lambda t: t.length),
    ("an array", lambda t: t.item),
    ("a slice", lambda t: t.wide[2:5]),
    ("a slice of a slice", lambda t: t.wide[2:5][1:]),
    ("a column", lambda t: t.item.x),
    ("a struct", lambda t: t.item[3]),
    ("an array in a struct", lambda t: t.item[3].trace),
    ("its shape", lambda t: (t.wide.shape, t.wide.size, t.wide.ndim, t.wide.dtype, len(t.wide))),
    ("the buffer as text", repr),
    ("an empty slice", lambda t: t.wide[3:3].tolist()),
]


@pytest.mark.parametrize("act", [s[1] for s in SILENT], ids=[s[0] for s in SILENT])
def test_to_name_a_place_is_not_to_read_it(act: Act) -> None:
    made = table()
    recorder = recorded(made.segment)
    act(made)
    assert recorder.events == []


def test_an_index_out_of_bounds_reads_nothing() -> None:
    made = table()
    recorder = recorded(made.segment)
    for index in (10, -11):
        with pytest.raises(IndexError, match=f"index {index} is out of bounds for axis 0"):
            _ = made.wide[index]
    assert recorder.events == []


def put(name: str, value: object) -> Act:
    return lambda t: setattr(t, name, value)


def put_at(pick: Callable[[Table], Any], key: object, value: object) -> Act:
    return lambda t: pick(t).__setitem__(key, value)


OVERWRITES: list[tuple[str, Act, int, int]] = [
    ("a field", put("count", 3), 0, 4),
    ("an element", put_at(lambda t: t.wide, 3, 5), WIDES + 48, 4),
    ("a member", lambda t: setattr(t.item[3], "y", 1.5), ITEMS + 3 * ITEM + 8, 4),
    ("a struct", put_at(lambda t: t.item, 3, (1, 2, 3, [4, 5])), ITEMS + 3 * ITEM, ITEM),
    ("all of an array", put_at(lambda t: t.item[1].trace, ..., 1), ITEMS + ITEM + 12, 4),
    # the gaps of a stride hold nothing, so that nothing must be kept
    ("a strided array", put_at(lambda t: t.wide, slice(None), 1), WIDES, 9 * 16 + 4),
    ("a slice", put_at(lambda t: t.wide, slice(2, 5), [1, 2, 3]), WIDES + 32, 36),
    ("a backward slice", put_at(lambda t: t.wide, slice(4, 1, -1), 1), WIDES + 32, 36),
    ("fill", lambda t: t.wide.fill(4), WIDES, 9 * 16 + 4),
    ("a ufunc's out", lambda t: np.add(1, 2, out=cast("Any", t.wide[:2])), WIDES, 20),
    (
        "a ufunc's out, from a buffer",
        lambda t: np.add(cast("Any", S32Array.of([1, 2]).array), 2, out=cast("Any", t.wide[:2])),
        WIDES,
        20,
    ),
    ("copyto", lambda t: np.copyto(cast("Any", t.wide[:2]), 3), WIDES, 20),
]


@pytest.mark.parametrize(
    ("act", "start", "nbytes"), [o[1:] for o in OVERWRITES], ids=[o[0] for o in OVERWRITES]
)
def test_an_overwrite_reads_nothing(act: Act, start: int, nbytes: int) -> None:
    made = table()
    recorder = recorded(made.segment)
    act(made)
    assert recorder.events == [("write", start, nbytes), ("wrote", start, nbytes)]


CHANGES: list[tuple[str, Act, int, int]] = [
    ("a mask", put_at(lambda t: t.wide, np.arange(LENGTH) > 5, 0), WIDES, 9 * 16 + 4),
    (
        "where",
        lambda t: np.add(1, 2, out=cast("Any", t.wide), where=np.arange(LENGTH) > 5),
        WIDES,
        9 * 16 + 4,
    ),
    ("in place", lambda t: t.wide.__iadd__(1), WIDES, 9 * 16 + 4),
    ("at", lambda t: np.add.at(cast("Any", t.wide), [1], 2), WIDES, 9 * 16 + 4),
    ("raw", lambda t: t.wide.raw(), WIDES, 9 * 16 + 4),
]


@pytest.mark.parametrize(
    ("act", "start", "nbytes"), [c[1:] for c in CHANGES], ids=[c[0] for c in CHANGES]
)
def test_a_write_with_gaps_reads_what_lies_between(act: Act, start: int, nbytes: int) -> None:
    made = table()
    recorder = recorded(made.segment)
    act(made)
    kinds = [event[0] for event in recorder.events]
    assert kinds in (["read", "write", "wrote"], ["read", "read", "write", "wrote"])
    assert {event[1:] for event in recorder.events} == {(start, nbytes)}


REFUSED: list[tuple[str, Act, type[Exception]]] = [
    ("a number that does not fit", put_at(lambda t: t.wide, 0, 1 << 40), OverflowError),
    ("a fraction", put_at(lambda t: t.wide, 0, 1.5), TypeError),
    ("numbers that do not fit", put_at(lambda t: t.wide, slice(2), [1, 1 << 40]), OverflowError),
    ("too many", put_at(lambda t: t.wide, slice(2), [1, 2, 3]), ValueError),
    ("text", put("total", "much"), TypeError),
    ("half a struct", put_at(lambda t: t.item, 0, (1, 2)), ValueError),
]


@pytest.mark.parametrize(("act", "kind"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_a_refused_write_announces_nothing_and_changes_nothing(
    act: Act, kind: type[Exception]
) -> None:
    made = table()
    made.wide[:] = range(LENGTH)
    before = made.segment.memory.copy()
    recorder = recorded(made.segment)
    with pytest.raises(kind):
        act(made)
    assert recorder.events == []
    assert np.array_equal(made.segment.memory, before)


def test_a_ufunc_that_cannot_store_its_result_has_written_nothing() -> None:
    numbers = S32Array.of([1, 2, 3])
    recorder = recorded(numbers.segment)
    with pytest.raises(TypeError):
        np.add(numbers.array[:], 0.5, out=cast("Any", numbers.array[:]))
    assert recorder.events[-2:] == [("write", 4, 12), ("failed", 4, 12)]
    assert numbers.array.tolist() == [1, 2, 3]


def test_a_ufunc_that_raises_at_its_end_has_written() -> None:
    numbers = F32Array.of([1, 0])
    device = Device(numbers.segment)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.divide(np.float32(1), np.array([4, 0], np.float32), out=cast("Any", numbers.array))
    assert device.truth[4:].view(np.float32).tolist() == [0.25, math.inf]
    assert numbers.array.tolist() == [0.25, math.inf]


def test_an_error_before_anything_is_written_leaves_what_the_device_has() -> None:
    numbers = F32Array.of([1, 2])
    device = Device(numbers.segment)
    device.truth[4:].view(np.float32)[:] = [5, 6]
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.add(np.ones(2, np.float32), 1e300, out=cast("Any", numbers.array))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.copyto(cast("Any", numbers.array), 1e300)
    assert numbers.array.tolist() == [5, 6]


def test_a_slice_fetches_when_it_is_used_and_is_never_stale() -> None:
    numbers = S32Array.of(range(8))
    device = Device(numbers.segment)
    view = numbers.array[2:5]
    device.truth[4:].view(np.int32)[:] = range(100, 108)
    assert view.tolist() == [102, 103, 104]
    device.truth[4:].view(np.int32)[:] = range(200, 208)
    assert view.tolist() == [202, 203, 204]


def test_a_summary_reads_only_what_it_shows() -> None:
    numbers = S32Array.of(range(10_000))
    recorder = recorded(numbers.segment)
    assert str(numbers.array) == "[   0    1    2 ... 9997 9998 9999]"
    assert recorder.events == [("read", 4, 12), ("read", 4 + 9_997 * 4, 12)]


def test_a_summary_of_two_dimensions_shows_the_truth() -> None:
    grid = S32Array2D.create(width=100, height=200)
    grid.array[:] = np.arange(20_000).reshape(200, 100)
    expected = repr(np.arange(20_000, dtype=np.int32).reshape(200, 100))
    Device(grid.segment)
    assert repr(grid.array) == expected


def test_assigning_a_view_to_itself_is_nothing() -> None:
    numbers = S32Array.of(range(8))
    recorder = recorded(numbers.segment)
    numbers.array[2:5] = numbers.array[2:5]
    assert recorder.events == []


def test_overlapping_slices_are_copied_as_if_at_once() -> None:
    numbers = S32Array.of(range(8))
    numbers.array[1:] = numbers.array[:-1]
    assert numbers.array.tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


# ---------------------------------------------- random programs against a device and NumPy

SIZE = 12
slices = st.builds(
    slice,
    st.none() | st.integers(-SIZE, SIZE),
    st.none() | st.integers(-SIZE, SIZE),
    st.sampled_from([None, 1, 2, 3, -1, -2]),
)
small = st.integers(-50, 50)
Step = tuple[str, Any, Any]
steps = st.lists(
    st.tuples(st.sampled_from(["set", "add", "out", "fill"]), slices, small)
    | st.tuples(st.just("element"), st.integers(-SIZE, SIZE - 1), small)
    | st.tuples(st.just("mask"), st.lists(st.booleans(), min_size=SIZE, max_size=SIZE), small)
    | st.tuples(st.just("copy"), st.integers(0, SIZE), st.integers(0, SIZE)),
    max_size=12,
)


def run(step: Step, numbers: Any) -> None:
    """One step, on a tracked array or on NumPy's own: the text is the same."""
    kind, key, value = step
    match kind:
        case "set" | "element":
            numbers[key] = value
        case "mask":
            numbers[np.array(key)] = value
        case "add":
            part = numbers[key]
            part += value
        case "out":
            np.multiply(numbers[key], 2, out=numbers[key])
        case "fill":
            numbers[key].fill(value)
        case _:
            count = SIZE - max(key, value)
            numbers[key : key + count] = numbers[value : value + count]


@given(steps)
def test_an_array_behaves_as_numpy_although_the_host_keeps_nothing(program: list[Step]) -> None:
    numbers = S16Array.create(length=SIZE)
    expected = np.zeros(SIZE, np.int16)
    device = Device(numbers.segment)
    for step in program:
        run(step, numbers.array)
        run(step, expected)
        assert numbers.array.tolist() == expected.tolist()
        device.spoil()
    assert np.array_equal(device.truth[4 : 4 + 2 * SIZE].view(np.int16), expected)


@given(steps, steps)
def test_columns_leave_each_other_alone(first: list[Step], second: list[Step]) -> None:
    made = Table.create(length=SIZE)
    x, y = np.zeros(SIZE, np.float32), np.zeros(SIZE, np.float32)
    device = Device(made.segment)
    for step in first:
        run(step, made.item.x)
        run(step, x)
        device.spoil()
    for step in second:
        run(step, made.item.y)
        run(step, y)
        device.spoil()
    assert np.array_equal(np.asarray(made.item.x), x)
    assert np.array_equal(np.asarray(made.item.y), y)


def test_an_index_of_thousands_of_digits_is_out_of_bounds() -> None:
    with pytest.raises(IndexError, match="index an integer of 16610 bits is out of bounds"):
        _ = S32Array.of(range(4)).array[10**5000]
