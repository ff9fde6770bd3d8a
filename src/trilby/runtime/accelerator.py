"""The accelerator: a device, and the way to run compute functions on it."""

import time
import weakref
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, cast, get_args, overload

from trilby.arguments import brief, choice, flag, whole_number
from trilby.backend.base import Backend, DeviceInfo
from trilby.backend.registry import Choice, PassedOver, as_preferences, open_backend, open_preferred
from trilby.data.ndarray import NDArray
from trilby.errors import ArgumentTypeError, ArgumentValueError, MissingFeatureError, TrilbyError
from trilby.messages import is_told, set_up, tell
from trilby.model.rewrite import Transform
from trilby.options import MemoryKind, Options, Transfers, TransfersName, as_bytes, as_transfers
from trilby.reflect.functions import Compute, Kernel, is_compute, is_helper, is_kernel
from trilby.reflect.signature import ranks_from_use
from trilby.runtime.callers import Caller
from trilby.runtime.compile import Compiler, ContextOf, analyse_compute
from trilby.runtime.content import LOCK
from trilby.runtime.context import ComputeContext, run_compute
from trilby.runtime.explicit import Stale, explicit_block
from trilby.runtime.fallback import Fallback, Fallbacks
from trilby.runtime.launches import Launches
from trilby.runtime.parts import Place
from trilby.runtime.profiles import (
    PROFILES,
    RECORDINGS,
    measure,
    profiles_of,
    tell_of_opening,
)
from trilby.runtime.put_get import Redundant, get, put
from trilby.runtime.replicas import Moved
from trilby.runtime.residency import Residency, add_open, close_all, close_dropped
from trilby.runtime.watch import is_gone
from trilby.shown import tool
from trilby.source import Location

if TYPE_CHECKING:
    from trilby.runtime.ledger import Ledger
    from trilby.runtime.profile import Book, Profile
    from trilby.runtime.recording import Recording
    from trilby.runtime.tracing import TracedRun


# ------------------------------------------------------------------------------------------- choice
# Which device an accelerator begins with, from what its constructor was given.


def choose(backend: str | None, prefer: object, options: Options) -> Choice:
    """Open the device that is named, or the one that is preferred, or the first that works."""
    wanted = as_preferences(prefer, "prefer")
    if not wanted:
        return _open(backend, options)
    if backend is not None:
        raise ArgumentValueError(
            f"`{backend}` is asked for by its name, and `prefer` is given beside it",
            advice=f'leave one of them out, or write `prefer=["{backend}", …]`',
            location=Caller.now().location,
        )
    return open_preferred(wanted)


def _open(backend: str | None, options: Options) -> Choice:
    """Open the device that is named by the program, or else from outside of it."""
    if backend is not None or options.backend is None:
        return open_backend(backend)
    try:
        return open_backend(options.backend)
    except TrilbyError as error:
        error.advice += "; `TRILBY_BACKEND`, or an option of `trilby`, asks for it"
        raise


def as_transforms(given: object) -> tuple[Transform, ...]:
    """The transforms of a user, in their order."""
    wanted = tuple(cast("Sequence[object]", given)) if isinstance(given, Sequence) else (given,)
    transforms = tuple(one for one in wanted if isinstance(one, Transform))
    if len(transforms) < len(wanted):
        other = next(one for one in wanted if not isinstance(one, Transform))
        raise ArgumentTypeError(
            f"{brief(other)} is not a transform",
            advice='decorate it with `@transform("kernel")` or `@transform("compute")` of '
            "`trilby.model`, and write `transforms=[…]`",
            location=Caller.now().location,
        )
    names = [one.name for one in transforms]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentValueError(
            f"two transforms are called `{twice}`",
            advice="give each a name of its own: `trilby explain` shows them by their names",
            location=Caller.now().location,
        )
    return transforms


def shares_memory(memory: MemoryKind | None, device: DeviceInfo) -> bool:
    """Whether kernels work on the host's own memory, from what `memory` asks for."""
    can = "shared_memory" in device.features
    if memory == "shared" and not can:
        raise MissingFeatureError(
            f"{device.name} cannot work on the host's memory",
            advice='leave `memory` out, or write `memory="discrete"`',
            location=Caller.now().location,
        )
    return can and memory != "discrete"


# -------------------------------------------------------------------------------------- accelerator

P = ParamSpec("P")
R = TypeVar("R")

_RANKS = range(1, 65)
"""How many dimensions an array of NumPy's can have."""


