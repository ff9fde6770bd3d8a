"""Devices that a test has in its hands: one that fails when told to, one that puts all work off."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import cast

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, Executable, Memory, Ticket, Times
from trilby.backend.immediate import ImmediateQueue
from trilby.backend.interpreter import InterpreterFamily
from trilby.backend.interpreter.interpreter_device import InterpreterBackend, InterpreterPrepared
from trilby.backend.interpreter.kernel_arguments import InterpreterMemory
from trilby.backend.interpreter.translate import KernelProgram
from trilby.data.ndrange import NDRange
from trilby.data.ranges import Rows
from trilby.errors import (
    DeviceError,
    KernelAssertionError,
    OutOfDeviceMemoryError,
    TrilbyError,
)


class HookedPrepared(InterpreterPrepared):
    """A launch of which a device of this module hears before it is submitted."""

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        cast("Watched", self.owner).note("run")
        return super().submit(times, first_pass, after)


class Watched(InterpreterBackend):
    """An interpreter that keeps what it allocated, and fails when it is told to.

    `room` is the most that it has allocated at a time, if that is limited.
    """

    def __init__(self, room: int | None = None) -> None:
        super().__init__(InterpreterFamily().devices()[0])
        self.memories: list[InterpreterMemory] = []
        self.launched: list[tuple[Argument, ...]] = []
        self.done: list[str] = []
        self.fail_at = ""
        self.room = room

    def allocate(self, nbytes: int) -> InterpreterMemory:
        self.note("allocate")
        if self.room is not None and self.used + nbytes > self.room:
            raise OutOfDeviceMemoryError(f"no room for {nbytes} bytes")
        self.memories.append(super().allocate(nbytes))
        return self.memories[-1]

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        self.note("upload")
        return super().upload(memory, offset, source, after, rows)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        self.note("download")
        return super().download(memory, offset, target, after, rows)

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        self.note("fill")
        return super().fill(memory, offset, nbytes, byte, after)

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> InterpreterPrepared:
        self.note("prepare")
        self.launched.append(tuple(arguments))
        made = super().prepare(executable, size, arguments)
        return HookedPrepared(self, made.program, made.size, made.local, made.arguments)

    def note(self, what: str) -> None:
        self.done.append(what)
        if what == self.fail_at:
            raise DeviceError(f"{what} failed")

    @property
    def used(self) -> int:
        """The bytes of all memory that was not freed."""
        return sum(one.nbytes for one in self.memories if one.content is not None)

    def content(self, number: int) -> bytes | None:
        """What the memory that was allocated as that number has; None once it is freed."""
        held = self.memories[number].content
        return None if held is None else bytes(held)


class ClockedQueue(ImmediateQueue):
    """A queue whose commands took what the test says: seconds queued and run; None fails.

    If it `is_late`, a command is over when somebody has waited for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.says: list[tuple[float, float] | None] = []
        self.said: dict[int, Times | None] = {}
        self.is_late = False
        self._waited = 0

    @property
    def completed(self) -> int:
        return self._waited if self.is_late else self.submitted

    def run(self, command: Callable[[], object], after: Sequence[Ticket] = ()) -> Ticket:
        ticket = super().run(command, after)
        queued, ran = (self.says.pop(0) if self.says else (0.0, 0.0)) or (None, None)
        known = None if queued is None or ran is None else Times(None, ran, queued)
        self.said[ticket.number] = known
        return ticket

    def wait(self, number: int) -> None:
        self._waited = max(self._waited, number)
        if self.said[number] is None:
            raise DeviceError("it trapped")

    def times(self, number: int) -> Times | None:
        return self.said[number]


class Clocked(InterpreterBackend):
    """An interpreter that says that its work took what the test said, in that order.

    `runs` and `copies` are for how long it was queued and for how long it ran; None fails.
    """

    def __init__(self) -> None:
        super().__init__(InterpreterFamily().devices()[0])
        self.compute = self._running = ClockedQueue()
        self.upload_queue = self.download_queue = self._copying = ClockedQueue()

    @property
    def runs(self) -> list[tuple[float, float] | None]:
        return self._running.says

    @runs.setter
    def runs(self, says: list[tuple[float, float] | None]) -> None:
        self._running.says = says

    @property
    def copies(self) -> list[tuple[float, float] | None]:
        return self._copying.says

    @copies.setter
    def copies(self, says: list[tuple[float, float] | None]) -> None:
        self._copying.says = says

    @property
    def is_late(self) -> bool:
        return self._copying.is_late

    @is_late.setter
    def is_late(self, late: bool) -> None:
        self._running.is_late = self._copying.is_late = late

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        if source.nbytes == 4:  # the lengths of arrays go up as well, and are no copies of data
            self.copies.insert(0, (0.0, 0.0))
        return super().upload(memory, offset, source, after, rows)


