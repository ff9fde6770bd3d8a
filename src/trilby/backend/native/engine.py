"""The queue and the threads of the native device, seen from Python.

There is one engine in a process, however many accelerators use it: all of them share the cores.
What is submitted is run in order: a command is done when the queue has completed its number.
Python only submits and waits; the threads know nothing of it.
"""

import ctypes
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

from trilby.at_exit import PROGRAM_END
from trilby.backend.base import Times
from trilby.backend.failures import assertion_failed
from trilby.backend.native.cache import Cache
from trilby.backend.native.host_processor import HostProcessor, this_host
from trilby.backend.native.printing import Printed
from trilby.backend.native.queue_code import (
    SEQUENCE,
    QueueFunctions,
    Record,
    address_of_record,
    begin_functions,
)
from trilby.backend.native.toolchain import kept_objects
from trilby.data.segment import Live
from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.locks import computed_once, hold_over_forks, new_rlock
from trilby.source import Location

# ------------------------------------------------------------------------------------------- engine

SLICE_NS = 20_000_000
"""How long a wait lasts before Python looks for Ctrl-C."""

SPIN_NS = 30_000
"""How long a thread without work looks for some before it sleeps."""

RING = 4096
"""The records that the queue holds; see `queue.ll`."""

_MOST_REPORTS = 256

_PATIENCE_SECONDS = 5.0
_LOCK_BYTES = 128

_FATAL = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP"}

Kept: TypeAlias = list[Any]
"""A number, and something that lives until the record of that number is done."""

_NEVER = 2**64 - 1
"""The number of a record that is not submitted yet."""

_NOTHING: Kept = [0, None]
_take_first: Callable[[deque[Kept]], Kept] = deque[Kept].popleft


class QueueSlot(ctypes.Structure):
    """`%Slot` of `queue.ll`."""

    _fields_ = tuple(
        (name, ctypes.c_uint64)
        for name in ("record", "sequence", "begun", "ended", "current_pass", "last_pass")
    )


_LOCKS = ("mutex", "work", "done")
_NUMBERS = (
    *("submitted", "completed", "changes", "next_unit", "under_way", "units_done", "spent"),
    *("workers", "sleeping", "called", "waiting", "helping", "leaving"),
    *("threads", "patience", "clock"),
)


class QueueState(ctypes.Structure):
    """`%Queue` of `queue.ll`, where each of the numbers is explained."""

    _fields_ = (
        *((name, ctypes.c_char * _LOCK_BYTES) for name in _LOCKS),
        *((name, ctypes.c_uint64) for name in _NUMBERS),
        ("slots", QueueSlot * RING),
    )


_KEPT_OVER_FORKS = ("submitted", "threads", "patience", "clock", "slots")


@dataclass(frozen=True, slots=True, eq=False)
class LaunchReport:
    """The lines that a launch prints, and the assertion that failed: its number and work item.

    Assertions count from 1 on.
    """

    words: Live
    printed: Printed | None
    assertions: Sequence[tuple[str, Location]]

    @property
    def has_failed(self) -> bool:
        """True once an assertion has failed."""
        return bool(self.words[0])

    def check(self) -> None:
        """Write the lines; raise what a failed assertion says. The launch is over."""
        if self.printed is not None:
            self.printed.show()
        number, x, y, z = (int(n) for n in self.words)
        if number:
            message, location = self.assertions[number - 1]
            raise assertion_failed(message, (x, y, z), location)


