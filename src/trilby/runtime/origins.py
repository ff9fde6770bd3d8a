"""Which launch some work belongs to: what its event says when it fails or is measured."""

from typing import cast

from trilby.backend.base import Event
from trilby.dataclass import dataclass
from trilby.runtime.callers import Caller


@dataclass(frozen=True, slots=True)
class KernelWrite:
    """Which launch wrote, for the cause of a copy and for what fails."""

    kernel: str
    caller: Caller

    def __str__(self) -> str:
        return f"{self.kernel} wrote it at {self.caller.line.short}"


def launch_of(event: Event) -> KernelWrite | None:
    """The launch that an event is of, or whose result it copies; None where nobody knows.

    The origin of a copy are the events of those who wrote what it copies.
    """
    origin = event.origin
    if isinstance(origin, KernelWrite):
        return origin
    if not isinstance(origin, tuple):
        return None
    writers = map(launch_of, cast("tuple[Event, ...]", origin))
    return next((launch for launch in writers if launch is not None), None)
