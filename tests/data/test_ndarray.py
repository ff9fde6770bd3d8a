import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from tests.data.watching import Device, recorded

from trilby.data.dtypes import F32, SCALARS
from trilby.data.library import S32Array
from trilby.data.ndarray import NDArray
from trilby.data.schema import NDArrayType
from trilby.data.views import Array
from trilby.errors import BindingError, ReleasedError


def grid() -> NDArray[Any]:
    return NDArray(np.arange(12, dtype=np.float32).reshape(3, 4))


def test_memory_is_shared_with_the_array_it_is_made_of() -> None:
    source = np.zeros((3, 4), np.float32)
    shared = NDArray[float](source)
    shared[1, 2] = 5
    assert source[1, 2] == 5
    source[0, 0] = 7
    assert shared[0, 0] == 7.0
    assert shared.segment.borrowed
    assert shared.segment.address == source.ctypes.data


@pytest.mark.parametrize("name", SCALARS)
def test_every_scalar_has_arrays(name: str) -> None:
    made = NDArray[Any](np.ones(3, SCALARS[name].numpy))
    assert made.element is SCALARS[name]
    assert made.__schema__ == NDArrayType(SCALARS[name], 1)
    assert type(made[0]) in {bool, int, float}


def test_properties() -> None:
    made = grid()
    assert (made.shape, made.ndim, made.size, made.nbytes) == ((3, 4), 2, 12, 48)
    assert made.dtype == np.float32
    assert len(made) == 3
    assert made.__schema__ == NDArrayType(F32, 2)
    assert [row.tolist() for row in made][2] == [8.0, 9.0, 10.0, 11.0]


def test_lists_and_numbers_are_copied_with_numpys_dtypes() -> None:
    assert NDArray[Any]([1, 2]).dtype == np.int64
    assert NDArray[Any]([1, 2.5]).dtype == np.float64
    assert not NDArray[Any]([1, 2]).segment.borrowed
    number = NDArray[Any](3.5)
    assert (number.shape, number[()], number.item()) == ((), 3.5, 3.5)


def test_an_n_d_array_of_an_n_d_array_is_the_same_memory_and_state() -> None:
    made = grid()
    assert NDArray[Any](made).segment is made.segment


REFUSED: list[tuple[Callable[[], object], str, str]] = [
    (lambda: np.zeros((4, 4))[:, :2], "not contiguous", "np.ascontiguousarray(x)"),
    (lambda: np.zeros((4, 3)).T, "not contiguous", "np.ascontiguousarray(x)"),
    (lambda: np.zeros(3, ">i4"), "dtype >i4", "newbyteorder"),
    (lambda: np.zeros(3, complex), "dtype complex128", "astype"),
    (lambda: np.array(["a"]), "dtype <U1", "astype"),
    (lambda: np.array([None]), "dtype object", "astype"),
    (lambda: "text", "dtype <U4", "astype"),
    (lambda: [[1, 2], [3]], "list cannot be made an array", "equal length"),
    (lambda: np.broadcast_to(np.zeros(1), 3), "not contiguous", "np.ascontiguousarray"),
    (lambda: np.frombuffer(b"12345678", np.int32), "read-only", "np.array(x)"),
    (lambda: np.ma.masked_array([1, 2], [True, False]), "masked", "x.filled(0)"),
    (lambda: S32Array.of([1, 2]).array[:1], "a view of a buffer", "view.copy()"),
]


@pytest.mark.parametrize(("make", "problem", "advice"), REFUSED, ids=[r[1] for r in REFUSED])
def test_what_cannot_be_bound(make: Callable[[], object], problem: str, advice: str) -> None:
    with pytest.raises(BindingError) as caught:
        NDArray[Any](make())
    assert problem in caught.value.problem
    assert advice in caught.value.advice


