"""Devices that a test has in its hands: one that fails when told to, one that puts all work off."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Argument, Event, Executable, Memory, Prepared, Rows
from trilby.backend.done import DoneEvent
from trilby.backend.interpreter import InterpreterFamily
from trilby.backend.interpreter.interpreter_device import InterpreterBackend, InterpreterPrepared
from trilby.backend.interpreter.kernel_arguments import InterpreterMemory
from trilby.backend.interpreter.translate import KernelProgram
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceError, OutOfDeviceMemoryError, TrilbyError


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
        self.trims = 0

    def allocate(self, nbytes: int) -> InterpreterMemory:
        self._note("allocate")
        if self.room is not None and self.used + nbytes > self.room:
            raise OutOfDeviceMemoryError(f"no room for {nbytes} bytes")
        self.memories.append(super().allocate(nbytes))
        return self.memories[-1]

    def trim(self) -> None:
        self.trims += 1

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> DoneEvent:
        self._note("upload")
        return super().upload(memory, offset, source, after, rows)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> DoneEvent:
        self._note("download")
        return super().download(memory, offset, target, after, rows)

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> DoneEvent:
        self._note("fill")
        return super().fill(memory, offset, nbytes, byte, after)

    def prepare(
        self, executable: Executable, size: NDRange, arguments: Sequence[Argument]
    ) -> InterpreterPrepared:
        self._note("prepare")
        self.launched.append(tuple(arguments))
        return super().prepare(executable, size, arguments)

    def run(self, prepared: Prepared, after: Sequence[Event] = ()) -> DoneEvent:
        self._note("run")
        return super().run(prepared, after)

    def _note(self, what: str) -> None:
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


class Timed:
    """Work that is done when somebody waits for it, and takes what the test says."""

    def __init__(self, times: tuple[float, float] | None, *, done: bool) -> None:
        self.origin: object = None
        self.times = times
        self.done = done

    @property
    def seconds(self) -> float:
        return self.times[1] if self.times else 0.0

    def wait(self) -> None:
        self.done = True
        if self.times is None:
            raise DeviceError("it trapped")


class Clocked(InterpreterBackend):
    """An interpreter that says that its work took what the test said, in that order.

    `runs` and `copies` are for how long it was queued and for how long it ran; None fails.
    """

    def __init__(self) -> None:
        super().__init__(InterpreterFamily().devices()[0])
        self.runs: list[tuple[float, float] | None] = []
        self.copies: list[tuple[float, float] | None] = []
        self.is_late = False

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> DoneEvent:
        event = super().upload(memory, offset, source, after, rows)
        # the lengths of arrays go up as well, and are no copies of data
        return event if source.nbytes == 4 else self._timed(self.copies)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> DoneEvent:
        super().download(memory, offset, target, after, rows)
        return self._timed(self.copies)

    def run(self, prepared: Prepared, after: Sequence[Event] = ()) -> DoneEvent:
        super().run(prepared, after)
        return self._timed(self.runs)

    def _timed(self, times: list[tuple[float, float] | None]) -> DoneEvent:
        taken = times.pop(0) if times else (0.0, 0.0)
        return cast("DoneEvent", Timed(taken, done=not self.is_late))


class Later:
    """Work that is done when somebody waits for it, after what it was told to wait for."""

    seconds = 0.0

    def __init__(self, what: str, command: Callable[[], object], after: Sequence[Event]) -> None:
        self.what = what
        self.origin: object = None
        self.done = False
        self.after = tuple(after)
        self._command = command
        self._failure: TrilbyError | None = None

    @property
    def times(self) -> tuple[float, float] | None:
        return None if self._failure is not None else (0.0, self.seconds)

    def fail(self) -> None:
        """Let it have failed by now."""
        for event in self.after:
            event.wait()
        self.done = True
        self._failure = DeviceError(f"{self.what} failed")

    def wait(self) -> None:
        if not self.done:
            try:
                for event in self.after:
                    event.wait()
            except TrilbyError:
                self._failure = DeviceError(f"{self.what} failed, as what it waited for did")
            else:
                self._do()
            self.done = True
        if self._failure is not None:
            raise self._failure

    def _do(self) -> None:
        try:
            self._command()
        except TrilbyError as error:
            self._failure = error


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
        self._leaving: list[tuple[Memory, tuple[Event, ...]]] = []

    def compile(self, graph: KernelGraph, *, fast_math: bool = False) -> KernelProgram:
        program = super().compile(graph, fast_math=fast_math)
        return replace(program, debugs="AssertionFailedError" in program.source)

    def can_share(self, address: int, nbytes: int) -> bool:
        return self.shares and nbytes > 0

    def share(self, source: memoryview) -> InterpreterMemory:
        return InterpreterMemory(source.nbytes, self, cast("bytearray", source))

    def free(self, memory: Memory, after: Sequence[Event] = ()) -> None:
        self._leaving.append((memory, tuple(after)))
        for left, work in self._leaving[:]:
            if all(event.done for event in work):
                self._leaving.remove((left, work))
                super().free(left)

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> DoneEvent:
        copy = super().upload
        return self._later("upload", lambda: copy(memory, offset, source, (), rows), after)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Event] = (),
        rows: Rows | None = None,
    ) -> DoneEvent:
        copy = super().download
        return self._later("download", lambda: copy(memory, offset, target, (), rows), after)

    def fill(
        self, memory: Memory, offset: int, nbytes: int, byte: int, after: Sequence[Event] = ()
    ) -> DoneEvent:
        fill = super().fill
        return self._later("fill", lambda: fill(memory, offset, nbytes, byte), after)

    def run(self, prepared: Prepared, after: Sequence[Event] = ()) -> DoneEvent:
        run, given = super().run, cast("InterpreterPrepared", prepared)
        now = replace(given, arguments=list(given.arguments))
        return self._later("run", lambda: run(now), after)

    def close(self) -> None:
        for event in self.events:
            with suppress(TrilbyError):
                event.wait()
        super().close()

    def _later(self, what: str, command: Callable[[], object], after: Sequence[Event]) -> DoneEvent:
        event = Later(what, command, after)
        self.events.append(event)
        return cast("DoneEvent", event)

    def started(self, what: str) -> list[Later]:
        """All work of a kind so far: `upload`, `download`, `fill` or `run`."""
        return [event for event in self.events if event.what == what]
