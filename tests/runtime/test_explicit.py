"""Explicit mode: as good as automatic, and every transfer that was forgotten is found."""

import contextvars
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.conftest import opened_as
from tests.runtime.explicit_programs import DELETIONS, MOVE, PROGRAMS, Program, run
from tests.runtime.programs import Table, add, collect, copy, dispatch, number, take

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, Transfers, i32
from trilby.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    FieldError,
    GuardError,
    KernelIndexError,
    OutOfDeviceMemoryError,
    StaleReadError,
)
from trilby.runtime.ledger import Ledger


def by_name(value: object) -> str:
    return value.name if isinstance(value, Program) else str(value)


def line_of(text: str) -> int:
    """The line of this file that has some text, which is put together so that it is one."""
    lines = Path(__file__).read_text("utf-8").splitlines()
    (found,) = (number for number, line in enumerate(lines, 1) if text in line)
    return found


def counted(ledger: Ledger) -> list[tuple[str, int]]:
    return sorted((one.direction, one.nbytes) for one in ledger.copies)


# --------------------------------------------------------------------------- whole programs


@pytest.mark.parametrize("program", PROGRAMS, ids=by_name)
def test_both_ways_give_the_same_and_move_the_same(
    program: Program, discrete: Accelerator, tmp_path: Path
) -> None:
    with discrete.record() as explicit:
        assert run(program, discrete, tmp_path) == program.expected()
    with discrete.record() as automatic:
        assert run(program.automatic, discrete, tmp_path) == program.expected()
    assert counted(explicit) == counted(automatic)
    assert explicit.redundant == ()


@pytest.mark.parametrize("transfers", Transfers)
@pytest.mark.parametrize("program", PROGRAMS, ids=by_name)
def test_explicit_is_the_same_under_every_strategy(
    program: Program, transfers: Transfers, interpreter: Accelerator, tmp_path: Path
) -> None:
    with interpreter.record() as wanted:
        run(program, interpreter, tmp_path)
    with interpreter.strategy(transfers), interpreter.record() as ledger:
        assert run(program, interpreter, tmp_path) == program.expected()
    assert counted(ledger) == counted(wanted)


@pytest.mark.parametrize("program", PROGRAMS, ids=by_name)
def test_on_memory_that_is_the_hosts_nothing_moves(
    program: Program, shared: Accelerator, tmp_path: Path
) -> None:
    with shared.record() as ledger:
        assert run(program, shared, tmp_path) == program.expected()
    assert (ledger.copies, ledger.redundant) == ((), ())


def test_every_move_of_the_programs_is_left_out_once() -> None:
    for program in PROGRAMS:
        assert len(MOVE.findall(program.body)) == len(program.caught), program.name


@pytest.mark.parametrize("transfers", [Transfers.AUTO, Transfers.PLANNED, Transfers.TRACKED])
@pytest.mark.parametrize(("program", "left_out"), DELETIONS, ids=by_name)
def test_every_transfer_that_is_forgotten_is_found(
    program: Program, left_out: int, transfers: Transfers, discrete: Accelerator, tmp_path: Path
) -> None:
    shorter = program.without(left_out)
    with discrete.strategy(transfers), pytest.raises(StaleReadError) as raised:
        run(shorter, discrete, tmp_path)
    location = raised.value.location
    assert location is not None
    assert location.short == f"{shorter.name}.py:{shorter.line_of(program.caught[left_out])}"
    moved = list(MOVE.finditer(program.body))[left_out][0]
    method = moved[1:4]
    assert raised.value.advice.startswith(f"write `cc.{method}(")
    assert raised.value.advice.split("(")[1].split(")")[0].split(".")[0] in moved


def test_the_error_names_the_kernel_and_its_line(discrete: Accelerator, tmp_path: Path) -> None:
    program = next(one for one in PROGRAMS if one.name == "flag").without(2)
    with pytest.raises(StaleReadError) as raised:
        run(program, discrete, tmp_path)
    dispatched = program.line_of("cc.dispatch")
    assert raised.value.problem == (
        "`done` is stale on the host: the host reads it; "
        f"halve wrote it at {program.name}.py:{dispatched}, and nobody fetched it"
    )
    assert raised.value.advice == "write `cc.get(done)` between the two"


