"""Buffers that a plan brings before a kernel asks: what is there is not looked for again."""

import gc

import numpy as np
import pytest
from tests.runtime.conftest import Nulls
from tests.runtime.programs import add, dispatch

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, S32Array, i32
from trilby.runtime import put_get
from trilby.runtime.put_get import prefetch, supply


@tb.kernel
def add_one_to(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.x] += 1


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was looked for on a device, in order."""
    found: list[object] = []

    def look(*given: object) -> bool:
        found.append(given[1])
        return supply(*given)  # pyright: ignore[reportArgumentType] -- as they came

    monkeypatch.setattr(put_get, "supply", look)
    return found


@pytest.mark.parametrize(
    "buffer",
    [S32Array.of(range(8)), NDArray[int](np.arange(8, dtype=np.int32))],
    ids=["a buffer", "an array"],
)
def test_what_was_brought_is_there(
    buffer: "S32Array | NDArray[int]", discrete: Accelerator, looks: list[object]
) -> None:
    before = len(discrete.residency.replicas.all)
    for _ in range(3):
        prefetch(discrete.residency, buffer)
    assert len(discrete.residency.replicas.all) == before + 1
    assert len(looks) == 1


def test_a_view_is_looked_for_each_time(discrete: Accelerator, looks: list[object]) -> None:
    a = S32Array.of(range(8))
    view = a.array[2:4]
    with discrete.record() as ledger:
        for _ in range(2):
            prefetch(discrete.residency, view)
    assert len(looks) == 2
    assert ledger.bytes_up == 8


def test_what_the_host_wrote_since_is_brought(discrete: Accelerator, looks: list[object]) -> None:
    a = S32Array.of(range(8))
    prefetch(discrete.residency, a)
    a.array[3] = 7
    with discrete.record() as ledger:
        prefetch(discrete.residency, a)
    assert ledger.bytes_up == 4
    discrete.compute(dispatch, 8, add, a, 1)
    assert a.array.tolist() == [1, 2, 3, 8, 5, 6, 7, 8]
    assert len(looks) == 2


def test_a_record_knows_what_was_brought_before(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    prefetch(discrete.residency, a)
    with discrete.record() as ledger:
        prefetch(discrete.residency, a)
    assert [buffer.nbytes for buffer in ledger.recording.trace.buffers] == [a.segment.nbytes]
    assert not ledger.copies


def test_what_a_raw_view_shows_is_left_to_the_launch(discrete: Accelerator) -> None:
    a = NDArray[int](np.arange(8, dtype=np.int32))
    view = a.raw()
    with discrete.record() as ledger:
        prefetch(discrete.residency, a)
    assert not ledger.copies
    view[:] = 5
    discrete.compute(dispatch, 8, add_one_to, a)
    assert view.tolist() == [6] * 8


def test_a_buffer_that_is_gone_is_forgotten(null: Nulls, looks: list[object]) -> None:
    """Python may give a new object the identity of one that is gone."""
    for turn in range(20):
        a = S32Array.of([turn] * 4)
        prefetch(null.accelerator.residency, a)
        del a
        gc.collect()
    assert len(looks) == 20
