"""Stale copies are overwritten, so that nobody can believe them."""

import pytest
from tests.runtime.conftest import with_backend
from tests.runtime.devices import Deferred, Watched
from tests.runtime.programs import (
    Table,
    add,
    collect,
    dispatch,
    number,
    square_kernel,
)

from trilby import S32Array

POISON = b"\xa5"


def test_a_stale_copy_is_poisoned_but_for_its_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a = S32Array.of([1, 2])
    accelerator.compute(dispatch, 2, add, a, 1)
    assert backend.content(0) == b"\2\0\0\0" + b"\2\0\0\0" + b"\3\0\0\0"
    assert bytes(a.segment.memory) == b"\2\0\0\0" + POISON * 8
    assert a.array.tolist() == [2, 3]
    a.array[1] = 9
    assert backend.content(0) == b"\2\0\0\0" + b"\2\0\0\0" + POISON * 4
    assert a.array.tolist() == [2, 9]


def test_what_stands_beside_a_length_is_poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    table = Table.create(length=1)
    accelerator.compute(dispatch, 1, collect, S32Array.of([2]), table)
    assert (table.count, table.row[0].key) == (1, 2)
    table.count, table.row[0].key, table.row[0].value = 5, 6, 7.0
    assert backend.content(1) == POISON * 4 + b"\1\0\0\0" + POISON * 8


def test_what_one_device_writes_is_poisoned_on_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    backends = Watched(), Watched()
    one, other = (with_backend(monkeypatch, backend, poison=True) for backend in backends)
    a = S32Array.of([1, 2])
    one.compute(dispatch, 2, add, a, 1)
    other.compute(dispatch, 2, add, a, 1)
    assert backends[0].content(0) == b"\2\0\0\0" + POISON * 8
    assert bytes(a.segment.memory) == b"\2\0\0\0" + POISON * 8
    assert a.array.tolist() == [3, 4]


def test_new_memory_on_a_device_is_poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, poison=True)
    accelerator.compute(dispatch, 1, number, a := S32Array.of([1, 2]))
    assert backend.content(0) == b"\2\0\0\0" + b"d\0\0\0" + POISON * 4
    assert a.array.tolist() == [100, 2]


def test_without_poison_a_copy_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend)
    a = S32Array.of([1, 2])
    accelerator.compute(dispatch, 2, square_kernel, a)
    assert bytes(a.segment.memory) == b"\2\0\0\0" + b"\1\0\0\0" + b"\2\0\0\0"
    a.array[:] = 9
    assert backend.content(0) == b"\2\0\0\0" + b"\1\0\0\0" + b"\4\0\0\0"


def test_where_nothing_is_stale_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Deferred(shares=True)
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a = S32Array.of(range(4))
    accelerator.compute(dispatch, 4, add, a, 1)
    assert [event.done for event in backend.started("run")] == [False]
    assert a.array.tolist() == [1, 2, 3, 4]
