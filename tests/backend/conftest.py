"""What tests of backends share."""

from collections.abc import Iterator

import pytest
from tests.backend.opencl_running import Gate

from trilby.backend.opencl import OpenCLFamily
from trilby.backend.opencl.opencl_device import OpenCLBackend


@pytest.fixture
def opencl() -> Iterator[OpenCLBackend]:
    """A device with nothing in it."""
    opened = OpenCLFamily().open(0)
    yield opened
    opened.close()


@pytest.fixture
def gate(opencl: OpenCLBackend) -> Iterator[Gate]:
    """A gate that is open at the end, so that nothing waits for ever."""
    closed = Gate.on(opencl)
    yield closed
    if not closed.ticket.done:
        closed.open()
