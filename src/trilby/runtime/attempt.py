"""A run of a compute function that can start again elsewhere, and what hinders it from that."""

from collections.abc import Iterator, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, Self

from trilby.analysis.visible_effects import VisibleEffect, visible_effects
from trilby.dataclass import dataclass
from trilby.errors import DeviceError
from trilby.reflect.functions import Compute
from trilby.runtime.callers import errors_in_user_code
from trilby.runtime.compile import ReadyCompute
from trilby.runtime.context import run_compute
from trilby.runtime.inert import active_object, has_usual_meaning, outer_values
from trilby.runtime.undo import Undo
from trilby.source import line_text

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator

_UNCHANGING = (int, float, complex, str, bytes, type(None))


@dataclass(slots=True, eq=False)
class Attempt:
    """One run of a compute function on one device."""

    function: Compute[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    undo: Undo
    ready: ReadyCompute | None = None

    @classmethod
    def on(
        cls,
        accelerator: "Accelerator",
        function: Compute[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Self:
        """A run that is about to begin."""
        return cls(function, args, kwargs, Undo(accelerator.residency.replicas))

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
        active = self._active_object()
        if active:
            return active
        effect = next(iter(self._effects(self.ready, error)), None)
        return f"{_described(effect)}, which cannot be undone" if effect else ""

    def _active_object(self) -> str:
        """What the call is given, or finds, that is another one after a use; empty for nothing."""
        outer = outer_values(self.function.function).values()
        for verb, roots in (
            ("is given", (*self.args, *self.kwargs.values())),
            ("uses", tuple(outer)),
        ):
            found = active_object(roots)
            if isinstance(found, Iterator):
                return f"`{self.function.name}` {verb} an iterator, which may have moved on"
            if found is not None:
                kind = type(found).__name__
                return (
                    f"`{self.function.name}` {verb} an object of the class `{kind}`, whose "
                    "operators and attributes run code that is not known"
                )
        return ""

    def _effects(self, ready: ReadyCompute, error: DeviceError) -> Sequence[VisibleEffect]:
        graph = ready.context.graph
        names = [param.hint for param in graph.entry.params[1:]]
        given = {**dict(zip(names, self.args, strict=False)), **self.kwargs}
        fixed = [name for name, value in given.items() if isinstance(value, _UNCHANGING)]
        line = _line_in(error, ready.function.__code__)
        return visible_effects(graph, line, fixed, self._renamed())

    def _renamed(self) -> frozenset[str]:
        """Well-known names that stand for something else where the function was written."""
        outer = outer_values(self.function.function)
        return frozenset(
            name for name, value in outer.items() if not has_usual_meaning(name, value)
        )


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
