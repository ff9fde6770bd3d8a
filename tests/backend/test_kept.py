"""Runs that are kept: in order, let go when they are over, and by nobody else's hand."""

import pytest
from tests.runtime.devices import Timed

from trilby.backend import kept as kept_module
from trilby.backend.kept import KeptEvents, KeptRuns


def nothing() -> None:
    """Nobody reads when it is full."""


def times(kept: KeptRuns) -> list[tuple[int, float | None, float | None]]:
    """Number, delay and seconds of what can be taken; None for those that failed."""
    *columns, unmeasured = (column.tolist() for column in kept.take()[:4])
    assert not any(unmeasured)
    return [tuple(None if one != one else one for one in row) for row in zip(*columns, strict=True)]  # noqa: PLR0124  # pyright: ignore[reportReturnType] -- only NaN is not itself


def test_runs_are_let_go_in_order_as_far_as_they_are_over() -> None:
    kept = KeptEvents(nothing)
    late = Timed((1.0, 2.0), done=False)
    for event in (Timed((0.5, 3.0), done=True), None, late, Timed((0.0, 4.0), done=True)):
        kept.put(event)
    assert times(kept) == [(0, 0.5, 3.0), (1, None, None)]
    assert times(kept) == []
    assert not kept.is_empty
    kept.wait()
    assert late.done
    assert times(kept) == [(2, 1.0, 2.0), (3, 0.0, 4.0)]
    assert kept.is_empty
    assert (kept.total, kept.taken) == (4, 4)


def test_a_failure_is_told_to_nobody_who_only_measures() -> None:
    kept = KeptEvents(nothing)
    kept.put(Timed(None, done=False))
    kept.wait()
    assert times(kept) == [(0, None, None)]


def test_too_many_runs_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "ROOM", 3)
    monkeypatch.setattr(kept_module, "MOST_READ", 7)
    taken: list[int] = []
    kept = KeptEvents(lambda: taken.append(len(times(kept))))
    left: list[int] = []
    for _ in range(9):
        kept.put(Timed((0.0, 1.0), done=True))
        left.append(len(kept.events))
    assert left == [1, 2, 3, 0, 1, 2, 3, 0, 1]  # the events; what they said waits
    assert taken == [8]
    assert kept.total == 9


def test_more_room_is_made_where_nothing_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_module, "ROOM", 2)
    asked: list[int] = []

    class Counted(KeptEvents):
        __slots__ = ()

        def _read(self) -> None:
            asked.append(len(self.events))
            super()._read()

    kept = Counted(nothing)
    for _ in range(20):
        kept.put(Timed((0.0, 1.0), done=False))
    assert asked == [3, 7, 15]
    assert len(kept.events) == 20