def test_the_error_names_the_line_of_the_hosts_write(discrete: Accelerator) -> None:
    a = S32Array.of(range(4))
    with discrete.explicit():
        discrete.put(a).compute(dispatch, 4, add, a, 1)
        discrete.get(a)
        a.array[1] = 7  # written here
        with pytest.raises(StaleReadError) as raised:
            discrete.compute(dispatch, 4, add, a, 1)
    assert f"the host wrote it at test_explicit.py:{line_of('# written' + ' here')}" in str(
        raised.value
    )
    assert raised.value.location is not None
    assert raised.value.location.short.startswith("programs.py:")
    assert raised.value.advice == "write `accelerator.put(a)` before this dispatch"


# ---------------------------------------------------------------- outside compute functions


def test_the_accelerator_has_the_same_outside(discrete: Accelerator) -> None:
    a, done = S32Array.of(range(8)), S32Array.of([3])
    with discrete.record() as ledger, discrete.explicit():
        same = discrete.put(a, done.array[:1]).get(a)
        assert same is discrete
        discrete.compute(dispatch, 8, copy, a, a)
        discrete.compute(dispatch, 8, add, a, 1)
        discrete.get(a.array[:3])
        assert a.array[:3].tolist() == [1, 2, 3]
        with pytest.raises(StaleReadError) as raised:
            a.array[3]
        assert raised.value.advice == "write `accelerator.get(a)` between the two"
    assert [(one.kind, one.buffer) for one in ledger.redundant] == [("get", "a")]
    assert counted(ledger) == [("down", 12), ("up", 4), ("up", 32)]
    assert a.array.tolist() == list(range(1, 9))  # automatic again


def test_fields_by_name(discrete: Accelerator) -> None:
    a, table = S32Array.of(range(8)), Table.create(length=5)
    with discrete.record() as ledger, discrete.explicit():
        discrete.put(a).compute(dispatch, 8, collect, a, table)
        with pytest.raises(StaleReadError) as raised:
            assert table.count
        assert raised.value.advice == 'write `accelerator.get(table, "count")` between the two'
        discrete.get(table, "count")
        assert table.count == 4
        discrete.get(table.row[0], table.row[1], "key")
        assert {table.row[0].key, table.row[1].key} <= {0, 2, 4, 6}
        with pytest.raises(StaleReadError):
            assert table.row[2].key
    assert sum(one.nbytes for one in ledger.downloads) == 4 + 4 + 4  # `value` is never written


def test_what_has_no_place_is_refused(interpreter: Accelerator) -> None:
    table = Table.create(length=2)
    with pytest.raises(ArgumentTypeError, match="given int") as raised:
        interpreter.get(table.count)  # pyright: ignore[reportArgumentType] -- it is the test
    assert raised.value.advice == 'name the field, which is not read then: `get(table, "count")`'
    with pytest.raises(ArgumentTypeError, match="given list"):
        interpreter.put([table])  # pyright: ignore[reportArgumentType] -- it is the test
    with pytest.raises(ArgumentTypeError, match="given str"):
        interpreter.put("count")
    with pytest.raises(FieldError, match="no field `cuont`"):
        interpreter.put(table, "cuont")
    with pytest.raises(ArgumentValueError, match="'ignore'"), interpreter.explicit(stale="ignore"):  # pyright: ignore[reportArgumentType] -- it is the test
        pass


# ------------------------------------------------------------------------- what needs no put


def test_zeros_and_what_is_overwritten_need_no_put(discrete: Accelerator) -> None:
    fresh, full, out = S32Array.create(length=8), S32Array.of([9] * 8), S32Array.of([9] * 8)
    with discrete.record() as ledger, discrete.explicit():
        discrete.compute(dispatch, 8, add, fresh, 1)
        discrete.compute(dispatch, 8, number, full)
        discrete.compute(dispatch, 8, copy, fresh, out)
        assert ledger.copies == ()
        discrete.get(fresh, full, out)
        assert fresh.array.tolist() == out.array.tolist() == [1] * 8
        assert full.array.tolist() == list(range(100, 108))


