"""The accelerator: a device, and the way to run compute functions on it."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FunctionType, TracebackType
from typing import Any, ParamSpec, Self, TypeVar, overload

from trilby.backend.base import DeviceInfo
from trilby.backend.registry import PassedOver, open_backend
from trilby.data.ndarray import NDArray
from trilby.data.ndrange import NDRange
from trilby.errors import ArgumentTypeError, TrilbyError
from trilby.options import Options
from trilby.reflect.functions import Compute, Kernel, is_compute
from trilby.reflect.quote import quote
from trilby.runtime.binding import Bound
from trilby.runtime.callers import caller_location
from trilby.runtime.compile import Compiler, ContextOf, ReadyKernel, analyse_compute
from trilby.runtime.context import ComputeContext
from trilby.runtime.ledger import Copy, Ledger
from trilby.runtime.residency import Residency, Use
from trilby.source import Location
from trilby.trace import set_up, tell

P = ParamSpec("P")
R = TypeVar("R")

class Accelerator:
    """A device that runs compute functions.

    `Accelerator()` opens the first backend that works and says which (in the log, and as
    `accelerator.device`); `Accelerator("opencl")`, `Accelerator("opencl:1")` and
    `Accelerator("interpreter")` open one by name. With `poison=True` every stale copy on
    the device is overwritten with a pattern, so that a missing transfer cannot hide.
    """

    def __init__(self, backend: str | None = None, /, *, poison: bool = False) -> None:
        options = Options.from_environment()
        set_up(options.log)
        choice = open_backend(backend if backend is not None else options.backend)
        self._backend = choice.backend
        self.passed_over: tuple[PassedOver, ...] = choice.passed_over
        self.compiler = Compiler(choice.backend)
        self._ledgers: list[Ledger] = []
        self._residency = Residency(choice.backend, self._record, poison=poison)
        if backend is None or self.passed_over:
            _announce(self.device, self.passed_over)

    @property
    def device(self) -> DeviceInfo:
        """The device that was opened."""
        return self._backend.device

    @overload
    def compute(self, entry: Compute[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def compute(self, entry: Callable[[ComputeContext], R], /) -> R: ...
    def compute(self, entry: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run a compute function, and give back what it returns.

        `accelerator.compute(square_all, numbers)`, or with a lambda that is read and never
        executed: `accelerator.compute(lambda cc: square_all(cc, numbers))`.
        """
        function, args, kwargs = _entry_point(entry, args, kwargs)
        ready = self.compiler.compute(function)
        return ready.function(ComputeContext(self), *args, **kwargs)

    def launch(
        self, ready: ReadyKernel, size: NDRange, bound: Bound, uses: list[Use], at: Location
    ) -> None:
        """Bring data, run a kernel, fetch what it wrote. Compute contexts call this."""
        name = ready.analysed.kernel.name
        with self._residency.lock:
            memories = self._residency.before_launch(uses, name, at)
            try:
                event = self._backend.launch(ready.executable, size, bound.arguments(memories))
                self._residency.after_launch(uses, name, at, event)
            except TrilbyError as error:
                error.add_note(f"dispatched at {at}")
                raise

    def array(self, values: object) -> NDArray[Any]:
        """An n-d array for kernels. A NumPy array is shared, anything else is copied."""
        return NDArray(values)

    def context_of(self, entry: Compute[..., Any]) -> ContextOf:
        """The graphs, access tables and models behind a compute function, to look at."""
        return analyse_compute(_compute_function(entry))

    def source_of(self, kernel: Kernel[...], *ranks: int) -> str:
        """The code that this device runs for a kernel."""
        return self.compiler.kernel(kernel, ranks).executable.source

    @contextmanager
    def record(self) -> Generator[Ledger]:
        """Count every copy that is made inside a `with` block."""
        ledger = Ledger()
        self._ledgers.append(ledger)
        try:
            yield ledger
        finally:
            self._ledgers.remove(ledger)

    def close(self) -> None:
        """Wait for all work and give the device back."""
        self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Accelerator({self.device.spec!r}: {self.device.name})"

    def _record(self, copy: Copy) -> None:
        for ledger in self._ledgers:
            ledger.add(copy)


def _announce(device: DeviceInfo, passed_over: tuple[PassedOver, ...]) -> None:
    for other in passed_over:
        tell("warning", "%s was passed over: %s", other.name, other.reason)
    tell("info", "using %s (%s)", device.spec, device.name)


def _entry_point(
    entry: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Compute[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The compute function and its arguments, from either spelling."""
    if isinstance(entry, FunctionType) and entry.__name__ == "<lambda>":
        if args or kwargs:
            raise ArgumentTypeError(
                "a lambda carries its own arguments",
                advice="write `accelerator.compute(lambda cc: f(cc, a))` or "
                "`accelerator.compute(f, a)`",
                location=caller_location(),
            )
        quoted = quote(entry)
        return _compute_function(quoted.target), quoted.args, quoted.kwargs
    return _compute_function(entry), args, kwargs


def _compute_function(entry: object) -> Compute[..., Any]:
    if is_compute(entry):
        return entry
    name = getattr(entry, "__name__", type(entry).__name__)
    if isinstance(entry, Kernel):
        advice = f"dispatch it from a compute function: `cc.dispatch(n, {name}, …)`"
    elif callable(entry):
        advice = f"decorate `{name}` with @tb.compute"
    else:
        advice = "write `accelerator.compute(f, …)`"
    raise ArgumentTypeError(
        f"`{name}` is not a compute function", advice=advice, location=caller_location()
    )
