"""Copies to a device that a plan starts before any kernel asks for them."""

import weakref
from typing import NamedTuple, cast

from trilby.data.buffer import Buffer
from trilby.data.ndarray import NDArray
from trilby.runtime.callers import Caller
from trilby.runtime.content import LOCK
from trilby.runtime.explicit import block_of
from trilby.runtime.parts import part_of
from trilby.runtime.put_get import supply
from trilby.runtime.recordings import RECORDINGS
from trilby.runtime.residency import Residency
from trilby.runtime.watch import Watch, watched


class _Brought(NamedTuple):
    """A buffer that the device had all of, while its content has this version.

    It is forgotten with the buffer.
    """

    buffer: "weakref.ref[object]"
    watch: Watch
    version: int

    @property
    def is_there(self) -> bool:
        return self.watch.content.version == self.version


class Prefetches:
    """What plans bring to the device of one accelerator.

    A plan asks at every call of its function, and mostly for what is there: so what was brought is
    remembered as long as nothing about it changes.
    """

    def __init__(self, residency: Residency) -> None:
        self._residency = residency
        self._brought: dict[int, _Brought] = {}

    def bring(self, thing: object) -> None:
        """Start to bring a buffer or a part of one to the device; anything else is left alone.

        What may change until it is used without anybody knowing is better brought by the launch,
        and so is everything where memory is short: what came early might have to go again.
        """
        known = self._brought.get(id(thing))
        if known is not None and known.is_there and not RECORDINGS:
            return
        replicas = self._residency.replicas
        part = None if block_of(replicas) else part_of(thing)
        if part is None or replicas.room.is_tight:
            return
        with LOCK:
            watch = watched(part.segment)
            if watch.content.may_be_seen:
                return
            supply(self._residency, part, "the plan says that a kernel will read it", Caller.now())
            if isinstance(thing, Buffer | NDArray):
                self._remember(cast("object", thing), watch)

    def _remember(self, buffer: object, watch: Watch) -> None:
        place = id(buffer)

        def forget(_: object, brought: dict[int, _Brought] = self._brought) -> None:
            brought.pop(place, None)

        reference = weakref.ref(buffer, forget)
        self._brought[place] = _Brought(reference, watch, watch.content.version)