def test_only_the_part_that_a_kernel_reads_has_to_be_put(discrete: Accelerator) -> None:
    a, out = S32Array.of(range(100)), S32Array.create(length=10)
    with discrete.explicit():
        discrete.put(a.array[20:30]).compute(dispatch, 10, take, a, 20, out)
        assert discrete.get(out) is discrete
        assert out.array.tolist() == list(range(20, 30))
        with pytest.raises(StaleReadError):
            discrete.compute(dispatch, 10, take, a, 21, out)


@tb.kernel
def length_of(kc: KernelContext, a: S32Array, out: S32Array) -> None:
    out.array[kc.x] = a.array[kc.x] + a.length


def test_a_view_that_is_put_first_leaves_the_length_true(discrete: Accelerator) -> None:
    a, out = S32Array.of(range(6)), S32Array.create(length=2)
    with discrete.explicit():
        discrete.put(a.array[:2]).compute(dispatch, 2, length_of, a, out)
        discrete.get(out)
        assert out.array.tolist() == [6, 7]


# -------------------------------------------------------------------------- the block itself


def test_redundant_calls_are_told(
    interpreter: Accelerator, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("trilby"), "propagate", True)
    caplog.set_level(logging.INFO, "trilby")
    numbers, unknown = S32Array.of(range(8)), S32Array.of(range(8))
    with interpreter.record() as ledger:
        interpreter.put(numbers)
        interpreter.put(numbers)  # once too often
        interpreter.get(unknown)  # nobody has it
    twice, never = line_of("# once" + " too often"), line_of("# nobody" + " has it")
    found = [(one.kind, one.buffer, one.location.line) for one in ledger.redundant]
    assert found == [("put", "numbers", twice), ("get", "unknown", never)]
    told = f"this put of `numbers` moved nothing new (test_explicit.py:{twice})"
    assert told in caplog.text
    assert told in str(ledger)


def test_a_warning_and_the_data(
    discrete: Accelerator, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("trilby"), "propagate", True)
    a = S32Array.of(range(4))
    with discrete.record() as ledger, discrete.explicit(stale="warn"):
        discrete.compute(dispatch, 4, add, a, 1)
        assert a.array.tolist() == [1, 2, 3, 4]
    up, down = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert "is stale on the device" in up
    assert "write `accelerator.put(a)`" in up
    assert "is stale on the host" in down
    assert "write `accelerator.get(a)`" in down
    assert counted(ledger) == [("down", 16), ("up", 16)]


def test_no_more_comes_than_what_a_launch_lacks(discrete: Accelerator) -> None:
    """Elsewhere the second launch would bring the rest, since a third may need it."""
    a, out = S32Array.of(range(64)), S32Array.create(length=4)
    with discrete.record() as ledger, discrete.explicit(stale="warn"):
        for start in (0, 16):
            discrete.compute(dispatch, 4, take, a, start, out)
    assert counted(ledger) == [("up", 16), ("up", 16)]


def test_blocks_inside_of_each_other(discrete: Accelerator) -> None:
    a = S32Array.of(range(4))
    with discrete.explicit():
        with discrete.explicit(stale="warn"):
            discrete.compute(dispatch, 4, add, a, 1)
            assert a.array[0] == 1
        with pytest.raises(StaleReadError):
            a.array[1]
        with discrete.explicit(), pytest.raises(StaleReadError):
            a.array[1]
        with pytest.raises(StaleReadError):
            a.array[1]
    assert a.array[1] == 2


@tb.compute
def inner(cc: ComputeContext, a: S32Array) -> None:
    with cc.explicit():
        cc.put(a)
        cc.dispatch(a.length, add, a, 1)


@tb.compute
def outer(cc: ComputeContext, a: S32Array) -> int:
    cc.dispatch(a.length, add, a, 1)
    inner(cc, a)
    return a.array[0]


@tb.compute(explicit=True)
def outer_in_a_block(cc: ComputeContext, a: S32Array) -> int:
    cc.put(a).dispatch(a.length, add, a, 1)
    plain(cc, a)
    return a.array[0]  # not fetched


@tb.compute
def plain(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add, a, 1)


def test_compute_functions_that_call_each_other(discrete: Accelerator) -> None:
    a = S32Array.of([5, 6])
    assert discrete.compute(outer, a) == 7
    with pytest.raises(StaleReadError) as raised:
        discrete.compute(outer_in_a_block, a)
    assert raised.value.location is not None
    assert raised.value.location.line == line_of("# not" + " fetched")
    assert a.array.tolist() == [9, 10]