class Accelerator:
    """A device that runs compute functions.

    `Accelerator()` opens the first backend that works and says which (in the log, and as
    `accelerator.device`); `Accelerator("opencl")`, `Accelerator("opencl:1")` and
    `Accelerator("interpreter")` open one by name. `prefer=["gpu f64", "cpu"]` opens the first
    device that fits the first entry, or else the second …; the words of an entry are kinds,
    vendors, parts of names, backends or capabilities. With `fallback=["cpu"]` a compute call
    that fails for a reason of the device starts again on the next; `fallbacks` tells of it.

    `transfers` says when data moves, as one of `Transfers` or by its name, such as `"always"`; the
    default, `Transfers.AUTO`, moves the least. `memory`
    is `"shared"` where kernels work on the host's own memory, which is the default wherever
    the device can, or `"discrete"` for a memory of the device's own, with real copies.
    `memory_limit` is the most that buffers may take on the device: a number of bytes, or a
    text such as `"256MB"`. With `poison=True` every stale copy is overwritten with a pattern,
    so that a missing transfer cannot hide. With `lint=True` what the lints find is warned of when
    a compute function first runs. `fast_math=True` lets devices round `a * b + c` once rather than
    twice, which is faster, and differs in the last digits. `transforms` change the models of
    kernels and compute functions before they are analysed and compiled: see `trilby.model`.
    """

    def __init__(
        self,
        backend: str | None = None,
        /,
        *,
        prefer: Sequence[str] | str = (),
        fallback: Sequence[str] | str = (),
        transfers: Transfers | TransfersName | None = None,
        memory: MemoryKind | None = None,
        memory_limit: int | str | None = None,
        poison: bool = False,
        lint: bool | None = None,
        fast_math: bool = False,
        transforms: Sequence[Transform] = (),
    ) -> None:
        options = Options.current()
        self._transfers = options.transfers if transfers is None else as_transfers(transfers)
        if memory is not None:
            choice("memory", memory, get_args(MemoryKind))
        self._memory: MemoryKind | None = memory or options.memory
        self._poison = flag("poison", poison)
        self._lints = options.lint if lint is None else flag("lint", lint)
        self._limit = as_bytes(memory_limit)
        self._fast_math = flag("fast_math", fast_math)
        self._transforms = as_transforms(transforms)
        set_up(options.log)
        fallbacks = Fallbacks(as_preferences(fallback, "fallback"))
        opened = choose(backend, prefer, options)
        self.passed_over: tuple[PassedOver, ...] = opened.passed_over
        self._ledgers: list[Ledger] = []
        self._residencies: list[Residency] = []
        """The devices that were used so far, the one in use last."""
        closing = partial(close_dropped, self._residencies)
        weakref.finalize(self, is_gone, closing).atexit = False
        self._fallbacks = fallbacks
        self._begin_on(opened.backend)
        if backend is None or self.passed_over:
            _announce(self.device, self.passed_over)
        fallbacks.begin(self.device)
        tell_of_opening(self)

    def _begin_on(self, backend: Backend) -> None:
        shares = shares_memory(self._memory, backend.device)
        self._backend = backend
        first = tool("trilby.linting.lint", "warn_of") if self._lints else None
        self.compiler = Compiler(backend, first, self._fast_math, shares, self._transforms)
        self.residency = Residency(
            backend,
            partial(_record, self._ledgers),
            share=shares,
            poison=self._poison,
            limit=self._limit,
        )
        self._residencies.append(self.residency)
        add_open(self.residency)
        self.launches = Launches(self)

    def change_device(self, backend: Backend) -> None:
        """Work on another device from now on; the one before keeps what only it has."""
        before = self.residency.backend
        self._begin_on(backend)
        for book in profiles_of(before):
            book.backends.append(backend)
            measure(backend, on=True)

    @property
    def transfers(self) -> Transfers:
        """When data moves; it may be changed between compute calls."""
        return self._transfers

    @transfers.setter
    def transfers(self, transfers: Transfers | TransfersName) -> None:
        self._transfers = as_transfers(transfers)

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """The transforms that models go through first."""
        return self._transforms

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Every change of device so far: which one failed, at what, and why."""
        return tuple(self._fallbacks.records)

    @property
    def device(self) -> DeviceInfo:
        """The device in use."""
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
        if self._fallbacks.is_open:
            return self._fallbacks.run(self, function, args, kwargs)
        return self.run_once(function, args, kwargs)

    def run_once(
        self, function: Compute[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a compute function on the device in use, whatever becomes of it."""
        if not PROFILES:
            return self._run(function, args, kwargs)
        books, began = profiles_of(self._backend), time.perf_counter()
        try:
            return self._run(function, args, kwargs)
        finally:
            for book in books:
                book.called(function.name, began)

    def _run(
        self, function: Compute[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        transfers = self._transfers
        ready = self.compiler.compute(function, transfers)
        return run_compute(self, ready, args, kwargs, transfers)

    def array(self, values: object) -> NDArray[Any]:
        """An n-d array for kernels. Memory that NumPy can share is shared, lists are copied.

        What you lend has its content again when the result is released, or gone.
        """
        return NDArray(values)

    def context_of(self, entry: Compute[..., Any]) -> ContextOf:
        """The graphs, access tables and models behind a compute function, to look at."""
        return analyse_compute(_compute_function(entry), self._transforms)

    def source_of(self, kernel: Kernel[...], *ranks: int) -> str:
        """The code that this device runs for a kernel.

        `ranks` are the dimensions of its n-d arrays; without them, as they are indexed.
        """
        if not is_kernel(kernel):
            raise _wrong_entry(kernel, "a kernel", "give a function decorated with @tb.kernel")
        known = _ranks(kernel, ranks) if ranks else ranks_from_use(kernel)
        return self.compiler.kernel(kernel, known).executable.source

    def record(self) -> "AbstractContextManager[Ledger]":
        """Count every copy that is made inside a `with` block, and what had to be."""
        from trilby.runtime.recording import Recording  # noqa: PLC0415 -- it loads the oracle

        return self._recorded(Recording(self.residency.replicas))

    @contextmanager
    def _recorded(self, recording: "Recording") -> "Generator[Ledger]":
        from trilby.runtime.ledger import Ledger  # noqa: PLC0415 -- it loads the oracle

        ledger = Ledger(recording)
        backend = self._backend
        with LOCK:
            RECORDINGS.append(recording)
            self._ledgers.append(ledger)
            measure(backend, on=True)
        try:
            yield ledger
        finally:
            with LOCK:
                RECORDINGS.remove(recording)
                self._ledgers.remove(ledger)
                measure(backend, on=False)

    def profile(self) -> "AbstractContextManager[Profile]":
        """Measure inside a `with` block what kernels, copies, compilations and waits take.

        `print(profile)` shows it. The times are those of the device's own events.
        """
        from trilby.runtime.profile import Book  # noqa: PLC0415 -- few want one

        return self._profiled(Book([self._backend]))

    @contextmanager
    def _profiled(self, book: "Book") -> "Generator[Profile]":
        from trilby.runtime.profile import Profile  # noqa: PLC0415 -- few want its tables

        try:
            self._open_book(book, is_open=True)
            yield Profile(book)
        finally:
            self._open_book(book, is_open=False)

    def _open_book(self, book: "Book", *, is_open: bool) -> None:
        """Let devices measure for those who profile at the time."""
        with LOCK:
            if is_open:
                PROFILES.append(book)
            elif book in PROFILES:  # Ctrl-C may have come before it was opened
                PROFILES.remove(book)
            else:
                return
            for backend in book.backends:
                measure(backend, on=is_open)

    @contextmanager
    def trace(self) -> "Generator[TracedRun]":
        """Write down inside a `with` block what happens, when, and for what reason.

        `run.save_trace("run.json")` is for ui.perfetto.dev, `run.save_report("run.html")` for a
        browser; `run.ledger` and `run.profile` are those of `record` and `profile`.
        """
        from trilby.runtime.recording import Recording  # noqa: PLC0415 -- it loads the oracle
        from trilby.runtime.tracing import TimedBook, TracedRun  # noqa: PLC0415 -- so does it

        book = TimedBook([self._backend])
        replicas = self.residency.replicas
        book.recording = Recording(replicas, book.trace)
        with self._recorded(book.recording) as ledger, self._profiled(book) as profile:
            place, shares, transfers = replicas.place, replicas.shares, self.transfers.value
            run = TracedRun(self.device, place, transfers, shares, ledger, profile, book)
            try:
                yield run
            finally:
                run.end()

    @contextmanager
    def guard(self) -> Generator[None]:
        """Raise a `GuardError` at the first copy inside a `with` block, with its cause."""
        replicas = self.residency.replicas
        with LOCK:
            replicas.guards += 1
        try:
            yield
        finally:
            with LOCK:
                replicas.guards -= 1

    def explicit(self, *, stale: Stale = "raise") -> AbstractContextManager[None]:
        """A `with` block in which nothing moves but by `put` and `get`.

        Whoever reads there what is stale gets a `StaleReadError`, or with `stale="warn"` a
        warning and the data.
        """
        return explicit_block(self.residency.replicas, stale, "accelerator")

    def put(self, *places: Place) -> Self:
        """Bring buffers, views or fields to the device, as far as it does not have them.

        `accelerator.put(a, b.array[:100])`; a field that is a number goes by its name:
        `accelerator.put(table, "count")`.
        """
        self._note(put(self.residency, places))
        return self

    def get(self, *places: Place) -> Self:
        """Bring buffers, views or fields to the host, as far as it does not have them.

        `accelerator.get(a, b.array[:100])`; a field that is a number goes by its name:
        `accelerator.get(table, "count")`.
        """
        self._note(get(self.residency, places))
        return self

    def _note(self, redundant: Iterable[Redundant]) -> None:
        for one in redundant:
            for ledger in self._ledgers:
                ledger.note(one)
            tell("info", "%s", one)

    @contextmanager
    def strategy(self, transfers: Transfers | TransfersName) -> Generator[None]:
        """Move data in another way inside a `with` block."""
        before, self._transfers = self._transfers, as_transfers(transfers)
        try:
            yield
        finally:
            self._transfers = before

    def wait(self) -> None:
        """Return when all work on the device is done; raise what failed."""
        self.residency.wait()

    def close(self) -> None:
        """Wait for all work, bring home what only the device has, and give the device back.

        An accelerator that is dropped is closed by the garbage collector; those that are still open
        when the program ends are closed then.
        """
        self._fallbacks.is_open = False
        close_all(self._residencies)

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


def _record(ledgers: "Sequence[Ledger]", moved: Moved) -> None:
    """A copy was started: let all know of it who want to."""
    for ledger in ledgers:
        ledger.add(moved)
    for recording in RECORDINGS:
        recording.moved(moved)
    for book in PROFILES:
        if moved.replica.owner.backend in book.backends:
            book.moved(moved)
    if is_told("debug"):
        caller = moved.reason.caller
        where = f" ({caller.line.short})" if caller else ""
        text = f"moved {moved.ranges.nbytes:,} bytes {moved.direction}, because"
        tell("debug", "%s: %s %s%s", moved.replica.label, text, moved.reason.text, where)


def _announce(device: DeviceInfo, passed_over: tuple[PassedOver, ...]) -> None:
    for other in passed_over:
        tell("warning", "%s was passed over: %s", other.name, other.reason)
    tell("info", "using %s (%s)", device.spec, device.name)


def _entry_point(
    entry: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Compute[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The compute function and its arguments, from either spelling."""
    if not isinstance(entry, FunctionType) or entry.__name__ != "<lambda>":
        return _compute_function(entry), args, kwargs
    if args or kwargs:
        raise ArgumentTypeError(
            "a lambda carries its own arguments, and more are given beside it",
            advice="write `accelerator.compute(lambda cc: f(cc, a))` or "
            "`accelerator.compute(f, a)`",
            location=Caller.now().location,
        )
    from trilby.reflect.quote import quote  # noqa: PLC0415 -- few programs give a lambda

    quoted = quote(entry)
    return _compute_function(quoted.target, quoted.location), quoted.args, quoted.kwargs


def _ranks(kernel: Kernel[...], given: Sequence[object]) -> tuple[int, ...]:
    """The dimensions of a kernel's n-d arrays, as a user gave them."""
    wanted = len(ranks_from_use(kernel))
    numbers = map(whole_number, given)
    ranks = tuple(number for number in numbers if number is not None and number in _RANKS)
    if len(given) != wanted or len(ranks) != wanted:
        raise ArgumentValueError(
            f"`{kernel.name}` has {wanted} n-d arrays, and their dimensions cannot be "
            f"{', '.join(map(brief, given))}",
            advice="give the number of dimensions of each, from 1 to 64, or nothing",
        )
    return ranks


def _compute_function(entry: object, at: Location | None = None) -> Compute[..., Any]:
    if is_compute(entry):
        return entry
    name = getattr(entry, "__name__", "f")
    if is_kernel(entry):
        advice = f"dispatch it from a compute function: `cc.dispatch(n, {name}, …)`"
    elif is_helper(entry):
        advice = f"call it from a kernel; on the host, `{name}(…)` is plain Python"
    elif isinstance(entry, FunctionType):
        advice = f"decorate `{name}` with @tb.compute"
    elif type(entry).__name__ == "partial":
        advice = "give the function and its arguments apart: `accelerator.compute(f, a, b)`"
    else:
        advice = "write `accelerator.compute(f, …)` with a function decorated with @tb.compute"
    raise _wrong_entry(entry, "a compute function", advice, at)


def _wrong_entry(
    entry: object, wanted: str, advice: str, at: Location | None = None
) -> ArgumentTypeError:
    name = getattr(entry, "__name__", None)
    what = f"`{name}`" if name else f"an object of the class `{type(entry).__name__}`"
    return ArgumentTypeError(
        f"{what} is not {wanted}", advice=advice, location=at or Caller.now().location
    )
