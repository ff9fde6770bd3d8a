import numpy as np
import pytest

from trilby.data.buffer import given_lengths, read_lengths, shape_lengths, write_lengths
from trilby.data.dtypes import F32, I32, I64, U8
from trilby.data.layout import layout
from trilby.data.schema import ArrayType, BufferType, Field
from trilby.errors import BindingError

SQUARE = Field("square", ArrayType(F32, ("m", "m", 3)))
SCHEMA = BufferType(
    "B",
    (Field("n", U8), Field("m", I64), Field("data", ArrayType(U8, ("n",))), SQUARE),
)


def test_lengths_are_read_from_the_header() -> None:
    lengths = {"n": 5, "m": 2}
    places = layout(SCHEMA, lengths)
    memory = np.zeros(places.size, np.uint8)
    write_lengths(places, lengths, memory)
    # by hand: n at 0, m at the next multiple of 8
    assert memory[0] == 5
    assert memory[8:16].view(np.int64)[0] == 2
    assert read_lengths(SCHEMA, memory) == lengths


def test_a_length_beyond_the_memory() -> None:
    memory = np.zeros(12, np.uint8)
    with pytest.raises(BindingError, match="12 bytes are too few to hold even `m` of `B`"):
        read_lengths(SCHEMA, memory)


def test_given_lengths_come_in_the_order_of_the_fields() -> None:
    assert list(given_lengths(SCHEMA, {"m": 1, "n": np.int8(2)}).items()) == [("n", 2), ("m", 1)]


def test_a_shape_gives_the_lengths() -> None:
    assert shape_lengths(SCHEMA, SQUARE, (4, 4, 3)) == {"m": 4}
    for shape in ((4, 5, 3), (4, 4, 2), (4, 4), ()):
        with pytest.raises(BindingError, match=r"`square` has the shape \(m, m, 3\)"):
            shape_lengths(SCHEMA, SQUARE, shape)


def test_a_buffer_without_arrays_has_no_lengths() -> None:
    schema = BufferType("B", (Field("x", I32),))
    assert given_lengths(schema, {}) == {}
    with pytest.raises(BindingError, match="has no length `x`") as caught:
        given_lengths(schema, {"x": 1})
    assert caught.value.advice == "set it when the buffer exists: `buffer.x = ...`"
