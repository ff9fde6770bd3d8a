"""What tests of the native backend share."""

from collections.abc import Iterator

import pytest
from tests.backend.native.running import Gate

from trilby.backend.native import NativeBackend, NativeFamily


@pytest.fixture
def native() -> Iterator[NativeBackend]:
    """A device with nothing in it."""
    opened = NativeFamily().open(0)
    yield opened
    opened.close()


@pytest.fixture
def gate(native: NativeBackend) -> Iterator[Gate]:
    """A gate that is open at the end, so that nothing waits for ever."""
    closed = Gate.on(native)
    yield closed
    closed.open()
