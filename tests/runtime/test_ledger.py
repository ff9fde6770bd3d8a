"""What is counted, by hand for small programs, and how it is shown."""

import numpy as np
import pytest
from tests.runtime.programs import (
    Table,
    add,
    add_to,
    add_to_all,
    collect,
    copy,
    dispatch,
    lengths,
    number,
    plus_one,
    square_all,
    square_kernel,
)

from trilby import Accelerator, NDArray, S32Array
from trilby.errors import RangeError
from trilby.runtime.ledger import Copy, Ledger
from trilby.source import Location

# An S32Array is a length and its elements: 4 bytes and 4 bytes each.
BYTES_OF_8 = 4 + 8 * 4


def moved(ledger: Ledger) -> list[tuple[str, str, int]]:
    return [(one.direction, one.buffer, one.nbytes) for one in ledger.copies]


def test_what_is_read_goes_up_and_what_is_written_comes_down(accelerator: Accelerator) -> None:
    source, to = S32Array.of(range(8)), S32Array.create(length=8)
    with accelerator.record() as ledger:
        accelerator.compute(dispatch, 8, copy, source, to)
    assert to.array.tolist() == list(range(8))
    assert moved(ledger) == [
        ("up", "source", BYTES_OF_8),
        ("up", "to", BYTES_OF_8),  # a part of it might not be written
        ("down", "to", BYTES_OF_8),
    ]
    assert (len(ledger.uploads), len(ledger.downloads)) == (2, 1)
    assert (ledger.bytes_up, ledger.bytes_down) == (2 * BYTES_OF_8, BYTES_OF_8)


def test_every_dispatch_moves_its_own(accelerator: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with accelerator.record() as ledger:
        accelerator.compute(dispatch, 8, add, a, 1)
        accelerator.compute(dispatch, 8, add_to, a, b)
        accelerator.compute(dispatch, 4, number, b)
    # up: a · a and b · b; down: a · a · b
    assert ledger.bytes_up == 4 * BYTES_OF_8
    assert ledger.bytes_down == 3 * BYTES_OF_8
    assert a.array.tolist() == [2 * i + 1 for i in range(8)]
    assert b.array.tolist() == [100, 101, 102, 103, 4, 5, 6, 7]


def test_a_length_is_no_data(accelerator: Accelerator) -> None:
    a, out = S32Array.of(range(8)), S32Array.create(length=2)
    with accelerator.record() as ledger:
        accelerator.compute(dispatch, 2, lengths, a, out)
    assert out.array.tolist() == [8, 8]
    assert {one.buffer for one in ledger.copies} == {"out"}


def test_an_atomic_counter_goes_both_ways(accelerator: Accelerator) -> None:
    a, table = S32Array.of(range(8)), Table.create(length=5)
    with accelerator.record() as ledger:
        accelerator.compute(dispatch, 8, collect, a, table)
    assert table.count == 4
    assert sorted(table.row.key[:4].tolist()) == [0, 2, 4, 6]
    # count and length, then five rows of an i32 and an f32
    size = 4 + 4 + 5 * (4 + 4)
    assert moved(ledger) == [
        ("up", "a", BYTES_OF_8),
        ("up", "table", size),
        ("down", "table", size),
    ]


def test_n_d_arrays_have_no_header(accelerator: Accelerator) -> None:
    a, b = NDArray[float](np.ones(6, np.float32)), NDArray[float](np.zeros(6, np.float32))
    with accelerator.record() as ledger:
        accelerator.compute(dispatch, 6, plus_one, a, b)
    assert b.tolist() == [2.0] * 6
    assert moved(ledger) == [("up", "a", 24), ("up", "b", 24), ("down", "b", 24)]


def test_a_buffer_passed_twice_moves_once(accelerator: Accelerator) -> None:
    a = S32Array.of(range(8))
    with accelerator.record() as ledger:
        accelerator.compute(dispatch, 8, add_to, a, a)
    assert a.array.tolist() == [2 * i for i in range(8)]
    assert moved(ledger) == [("up", "a, b", BYTES_OF_8), ("down", "a, b", BYTES_OF_8)]


def test_an_array_of_nothing_moves_nothing(accelerator: Accelerator) -> None:
    a = NDArray[float](np.zeros(0, np.float32))
    with accelerator.record() as ledger:
        accelerator.compute(dispatch, 0, plus_one, a, a)
    assert ledger.copies == ()
    assert str(ledger) == "nothing was copied"


def test_each_copy_says_why_and_where(interpreter: Accelerator) -> None:
    a = S32Array.of(range(8))
    with interpreter.record() as ledger:
        interpreter.compute(square_all, a)
    up, down = ledger.copies
    assert up.cause == "square_kernel reads and writes it"
    assert down.cause == "square_kernel wrote it"
    for one in ledger.copies:
        assert one.location is not None
        assert one.location.short.startswith("programs.py:")
        assert one.location.line == square_all.location.line + 2
        assert one.start == 0
        assert one.seconds >= 0


def test_records_may_be_nested(interpreter: Accelerator) -> None:
    a = S32Array.of(range(8))
    with interpreter.record() as outer:
        with interpreter.record() as inner:
            interpreter.compute(square_all, a)
        # both ledgers have the same content here, and are two all the same
        interpreter.compute(square_all, a)
    interpreter.compute(square_all, a)
    assert len(inner.copies) == 2
    assert len(outer.copies) == 4


def test_a_record_ends_with_an_error(interpreter: Accelerator) -> None:
    a = S32Array.of(range(8))
    with pytest.raises(RangeError), interpreter.record() as ledger:
        interpreter.compute(dispatch, "8", square_kernel, a)
    interpreter.compute(square_all, a)
    assert ledger.copies == ()


def test_what_one_accelerator_does_is_not_the_record_of_another(interpreter: Accelerator) -> None:
    a = S32Array.of(range(8))
    with Accelerator("interpreter") as other, other.record() as ledger:
        interpreter.compute(add_to_all, a)
        assert ledger.copies == ()
        other.compute(add_to_all, a)
    assert moved(ledger) == [("up", "a", BYTES_OF_8), ("down", "a", BYTES_OF_8)]
    assert a.array.tolist() == [i + 2 for i in range(8)]


def test_a_ledger_as_a_table() -> None:
    line = Location("/home/me/app.py", 12)
    ledger = Ledger()
    for _ in range(2):
        ledger.add(Copy("up", "numbers", 0, 1_000_000, "square reads it", line, 0.1))
    ledger.add(Copy("down", "x", 0, 16, "square wrote it", None, 0.1))
    assert str(ledger) == (
        "         buffer   copies      bytes  because\n"
        "→ up     numbers       2  2,000,000  square reads it (app.py:12)\n"
        "← down   x             1         16  square wrote it\n"
        "→ total                2  2,000,000\n"
        "← total                1         16"
    )