class Later:
    """Work that is done when somebody waits for it, after what it was told to wait for.

    It fails with what it waited for. `follows` is the command before it in its queue, if that was
    under way when this one was submitted. What an `assert` says is no reason not to go on.
    """

    def __init__(
        self,
        what: str,
        command: Callable[[], object],
        after: Sequence[Ticket],
        follows: "Later | None",
    ) -> None:
        self.what = what
        self.done = False
        self.after = tuple(after)
        self._follows = follows
        self.failure: TrilbyError | None = None
        self._command = command

    def fail(self) -> None:
        """Let it have failed by now."""
        for ticket in self.after:
            ticket.wait()
        self.done = True
        self.failure = DeviceError(f"{self.what} failed")

    def do(self) -> None:
        if self.done:
            return
        try:
            self._await()
        except TrilbyError:
            self.failure = DeviceError(f"{self.what} failed, as what it waited for did")
        else:
            try:
                self._command()
            except TrilbyError as error:
                self.failure = error
        self.done = True
        self._follows = None

    def _await(self) -> None:
        if self._follows is not None:
            self._follows.do()
            if isinstance(self._follows.failure, DeviceError):
                raise self._follows.failure
        for ticket in self.after:
            with suppress(KernelAssertionError):
                ticket.wait()


class DeferredQueue(ImmediateQueue):
    """A queue that does nothing before somebody waits for it."""

    def __init__(self, events: list[Later]) -> None:
        super().__init__()
        self.what = ""
        self.commands: list[Later] = []
        self._events = events

    @property
    def completed(self) -> int:
        done = 0
        while done < len(self.commands) and self.commands[done].done:
            done += 1
        return done

    def run(self, command: Callable[[], object], after: Sequence[Ticket] = ()) -> Ticket:
        last = self.commands[-1] if self.commands and not self.commands[-1].done else None
        later = Later(self.what, command, [one for one in after if one.queue is not self], last)
        self.commands.append(later)
        self._events.append(later)
        self.submitted = len(self.commands)
        return Ticket(self, self.submitted)

    def wait(self, number: int) -> None:
        for one in self.commands[:number]:
            one.do()
        if number and (failure := self.commands[number - 1].failure) is not None:
            raise failure

    def times(self, number: int) -> Times | None:
        failed = number and self.commands[number - 1].failure is not None
        return None if failed else Times(None, 0.0)


class DeferredPrepared(InterpreterPrepared):
    """A launch that is run later, with the arguments of now."""

    def submit(self, times: int = 1, first_pass: int = 0, after: Sequence[Ticket] = ()) -> Ticket:
        queue = cast("DeferredQueue", self.owner.compute)
        for number in range(first_pass, first_pass + times):
            now = InterpreterPrepared(
                self.owner, self.program, self.size, self.local, list(self.arguments)
            )
            queue.what = "run"
            queue.run(partial(now.run_once, number), after)
            self.begun += 1
        return Ticket(queue, queue.submitted)


class Deferred(InterpreterBackend):
    """An interpreter that does nothing before somebody waits for it.

    What waits for too little is done too early here, or sees what it should not. With
    `shares=True` its memory is the host's.
    """

    def __init__(self, *, shares: bool = False) -> None:
        device = InterpreterFamily().devices()[0]
        features = device.features | ({"shared_memory"} if shares else set[str]())
        super().__init__(replace(device, features=features))
        self.shares = shares
        self.events: list[Later] = []
        self.compute = DeferredQueue(self.events)
        self.upload_queue = self._up = DeferredQueue(self.events)
        self.download_queue = self._down = DeferredQueue(self.events)
        self._leaving: list[tuple[Memory, tuple[Ticket, ...]]] = []

    def compile(
        self, graph: KernelGraph, *, fast_math: bool = False
    ) -> Callable[[], KernelProgram]:
        program = super().compile(graph, fast_math=fast_math)()
        return lambda: replace(program, asserts="AssertionFailedError" in program.source)

    def share(self, source: memoryview) -> InterpreterMemory | None:  # pyright: ignore[reportIncompatibleMethodOverride] -- the interpreter never shares
        if not self.shares or not source.nbytes:
            return None
        return InterpreterMemory(source.nbytes, self, cast("bytearray", source))

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        self._leaving.append((memory, tuple(after)))
        for left, work in self._leaving[:]:
            if all(ticket.done for ticket in work):
                self._leaving.remove((left, work))
                super().free(left)

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        self._up.what = "upload"
        return super().upload(memory, offset, source, after, rows)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        self._down.what = "download"
        return super().download(memory, offset, target, after, rows)

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Ticket] = ()
    ) -> Ticket:
        self._up.what = "fill"
        return super().fill(memory, offset, nbytes, byte, after)

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> InterpreterPrepared:
        made = super().prepare(executable, size, arguments)
        return DeferredPrepared(self, made.program, made.size, made.local, made.arguments)

    def close(self) -> None:
        for queue in (self._up, self._down, self.compute):
            for number in range(1, queue.submitted + 1):
                with suppress(TrilbyError):
                    queue.wait(number)
        super().close()

    def started(self, what: str) -> list[Later]:
        """All work of a kind so far: `upload`, `download`, `fill` or `run`."""
        return [event for event in self.events if event.what == what]
