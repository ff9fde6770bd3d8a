"""Untracked views and what fails or is under way around them: no write through them is lost."""

import numpy as np
import pytest
from tests.runtime.conftest import with_backend
from tests.runtime.devices import Deferred, Watched
from tests.runtime.programs import add, add_to, copy, dispatch, plus_one

from trilby import Accelerator, NDArray, S32Array
from trilby.errors import DeviceError, OutOfDeviceMemoryError, StaleReadError

# --------------------------------------------------------------------- launches that fail


@pytest.mark.parametrize("fails_at", ["allocate", "upload", "prepare", "run"])
@pytest.mark.parametrize("number", [0, 1])
def test_writes_of_a_view_that_has_ended_survive_a_launch_that_fails(
    monkeypatch: pytest.MonkeyPatch, fails_at: str, number: int
) -> None:
    backend = Watched()
    accelerator = with_backend(monkeypatch, backend, memory="discrete")
    pair = S32Array.of(range(4)), S32Array.of(range(4))
    raw = pair[number].array.raw()
    for each in pair:
        accelerator.compute(dispatch, 4, add, each, 1)  # the device has what the view shows
    raw[:] = 50
    del raw
    missing = S32Array.of([7] * 4)
    backend.fail_at = fails_at
    with pytest.raises(DeviceError):
        accelerator.compute(dispatch, 4, add_to, pair[number], missing)
    backend.fail_at = ""
    for each in pair:
        accelerator.compute(dispatch, 4, add, each, 1)
    assert pair[number].array.tolist() == [51] * 4
    assert pair[1 - number].array.tolist() == [2, 3, 4, 5]


def test_writes_of_two_views_survive_a_launch_that_the_first_of_them_stops(
    discrete: Accelerator,
) -> None:
    a, b = S32Array.of(range(4)), S32Array.of(range(4))
    with discrete.explicit():
        views = [a.array.raw(), b.array.raw()]
        discrete.put(a, b).compute(dispatch, 4, add_to, b, a)
        discrete.get(b)
        views[0][:], views[1][:] = 10, 20
        views.clear()
        with pytest.raises(StaleReadError):
            discrete.compute(dispatch, 4, add_to, b, a)
        discrete.put(a)
        with pytest.raises(StaleReadError):
            discrete.compute(dispatch, 4, add_to, b, a)
        discrete.put(b).compute(dispatch, 4, add_to, b, a)
    assert b.array.tolist() == [30] * 4


def test_a_launch_without_room_loses_no_write_of_a_view(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = with_backend(monkeypatch, Watched(), memory="discrete", memory_limit=60)
    a, wide = S32Array.of(range(4)), S32Array.create(length=20)
    raw = a.array.raw()
    accelerator.compute(dispatch, 4, add, a, 1)  # the device has what it shows
    raw[:] = 50
    del raw
    with pytest.raises(OutOfDeviceMemoryError):
        accelerator.compute(dispatch, 4, copy, a, wide)
    accelerator.compute(dispatch, 4, add, a, 1)
    assert a.array.tolist() == [51] * 4


def test_a_view_of_two_arrays_is_known_to_both(discrete: Accelerator) -> None:
    """It was taken of an array that no device has, and both parts of which a device has."""
    numbers = np.zeros(8, np.float32)
    both = NDArray[float](numbers)
    left, right = NDArray[float](numbers[:4]), NDArray[float](numbers[4:])
    raw = both.raw()
    for part in (left, right):
        discrete.compute(dispatch, 4, plus_one, part, part)
    raw[:] = 10
    del raw
    for part in (left, right):
        discrete.compute(dispatch, 4, plus_one, part, part)
    assert both.tolist() == [11] * 8
    with discrete.record() as ledger:
        for _ in range(3):
            discrete.compute(dispatch, 4, plus_one, left, left)
    assert len(ledger.uploads) <= 1, "nothing is known any more of a view that has ended"


# ------------------------------------------------------------------- copies under way


def deferred(monkeypatch: pytest.MonkeyPatch, memory_limit: int | None = None) -> Accelerator:
    """An accelerator that copies as late as it may."""
    return with_backend(monkeypatch, Deferred(), memory="discrete", memory_limit=memory_limit)


def test_a_later_write_does_not_overtake_a_put(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = deferred(monkeypatch)
    a, b = S32Array.of(range(4)), S32Array.create(length=4)
    raw = a.array.raw()
    with accelerator.explicit():
        raw[:] = 1
        accelerator.put(a, b)
        raw[:] = 2
        accelerator.compute(dispatch, 4, add_to, b, a)
        accelerator.get(b)
        assert b.array.tolist() == [1] * 4
        accelerator.put(a.array[:2])
        raw[:] = 3
        accelerator.compute(dispatch, 4, add_to, b, a)
        accelerator.get(b)
    assert b.array.tolist() == [3, 3, 2, 2]


def test_a_get_does_not_overtake_a_later_write(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = deferred(monkeypatch)
    a = S32Array.of(range(4))
    raw = a.array.raw()
    with accelerator.explicit():
        accelerator.put(a).compute(dispatch, 4, add, a, 1)
        accelerator.get(a)
        raw[0] = 50
        assert a.array.tolist() == [50, 2, 3, 4]


def test_a_walk_does_not_overtake_a_later_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who walks through an array fetches what comes next as well."""
    accelerator = deferred(monkeypatch)
    a = S32Array.of(range(64))
    raw = a.array.raw()
    with accelerator.explicit():
        accelerator.put(a).compute(dispatch, 64, add, a, 1)
    for place in range(64):
        assert a.array[place] == place + 1
        if place < 63:
            assert a.array[place + 1] == place + 2
            raw[place + 1 :] = range(place + 2, 65)
    assert raw.tolist() == a.array.tolist() == list(range(1, 65))


def test_making_room_does_not_overtake_a_later_write(monkeypatch: pytest.MonkeyPatch) -> None:
    accelerator = deferred(monkeypatch, memory_limit=48)
    a, b, c = (S32Array.of(range(4)) for _ in range(3))
    raw = a.array.raw()
    with accelerator.explicit():
        accelerator.put(a).compute(dispatch, 4, add, a, 1)
    accelerator.compute(dispatch, 4, add_to, b, c)  # a has to go
    raw[:] = 50
    assert a.array.tolist() == [50] * 4
