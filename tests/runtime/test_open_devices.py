"""Accelerators that are dropped, and the devices that are open."""

import gc
import weakref

import numpy as np
import pytest
from tests.runtime.conftest import opened_as, with_backend
from tests.runtime.devices import Watched
from tests.runtime.programs import add, dispatch, plus_one

from trilby import Accelerator, S32Array
from trilby.at_exit import PROGRAM_END
from trilby.errors import DeviceError
from trilby.runtime.residency import close_all

DEVICES = ("interpreter", "opencl", "opencl, shared", "native", "native, shared")


@pytest.mark.parametrize("device", DEVICES)
def test_an_accelerator_that_is_dropped_ends_though_its_buffers_live(device: str) -> None:
    accelerator = opened_as(device)
    backend, lent = accelerator.residency.backend, np.zeros(8, np.float32)
    a, b = S32Array.of(range(8)), accelerator.array(lent)
    for _ in range(3):
        accelerator.compute(dispatch, 8, add, a, 1)
        accelerator.compute(dispatch, 8, plus_one, b, b)
    is_alive = weakref.ref(accelerator)
    del accelerator
    gc.collect()
    assert is_alive() is None
    assert a.array.tolist() == list(range(3, 11))
    assert lent.tolist() == b.tolist() == [3] * 8
    with pytest.raises(DeviceError, match="was closed"):
        backend.allocate(8)


def test_a_buffer_of_an_accelerator_that_was_dropped_goes_on(discrete: Accelerator) -> None:
    dropped, a = opened_as("native"), S32Array.of(range(8))
    dropped.compute(dispatch, 8, add, a, 1)
    del dropped
    gc.collect()
    discrete.compute(dispatch, 8, add, a, 1)
    assert a.array.tolist() == list(range(2, 10))


def test_the_memory_of_a_device_is_free_when_its_accelerator_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = Watched()
    accelerator, a = with_backend(monkeypatch, backend), S32Array.of(range(8))
    accelerator.compute(dispatch, 8, add, a, 1)
    assert backend.used > 0
    del accelerator
    gc.collect()
    assert backend.used == 0
    assert a.array.tolist() == list(range(1, 9))


def test_a_dropped_accelerator_that_was_closed_is_not_closed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accelerator = with_backend(monkeypatch, Watched())
    accelerator.close()
    closed: list[object] = []
    monkeypatch.setattr(Watched, "close", closed.append)
    del accelerator
    gc.collect()
    assert closed == []


def test_nothing_new_is_begun_on_a_device_that_is_closed(discrete: Accelerator) -> None:
    """Also by a thread that is between two launches when the program ends."""
    other = opened_as(discrete.device.spec.partition(":")[0])
    a = S32Array.of(range(8))
    for _ in range(3):
        other.compute(dispatch, 8, add, a, 1)
    other.residency.close()
    with pytest.raises(DeviceError, match="was closed"):
        other.compute(dispatch, 8, add, a, 1)
    assert a.array.tolist() == list(range(3, 11))
    other.close()


def test_all_devices_are_closed_though_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    failing, sound = Watched(), Watched()
    one, other = with_backend(monkeypatch, failing), with_backend(monkeypatch, sound)
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    one.compute(dispatch, 8, add, a, 1)
    other.compute(dispatch, 8, add, b, 1)
    failing.fail_at = "download"
    with pytest.raises(DeviceError):
        close_all([one.residency, other.residency])
    assert b.array.tolist() == list(range(1, 9))
    for backend in (failing, sound):
        with pytest.raises(DeviceError, match="was closed"):
            backend.allocate(8)


def test_no_device_is_opened_while_the_program_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROGRAM_END, "has_begun", True)
    with pytest.raises(DeviceError, match="opened while the program ends"):
        Accelerator("interpreter")
