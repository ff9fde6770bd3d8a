"""Many passes on the native device."""

import numpy as np
import pytest
from tests.backend.native.running import LINGER, Gate, download, scaling, shared, upload

from trilby.backend.base import Scalar
from trilby.backend.native import NativeBackend
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceError


def test_passes_come_one_after_the_other(native: NativeBackend) -> None:
    twos = np.full(1000, 2, np.int32)
    memory = upload(native, twos)
    passes = scaling(native, memory, 3)
    assert passes.begun == 0
    for count in (1, 2, 6):
        latest = passes.submit(count)
    assert passes.begun == 9
    latest.wait()
    assert set(download(native, memory, twos)) == {2 * 3**9}


def test_what_is_begun_is_counted_before_it_is_done(native: NativeBackend) -> None:
    twos = np.full(8, 2, np.int32)
    memory = upload(native, twos)
    gate = Gate.on(native)
    try:
        passes = scaling(native, memory, 3)
        latest = passes.submit(4)
        assert (passes.begun, latest.done) == (4, False)
        del passes  # the queue has what it needs
    finally:
        gate.open()
    latest.wait()
    assert set(download(native, memory, twos)) == {2 * 3**4}


def test_another_number_is_for_the_passes_to_come(native: NativeBackend) -> None:
    twos = np.full(8, 2, np.int32)
    memory = upload(native, twos)
    gate = Gate.on(native)
    try:
        passes = scaling(native, memory, 3)
        passes.submit(4)
        passes.replace(1, Scalar(I32, 5))
        latest = passes.submit(2)
        assert (passes.begun, latest.done) == (6, False)
    finally:
        gate.open()
    latest.wait()
    assert set(download(native, memory, twos)) == {2 * 3**4 * 5**2}


def test_brief_ones_and_many_are_all_run(native: NativeBackend) -> None:
    """The thread that submits runs some itself, whatever the number of the first is."""
    ones = np.ones(8, np.int32)
    memory = upload(native, ones)
    passes = scaling(native, memory, 3)
    begun = 0
    for count in (1, 1, 2, 5, 1, 500, 3, 2000, 1):
        latest = passes.submit(count, first_pass=count)
        begun += count
    assert passes.begun == begun
    latest.wait()
    expected = pow(3, begun, 2**32)
    assert set(download(native, memory, ones).astype(np.uint32)) == {expected}


def test_passes_that_turn_out_to_take_long_are_left_to_the_workers(native: NativeBackend) -> None:
    """Whoever submits them is not held up by more than a few, nor is the rest of Python."""
    told = np.zeros(10, np.int32)
    memory = shared(native, told)
    passes = native.prepare(native.begin_build(LINGER, 1)(), NDRange(1), [memory])
    for _ in range(20):
        passes.submit(8).wait()
    told[:2] = 20_000, 20_000_000
    latest = passes.submit(8)
    assert not latest.done
    told[8] = 1
    latest.wait()
    assert (passes.begun, told[9]) == (168, 168)


def test_freed_memory_cannot_be_used(native: NativeBackend) -> None:
    memory = upload(native, np.ones(8, np.int32))
    passes = scaling(native, memory, 3)
    native.free(memory, [passes.submit(3)])
    with pytest.raises(DeviceError, match="freed"):
        passes.submit()
    assert passes.begun == 3