def test_slices_are_tracked_views() -> None:
    made = grid()
    recorder = recorded(made.segment)
    row = made[1, :]
    assert type(row) is Array
    assert recorder.events == []
    assert row.tolist() == [4.0, 5.0, 6.0, 7.0]
    row[:] = 0
    assert recorder.events == [("read", 16, 16), ("write", 16, 16), ("wrote", 16, 16)]
    assert made[1:2].sum() == 0


def test_numpy_computes_with_it() -> None:
    made: Any = grid()
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(np.sin(made), np.sin(expected))
    assert np.array_equal(made + 1, expected + 1)
    assert np.array_equal(made @ made[:].reshape(4, 3), expected @ expected.reshape(4, 3))
    same = made
    made += 1
    assert made is same
    np.add(made, 1, out=made)
    assert np.array_equal(np.asarray(made), expected + 2)
    assert np.array_equal(np.concatenate([made, expected])[3:], expected)


def test_what_leaves_is_a_snapshot() -> None:
    made = grid()
    Device(made.segment)
    for taken in (np.asarray(made), np.array(made), np.asarray(made, dtype=np.float32)):
        assert type(taken) is np.ndarray
        assert taken.dtype == np.float32
        assert taken[2, 3] == 11.0
        assert not np.may_share_memory(taken, made.__window__.live)
    np.array(made)[...] = 0
    assert made[2, 3] == 11.0


def test_the_array_interface_describes_a_snapshot_that_it_carries() -> None:
    made = grid()
    recorder = recorded(made.segment)
    description = made.__array_interface__
    assert recorder.events == [("read", 0, 48)]
    assert description["shape"] == (3, 4)
    assert description["typestr"] == np.dtype(np.float32).str
    assert bytes(memoryview(description["data"])) == made.tobytes()
    taken = np.asarray(made)
    assert not taken.flags.writeable
    assert not np.may_share_memory(taken, made.__window__.live)
    assert not made.segment.raw_views.shown


def test_dlpack_shares_and_is_an_escape_while_it_lives() -> None:
    made = grid()
    recorder = recorded(made.segment)
    assert made.__dlpack_device__() == (1, 0)
    shared = np.from_dlpack(cast("Any", made))
    assert recorder.take() == [("read", 0, 48), ("write", 0, 48), ("wrote", 0, 48)]
    assert np.shares_memory(shared, made.raw())
    assert np.array_equal(shared, np.arange(12).reshape(3, 4))
    gc.collect()
    assert made.segment.raw_views.shown.nbytes == 48
    del shared
    gc.collect()
    assert not made.segment.raw_views.shown
    separate = np.from_dlpack(cast("Any", made), copy=True)
    assert not np.shares_memory(separate, made.raw())


def test_empty_arrays_and_arrays_without_dimensions() -> None:
    empty = NDArray[Any](np.zeros((0, 3), np.int32))
    assert (empty.shape, empty.size, empty.nbytes) == ((0, 3), 0, 0)
    assert empty.tolist() == []
    assert np.asarray(empty).shape == (0, 3)
    assert (empty + 1).shape == (0, 3)
    assert np.from_dlpack(cast("Any", empty)).shape == (0, 3)
    single = NDArray[Any](np.array(2.0))
    single[()] = 3
    assert single[()] == 3.0
    single += 1
    assert float(np.asarray(single)) == 4.0
    assert str(single) == "4.0"
    with pytest.raises(TypeError):
        len(single)
    with pytest.raises(TypeError):
        iter(single)


def test_copies_are_n_d_arrays_of_their_own() -> None:
    made = grid()
    for taken in (
        copy.copy(made),
        copy.deepcopy(made),
        pickle.loads(pickle.dumps(made)),  # noqa: S301 -- our own
    ):
        assert type(taken) is NDArray
        taken[0, 0] = 50
    assert made[0, 0] == 0.0


def test_a_released_array() -> None:
    with grid() as made:
        pass
    with pytest.raises(ReleasedError, match="this NDArray was released"):
        _ = made[0, 0]
    with pytest.raises(ReleasedError):
        np.asarray(made)
