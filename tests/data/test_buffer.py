import copy
import gc
import mmap
import pickle
import weakref
from typing import Any, cast

import numpy as np
import pytest

from trilby.data.buffer import Buffer
from trilby.data.library import F64Array, S8Array, S32Array
from trilby.data.library_2d import S32Array2D
from trilby.data.markers import Atomic, array
from trilby.data.names import f32, i32, i64, u8
from trilby.data.segment import PAGE
from trilby.data.struct import Struct
from trilby.data.views import Array
from trilby.errors import ArgumentTypeError, BindingError, FieldError, ReleasedError


class ResultTable(Buffer):
    class Result(Struct):
        x: f32
        y: f32

    count: Atomic[i32]
    length: i32
    result: Array[Result] = array("length")


class Two(Buffer):
    n: u8
    m: i64
    a: Array[f32] = array("n")
    b: Array[i32] = array("m", 2)


class Fixed(Buffer):
    x: f32
    row: Array[f32] = array(4)


# -------------------------------------------------------------------------------- create


def test_a_new_buffer_is_zero_and_has_its_lengths() -> None:
    table = ResultTable.create(None, length=100)
    assert (table.count, table.length, len(table.result)) == (0, 100, 100)
    assert not np.asarray(table.result.x).any()
    assert table.segment.address % PAGE == 0
    assert table.nbytes == table.segment.nbytes == 808
    assert table.segment.memory[:8].view(np.int32).tolist() == [0, 100]


def test_any_object_may_stand_for_the_accelerator() -> None:
    assert S32Array.create(object(), length=np.int64(3)).length == 3  # pyright: ignore[reportArgumentType] -- NumPy's integers are welcome


def test_lengths_and_a_counter() -> None:
    table = ResultTable.create(length=3)
    table.count = 5
    table.count += 1
    assert table.count == 6
    with pytest.raises(FieldError) as caught:
        table.length = 4
    assert caught.value.problem == "`length` is a length of `ResultTable` and is fixed at creation"
    assert "ResultTable.create(accelerator, length=...)" in caught.value.advice
    assert table.length == 3


def test_a_buffer_without_lengths() -> None:
    fixed = Fixed.create()
    fixed.row[:] = [1, 2, 3, 4]
    fixed.x = fixed.row[3]
    assert fixed.segment.memory.view(np.float32).tolist() == [4, 1, 2, 3, 4]


def test_two_arrays_with_lengths_of_their_own() -> None:
    two = Two.create(n=3, m=2)
    two.a[:] = [1, 2, 3]
    two.b[:] = [[1, 2], [3, 4]]
    assert {name: slot.offset for name, slot in two.layout.slots.items()} == {
        "n": 0,
        "m": 8,
        "a": 16,
        "b": 28,
    }
    assert two.segment.memory[8:16].view(np.int64)[0] == 2
    assert two.segment.memory[28:44].view(np.int32).tolist() == [1, 2, 3, 4]


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({}, "`S32Array` needs a value for `length`", "S32Array.create(accelerator, length=32)"),
    ({"lenght": 3}, "has no length `lenght`", "did you mean `length`?"),
    ({"length": 3, "width": 3}, "has no length `width`", "its lengths: length"),
    ({"length": 3, "array": [1]}, "has no length `array`", "buffer.array = ..."),
    ({"length": -1}, "cannot be -1", "the smallest is 0"),
    ({"length": 1.0}, "1.0 is float", "`n // 2` instead of `n / 2`"),
    ({"length": True}, "True is bool", "give an int"),
    ({"length": "3"}, "'3' is str", "give an int"),
    ({"length": 2**31}, "is i32 and cannot be 2147483648", "length: i64"),
]


@pytest.mark.parametrize(("lengths", "problem", "advice"), WRONG, ids=str)
def test_wrong_lengths(lengths: dict[str, Any], problem: str, advice: str) -> None:
    with pytest.raises(BindingError) as caught:
        S32Array.create(**lengths)
    assert problem in caught.value.problem
    assert advice in caught.value.advice


def test_a_length_beyond_a_small_field() -> None:
    with pytest.raises(BindingError, match="is u8 and cannot be 256"):
        Two.create(n=256, m=0)


