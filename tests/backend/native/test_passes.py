"""Many passes on the native device."""

import numpy as np
import pytest
from tests.backend.native.running import Gate, download, scaling, upload

from trilby.backend.native import NativeBackend
from trilby.backend.null import NullPrepared
from trilby.data.ndrange import NDRange
from trilby.errors import ArgumentTypeError, DeviceError


def test_passes_come_one_after_the_other(native: NativeBackend) -> None:
    twos = np.full(1000, 2, np.int32)
    memory = upload(native, twos)
    passes = native.passes(scaling(native, memory, 3))
    assert passes.begun == 0
    for count in (1, 2, 6):
        passes.run(count)
    assert passes.begun == 9
    passes.latest.wait()
    assert set(download(native, memory, twos)) == {2 * 3**9}


def test_what_is_begun_is_counted_before_it_is_done(native: NativeBackend) -> None:
    twos = np.full(8, 2, np.int32)
    memory = upload(native, twos)
    gate = Gate.on(native)
    try:
        passes = native.passes(scaling(native, memory, 3))
        passes.run(4)
        assert (passes.begun, passes.latest.done) == (4, False)
        latest = passes.latest
        del passes  # the queue has what it needs
    finally:
        gate.open()
    latest.wait()
    assert set(download(native, memory, twos)) == {2 * 3**4}


def test_freed_memory_cannot_be_used(native: NativeBackend) -> None:
    memory = upload(native, np.ones(8, np.int32))
    passes = native.passes(scaling(native, memory, 3))
    passes.run(3)
    native.free(memory, [passes.latest])
    with pytest.raises(DeviceError, match="freed"):
        passes.run(1)
    assert passes.begun == 3


def test_what_others_have_prepared_is_refused(native: NativeBackend) -> None:
    with pytest.raises(ArgumentTypeError, match="which another accelerator made"):
        native.passes(NullPrepared(NDRange(1)))
