"""What is counted, by hand for small programs, and how it is shown."""

import gc
from typing import cast

import numpy as np
import pytest
from tests.runtime.contents import done, on_host, replica
from tests.runtime.programs import (
    Table,
    add,
    add_to,
    collect,
    copy,
    dispatch,
    lengths,
    number,
    plus_one,
    square_all,
    square_kernel,
)
from tests.typing.transfer_usage import double_often

from trilby import Accelerator, NDArray, S32Array
from trilby.data.ranges import Ranges
from trilby.errors import RangeError
from trilby.runtime.callers import Caller
from trilby.runtime.content import Direction
from trilby.runtime.ledger import Ledger
from trilby.runtime.put_get import prefetch
from trilby.runtime.recording import Recording
from trilby.runtime.replicas import Moved, Reason, Replicas

# The elements of an S32Array have 4 bytes each. Its length, 4 bytes before them, is no data.
EIGHT = 8 * 4


def moved(ledger: Ledger) -> list[tuple[str, str, int]]:
    return [(one.direction, one.buffer, one.nbytes) for one in ledger.copies]


def test_what_is_read_goes_up_and_what_was_written_comes_down_when_it_is_read(
    discrete: Accelerator,
) -> None:
    source, to = S32Array.of(range(8)), S32Array.of([9] * 8)
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, copy, source, to)
        assert moved(ledger) == [("up", "source", EIGHT)]  # all of `to` is overwritten
        assert to.array.tolist() == list(range(8))
    assert moved(ledger) == [("up", "source", EIGHT), ("down", "to", EIGHT)]
    assert (len(ledger.uploads), len(ledger.downloads)) == (1, 1)
    assert (ledger.bytes_up, ledger.bytes_down) == (EIGHT, EIGHT)


def test_what_is_on_the_device_does_not_go_there_again(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, add, a, 1)
        discrete.compute(dispatch, 8, add_to, a, b)
        discrete.compute(dispatch, 4, number, b)
        discrete.compute(dispatch, 8, add_to, a, b)
    assert moved(ledger) == [("up", "a", EIGHT), ("up", "b", EIGHT)]
    assert a.array.tolist() == [2 * i + 1 + (100 + i if i < 4 else i) for i in range(8)]
    assert b.array.tolist() == [100, 101, 102, 103, 4, 5, 6, 7]


def test_what_was_written_in_part_comes_down_in_part(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 4, number, a)
        assert a.array.tolist() == [100, 101, 102, 103, 4, 5, 6, 7]
    assert moved(ledger) == [("down", "a", 16)]


def test_nothing_moves_where_the_memory_is_the_hosts(shared: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    numbers = shared.array(np.ones(6, np.float32))
    with shared.record() as ledger:
        for _ in range(3):
            shared.compute(dispatch, 8, add_to, a, b)
            a.array[0] = 7
            shared.compute(dispatch, 6, plus_one, numbers, numbers)
        assert a.array.tolist() == [7, *(4 * i for i in range(1, 8))]
        assert numbers.tolist() == [4.0] * 6
    assert ledger.copies == ()
    assert (ledger.optimal.buffer.nbytes, ledger.ratio) == (0, 1.0)


def test_a_length_is_no_data(discrete: Accelerator) -> None:
    a, out = S32Array.of(range(8)), S32Array.create(length=2)
    with discrete.record() as ledger:
        discrete.compute(dispatch, 2, lengths, a, out)
    assert ledger.copies == ()
    assert out.array.tolist() == [8, 8]


def test_zeros_that_nobody_wrote_do_not_move(discrete: Accelerator) -> None:
    a, b = S32Array.create(length=8), S32Array.create(length=8)
    b.array[4:] = 1
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, add_to, a, b)
        assert a.array.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert moved(ledger) == [("up", "b", 16), ("down", "a", EIGHT)]


def test_an_atomic_counter_and_rows_that_are_fresh(discrete: Accelerator) -> None:
    a, table = S32Array.of(range(8)), Table.create(length=5)
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, collect, a, table)
        assert moved(ledger) == [("up", "a", EIGHT)]  # the table is zeros that nobody wrote
        assert table.count == 4
        assert sorted(table.row.key[:4].tolist()) == [0, 2, 4, 6]
    assert moved(ledger)[1:] == [("down", "table", 4), ("down", "table", 4 * 4)]


