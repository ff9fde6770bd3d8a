"""What each strategy copies; the results are the same."""

import numpy as np
import pytest
from tests.runtime.conftest import with_backend
from tests.runtime.devices import Deferred
from tests.runtime.programs import add, add_to, add_to_all, dispatch, plus_one, take

import trilby as tb
from trilby import Accelerator, Ledger, S32Array

EIGHT = 8 * 4


def moved(ledger: Ledger) -> list[tuple[str, int]]:
    return [(one.direction, one.nbytes) for one in ledger.copies]


@pytest.mark.parametrize(
    ("transfers", "expected"),
    [
        # two launches of add_to(a, b), then the host reads a
        (tb.Transfers.ALWAYS, [("up", 36), ("up", 36), ("down", 36), ("down", 36)] * 2),
        (tb.Transfers.BY_ACCESS, [("up", 36), ("up", 36), ("down", EIGHT)] * 2),
        (tb.Transfers.TRACKED, [("up", EIGHT), ("up", EIGHT), ("down", EIGHT)] * 1),
        (tb.Transfers.PLANNED, [("up", EIGHT), ("up", EIGHT), ("down", EIGHT)]),
        (tb.Transfers.AUTO, [("up", EIGHT), ("up", EIGHT), ("down", EIGHT)]),
    ],
    ids=lambda value: value.name if isinstance(value, tb.Transfers) else "",
)
def test_each_strategy_copies_as_it_says(
    discrete: Accelerator, transfers: tb.Transfers, expected: list[tuple[str, int]]
) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with discrete.strategy(transfers), discrete.record() as ledger:
        discrete.compute(add_twice, a, b)
        assert a.array.tolist() == [3 * i for i in range(8)]
    assert moved(ledger) == expected
    assert discrete.transfers is tb.Transfers.AUTO


@pytest.mark.parametrize(
    ("transfers", "expected"),
    [
        (tb.Transfers.ALWAYS, [("up", 36), ("down", 36)]),
        (tb.Transfers.BY_ACCESS, [("up", 36), ("down", EIGHT)]),
    ],
)
def test_copies_around_a_launch_wait_for_nobody_to_look(
    discrete: Accelerator, transfers: tb.Transfers, expected: list[tuple[str, int]]
) -> None:
    a = S32Array.of(range(8))
    with discrete.strategy(transfers), discrete.record() as ledger:
        discrete.compute(add_to_all, a, 1)
    assert moved(ledger) == expected


@pytest.mark.parametrize("transfers", [tb.Transfers.ALWAYS, tb.Transfers.BY_ACCESS])
def test_copies_around_a_launch_are_done_when_it_returns(
    transfers: tb.Transfers, monkeypatch: pytest.MonkeyPatch
) -> None:
    accelerator = with_backend(monkeypatch, Deferred())
    numbers = np.zeros(4, np.float32)
    a = accelerator.array(numbers)
    with accelerator.strategy(transfers):
        accelerator.compute(dispatch, 4, plus_one, a, a)
    assert numbers.tolist() == [1] * 4  # whose memory it is may look without telling anybody
    accelerator.wait()


def test_what_a_raw_view_shows_is_nobodys_when_a_launch_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = Deferred()
    accelerator = with_backend(monkeypatch, backend)
    a = S32Array.of(range(8))
    raw = a.array[4:].raw()
    with accelerator.strategy(tb.Transfers.BY_ACCESS):
        accelerator.compute(dispatch, 4, add, a, 100)
    assert backend.started("upload")
    assert all(event.done for event in backend.events)
    raw[:] = 7
    assert a.array.tolist() == [100, 101, 102, 103, 7, 7, 7, 7]


@tb.compute
def add_twice(cc: tb.ComputeContext, a: S32Array, b: S32Array) -> None:
    for _ in range(2):
        cc.dispatch(a.length, add_to, a, b)


def test_a_tracked_call_brings_home_what_it_wrote_at_its_end(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    with discrete.strategy(tb.Transfers.TRACKED), discrete.record() as ledger:
        discrete.compute(add_to_all, a, 1)
        assert moved(ledger) == [("up", EIGHT), ("down", EIGHT)]
        assert a.array.tolist() == list(range(1, 9))
    assert len(ledger.copies) == 2


def test_the_tracker_knows_whole_buffers_only(discrete: Accelerator) -> None:
    a, out = S32Array.of(range(64)), S32Array.create(length=4)
    expected = {tb.Transfers.TRACKED: 64 * 4, tb.Transfers.AUTO: 4 * 4}
    for transfers, up in expected.items():
        a.array[:] = np.arange(64)
        with discrete.strategy(transfers), discrete.record() as ledger:
            discrete.compute(dispatch, 4, take, a, 8, out)
        assert ledger.bytes_up == up
        assert out.array.tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize("transfers", tb.Transfers)
def test_no_strategy_moves_anything_where_the_memory_is_the_hosts(
    shared: Accelerator, transfers: tb.Transfers
) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with shared.strategy(transfers), shared.record() as ledger:
        shared.compute(add_twice, a, b)
        assert a.array.tolist() == [3 * i for i in range(8)]
    assert ledger.copies == ()
