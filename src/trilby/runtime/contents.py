"""All memory that any device has seen, in stretches of which something is known."""

from bisect import bisect_right
from collections.abc import Callable, Iterable

from trilby.data.ranges import Ranges
from trilby.runtime.content import Content


class Contents:
    """All memory that a device has seen, by address. Stretches that overlap become one."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._all: list[Content] = []

    def around(self, start: int, stop: int, merged: Callable[[Content, Content], None]) -> Content:
        """The content that has these bytes; it is made, or grows, if there is none.

        `merged` hears of each one that is now a part of another.
        """
        place = bisect_right(self._starts, start)
        if place and self._all[place - 1].stop > start:
            place -= 1
        until = place
        while until < len(self._all) and self._all[until].start < stop:
            until += 1
        found = self._all[place:until]
        if len(found) == 1 and found[0].start <= start and stop <= found[0].stop:
            return found[0]
        content = _joined(start, stop, found)
        self._starts[place:until] = [content.start]
        self._all[place:until] = [content]
        for old in found:
            merged(old, content)
        return content

    @property
    def all(self) -> tuple[Content, ...]:
        """All that is known."""
        return tuple(self._all)

    def knows(self, start: int, stop: int) -> bool:
        """Whether there is anything known of any of these bytes."""
        place = bisect_right(self._starts, start)
        before = place > 0 and self._all[place - 1].stop > start
        return before or (place < len(self._all) and self._all[place].start < stop)

    def forget(self, content: Content) -> None:
        """Take out one that no segment has any more."""
        place = bisect_right(self._starts, content.start) - 1
        if place >= 0 and self._all[place] is content:
            del self._starts[place], self._all[place]


def _joined(start: int, stop: int, parts: Iterable[Content]) -> Content:
    """One content for a stretch and all that overlap it; what nobody knew is on the host."""
    known = list(parts)
    for part in known:
        start, stop = min(start, part.start), max(stop, part.stop)
    whole = Ranges.span(start, stop)
    joined = Content(start, stop, whole, Ranges.EMPTY)
    for part in known:
        joined.host -= part.whole - part.host
        joined.fresh |= part.fresh
        joined.replicas += part.replicas
        joined.arriving += part.arriving
        joined.leaving += part.leaving
        joined.version += part.version
        joined.by_kernels |= part.by_kernels
        joined.raw_views += part.raw_views
        joined.host_wrote = part.host_wrote
        joined.kernel_wrote = part.kernel_wrote or joined.kernel_wrote
    joined.changed()
    return joined


CONTENTS = Contents()