def test_a_copy_is_not_planned_before_a_block(discrete: Accelerator, tmp_path: Path) -> None:
    program = next(one for one in PROGRAMS if one.name == "huge_loop")
    with discrete.record() as ledger, pytest.raises(StaleReadError):
        run(program.without(0), discrete, tmp_path)
    assert ledger.copies == ()


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_an_exception_ends_the_block(
    discrete: Accelerator, error: Callable[[], BaseException]
) -> None:
    a = S32Array.of(range(4))

    def fails() -> None:
        with discrete.explicit():
            discrete.put(a).compute(dispatch, 4, add, a, 1)
            raise error()

    with pytest.raises((KeyError, KeyboardInterrupt)):
        fails()
    assert a.array.tolist() == [1, 2, 3, 4]
    a.array[0] = 0
    discrete.compute(dispatch, 4, add, a, 1)
    assert a.array.tolist() == [1, 3, 4, 5]


def test_a_stale_read_changes_nothing(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(4)), S32Array.of([1] * 4)
    with discrete.record() as ledger, discrete.explicit():
        discrete.put(a)
        with pytest.raises(StaleReadError):
            discrete.compute(dispatch, 4, copy, b, a)
        assert a.array.tolist() == list(range(4))
        discrete.put(b).compute(dispatch, 4, copy, b, a)
        assert discrete.get(a) is discrete
        assert a.array.tolist() == [1] * 4
    assert counted(ledger) == [("down", 16), ("up", 16), ("up", 16)]


def test_a_kernel_that_fails_in_a_block(interpreter: Accelerator) -> None:
    a = S32Array.of(range(4))
    with interpreter.explicit():
        interpreter.put(a)
        with pytest.raises(KernelIndexError):
            interpreter.compute(dispatch, 4, take, a, 2, a)
    assert a.array.tolist() == list(range(4))


def test_a_block_is_its_threads_own(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(4)), S32Array.of(range(4))
    found: list[object] = []

    def elsewhere() -> None:
        discrete.compute(dispatch, 4, add, b, 1)
        found.extend((b.array.tolist(), a.array[0]))

    with discrete.explicit():
        discrete.put(a).compute(dispatch, 4, add, a, 1)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with pytest.raises(StaleReadError):
            a.array[1]
        # A context that is copied takes the block along.
        with pytest.raises(StaleReadError):
            contextvars.copy_context().run(lambda: a.array[1])
    assert found == [[1, 2, 3, 4], 1]