def test_common_slips_are_explained() -> None:
    with pytest.raises(BindingError, match="lengths by their names; this is 32") as caught:
        S32Array.create(32)
    assert caught.value.advice == "write `S32Array.create(accelerator, length=32)`"
    with pytest.raises(BindingError, match="not made by calling its class") as caught:
        S32Array()
    assert "S32Array.create(accelerator" in caught.value.advice


# ---------------------------------------------------------------------------------- bind


def test_bound_memory_is_shared_both_ways() -> None:
    memory = np.zeros(9, np.int32)
    numbers = S32Array.bind(memory, length=8)
    assert memory[0] == 8
    numbers.array[:] = range(8)
    assert memory.tolist() == [8, 0, 1, 2, 3, 4, 5, 6, 7]
    memory[1] = 42
    assert numbers.array[0] == 42
    assert numbers.segment.borrowed


def test_lengths_may_come_from_the_header() -> None:
    memory = np.array([2, 3, *range(6)], np.int32)
    numbers = S32Array2D.bind(memory)
    assert (numbers.width, numbers.height) == (2, 3)
    assert numbers.array.tolist() == [[0, 1], [2, 3], [4, 5]]
    two = Two.create(n=3, m=2)
    two.b[:] = 7
    again = Two.bind(two.segment.memory)
    assert (again.n, again.m, again.b.tolist()) == (3, 2, [[7, 7], [7, 7]])


def test_anything_with_a_buffer_can_be_bound() -> None:
    block = bytearray(12)
    S32Array.bind(block, length=2).array[1] = 0x01020304
    assert block == b"\2\0\0\0\0\0\0\0\4\3\2\1"
    with mmap.mmap(-1, PAGE) as mapped:
        numbers = S32Array.bind(mapped, length=10)
        numbers.array[0] = 5
        assert mapped[4] == 5
        assert numbers.nbytes == 44
        numbers.release()
        del numbers
        gc.collect()


def test_memory_that_is_too_small() -> None:
    with pytest.raises(BindingError) as caught:
        S32Array.bind(np.zeros(32, np.int32), length=32)
    assert "with length=32 takes 132 bytes (4 of them before the array)" in caught.value.problem
    assert "the memory has 128" in caught.value.problem
    assert "accelerator.array(x)" in caught.value.advice
    assert "S32Array.of(x)" in caught.value.advice
    with pytest.raises(BindingError, match="with length=99 takes 400 bytes"):
        S32Array.bind(np.array([99, 1, 2], np.int32))
    with pytest.raises(BindingError, match="3 bytes are too few to hold even `length`"):
        S32Array.bind(bytearray(3))
    with pytest.raises(BindingError, match="cannot be -4"):
        S32Array.bind(np.array([-4, 1, 2], np.int32))


def test_memory_in_the_wrong_place() -> None:
    memory = np.zeros(64, np.uint8)
    odd = memory[(2 - memory.ctypes.data) % 4 :]
    with pytest.raises(BindingError) as caught:
        S32Array.bind(odd, length=3)
    assert "aligned to 4 bytes, and the memory begins 2 bytes after" in caught.value.problem


def test_memory_that_cannot_be_written() -> None:
    with pytest.raises(BindingError, match="read-only"):
        S32Array.bind(b"12345678", length=1)
    with pytest.raises(BindingError, match="row-major"):
        S32Array.bind(np.zeros((4, 4), np.int32)[:, 0], length=1)


def test_a_refused_binding_leaves_the_memory_alone() -> None:
    memory = np.full(3, 7, np.int32)
    with pytest.raises(BindingError):
        S32Array.bind(memory, length=99)
    assert memory.tolist() == [7, 7, 7]


# ------------------------------------------------------------------------------------ of


def test_of_copies_values_and_takes_their_shape() -> None:
    source = np.arange(6, dtype=np.int32).reshape(2, 3)
    numbers = S32Array2D.of(source)
    source[...] = 0
    assert (numbers.height, numbers.width) == (2, 3)
    assert numbers.array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert S32Array.of([]).length == 0
    assert S32Array.of(numbers.array[1, :]).array.tolist() == [3, 4, 5]
    assert F64Array.of([1, 2.5]).array.tolist() == [1.0, 2.5]
    table = ResultTable.of([(1, 2), {"x": 3, "y": 4}])
    assert (table.length, table.result.y.tolist()) == (2, [2.0, 4.0])


