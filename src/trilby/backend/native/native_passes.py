"""Many passes of one launch on the native device: one entry of the queue for each portion."""

import ctypes
from collections.abc import Callable, Sequence

import numpy as np

from trilby.backend.base import Argument, Event, Passes
from trilby.backend.native.events import DebuggingEvent, NativeEvent
from trilby.backend.native.native_kernels import NativePrepared
from trilby.backend.native.queue_code import PASS, REPORT, SEQUENCE, copied
from trilby.backend.run_again import PassByPass
from trilby.data.segment import address_of


class NativePasses(Passes):
    """The passes of a kernel that neither asserts nor prints.

    `_begun` is how many were begun before the last portion, the number that the record had in
    the queue then, and how many the last portion has. The record has another number when that
    portion is in the queue, so Ctrl-C may come at any moment.
    """

    __slots__ = ("_begun", "_come_after", "_prepared")

    def __init__(
        self, prepared: NativePrepared, come_after: Callable[[Sequence[Event]], None]
    ) -> None:
        super().__init__()
        self._prepared = prepared
        self._come_after = come_after
        self._begun = (0, prepared.record[SEQUENCE], 0)

    @property
    def begun(self) -> int:
        """How many passes the queue has."""
        before, number, portion = self._begun
        return before if self._prepared.record[SEQUENCE] == number else before + portion

    @property
    def latest(self) -> NativeEvent:
        """The last of them."""
        return NativeEvent(self._prepared.owner.engine, self._prepared.record[SEQUENCE])

    def run(self, passes: int, after: Sequence[Event] = ()) -> None:
        """Submit some more passes."""
        self._prepared.check()
        self._come_after(after)
        record, first = self._prepared.record, self.next_number
        self._begun = (self.begun, record[SEQUENCE], passes)
        self._prepared.owner.engine.submit_passes(record, first, passes)

    def replace(self, position: int, argument: Argument) -> None:
        """Set another argument for the passes to come."""
        self._prepared.replace(position, argument)


def debugging_passes(prepared: NativePrepared) -> PassByPass:
    """The passes of a kernel that asserts or prints, each of which is waited for.

    What one has written whose `assert` fails is taken back.
    """
    engine, asserts = prepared.owner.engine, prepared.executable.asserts

    def run_one(number: int, after: Sequence[Event]) -> Event:
        for event in after:
            event.wait()
        prepared.check()
        kept = _kept(prepared) if asserts else []
        report = np.zeros(4, np.int32)
        record = copied(prepared.record)
        record[PASS], record[REPORT] = number, address_of(report)
        try:
            sequence = engine.submit(record, prepared.things, report)
            event = DebuggingEvent(engine, sequence, report, prepared.executable)
            event.wait()
        except BaseException:
            engine.wait(engine.submitted)
            for address, content in kept:
                ctypes.memmove(address, content, len(content))
            raise
        return event

    return PassByPass(run_one, prepared)


def _kept(prepared: NativePrepared) -> list[tuple[int, bytes]]:
    """The content of every buffer of a launch, and where it lies."""
    kept: list[tuple[int, bytes]] = []
    for memory in prepared.memories.values():
        address = prepared.owner.address_of(memory)
        kept.append((address, ctypes.string_at(address, memory.nbytes)))
    return kept
