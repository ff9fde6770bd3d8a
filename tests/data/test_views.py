import copy
import pickle
from typing import Any, cast

import numpy as np
import pytest

from trilby.data.buffer import Buffer
from trilby.data.library import F16Array, F32Array, F64Array, S32Array, U8Array
from trilby.data.library_2d import S32Array2D
from trilby.data.markers import array
from trilby.data.names import f32, i32, u8
from trilby.data.struct import Struct
from trilby.data.views import Array
from trilby.errors import ArgumentTypeError, FieldError, ReleasedError


class Cloud(Buffer):
    class Point(Struct):
        x: f32
        size: u8
        min: i32
        trace: Array[f32] = array(2, 3)

    length: i32
    point: Array[Point] = array("length")


def eight() -> Array[int]:
    return S32Array.of(range(8)).array


def grid() -> Array[int]:
    return S32Array2D.of(np.arange(12).reshape(3, 4)).array


# ------------------------------------------------------------------------------- elements


def test_elements_are_python_numbers() -> None:
    numbers = eight()
    assert numbers[3] == 3
    assert type(numbers[3]) is int
    assert numbers[-1] == 7
    assert numbers[cast("int", np.int64(2))] == 2
    assert type(F32Array.of([0.5]).array[0]) is float
    assert type(F16Array.of([0.5]).array[0]) is float


def test_two_dimensions_are_rows_of_elements() -> None:
    numbers = grid()
    expected = np.arange(12).reshape(3, 4)
    assert numbers[1, 2] == expected[1, 2]
    assert numbers[-1, -1] == 11
    row = cast("Any", numbers[1])
    assert row.tolist() == expected[1].tolist()
    row[2] = 99
    assert numbers[1, 2] == 99
    assert numbers[:, 2].tolist() == [2, 99, 10]
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        _ = numbers[3, 0]
    with pytest.raises(IndexError, match="too many indices"):
        _ = numbers[1, 2, 3]


