"""Another device for compute calls that a device could not do: only if asked for, and told.

A compute call fails as a whole: what its kernels wrote is undone, and it starts again from its
first line on the next device. Where the host has done something that cannot be undone, it does
not start again, and the error says what that was.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trilby.backend.base import Backend, DeviceInfo
from trilby.backend.preference import Preference
from trilby.backend.registry import any_fits, open_preferred
from trilby.dataclass import dataclass
from trilby.errors import DeviceError, DeviceUnavailableError
from trilby.locks import new_rlock
from trilby.messages import tell
from trilby.reflect.functions import Compute
from trilby.source import Location

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator


@dataclass(frozen=True, slots=True)
class Fallback:
    """A change of device: which one could not do what, why, and which is used instead.

    Its text is such as "opencl:0 could not run blur (app.py:12), and native:0 (…) is used from now
    on: the device is lost".
    """

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


class Fallbacks:
    """The devices that may take over from the one that an accelerator has.

    With `fallback=["cpu"]` it runs a call again on a CPU where the GPU failed, and has that in
    `records`.
    """

    def __init__(self, wanted: Sequence[Preference]) -> None:
        self.records: list[Fallback] = []
        self._wanted = tuple(wanted)
        self._failed: set[str] = set()
        self._lock = new_rlock()
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
        from trilby.runtime.attempt import Attempt, Undo  # noqa: PLC0415 -- few programs need it

        while self.is_open:
            undo = Undo(accelerator.residency.replicas)
            attempt = Attempt(function, args, kwargs, undo)
            try:
                return attempt.run(accelerator)
            except DeviceError as error:
                hindrance = attempt.hindrance(error)
                if hindrance:
                    error.advice = _not_restarted(hindrance, error.advice)
                    raise
                undo.restore("it was restored when a device failed")
                self._take_next(accelerator, function.name, error)
        return accelerator.run_once(function, args, kwargs)

    def _take_next(self, accelerator: "Accelerator", name: str, error: DeviceError) -> None:
        """Let the accelerator have the next device that works; raise the error if none does."""
        failed = accelerator.device
        self._failed.add(failed.spec)
        backend = self._open(accelerator, error)
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


def _not_restarted(hindrance: str, advice: str) -> str:
    return (
        f"the call was not started again on another device: {hindrance}. Take that out of the "
        f"compute function, or leave `fallback` out and start again yourself. {advice}"
    ).rstrip()
