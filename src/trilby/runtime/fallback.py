"""Another device for compute calls that a device could not do: only if asked for, and told.

A compute call fails as a whole: what its kernels wrote is undone, and it starts again from its
first line on the next device. Where the host has done something that cannot be undone, it does
not start again, and the error says what that was.
"""

from collections.abc import Iterator, Sequence
from threading import RLock
from types import CodeType
from typing import TYPE_CHECKING, Any

from trilby.analysis.visible_effects import VisibleEffect, visible_effects
from trilby.backend.base import Backend, DeviceInfo
from trilby.backend.preference import Preference
from trilby.backend.registry import any_fits, open_preferred
from trilby.dataclass import dataclass
from trilby.errors import DeviceError, DeviceUnavailableError
from trilby.reflect.functions import Compute
from trilby.runtime.callers import errors_in_user_code
from trilby.runtime.compile import ReadyCompute
from trilby.runtime.context import run_compute
from trilby.runtime.undo import Undo
from trilby.source import Location, line_text
from trilby.trace import tell

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator

_UNCHANGING = (int, float, complex, str, bytes, type(None))


@dataclass(frozen=True, slots=True)
class Fallback:
    """A change of device: which one could not do what, why, and which is used instead."""

    failed: DeviceInfo
    used: DeviceInfo
    function: str
    reason: str
    location: Location | None

    def __str__(self) -> str:
        where = f" ({self.location.short})" if self.location else ""
        return (
            f"{self.failed.spec} could not run {self.function}{where}, and {self.used.spec} "
            f"({self.used.name}) is used from now on: {self.reason}"
        )


@dataclass(slots=True, eq=False)
class Attempt:
    """One run of a compute function on one device."""

    function: Compute[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    undo: Undo
    ready: ReadyCompute | None = None

    def run(self, accelerator: "Accelerator") -> Any:
        """Run it, and wait for all of it: a failure must come out while it can be undone."""
        residency = accelerator.residency
        accelerator.launches.forget()  # launches that are known keep nothing
        residency.before_launch = self.undo.before
        try:
            transfers = accelerator.transfers
            self.ready = accelerator.compiler.compute(self.function, transfers)
            with errors_in_user_code():
                result = run_compute(accelerator, self.ready, self.args, self.kwargs, transfers)
                residency.wait()
        finally:
            residency.before_launch = None
        return result

    def hindrance(self, error: DeviceError) -> str:
        """Why it cannot start again; empty where it can."""
        if self.undo.replicas.guards:
            return "inside of `accelerator.guard()` nothing may move"
        if self.undo.lost is not None:
            return "something that only the device had is lost with it"
        if self.ready is None:
            return ""
        given = (*self.args, *self.kwargs.values())
        if any(isinstance(one, Iterator) for one in given):
            return f"`{self.function.name}` is given an iterator, which may have moved on"
        effect = next(iter(self._effects(self.ready, error)), None)
        return f"{_described(effect)}, which cannot be undone" if effect else ""

    def _effects(self, ready: ReadyCompute, error: DeviceError) -> Sequence[VisibleEffect]:
        graph = ready.context.graph
        names = [param.hint for param in graph.entry.params[1:]]
        given = {**dict(zip(names, self.args, strict=False)), **self.kwargs}
        fixed = [name for name, value in given.items() if isinstance(value, _UNCHANGING)]
        return visible_effects(graph, _line_in(error, ready.function.__code__), fixed)


class Fallbacks:
    """The devices that may take over from the one that an accelerator has."""

    def __init__(self, wanted: Sequence[Preference]) -> None:
        self.records: list[Fallback] = []
        self._wanted = tuple(wanted)
        self._failed: set[str] = set()
        self._lock = RLock()
        self._is_running = False
        self.is_open = False

    def begin(self, device: DeviceInfo) -> None:
        """See whether there is anything to fall back on, other than the device in use."""
        self.is_open = bool(self._wanted) and any_fits(self._wanted, {*self._failed, device.spec})
        if self._wanted and not self.is_open and not self.records:
            texts = ", ".join(preference.text for preference in self._wanted)
            tell("warning", "there is nothing to fall back on: no other device fits %s", texts)

    def run(
        self,
        accelerator: "Accelerator",
        function: Compute[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Run a compute function on the device in use, or on the next that can."""
        with self._lock:
            if self._is_running or not self.is_open:  # a part of a call that can start again
                return accelerator.run_once(function, args, kwargs)
            self._is_running = True
            try:
                return self._run(accelerator, function, args, kwargs)
            finally:
                self._is_running = False

    def _run(
        self,
        accelerator: "Accelerator",
        function: Compute[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        while self.is_open:
            attempt = Attempt(function, args, kwargs, Undo(accelerator.residency.replicas))
            try:
                return attempt.run(accelerator)
            except DeviceError as error:
                hindrance = attempt.hindrance(error)
                if hindrance:
                    error.advice = _not_restarted(hindrance, error.advice)
                    raise
                attempt.undo.restore("it was restored when a device failed")
                self._take_next(accelerator, attempt, error)
        return accelerator.run_once(function, args, kwargs)

    def _take_next(self, accelerator: "Accelerator", attempt: Attempt, error: DeviceError) -> None:
        """Let the accelerator have the next device that works; raise the error if none does."""
        failed = accelerator.device
        self._failed.add(failed.spec)
        backend = self._open(accelerator, error)
        name = attempt.function.name
        record = Fallback(failed, backend.device, name, error.problem, error.location)
        self.records.append(record)
        tell("warning", "%s", record)
        self.begin(backend.device)

    def _open(self, accelerator: "Accelerator", error: DeviceError) -> Backend:
        while True:
            try:
                choice = open_preferred(self._wanted, self._failed)
            except DeviceUnavailableError as none:
                self._failed.discard(accelerator.device.spec)
                error.add_note(f"nothing is left to fall back on: {none.problem}")
                raise error from None
            for other in choice.passed_over:
                tell("warning", "%s was passed over: %s", other.name, other.reason)
            try:
                accelerator.change_device(choice.backend)
            except DeviceError as unsuited:
                self._failed.add(choice.backend.device.spec)
                tell("warning", "%s was passed over: %s", choice.backend.device.spec, unsuited)
                choice.backend.close()
            else:
                return choice.backend


def _line_in(error: BaseException, code: CodeType) -> int | None:
    """The line that a function had come to when an error left it; None if it was not in it."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is code:
            return trace.tb_lineno
        trace = trace.tb_next
    return None


def _described(effect: VisibleEffect) -> str:
    return f"{effect.location.short} {effect.what} (`{line_text(effect.location).strip()}`)"


def _not_restarted(hindrance: str, advice: str) -> str:
    return (
        f"the call was not started again on another device: {hindrance}. Take that out of the "
        f"compute function, or leave `fallback` out and start again yourself. {advice}"
    ).rstrip()
