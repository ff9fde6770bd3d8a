"""When the work of a device was, by the clock of the host."""

from trilby.backend.base import Dated, Event
from trilby.runtime.tracing import SeenCopy, SeenLaunch, TracedRun


class DeviceClock:
    """How far the clock of a device is behind the host's, and what follows for its work.

    Work is queued before the host comes to note it. So the smallest difference between the two
    that was ever seen is the nearest to the truth.
    """

    def __init__(self, run: TracedRun) -> None:
        self._began = run.began
        behind: list[float] = []
        for seen in run.book.seen:
            if isinstance(seen, SeenLaunch | SeenCopy):
                event = seen.event if isinstance(seen, SeenLaunch) else seen.moved.event
                queued = _queued(event) if event is not None else None
                if queued is not None:
                    behind.append(seen.moment.at - queued)
        self._behind = min(behind, default=0.0)

    def span(self, event: Event, noted: float) -> tuple[float, float]:
        """Begin and end of some work, in seconds since the run began.

        What nobody dated began when it was noted, after its time in the queue.
        """
        delay, seconds = event.times or (0.0, 0.0)
        began = event.began if isinstance(event, Dated) else None
        if began is None:
            began = noted + delay
        elif isinstance(event, Dated) and not event.by_host_clock:
            began += self._behind
        return began - self._began, began - self._began + seconds


def _queued(event: Event) -> float | None:
    """When work was queued by the clock of its device, if it has one of its own."""
    if not isinstance(event, Dated) or event.by_host_clock or event.began is None:
        return None
    delay, _ = event.times or (0.0, 0.0)
    return event.began - delay
