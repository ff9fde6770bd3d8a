"""Which bytes a buffer, a view, a struct or a field has, and which are left unread."""

import numpy as np
import pytest
from tests.runtime.programs import Table

from trilby import NDArray, S32Array, S32Array2D
from trilby.errors import FieldError
from trilby.runtime.parts import Part, field_of, part_of, parts_of

# Table: count at 0, length at 4, then rows of key and value, 8 bytes each, from 8 on.


def bytes_of(thing: object, key: object = None) -> list[tuple[int, int]]:
    part = part_of(thing, key)
    assert part is not None
    return list(part.ranges)


def test_a_buffer_is_its_data_and_not_its_lengths() -> None:
    assert bytes_of(Table.create(length=2)) == [(0, 4), (8, 24)]
    assert bytes_of(S32Array.create(length=3)) == [(4, 16)]


def test_views_structs_and_fields() -> None:
    table, a = Table.create(length=3), S32Array.create(length=10)
    assert bytes_of(table, "count") == [(0, 4)]
    assert bytes_of(table.row[1]) == [(16, 24)]
    assert bytes_of(table.row[1], "value") == [(20, 24)]
    assert bytes_of(table.row.key) == [(8, 12), (16, 20), (24, 28)]
    assert bytes_of(a.array[2:4]) == [(12, 20)]
    assert bytes_of(a.array, 3) == [(16, 20)]
    grid = S32Array2D.create(width=4, height=2)
    assert bytes_of(grid.array, (1, 2)) == [(8 + 4 * 6, 8 + 4 * 7)]
    numbers = NDArray[float](np.zeros((2, 3), np.float32))
    assert bytes_of(numbers) == [(0, 24)]
    assert bytes_of(numbers[1]) == [(12, 24)]


@pytest.mark.parametrize("thing", [3, "count", None, [1], np.zeros(3)])
def test_other_things_have_no_place(thing: object) -> None:
    assert part_of(thing) is None


def test_a_field_that_is_a_number_is_its_place_and_anything_else_itself() -> None:
    class Holder:
        buffer = S32Array.create(length=2)

    table = Table.create(length=2)
    count = field_of(table, "count")
    assert isinstance(count, Part)
    assert list(count.ranges) == [(0, 4)]
    element = field_of(Holder.buffer.array, -1)
    assert isinstance(element, Part)
    assert list(element.ranges) == [(8, 12)]
    assert field_of(table, "row") is table.row
    assert bytes_of(field_of(table.row, 1)) == [(16, 24)]
    assert bytes_of(field_of(table.row, "key")) == bytes_of(table.row.key)
    assert field_of(Holder, "buffer") is Holder.buffer
    assert field_of([4, 5], 1) == 5
    with pytest.raises(FieldError):
        field_of(table, "cuont")
    with pytest.raises(IndexError):
        field_of(Holder.buffer.array, 2)


def test_a_text_names_a_field_of_what_stands_before_it() -> None:
    table, a = Table.create(length=1), S32Array.create(length=1)
    found = [list(part.ranges) for part in parts_of((a, table, "count", table, a), "put")]
    assert found == [[(4, 8)], [(0, 4)], [(0, 4), (8, 16)], [(4, 8)]]