def test_of_refuses_what_does_not_fit() -> None:
    with pytest.raises(BindingError, match=r"shape \(2, 2\) do not fit `S32Array`"):
        S32Array.of([[1, 2], [3, 4]])
    with pytest.raises(BindingError, match=r"`array` has the shape \(height, width\)"):
        S32Array2D.of([1, 2])
    with pytest.raises(ArgumentTypeError, match="cannot be stored as i32"):
        S32Array.of([1.5])
    with pytest.raises(OverflowError):
        S8Array.of([200])
    with pytest.raises(ArgumentTypeError, match="`Two` has 2: a, b"):
        Two.of([1])


# ------------------------------------------------------------------------------ protocols


def test_a_buffer_as_text_reads_no_data() -> None:
    assert repr(S32Array2D.create(width=1024, height=1024)) == (
        "S32Array2D[width=1024, height=1024, array=i32[1048576]]"
    )
    table = ResultTable.create(length=100)
    assert repr(table) == "ResultTable[count=Atomic[i32], length=100, result=Result[100]]"
    table.release()
    assert repr(table) == (
        "ResultTable[count=Atomic[i32], length=100, result=Result[100]] (released)"
    )


def test_a_buffer_with_one_array_is_its_numbers_for_numpy() -> None:
    numbers = S32Array2D.of([[1, 2], [3, 4]])
    taken = np.asarray(numbers)
    assert taken.dtype == np.int32
    assert taken.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="read-only"):
        taken[:] = 0
    np.array(numbers)[:] = 0
    assert numbers.array[0, 0] == 1
    assert np.asarray(numbers, dtype=np.float32).dtype == np.float32
    assert np.asarray(Fixed.create()).shape == (4,)
    with pytest.raises(TypeError, match=r"`np.asarray` needs a buffer with one array") as caught:
        np.asarray(Two.create(n=1, m=1))
    assert cast("Any", caught.value).advice == "name the one you mean: `buffer.a`"


def test_unknown_names_get_a_suggestion() -> None:
    numbers = S32Array.create(length=1)
    with pytest.raises(FieldError) as caught:
        _ = cast("Any", numbers).arry
    assert caught.value.problem == "`S32Array` has no field `arry`"
    assert caught.value.advice == "did you mean `array`?"
    with pytest.raises(AttributeError, match="no field `size`"):
        cast("Any", numbers).size = 3
    with pytest.raises(FieldError, match="no field `release`"):
        cast("Any", numbers).release = 3
    with pytest.raises(FieldError, match="`array` is an array and cannot be replaced"):
        numbers.array = cast("Any", [1])
    numbers.array += 1
    assert numbers.array[0] == 1


def test_a_released_buffer() -> None:
    with S32Array.of([1, 2]) as numbers:
        assert numbers.array[1] == 2
    for use in (
        lambda: numbers.array,
        lambda: numbers.length,
        lambda: np.asarray(numbers),
        lambda: copy.copy(numbers),
    ):
        with pytest.raises(ReleasedError, match="this S32Array was released"):
            use()
    numbers.release()


def test_release_frees_the_memory() -> None:
    numbers = S32Array.create(length=10)
    numbers.array[0] = 1
    memory = weakref.ref(numbers.segment.memory)
    numbers.release()
    gc.collect()
    assert memory() is None


def test_copies_are_independent() -> None:
    two = Two.create(n=2, m=1)
    two.b[:] = 5
    for taken in (
        copy.copy(two),
        copy.deepcopy(two),
        pickle.loads(pickle.dumps(two)),  # noqa: S301 -- our own
    ):
        assert isinstance(taken, Two)
        assert (taken.n, taken.m, taken.b.tolist()) == (2, 1, [[5, 5]])
        assert taken.segment.address % PAGE == 0
        taken.b[:] = 6
    assert two.b.tolist() == [[5, 5]]


def test_buffers_are_compared_by_identity() -> None:
    numbers = S32Array.of([1])
    assert numbers == numbers  # noqa: PLR0124 -- identity is what is tested
    assert numbers != S32Array.of([1])
    assert len({numbers, numbers}) == 1
