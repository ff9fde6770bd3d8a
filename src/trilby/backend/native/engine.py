"""The queue and the threads of the native device, seen from Python.

There is one engine in a process, however many accelerators use it: all of them share the cores.
What is submitted is run in order, so an event is a number: it is done when the queue has
completed that many. Python only submits and waits; the threads know nothing of it.
"""

import ctypes
import gc
import signal
import time
from array import array
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from trilby.at_exit import PROGRAM_END, EndStep
from trilby.backend.native.host_processor import HostProcessor, this_host
from trilby.backend.native.queue_code import (
    SEQUENCE,
    WORD,
    QueueFunctions,
    Record,
    address_of_record,
    begin_functions,
)
from trilby.backend.native.toolchain import Objects, objects_for
from trilby.data.segment import reentered
from trilby.errors import DeviceError
from trilby.locks import computed_once, hold_over_forks, new_rlock

if TYPE_CHECKING:
    from trilby.backend.native.events import NativeEvent


# ------------------------------------------------------------------------------------------- recall
# When work of the native device was begun and done, for those who ask late.
#
# The queue itself notes this of each record, and knows it of the last 4,096. Events of which
# somebody wants to know it later are told before it is forgotten.

_SPARE = 256
"""Other threads may submit some records between a look at the queue and what follows."""


