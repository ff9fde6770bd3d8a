"""What a launch that is repeated has to wait for, and who has to wait for it.

Replicas name such a launch itself as work under way, and mean its last run. So in a hot loop
they look the same in every turn, and what follows from that is worked out once.
"""

import weakref
from collections.abc import Callable, Sequence
from typing import TypeAlias

from trilby.backend.base import Event, Repeated
from trilby.errors import DeviceError
from trilby.mending import mend
from trilby.runtime.content import Replica

UnderWay: TypeAlias = tuple[Event | Repeated, ...]
State: TypeAlias = tuple[tuple[Replica, UnderWay, UnderWay], ...]
"""Replicas, and the work under way that writes and that reads them."""


class Order:
    """The place of one launch among others that use the same replicas.

    `found` is how all its replicas were before the last run, and `before` the launch just
    before it, if that is known and there. `after` is what had to be waited for, and `left` is
    how the run left those replicas that it changed.
    """

    __slots__ = (
        "__weakref__",
        "_as_writer",
        "_read",
        "_waited",
        "_written",
        "after",
        "before",
        "found",
        "launch",
        "left",
    )

    def __init__(
        self, launch: Repeated, read: Sequence[Replica], written: Sequence[Replica]
    ) -> None:
        self.launch = launch
        self._read = read
        self._written = written
        self._as_writer = (launch,)
        self._waited: UnderWay = ()
        self.found: State = ()
        self.before = _nothing
        self.after: UnderWay = ()
        self.left: State = ()

    @property
    def replicas(self) -> tuple[Replica, ...]:
        """What the launch uses."""
        return (*self._read, *self._written)

    def run_anew(self, before: "Order | None") -> None:
        """Work out what to wait for, run the launch, and let the replicas know."""
        found = _state(self.replicas)
        work = self._work_under_way()
        after = work
        if before is not None and before.covers(work):
            after = (before.launch,)
        self.found, self.before, self.after, self._waited = found, _nothing, after, work
        self._run(self._note_anew)
        now = _state(self.replicas)
        self.left = tuple(one for one, old in zip(now, found, strict=True) if not _same(one, old))
        self.before = _nothing if before is None else weakref.ref(before)

    def run_again(self, before: "Order | None") -> bool:
        """Run it as the last time if all is as it was then, and say whether that is so."""
        if before is None or before is not self.before():
            return False
        for replica, writing, reading in self.found:
            if replica.writing is not writing or replica.reading is not reading:
                return False
        self._run(self.note_left)
        return True

    def _run(self, note: Callable[[], None]) -> None:
        """Run the launch and note it; where that is interrupted, others wait for everything."""
        try:
            self.launch.run(self.after)
            note()
        except DeviceError:
            raise
        except BaseException:
            mend(self.note_interrupt)
            raise

    def note_interrupt(self) -> None:
        """It was run or was not: let others wait for that, and for all that came before."""
        for replica, writing, reading in self.found:
            replica.writing = tuple(dict.fromkeys((*writing, *reading, self.launch)))

    def _note_anew(self) -> None:
        for replica in self._written:
            replica.writing, replica.reading = self._as_writer, ()
        for replica in self._read:
            self._note_reader(replica)

    def note_left(self) -> None:
        """Let the replicas know of a run like the last one."""
        for replica, writing, reading in self.left:
            replica.noted_writing, replica.noted_reading = writing, reading

    def _note_reader(self, replica: Replica) -> None:
        """Add the launch to those that read a replica, with the same result as the last time."""
        if self.launch not in replica.reading:
            replica.read_by(self.launch)
            for one, _, reading in self.left:
                if one is replica and reading == replica.reading:
                    replica.reading = reading

    def _work_under_way(self) -> UnderWay:
        """All that must be done before the launch may run, each once."""
        found: dict[Event | Repeated, None] = {}
        for replica in self._read:
            found |= dict.fromkeys(replica.writing)
        for replica in self._written:
            found |= dict.fromkeys((*replica.writing, *replica.reading))
        return tuple(found)

    def covers(self, work: UnderWay) -> bool:
        """Whether some work is done when the last run of this launch is, and not before."""
        return self.launch in work and {self.launch, *self._waited}.issuperset(work)


def _nothing() -> Order | None:
    """What stands for a launch that is not known."""
    return None


def _state(replicas: Sequence[Replica]) -> State:
    return tuple((one, one.writing, one.reading) for one in replicas)


def _same(now: tuple[Replica, UnderWay, UnderWay], old: tuple[Replica, UnderWay, UnderWay]) -> bool:
    return now[1] is old[1] and now[2] is old[2]
