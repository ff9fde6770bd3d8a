"""Contents and replicas made by hand, for the tests of the rules."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np

from trilby.backend.base import Ticket
from trilby.backend.immediate import ImmediateQueue
from trilby.data.ranges import Ranges
from trilby.errors import DeviceError
from trilby.runtime.content import Content, Replica

if TYPE_CHECKING:
    from trilby.runtime.replicas import Replicas

START = 1000
"""Where the memory of the tests seems to lie: ranges count from the host's addresses."""


class PendingQueue(ImmediateQueue):
    """A queue with one command, which is under way until the test says that it is over."""

    def __init__(self) -> None:
        super().__init__()
        self.submitted = 1
        self.is_over = False
        self.failure: Exception | None = None

    @property
    def completed(self) -> int:
        return int(self.is_over)

    def wait(self, number: int) -> None:
        self.is_over = True
        if self.failure is not None:
            raise self.failure


def pending() -> Ticket:
    """Work that is under way until `finish`, or until somebody waits for it."""
    return Ticket(PendingQueue(), 1)


def finish(ticket: Ticket) -> None:
    """Let work be over."""
    cast("PendingQueue", ticket.queue).is_over = True


def done() -> Ticket:
    """Work that is over."""
    ticket = pending()
    finish(ticket)
    return ticket


def failure(error: Exception | None = None, origin: object = None) -> Ticket:
    """Work that ended badly."""
    ticket = done()
    cast("PendingQueue", ticket.queue).failure = error or DeviceError("lost")
    return ticket._replace(origin=origin)


def span(start: int, stop: int) -> Ranges:
    """Bytes of the memory, counted from its start."""
    return Ranges.span(START + start, START + stop)


def on_host(nbytes: int = 16) -> Content:
    """Memory that the host has filled."""
    return Content(START, START + nbytes, span(0, nbytes), Ranges.EMPTY)


def fresh(nbytes: int = 16) -> Content:
    """Memory full of zeros that nobody wrote."""
    return Content(START, START + nbytes, span(0, nbytes), span(0, nbytes))


def replica(
    content: Content,
    valid: Ranges = Ranges.EMPTY,
    *,
    shared: bool = False,
    place: tuple[int, int] | None = None,
    owner: object = None,
) -> Replica:
    """A copy of some memory on a device; of all of it unless a place is given."""
    start, stop = place or (0, content.stop - content.start)
    host = np.zeros(stop - start, np.uint8).data
    made = Replica(
        cast("Replicas", owner),
        content,
        DeviceBytes(),
        host,
        START + start,
        "a",
        shared,
        valid=valid,
    )
    content.replicas.append(made)
    return made


class DeviceBytes:
    """Memory of no device."""

    nbytes = 0


def arrive(content: Content, ranges: Ranges, ticket: Ticket) -> None:
    """Let bytes be on their way to the host."""
    content.arriving.append((ranges, ticket))
    content.host |= ranges


def changed(content: Content, change: Callable[[], object]) -> bool:
    """Whether something changes the version of a content."""
    before = content.version
    change()
    return content.version != before
