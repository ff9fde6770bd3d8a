"""The kernel that tells whether a device works."""

from collections.abc import Sequence

import pytest

from trilby.backend.base import Argument, Executable, Memory, Ticket
from trilby.backend.interpreter import InterpreterFamily
from trilby.backend.interpreter.interpreter_device import InterpreterBackend, InterpreterPrepared
from trilby.backend.null import NullBackend
from trilby.backend.registry import open_backend
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceError
from trilby.tools.devices import check_device


@pytest.mark.parametrize("name", ["interpreter", "opencl", "native"])
def test_a_device_that_works(name: str) -> None:
    assert check_device(open_backend(name).backend) is None


def test_a_device_that_computes_nothing() -> None:
    backend = NullBackend()
    # of the hundred numbers v from -50 to 49, no v is v³ // 7 - 3
    assert [v for v in range(-50, 50) if v**3 // 7 - 3 == v] == []
    assert check_device(backend) == "100 of 100 numbers are wrong"
    assert backend.counts["frees"] == backend.counts["allocations"] == 1


class Failing(InterpreterBackend):
    """A device that is lost at every launch."""

    def __init__(self) -> None:
        super().__init__(InterpreterFamily().devices()[0])
        self.freed = 0

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        self.freed += 1

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> InterpreterPrepared:
        raise DeviceError("the device is lost")


def test_a_device_that_fails_gets_its_memory_back() -> None:
    backend = Failing()
    with pytest.raises(DeviceError, match="the device is lost"):
        check_device(backend)
    assert backend.freed == 1