class Recall:
    """The events that are to be told, in the order of their records.

    `wait` returns when a record is done, and submits nothing.
    """

    def __init__(self, state: "QueueState", wait: Callable[[int], None]) -> None:
        self._state = state
        self._ring = len(state.slots)
        self._wait = wait
        self._events: deque[NativeEvent] = deque()

    @property
    def room(self) -> float:
        """So many more records may be submitted before one is forgotten that somebody wants."""
        if not self._events:
            return inf
        return self._events[0].sequence - 1 + self._ring - _SPARE - self._state.submitted

    def add(self, event: "NativeEvent") -> None:
        """Tell an event before its record is forgotten."""
        self._events.append(event)

    def make_way(self, records: int) -> float:
        """Some records are about to be submitted: tell those in whose places they will be.

        The result is how many more may follow.
        """
        collects = gc.isenabled()
        try:
            gc.disable()  # buffers that end here would begin copies, which may have to wait
            self._tell()
            if self.room < records:
                submitted = int(self._state.submitted)
                self._wait(max(self._events[0].sequence, submitted - self._ring // 2))
                self._tell()
        finally:
            if collects:
                gc.enable()
        return self.room - records

    def _tell(self) -> None:
        """Tell those whose records are done; Ctrl-C may come between any two steps."""
        while self._events and self._events[0].done:
            self._events[0].take_times()
            self._events.popleft()


# ------------------------------------------------------------------------------------------- engine

SLICE_NS = 20_000_000
"""How long a wait lasts before Python looks for Ctrl-C."""

SPIN_NS = 30_000
"""How long a thread without work looks for some before it sleeps."""

RING = 4096
"""The records that the queue holds; see `queue.ll`."""

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

    _fields_ = (
        ("record", ctypes.c_uint64),
        ("sequence", ctypes.c_uint64),
        ("begun", ctypes.c_uint64),
        ("ended", ctypes.c_uint64),
        ("current_pass", ctypes.c_uint64),
        ("last_pass", ctypes.c_uint64),
        ("tally", ctypes.c_uint64),
    )


class QueueState(ctypes.Structure):
    """`%Queue` of `queue.ll`."""

    _fields_ = (
        ("mutex", ctypes.c_char * _LOCK_BYTES),
        ("work", ctypes.c_char * _LOCK_BYTES),
        ("done", ctypes.c_char * _LOCK_BYTES),
        ("submitted", ctypes.c_uint64),
        ("completed", ctypes.c_uint64),
        ("changes", ctypes.c_uint64),
        ("next_unit", ctypes.c_uint64),
        ("under_way", ctypes.c_uint64),
        ("units_done", ctypes.c_uint64),
        ("spent", ctypes.c_uint64),
        ("workers", ctypes.c_uint64),
        ("sleeping", ctypes.c_uint64),
        ("called", ctypes.c_uint64),
        ("waiting", ctypes.c_uint64),
        ("helping", ctypes.c_uint64),
        ("leaving", ctypes.c_uint64),
        ("threads", ctypes.c_uint64),
        ("patience", ctypes.c_uint64),
        ("clock", ctypes.c_uint64),
        ("slots", QueueSlot * RING),
    )


_KEPT_OVER_FORKS = ("submitted", "threads", "patience", "clock", "slots")


class Engine:
    """One queue with its threads, which start when they are first needed."""

    def __init__(self, host: HostProcessor, objects: Objects) -> None:
        self.host = host
        self._code = begin_functions(host.processor, objects)
        self._opened: QueueFunctions | None = None
        # Threads may need their queue until the process ends: it is never freed.
        self.address = _zeroed(ctypes.sizeof(QueueState))
        self.state = QueueState.from_address(self.address)
        self.state.threads = host.threads
        self.state.patience = SPIN_NS if host.threads > 1 else 0
        self.state.clock = time.CLOCK_MONOTONIC
        self.lock = new_rlock()
        self._is_giving = False
        self._kept: deque[Kept] = deque()
        self.owned: dict[int, object] = {}
        """What launches are made of that may be run, by the addresses of these things."""
        self.held: list[int] = []
        """The addresses of records that will be submitted before anything else happens."""
        self._lost = range(0)
        self._recall = Recall(self.state, self._await)
        self._room = inf
        """So many records may be submitted before times are lost that somebody wants to know."""

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
        self.flush()
        return int(self.state.submitted)

    def flush(self) -> None:
        """Submit what is held back, or wait until another thread has done so."""
        if self.held or self._is_giving:
            self._submit_held()

    def remember(self, event: "NativeEvent") -> None:
        """Let an event have its times before they are forgotten."""
        with self.lock:
            self._recall.add(event)
            if self._room == inf:
                self._room = self._recall.room

    def _make_sure(self, records: int) -> None:
        """Records are about to take the places of others, which somebody may want to know of."""
        self._room -= records
        if self._room < 0:
            self._make_room(records)

    def _make_room(self, records: int) -> None:
        with self.lock:
            room: float = -1  # after Ctrl-C the next one looks again
            try:
                room = self._recall.make_way(records)
            finally:
                self._room = room

    def submit(self, record: Record, *keep: object) -> int:
        """Begin a record after all that were begun before, and give it its number.

        The record and `keep` live until it is done.
        """
        retained: Kept = [_NEVER, (record, keep)]
        record[SEQUENCE] = 0
        try:
            self._kept.append(retained)  # first: Ctrl-C may come as soon as the queue has it
            self.submit_kept(record)
        finally:  # without a call, after which an interrupt could be heard
            retained[0] = record[SEQUENCE]
        self._forget_done()
        return record[SEQUENCE]

    def submit_kept(self, record: Record) -> int:
        """The same for a record that somebody keeps. Its number says whether it was submitted."""
        self.flush()
        self._make_sure(1)
        address = address_of_record(record)
        while not (sequence := self.functions.submit(address)):
            self._make_way()
        return sequence

    def submit_passes(self, record: Record, first: int, count: int) -> int:
        """Begin a record that is run `count` times, with its pass counted from `first` on."""
        self.flush()
        self._make_sure(1)
        address = address_of_record(record)
        while not (sequence := self.functions.submit_passes(address, first, first + count - 1)):
            self._make_way()
        return sequence

    def _submit_held(self) -> None:
        with self.lock:
            if self._is_giving:  # by this thread, in which a signal handler runs now
                raise reentered()
            collects = gc.isenabled()
            self._is_giving = True  # before anything is taken: what comes later has to wait
            try:
                gc.disable()  # buffers that end here would begin copies before their turn
                self._give_held()
            finally:
                self._is_giving = False
                if collects:
                    gc.enable()

    def _give_held(self) -> None:
        """Submit what is held back now.

        An interrupt is heard between two steps of Python, and what is not yet submitted is held
        back again: `for` submits records and keeps their number in one step.
        """
        waiting = array("Q", self.held)
        if not waiting:
            return
        first, count, done = address_of_record(waiting), len(waiting), 0
        try:
            del self.held[:count]  # another thread may have added some
            self._make_sure(count)
            while True:
                for given in map(
                    self.functions.submit_all, (first + WORD * done,), (count - done,)
                ):
                    done += given
                    break
                if done >= count:
                    break
                self._make_way()
        finally:
            self.held[:0] = waiting[done:]

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

    def wait(self, sequence: int) -> None:
        """Return when a record is done. `KeyboardInterrupt` gets through."""
        if sequence in self._lost:
            raise DeviceError(
                "this work was under way when the process forked, and its threads stayed behind",
                advice="wait for all work before forking: `accelerator.wait()`",
            )
        self.flush()
        if self.state.completed < sequence:
            self._await(sequence)
        if self._kept:
            self._forget_done()

    def _await(self, sequence: int) -> None:
        while not self.functions.wait(self.address, sequence, SLICE_NS):
            pass  # between two slices Python sees to signals

    def times(self, sequence: int) -> tuple[int, int] | None:
        """When a record began its first unit and ended its last one; None where it is forgotten."""
        slot: QueueSlot = self.state.slots[(sequence - 1) % RING]
        if self.state.completed < sequence or slot.sequence != sequence:
            return None
        return slot.begun, slot.ended

    def _start_workers(self) -> None:
        self.state.leaving = 0
        with _signals_blocked():
            started = self.functions.start(self.address, self.host.threads)
        if not started:
            raise DeviceError(
                "no thread can be started for the native device",
                advice="the system limits the threads of a user or a container: `ulimit -u`",
            )

    def stop(self) -> None:
        """Finish all work and let the threads go; they come back when they are needed."""
        self.wait(self.submitted)
        if not self.state.workers:
            return
        self.functions.stop(self.address)
        until = time.monotonic() + _PATIENCE_SECONDS
        while self.state.workers and time.monotonic() < until:
            time.sleep(1e-4)

    def before_fork(self) -> None:
        """Finish all work: a child has a copy of the memory, and none of the threads."""
        self.wait(self.submitted)

    def after_fork(self) -> None:
        """Begin anew in a child: all that is there of the threads is what they left in memory."""
        self._is_giving = False
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
    engine = Engine(host, objects_for(host.processor))
    PROGRAM_END.add(EndStep.STOP_THREADS, engine.stop)
    hold_over_forks(2, engine.lock.acquire, engine.lock.release, engine.lock.release)
    hold_over_forks(3, engine.before_fork, lambda: None, engine.after_fork)
    return engine


@contextmanager
def _signals_blocked() -> Generator[None]:
    """Threads that start here leave signals to those of Python, but for faults of their own."""
    fatal = {getattr(signal, name) for name in _FATAL if hasattr(signal, name)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - fatal)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _zeroed(nbytes: int) -> int:
    process: Any = ctypes.CDLL(None)
    process.calloc.restype = ctypes.c_void_p
    process.calloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
    return int(process.calloc(1, nbytes))