class Engine:
    """The in-order queue with its threads, which start when they are first needed.

    It is the `Queue` of all native devices: copies and kernels have the numbers of one sequence.
    """

    by_host_clock = True

    def __init__(self, host: HostProcessor, kept: Cache | None) -> None:
        self.host = host
        self._code = begin_functions(host.processor, kept)
        self._opened: QueueFunctions | None = None
        # Threads may need their queue until the process ends: it is never freed.
        self.address = _zeroed(ctypes.sizeof(QueueState))
        self.state = QueueState.from_address(self.address)
        self.state.threads = host.threads
        self.state.patience = SPIN_NS if host.threads > 1 else 0
        self.state.clock = time.CLOCK_MONOTONIC
        self.lock = new_rlock()
        self._kept: deque[Kept] = deque()
        self.owned: dict[int, object] = {}
        """What launches are made of that may be run, by the addresses of these things."""
        self.reports: dict[int, LaunchReport] = {}
        """What launches left, by their numbers; those that went well are dropped after a while."""
        self._lost = range(0)

    @computed_once
    def functions(self) -> QueueFunctions:
        """What the queue can do. It is opened when the first of them is needed."""
        with self.lock:
            if self._opened is None:
                opened = self._code()
                opened.open(self.address)
                self._opened = opened
            return self._opened

    @property
    def submitted(self) -> int:
        """The number of the last record that was begun."""
        return self.state.submitted

    @property
    def completed(self) -> int:
        """The number up to which all records are done."""
        return self.state.completed

    def measure(self, on: bool) -> None:  # noqa: FBT001 -- of `Queue`
        """The queue notes the times of each record in any case."""

    def submit(self, record: Record, keep: object, *, first: int = 0, count: int = 1) -> int:
        """Begin a record after all that were begun before, and give it its number.

        The record and `keep` live until it is done. It is run `count` times, with its pass counted
        from `first` on.
        """
        retained: Kept = [_NEVER, (record, keep)]
        record[SEQUENCE] = 0
        try:
            self._kept.append(retained)  # first: Ctrl-C may come as soon as the queue has it
            self.submit_kept(record, first, count)
        finally:  # without a call, after which an interrupt could be heard
            retained[0] = record[SEQUENCE]
        self._forget_done()
        return record[SEQUENCE]

    def submit_kept(self, record: Record, first: int = 0, count: int = 1) -> int:
        """The same for a record that somebody keeps. Its number says whether it was submitted."""
        address, functions = address_of_record(record), self.functions
        while True:
            if count == 1 and not first:
                sequence = functions.submit(address)
            else:
                sequence = functions.submit_passes(address, first, first + count - 1)
            if sequence:
                return sequence
            self._make_way()

    def _make_way(self) -> None:
        """See to it that the queue takes one more record: it has threads, and is not full."""
        if not self.state.workers:
            self._start_workers()
        elif self.state.submitted - self.state.completed >= RING:
            self._await(self.state.submitted - RING // 2)

    def keep(self, sequence: int, thing: object) -> None:
        """Keep something alive until a record is done."""
        if sequence > self.state.completed:
            self._kept.append([sequence, thing])
        self._forget_done()

    def _forget_done(self) -> None:
        """Let go of what is not needed any more, from the left. Several threads may do so.

        Python hears of Ctrl-C, and goes on with another thread, after calls and where a loop begins
        again. `for` takes something and keeps it in one step: it is looked at and put back before
        anything else can happen.
        """
        completed, oldest = self.state.completed, _NOTHING
        while self._kept:
            try:
                for oldest in map(_take_first, (self._kept,)):  # noqa: B007 -- see above
                    break
            except IndexError:  # another thread was faster
                return
            if oldest[0] > completed:
                self._kept.appendleft(oldest)
                return

    def wait(self, number: int) -> None:
        """Return when a record is done. `KeyboardInterrupt` gets through."""
        if number in self._lost:
            raise DeviceError(
                "this work was under way when the process forked, and its threads stayed behind",
                advice="wait for all work before forking: `accelerator.wait()`",
            )
        if self.state.completed < number:
            self._await(number)
        if self._kept:
            self._forget_done()
        if number in self.reports:
            self.reports[number].check()

    def wait_for_all(self) -> None:
        """Return when nothing is under way, whatever failed. `KeyboardInterrupt` gets through."""
        if self.state.completed < self.state.submitted:
            self._await(self.state.submitted)
        self._forget_done()

    def _await(self, sequence: int) -> None:
        while not self.functions.wait(self.address, sequence, SLICE_NS):
            pass  # between two slices Python sees to signals

    def drop_reports(self) -> None:
        """Forget reports of launches that went well, if there are many."""
        if len(self.reports) >= _MOST_REPORTS:
            done = [n for n in self.reports if n <= self.state.completed]
            for old in [n for n in done if not self.reports[n].has_failed] or done[:1]:
                del self.reports[old]

    def times(self, number: int) -> Times | None:
        """When a record began its first unit and ended its last one; None where it failed."""
        if number in self.reports and self.reports[number].has_failed:
            return None
        slot: QueueSlot = self.state.slots[(number - 1) % RING]
        if self.state.completed < number or slot.sequence != number:
            return Times(None, 0.0)  # it is forgotten
        ahead = time.perf_counter() - time.clock_gettime(time.CLOCK_MONOTONIC)
        return Times(slot.begun * 1e-9 + ahead, (slot.ended - slot.begun) * 1e-9)

    def _start_workers(self) -> None:
        self.state.leaving = 0
        # Threads that start here leave signals to those of Python, but for faults of their own.
        fatal = {getattr(signal, name) for name in _FATAL if hasattr(signal, name)}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - fatal)
        try:
            started = self.functions.start(self.address, self.host.threads)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if not started:
            raise DeviceError(
                "no thread can be started for the native device",
                advice="the system limits the threads of a user or a container: `ulimit -u`",
            )

    def stop(self) -> None:
        """Finish all work and let the threads go; they come back when they are needed."""
        self.wait_for_all()
        if not self.state.workers:
            return
        self.functions.stop(self.address)
        until = time.monotonic() + _PATIENCE_SECONDS
        while self.state.workers and time.monotonic() < until:
            time.sleep(1e-4)

    def after_fork(self) -> None:
        """Begin anew in a child: all that is there of the threads is what they left in memory."""
        completed = self.state.completed
        fresh = QueueState()
        for name in _KEPT_OVER_FORKS:
            setattr(fresh, name, getattr(self.state, name))
        fresh.completed = fresh.submitted
        self._lost = range(completed + 1, fresh.submitted + 1)
        ctypes.memmove(self.address, ctypes.addressof(fresh), ctypes.sizeof(QueueState))
        if self._opened is not None:
            self._opened.open(self.address)


@cache
def shared_engine() -> Engine:
    """The engine of this process."""
    host = this_host()
    engine = Engine(host, kept_objects(host.processor))
    PROGRAM_END.add_last(engine.stop)
    hold_over_forks(2, engine.lock.acquire, engine.lock.release, engine.lock.release)
    # A child has a copy of the memory, and none of the threads: all work is finished before.
    hold_over_forks(3, engine.wait_for_all, lambda: None, engine.after_fork)
    return engine


def _zeroed(nbytes: int) -> int:
    process: Any = ctypes.CDLL(None)
    process.calloc.restype = ctypes.c_void_p
    process.calloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
    return int(process.calloc(1, nbytes))
