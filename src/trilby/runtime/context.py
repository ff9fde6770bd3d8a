"""The compute context: what a compute function uses to reach the device."""

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, cast, overload

from trilby.data.buffer import Buffer
from trilby.data.kernel_context import KernelContext
from trilby.data.ndrange import NDRange, as_range
from trilby.data.ranges import Ranges
from trilby.data.record import Record
from trilby.data.segment import Segment
from trilby.data.window import window_of
from trilby.errors import ArgumentTypeError, TrilbyError
from trilby.options import Transfers
from trilby.reflect.functions import Compute, Kernel, is_compute, is_helper, is_kernel
from trilby.reflect.quote import quote
from trilby.runtime.binding import is_ndarray, places_of, positional
from trilby.runtime.callers import Caller, errors_at_dispatch, point_to
from trilby.runtime.compile import ReadyCompute
from trilby.runtime.watch import Watch

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator

P = ParamSpec("P")


class ComputeContext:
    """The first parameter of every compute function. Accelerators make it, nobody else.

    `accelerator` is the one that runs the compute function.
    """

    def __init__(
        self,
        accelerator: "Accelerator",
        transfers: Transfers,
        varying: frozenset[tuple[str, int]] = frozenset(),
    ) -> None:
        self.accelerator = accelerator
        self._launches = accelerator.launches
        self.transfers = transfers
        self.varying = varying
        self.written: dict[int, Watch] = {}

    def bring_home_written(self) -> None:
        """At the end of a tracked compute call the host has everything."""
        for watch in self.written.values():
            watch.fetch(Ranges.span(0, watch.nbytes), "the compute function has ended", wait=True)
        self.written.clear()

    @overload
    def dispatch(
        self,
        size: int | tuple[int, ...] | NDRange,
        kernel: Kernel[P],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None: ...
    @overload
    def dispatch(
        self,
        size: int | tuple[int, ...] | NDRange,
        kernel: Callable[[KernelContext], None],
        /,
    ) -> None: ...
    def dispatch(
        self,
        size: int | tuple[int, ...] | NDRange,
        kernel: Any,
        /,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        """Run a kernel once for each work item of a range.

        `cc.dispatch(n, square_kernel, numbers)`, or with a lambda that is read and never
        executed: `cc.dispatch(n, lambda kc: square_kernel(kc, numbers))`. A range of zero
        does nothing.
        """
        try:
            if not kwargs and self._launches.again(size, kernel, args, self.transfers):
                return
        except TrilbyError as error:
            point_to(error, Caller.now())
            raise
        caller = Caller.now()
        with errors_at_dispatch(caller):
            _check_order(size)
            target, args, kwargs = _target(kernel, args, kwargs)
            ordered = positional(target, args, kwargs)
            self._launches.launch(as_range(size), size, target, ordered, caller, self)

    def run_compute(
        self, function: Compute[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run another compute function as a part of this one."""
        ready = self.accelerator.compiler.compute(function, self.transfers)
        return ready.function(self, *args, **kwargs)

    # ------------------------------------------------- what is put into compute functions

    def pre_access(self, buffer: object) -> None:
        """The host is about to read a buffer."""
        self._bring_home(buffer)

    def post_access(self, buffer: object) -> None:
        """The host has read a buffer, which changes nothing."""

    def pre_mutate(self, buffer: object) -> None:
        """The host is about to write to a buffer, and perhaps to read it."""
        self._bring_home(buffer)

    def post_mutate(self, buffer: object) -> None:
        """The host may have written to a buffer; what it wrote, its accessors have told."""

    def to_device(self, buffer: object) -> None:
        """Start to bring a buffer to the device, as the plan says."""
        if isinstance(buffer, Buffer):
            places = places_of(buffer.__schema__, buffer.__lengths__)
            self.accelerator.residency.prefetch(buffer.segment, *places, Caller.now())
        elif is_ndarray(buffer):
            places = places_of(buffer.__schema__, buffer.shape)
            self.accelerator.residency.prefetch(buffer.segment, *places, Caller.now())

    def to_host(self, buffer: object, part: object = None) -> None:
        """Start to bring something to the host, as the plan says.

        `part` is a field of a buffer by its name, or an index or slice of a view.
        """
        self._bring_home(buffer, part)

    def owed(self, buffer: object) -> None:
        """The device keeps what it has newer; it comes when the caller looks."""

    def _bring_home(self, buffer: object, part: object = None) -> None:
        segment = segment_of(buffer)
        if segment is not None and isinstance(segment.watcher, Watch):
            ranges = _ranges_of(buffer, segment, part)
            segment.watcher.fetch(ranges, "the plan says that the host will read it")


def _ranges_of(buffer: object, segment: Segment, part: object) -> Ranges:
    """The bytes of a buffer, an array, a view or a struct, or of a part of it."""
    window = window_of(buffer)
    if window is not None:
        if part is None:
            return window.ranges
        key = cast("tuple[object, ...]", part) if isinstance(part, tuple) else (part,)
        return window.ranges_at(key)
    if isinstance(buffer, Buffer) and isinstance(part, str):
        slot = buffer.layout.slots[part]
        return Ranges.span(slot.offset, slot.offset + slot.size)
    if isinstance(buffer, Record):
        return Ranges.span(buffer.__start__, buffer.__start__ + buffer.__layout__.size)
    return Ranges.span(0, segment.nbytes)


def run_compute(
    accelerator: "Accelerator",
    ready: ReadyCompute,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    transfers: Transfers,
) -> Any:
    """Run a compute function from the outside."""
    context = ComputeContext(accelerator, transfers, ready.varying)
    try:
        return ready.function(context, *args, **kwargs)
    finally:
        context.bring_home_written()


def segment_of(buffer: object) -> Segment | None:
    """The memory behind a buffer, an array, a view or a struct; None for anything else."""
    if isinstance(buffer, Buffer | Record):
        return buffer.__segment__
    window = window_of(buffer)
    return None if window is None else window.segment


def _check_order(size: object) -> None:
    if is_kernel(size) or isinstance(size, FunctionType):
        raise ArgumentTypeError(
            "the range of a dispatch comes first, and the kernel second",
            advice="write `cc.dispatch(n, kernel, …)`",
        )


def _target(
    kernel: object, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Kernel[...], tuple[Any, ...], dict[str, Any]]:
    """The kernel and its arguments, from either spelling."""
    if is_kernel(kernel):
        return kernel, args, kwargs
    if not isinstance(kernel, FunctionType) or kernel.__name__ != "<lambda>":
        raise _not_a_kernel(kernel)
    if args or kwargs:
        raise ArgumentTypeError(
            "a lambda carries the arguments of its kernel, and more are given beside it",
            advice="write `cc.dispatch(n, lambda kc: kernel(kc, a))` or "
            "`cc.dispatch(n, kernel, a)`",
        )
    quoted = quote(kernel)
    if not is_kernel(quoted.target):
        raise _not_a_kernel(quoted.target)
    return quoted.target, quoted.args, quoted.kwargs


def _not_a_kernel(thing: object) -> ArgumentTypeError:
    name = getattr(thing, "__name__", None)
    if is_compute(thing):
        what, advice = "a compute function", f"call it: `{name}(cc, …)`"
    elif is_helper(thing):
        what, advice = "a helper of kernels (@tb.func)", f"write a kernel that calls `{name}`"
    elif isinstance(thing, FunctionType):
        what, advice = "a plain function", f"decorate `{name}` with @tb.kernel"
    else:
        what = f"of the class `{type(thing).__name__}`"
        advice = "write `cc.dispatch(n, kernel, …)` with a function decorated with @tb.kernel"
    return ArgumentTypeError(
        f"{f'`{name}`' if name else 'this'} is {what}, and only kernels can be dispatched",
        advice=advice,
    )