def test_n_d_arrays_have_no_header(discrete: Accelerator) -> None:
    a, b = NDArray[float](np.ones(6, np.float32)), NDArray[float](np.ones(6, np.float32))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 6, plus_one, a, b)
        assert b.tolist() == [2.0] * 6
    assert moved(ledger) == [("up", "a", 24), ("down", "b", 24)]


def test_a_buffer_passed_twice_moves_once(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, add_to, a, a)
        assert a.array.tolist() == [2 * i for i in range(8)]
    assert [one[::2] for one in moved(ledger)] == [("up", EIGHT), ("down", EIGHT)]


def test_an_array_of_nothing_moves_nothing(discrete: Accelerator) -> None:
    a = NDArray[float](np.zeros(0, np.float32))
    with discrete.record() as ledger:
        discrete.compute(dispatch, 0, plus_one, a, a)
        assert a.tolist() == []
    assert ledger.copies == ()
    assert str(ledger) == "nothing was copied"
    assert ledger.ratio == 1.0


# ----------------------------------------------------------------------- why, where, how long


def line_of(text: str) -> int:
    """The line of a test that has some text."""
    with open(__file__, encoding="utf-8") as file:  # noqa: PTH123 -- it is one line
        return 1 + [text in line for line in file].index(True)


def test_each_copy_says_why_and_where(interpreter: Accelerator) -> None:
    a = S32Array.create(length=8)
    interpreter.compute(dispatch, 8, square_kernel, a)
    a.array[:] = range(8)  # written here
    with interpreter.record() as ledger:
        interpreter.compute(dispatch, 8, square_kernel, a)
        a.array.tolist()  # read here
    up, down = ledger.copies
    written, read = line_of("# written" + " here"), line_of("# read" + " here")
    launched = dispatch.location.line + 3
    assert up.cause == (
        f"square_kernel reads and writes it; the host wrote it at test_ledger.py:{written}"
    )
    assert down.cause == f"the host reads it; square_kernel wrote it at programs.py:{launched}"
    assert up.location is not None
    assert up.location.short == f"programs.py:{launched}"
    assert down.location is not None
    assert down.location.short == f"test_ledger.py:{read}"
    for one in ledger.copies:
        assert (one.field, one.start, one.nbytes) == ("array", 4, EIGHT)
        assert one.seconds >= 0


def test_a_copy_down_blames_the_kernel_though_the_host_wrote_elsewhere(
    interpreter: Accelerator,
) -> None:
    a = S32Array.of(range(8))
    with interpreter.record() as ledger:
        interpreter.compute(dispatch, 4, number, a)
        a.array[7] = 7
        a.array.tolist()
    (down,) = ledger.copies
    assert "number wrote it at programs.py" in down.cause


def test_a_copy_up_blames_the_host_though_a_kernel_wrote_elsewhere(
    interpreter: Accelerator,
) -> None:
    a = S32Array.of(range(8))
    with interpreter.record() as ledger:
        interpreter.compute(dispatch, 4, number, a)
        interpreter.compute(dispatch, 8, add, a, 1)
    (up,) = ledger.uploads
    assert up.nbytes == 16
    assert up.cause == "add reads and writes it; the host wrote it"  # before anybody watched


def test_what_the_plan_brings_early_says_so(interpreter: Accelerator) -> None:
    a = S32Array.of(range(8))
    with interpreter.record() as ledger:
        interpreter.compute(double_often, a, 2)
    (up,) = ledger.uploads
    assert up.nbytes == EIGHT
    assert up.cause == "the plan says that a kernel will read it; the host wrote it"
    assert up.location is not None
    assert up.location.short.startswith("transfer_usage.py:")


# ------------------------------------------------------------------------------- records