def test_many_threads_with_blocks_of_their_own(discrete: Accelerator) -> None:
    results: list[list[int]] = []

    def work(start: int) -> None:
        a = S32Array.of(range(start, start + 16))
        with discrete.explicit():
            discrete.put(a)
            for _ in range(5):
                discrete.compute(dispatch, 16, add, a, 1)
            discrete.get(a)
            results.append(a.array.tolist())

    threads = [threading.Thread(target=work, args=(100 * number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [[100 * n + i + 5 for i in range(16)] for n in range(6)]


def test_a_guard_holds_for_put_and_get_too(discrete: Accelerator) -> None:
    a = S32Array.of(range(4))
    with discrete.guard(), pytest.raises(GuardError):
        discrete.put(a)


def test_a_full_device_is_an_error_and_not_a_copy() -> None:
    with (
        Accelerator("interpreter", poison=True, memory_limit=500) as accelerator,
        accelerator.explicit(),
    ):
        a, b = S32Array.of(range(100)), S32Array.of(range(100))
        accelerator.put(a)
        with pytest.raises(OutOfDeviceMemoryError, match="nothing leaves it by itself") as raised:
            accelerator.put(b)
        assert "such as `a`" in raised.value.advice
        a.release()
        accelerator.put(b).compute(dispatch, 100, add, b, 1)


# ---------------------------------------------------------------- memory that others look at


@tb.kernel
def plus(kc: KernelContext, a: tb.NDArray[i32], n: i32) -> None:
    a[kc.x] += n


def test_memory_that_was_lent_has_its_content_after_a_get(discrete: Accelerator) -> None:
    mine = np.arange(1000, dtype=np.int32)
    lent = discrete.array(mine)
    with discrete.explicit():
        discrete.put(lent).compute(dispatch, 1000, plus, lent, 5)
        discrete.get(lent[:10])
        assert mine[:10].tolist() == list(range(5, 15))
        discrete.get(lent)
        assert mine.tolist() == list(range(5, 1005))


def test_a_raw_view_is_put_and_fetched_by_hand(discrete: Accelerator) -> None:
    a = S32Array.of(range(4))
    with discrete.explicit():
        raw = a.array.raw()
        discrete.put(a)
        raw[0] = 50
        discrete.put(a).compute(dispatch, 4, add, a, 1)
        discrete.compute(dispatch, 4, add, a, 1)
        discrete.get(a)
        assert raw.tolist() == [52, 3, 4, 5]
        discrete.compute(dispatch, 4, add, a, 1)
    discrete.compute(dispatch, 4, add, a, 1)  # what only the device has is not lost
    assert raw.tolist() == [54, 5, 6, 7]


def test_what_was_written_through_a_raw_view_that_ended_has_to_be_put(
    discrete: Accelerator,
) -> None:
    a = S32Array.of(range(4))
    with discrete.explicit():
        raw = a.array.raw()
        discrete.put(a)
        raw[0] = 50
        del raw
        with pytest.raises(StaleReadError):
            discrete.compute(dispatch, 4, add, a, 1)
        discrete.put(a).compute(dispatch, 4, add, a, 1)
    assert a.array.tolist() == [51, 2, 3, 4]


def test_two_devices() -> None:
    with opened_as("interpreter") as one, opened_as("opencl") as other:
        a = S32Array.of(range(4))
        with one.explicit():
            one.put(a).compute(dispatch, 4, add, a, 1)
            with pytest.raises(StaleReadError):
                other.compute(dispatch, 4, add, a, 1)
            one.get(a)
            other.compute(dispatch, 4, add, a, 1)  # this one is automatic
            with pytest.raises(StaleReadError):
                one.compute(dispatch, 4, add, a, 1)
            one.put(a).compute(dispatch, 4, add, a, 1)
        assert a.array.tolist() == [3, 4, 5, 6]


# ------------------------------------------------------------------------------ long columns


class Pairs(tb.Buffer):
    class Pair(tb.Struct):
        left: i32
        right: i32

    length: i32
    pair: tb.Array[Pair] = tb.array("length")


@tb.kernel
def set_right(kc: KernelContext, pairs: Pairs) -> None:
    pairs.pair[kc.x].right = 2


@tb.kernel
def add_left(kc: KernelContext, pairs: Pairs) -> None:
    pairs.pair[kc.x].right = pairs.pair[kc.x].right + pairs.pair[kc.x].left


ROWS = 5000
"""More than the pieces that are told apart elsewhere."""


@tb.compute
def fill_left_by_hand(cc: ComputeContext, pairs: Pairs) -> int:
    with cc.explicit():
        cc.dispatch(ROWS, set_right, pairs)
        pairs.pair.left[:] = 1  # of which nothing is stale, and which reads nothing
        total = int(np.sum(pairs.pair.left))
        cc.put(pairs)
        cc.dispatch(ROWS, add_left, pairs)
        cc.get(pairs)
    return total


def test_a_long_column_is_written_and_read_beside_one_that_is_stale(discrete: Accelerator) -> None:
    pairs = Pairs.create(length=ROWS)
    assert discrete.compute(fill_left_by_hand, pairs) == ROWS
    assert pairs.pair.right.tolist() == [3] * ROWS


def test_the_other_column_is_stale_nevertheless(discrete: Accelerator) -> None:
    pairs = Pairs.create(length=ROWS)
    discrete.compute(dispatch, ROWS, set_right, pairs)
    with discrete.explicit():
        pairs.pair.left[:] = 1
        with pytest.raises(StaleReadError, match="stale on the host"):
            pairs.pair.right.tolist()


def test_a_guard_lets_a_long_column_be_written(discrete: Accelerator) -> None:
    pairs = Pairs.create(length=ROWS)
    discrete.compute(dispatch, ROWS, set_right, pairs)
    with discrete.guard():
        pairs.pair.left[:] = 1
    assert pairs.pair.left.tolist() == [1] * ROWS
    assert pairs.pair.right.tolist() == [2] * ROWS
