"""The queue of devices that do everything at once."""

import time
from collections.abc import Callable, Sequence

from trilby.backend.base import Ticket, Times

_REMEMBERED = 4096


class ImmediateQueue:
    """A queue whose commands are over when they were submitted.

    >>> queue = ImmediateQueue()
    >>> queue.run(lambda: None).done
    True
    """

    by_host_clock = True

    def __init__(self, *, measures: bool = True) -> None:
        self._measures = measures
        self.submitted: int = 0
        self._measuring = 0
        self._times: dict[int, Times] = {}

    @property
    def completed(self) -> int:
        """All of them."""
        return self.submitted

    def run(self, command: Callable[[], object], after: Sequence[Ticket] = ()) -> Ticket:
        """Do a command after others, and count it if it does not raise."""
        for ticket in after:
            if ticket.queue is not self:
                ticket.wait()
        began = time.perf_counter()
        command()
        number = self.submitted + 1
        if self._measuring:
            self._times[number] = Times(began, time.perf_counter() - began)
            self._times.pop(number - _REMEMBERED, None)
        self.submitted = number
        return Ticket(self, number)

    def wait(self, number: int) -> None:
        """Return at once: a command that failed was never submitted."""

    def times(self, number: int) -> Times | None:
        """What a command took, by the host's clock."""
        return self._times.get(number, Times(None, 0.0))

    def measure(self, on: bool) -> None:  # noqa: FBT001 -- of `Queue`
        """Remember what commands take, or no more."""
        if self._measures:
            self._measuring += 1 if on else -1