def test_records_may_be_nested(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with discrete.record() as outer:
        with discrete.record() as inner:
            discrete.compute(dispatch, 8, add, a, 1)
        # both ledgers have the same content here, and are two all the same
        discrete.compute(dispatch, 8, add, b, 1)
        a.array.tolist()
    discrete.compute(dispatch, 8, add, S32Array.of(range(8)), 1)
    assert moved(inner) == [("up", "a", EIGHT)]
    assert moved(outer) == [("up", "a", EIGHT), ("up", "a", EIGHT), ("down", "a", EIGHT)]
    assert (inner.ratio, outer.ratio) == (1.0, 1.0)


def test_a_record_ends_with_an_error(interpreter: Accelerator) -> None:
    a = S32Array.of(range(8))
    with pytest.raises(RangeError), interpreter.record() as ledger:
        interpreter.compute(dispatch, "8", square_kernel, a)
    interpreter.compute(square_all, a)
    assert ledger.copies == ()


def test_what_one_accelerator_does_is_not_the_record_of_another(interpreter: Accelerator) -> None:
    a = S32Array.of(range(8))
    with Accelerator("interpreter") as other, other.record() as ledger:
        interpreter.compute(dispatch, 8, add, a, 1)
        assert ledger.copies == ()
        with interpreter.record() as first:
            other.compute(dispatch, 8, add, a, 1)
        # from the one device to the host, and from there to the other
        assert moved(first) == [("down", "a", EIGHT)]
        assert moved(ledger) == [("up", "a", EIGHT)]
        assert a.array.tolist() == [i + 2 for i in range(8)]
    assert moved(ledger) == [("up", "a", EIGHT), ("down", "a", EIGHT)]


def test_a_record_that_begins_in_the_middle_of_things(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    discrete.compute(dispatch, 8, add_to, a, b)
    with discrete.record() as ledger:
        discrete.compute(dispatch, 8, add_to, a, b)
        assert ledger.copies == ()
        assert a.array.tolist() == [3 * i for i in range(8)]
    assert moved(ledger) == [("down", "a", EIGHT)]
    assert ledger.optimal.buffer.nbytes == EIGHT
    assert ledger.ratio == 1.0


def test_the_oracle_knows_what_a_run_could_have_saved(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    with discrete.record() as ledger:
        a.array[:] = 0  # never needed on the device
        prefetch(discrete.residency, a)
        assert a.array.tolist() == [0] * 8
    assert moved(ledger) == [("up", "a", EIGHT)]
    assert ledger.optimal.buffer.nbytes == 0
    assert ledger.ratio == float("inf")
    (excess,) = ledger.excess
    assert (excess.nbytes, excess.kind.name) == (EIGHT, "DEAD")


# --------------------------------------------------------------------------------- tables


def entry(direction: Direction, label: str, ranges: Ranges, reason: Reason) -> Moved:
    copied = replica(on_host(2_000_000))
    copied.label = label
    return Moved(direction, copied, ranges, reason, done())


class NoReplicas:
    shares = False
    place = "nowhere"


def test_a_ledger_as_a_table() -> None:
    ledger = Ledger(Recording(cast("Replicas", NoReplicas())))
    caller = Caller.now()
    for _ in range(2):
        ranges = Ranges.span(1000, 1_001_000)
        ledger.add(entry("up", "numbers", ranges, Reason("square reads it", caller)))
    ledger.add(
        entry("down", "x", Ranges.span(1000, 1004).repeated(8, 4), Reason("you asked", None))
    )
    short = f"test_ledger.py:{caller.number}"
    assert str(ledger).splitlines() == [
        "         buffer   copies      bytes  because",
        f"→ up     numbers       2  2,000,000  square reads it ({short})",
        "← down   x             1         16  you asked",
        "→ total                2  2,000,000",
        "← total                1         16",
    ]


def test_a_copy_that_was_placed_before_a_loop_names_the_line_of_the_loop(
    discrete: Accelerator,
) -> None:
    with discrete.record() as ledger:
        discrete.compute(double_often, S32Array.of([1, 2]), 2)
    (up,) = ledger.uploads
    assert up.location is not None
    assert up.location.line == double_often.location.line + 2  # behind decorator and head


def test_the_least_is_that_of_the_run_so_far() -> None:
    with Accelerator("native", memory="discrete") as accelerator, accelerator.record() as ledger:
        a = S32Array.of(range(8))
        accelerator.compute(square_all, a)
        before = ledger.optimal
        assert ledger.optimal is before
        assert before.buffer.nbytes == EIGHT
        _ = a.array[:].sum()
        assert ledger.optimal.buffer.nbytes == 2 * EIGHT


@pytest.mark.parametrize("is_released", [True, False])
def test_wrapped_memory_that_gets_its_content_back_needs_it(
    discrete: Accelerator, *, is_released: bool
) -> None:
    with discrete.record() as ledger:
        a = S32Array.bind(np.array([8, *range(8)], np.int32))
        discrete.compute(dispatch, 8, add, a, 1)
        if is_released:
            a.release()
        del a
        gc.collect()
    assert ledger.bytes_down == EIGHT
    assert ledger.optimal.range.bytes_down == ledger.optimal.buffer.bytes_down == EIGHT
