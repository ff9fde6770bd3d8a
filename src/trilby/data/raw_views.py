"""Raw views: memory in the user's own hands, and which of it, for as long as any of it lives."""

import weakref
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

from trilby.data.ranges import Ranges
from trilby.dataclass import dataclass

if TYPE_CHECKING:
    from trilby.data.segment import Live


@dataclass(frozen=True, eq=False)
class Escape:
    """A raw view that the user asked for; it lives as long as any NumPy view made from it."""

    ranges: Ranges
    memory: "Live" = field(repr=False)
    among: "RawViews" = field(repr=False)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.memory.__array_interface__


class RawViews:
    """All raw views that were taken of one stretch of memory, which starts at `address`.

    While one is alive the host may write what it shows at any time, and nobody hears of it.
    """

    __slots__ = ("__weakref__", "_address", "_all")

    def __init__(self, address: int) -> None:
        self._address = address
        self._all: dict[weakref.ref[Escape], Ranges] = {}

    def __bool__(self) -> bool:
        """Whether there is one, or was one of which `ended` was not yet asked."""
        return bool(self._all)

    def add(self, ranges: Ranges, memory: "Live") -> Escape:
        """Another one; the ranges are from the start of the memory."""
        escape = Escape(ranges, memory, self)
        self._all[weakref.ref(escape)] = ranges.shifted(self._address)
        _TAKEN.add(self)
        return escape

    @property
    def living(self) -> tuple[Escape, ...]:
        """Those that are still alive."""
        living = (ref() for ref in tuple(self._all))
        return tuple(escape for escape in living if escape is not None)

    @property
    def shown(self) -> Ranges:
        """The bytes that those show, by address."""
        views = tuple(self._all.items())
        return Ranges.of(*(part for ref, parts in views if ref() is not None for part in parts))

    def ended(self, within: Ranges) -> Ranges:
        """Those of some bytes, by address, that views showed which ended since this was asked.

        What such a view showed of other bytes stays to be asked for.
        """
        found: list[tuple[int, int]] = []
        for ref, ranges in tuple(self._all.items()):
            if ref() is not None:
                continue
            found += ranges & within
            left = ranges - within
            if left:
                self._all[ref] = left
            else:
                self._all.pop(ref, None)
        return Ranges.of(*found)

    def meets(self, ranges: Ranges) -> bool:
        """Whether any of them shows, or showed, some of these bytes."""
        return any(parts.meets(ranges) for parts in tuple(self._all.values()))


_TAKEN: "weakref.WeakSet[RawViews]" = weakref.WeakSet()


def raw_views_of(ranges: Ranges) -> Iterator[RawViews]:
    """What was taken of some bytes, through whichever array."""
    for views in tuple(_TAKEN):
        if views.meets(ranges):
            yield views