KEYS: list[Any] = [
    slice(None),
    slice(2, 5),
    slice(None, None, 2),
    slice(None, None, -1),
    slice(5, 2),
    ...,
    None,
    (slice(1, 3), None),
    [1, 1, 3],
    np.array([True, False] * 4),
    np.array([], dtype=int),
    (np.array([1, 2]),),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_any_key_selects_what_numpy_selects(key: Any) -> None:
    expected = np.arange(8, dtype=np.int32)
    found = np.asarray(cast("Any", eight())[key])
    assert np.array_equal(found, expected[key])
    assert found.dtype == expected.dtype
    numbers = cast("Any", eight())
    numbers[key] = 50
    expected[key] = 50
    assert numbers.tolist() == expected.tolist()


def test_a_tracked_mask_selects() -> None:
    numbers = eight()
    mask = U8Array.of([1, 0] * 4)
    flags = np.asarray(mask).astype(bool)
    assert numbers[np.asarray(numbers > 5)].tolist() == [6, 7]
    numbers[flags] = 0
    assert numbers.tolist() == [0, 1, 0, 3, 0, 5, 0, 7]
    chosen = S32Array.of([1, 3])
    assert numbers[chosen.array].tolist() == [1, 3]


def test_slices_write_through_and_share_one_state() -> None:
    numbers = eight()
    view = numbers[2:6]
    inner = view[1:3]
    inner[:] = [30, 40]
    assert numbers.tolist() == [0, 1, 2, 30, 40, 5, 6, 7]
    numbers[3] = -1
    assert inner.tolist() == [-1, 40]
    numbers[2:5] += 100
    assert numbers.tolist() == [0, 1, 102, 99, 140, 5, 6, 7]


def test_what_can_be_assigned() -> None:
    numbers = eight()
    for values in (range(8), list(range(8)), np.arange(8), (n for n in range(8)), eight()):
        numbers[:] = 0
        numbers[:] = cast("Any", values)
        assert numbers.tolist() == list(range(8))
    numbers[:] = True
    assert numbers.tolist() == [1] * 8
    numbers[:] = np.arange(8, dtype=np.uint64)
    assert numbers[7] == 7


def test_iteration_length_and_membership() -> None:
    numbers = eight()
    assert list(numbers) == list(range(8))
    assert [row.sum() for row in cast("Any", grid())] == [6, 22, 38]
    assert len(grid()) == 3
    assert 3 in numbers
    assert 9 not in numbers
    with pytest.raises(ValueError, match="ambiguous"):
        bool(numbers)
    assert bool(numbers[3:4])


# ------------------------------------------------------------------------------- snapshots


def test_what_leaves_is_a_snapshot_with_the_right_dtype() -> None:
    numbers = eight()
    for taken in (
        np.asarray(numbers),
        np.array(numbers[:]),
        numbers.copy(),
        numbers.reshape(2, 4),
        numbers.astype(np.int32),
        cast("Any", np.reshape(cast("Any", numbers), (2, 4))),
        cast("Any", np.transpose(cast("Any", numbers))),
        np.split(cast("Any", numbers), 2)[0],
        copy.copy(cast("Any", numbers)),
        copy.deepcopy(cast("Any", numbers)),
        pickle.loads(pickle.dumps(numbers)),  # noqa: S301 -- our own
    ):
        assert type(taken) is np.ndarray
        assert taken.dtype == np.int32
        assert taken.ravel()[0] == 0
        assert not np.may_share_memory(taken, numbers.__window__.live)


def test_the_dtype_and_copy_arguments_of_numpy() -> None:
    numbers = eight()
    assert np.asarray(numbers, dtype=np.float64).dtype == np.float64
    assert np.array(numbers, copy=True).tolist() == list(range(8))
    with pytest.raises(ValueError, match="raw"):
        np.asarray(numbers, copy=False)


def test_a_raw_view_is_the_memory() -> None:
    numbers = eight()
    raw = numbers[2:4].raw()
    raw += 100
    assert numbers.tolist() == [0, 1, 102, 103, 4, 5, 6, 7]
    assert numbers.__window__.segment.raw_views.shown.nbytes == 8
    backwards = numbers[::-1].raw()
    assert backwards.tolist() == [7, 6, 5, 4, 103, 102, 1, 0]


def test_properties() -> None:
    numbers = grid()
    assert (numbers.shape, numbers.size, numbers.ndim) == ((3, 4), 12, 2)
    assert numbers.dtype == np.int32
    assert numbers.tobytes() == np.arange(12, dtype=np.int32).tobytes()
    assert numbers.item(1, 2) == 6
    assert numbers[1:2, 2:3].item() == 6


def test_text_is_that_of_numpy() -> None:
    for made, expected in (
        (eight(), np.arange(8, dtype=np.int32)),
        (grid(), np.arange(12, dtype=np.int32).reshape(3, 4)),
        (F64Array.of([0.5, 2]).array, np.array([0.5, 2])),
    ):
        assert str(made) == str(expected)
        assert repr(made) == repr(expected)


# ------------------------------------------------------------------------------ columns


def test_columns_are_members_of_all_structs() -> None:
    cloud = Cloud.create(length=4)
    cloud.point.x[:] = [1, 2, 3, 4]
    assert [point.x for point in cloud.point] == [1.0, 2.0, 3.0, 4.0]
    assert cloud.point[1:3].x.tolist() == [2.0, 3.0]
    assert cloud.point.trace.shape == (4, 2, 3)
    cloud.point.trace[:, 1, 2] = range(4)
    assert cloud.point[3].trace[1, 2] == 3.0
    cloud.point.x += 1
    assert cloud.point.x.tolist() == [2.0, 3.0, 4.0, 5.0]


def test_columns_whose_names_arrays_have_themselves_are_reached_by_key() -> None:
    cloud = Cloud.create(length=4)
    cloud.point["size"][:] = 7
    cast("Any", cloud.point)["min"] = [3, 1, 2, 0]
    assert cloud.point.size == 4
    assert cloud.point[2].size == 7
    assert cloud.point["min"].min() == 0


def test_a_wrong_name_gets_a_suggestion() -> None:
    cloud = Cloud.create(length=4)
    with pytest.raises(FieldError) as caught:
        _ = cloud.point.trce
    assert caught.value.problem == "`Point` has no field `trce`"
    assert caught.value.advice == "did you mean `trace`?"
    with pytest.raises(FieldError, match=r"`Array\[i32\]` has no field `x`"):
        _ = eight().x
    assert not hasattr(eight(), "__array_interface__")


def test_an_array_cannot_be_replaced() -> None:
    cloud = Cloud.create(length=4)
    with pytest.raises(FieldError) as caught:
        cast("Any", cloud.point).x = 3
    assert caught.value.advice == "set its elements: `.x[:] = ...`"


def test_structs_in_arrays_are_assigned_whole() -> None:
    cloud = Cloud.create(length=4)
    cloud.point[0] = Cloud.Point(x=1.0, size=2, min=3)
    cast("Any", cloud.point)[1] = (1, 2, 3, [[1, 2, 3], [4, 5, 6]])
    cast("Any", cloud.point)[2] = {"x": 5, "size": 6, "min": 7}
    cloud.point[3] = cloud.point[1]
    assert cloud.point["min"].tolist() == [3, 3, 7, 3]
    assert cloud.point[3].trace[1, 2] == 6.0
    cloud.point[:2] = [cloud.point[2], cloud.point[3]]
    assert cloud.point["size"].tolist() == [6, 2, 6, 2]
    cloud.point[2:] = np.asarray(cloud.point[:2])
    cloud.point[:] = cloud.point[0]
    assert cloud.point.x.tolist() == [5.0] * 4
    with pytest.raises(ArgumentTypeError, match="an array of float64 is no `Point`"):
        cloud.point[:] = np.zeros(4)
    with pytest.raises(ArgumentTypeError, match="is no `Point`"):
        cloud.point[:] = 3  # pyright: ignore[reportCallIssue, reportArgumentType] -- the mistake


def test_structs_leave_as_structured_arrays() -> None:
    cloud = Cloud.create(length=2)
    cloud.point.x[:] = [1, 2]
    taken = np.asarray(cloud.point)
    assert taken.dtype.names == ("x", "size", "min", "trace")
    assert taken["x"].tolist() == [1.0, 2.0]
    assert taken.dtype.itemsize == 36  # 4 + 1 + 3 of padding + 4 + 2 * 3 * 4


# ------------------------------------------------------------------------------ the end


def test_views_of_a_released_buffer_are_dead() -> None:
    numbers = S32Array.of(range(8))
    accessor, view = numbers.array, numbers.array[2:5]
    numbers.release()
    uses: list[Any] = [
        lambda: accessor[0],
        view.tolist,
        lambda: view.fill(0),
        lambda: view + 1,
        lambda: np.asarray(view),
        view.raw,
        lambda: accessor.__setitem__(0, 1),
    ]
    for use in uses:
        with pytest.raises(ReleasedError, match="this S32Array was released"):
            use()
    assert repr(view) == "<Array of a released S32Array>"


def test_empty_arrays_are_arrays() -> None:
    numbers = S32Array.create(length=0).array
    assert numbers.tolist() == []
    assert numbers.sum() == 0
    numbers[:] = []
    assert (numbers + 1).shape == (0,)
    assert str(numbers) == "[]"
    assert numbers.raw().shape == (0,)
    with pytest.raises(ValueError, match="zero-size"):
        numbers.max()
