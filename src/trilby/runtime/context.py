"""The compute context: what a compute function uses to reach the device."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVarTuple, cast, overload

from trilby.data.kernel_context import KernelContext
from trilby.data.ndrange import NDRange, as_range
from trilby.data.ranges import Ranges
from trilby.errors import ArgumentTypeError, TrilbyError
from trilby.options import Transfers
from trilby.reflect.functions import Compute, Kernel, is_kernel
from trilby.reflect.host_launch import not_a_kernel
from trilby.runtime.binding import check_declared, positional
from trilby.runtime.callers import Caller, point_to
from trilby.runtime.compile import ReadyCompute
from trilby.runtime.content import check_launch
from trilby.runtime.explicit import Stale, block_of, explicit_block
from trilby.runtime.parts import Place, are_apart, field_of, part_of
from trilby.runtime.pass_options import CanBeSet, FlagPlace, Progress, options_among
from trilby.runtime.prepared_launch import is_plain
from trilby.runtime.put_get import prefetch
from trilby.runtime.watch import Watch, bury_when_idle

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator

P = ParamSpec("P")
Ts = TypeVarTuple("Ts")


class ComputeContext:
    """The first parameter of every compute function. Accelerators make it, nobody else.

    `cc.dispatch(1024, double, a, b)` runs a kernel.
    `accelerator` is the one that runs the compute function.
    """

    def __init__(
        self,
        accelerator: "Accelerator",
        transfers: Transfers,
        varying: frozenset[tuple[str, int]] = frozenset(),
    ) -> None:
        self.accelerator = accelerator
        self._again = accelerator.launches.again
        self.transfers = transfers
        self.varying = varying
        self.written: dict[int, Watch] = {}
        self.passes_done = 0
        """How many passes the last dispatch with `passes` has run."""

    def varies_at(self, caller: Caller) -> bool:
        """Whether a dispatch may need other parts of its buffers when it comes again."""
        return (caller.code.co_filename, caller.number) in self.varying

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
    ) -> Self: ...
    @overload
    def dispatch(
        self,
        size: int | tuple[int, ...] | NDRange,
        kernel: Callable[[KernelContext], None],
        /,
    ) -> Self: ...
    @overload
    def dispatch(
        self,
        size: int | tuple[int, ...] | NDRange,
        kernel: Callable[[KernelContext, *Ts], None],
        /,
        *args: *Ts,
        passes: int,
        until: FlagPlace | None = None,
        check_every: int = 1,
        progress: Progress | bool | None = None,
        cancel: CanBeSet | None = None,
        timeout: float | None = None,
    ) -> Self: ...
    def dispatch(
        self,
        size: int | tuple[int, ...] | NDRange,
        kernel: Any,
        /,
        *args: Any,
        **kwargs: Any,
    ) -> Self:
        """Run a kernel once for each work item of a range.

        `cc.dispatch(n, square_kernel, numbers)`, or with a lambda that is read and never
        executed: `cc.dispatch(n, lambda kc: square_kernel(kc, numbers))`. A range of zero
        does nothing. The result is the context, for the next call.

        With `passes=1000` the kernel is run that often, back to back, `kc.pass_id` counts the
        passes from 0, and data moves once. `until=done.array[0]` ends that when the element is
        not zero; it is looked at every `check_every` passes. `cancel` is a `threading.Event` that
        ends it from elsewhere, `timeout` a number of seconds: both raise a `PassesStoppedError`.
        `progress` is called with the passes that are done and all passes, or True for a bar.
        Whatever ends them, also Ctrl-C, `cc.passes_done` passes are done, each as a whole.
        """
        try:
            if not kwargs and self._again(size, kernel, args, self.transfers):
                return self
            _check_order(size)
            if not is_plain(size):  # a number that can change, or that has no hash
                size = as_range(size)
            options, kwargs = options_among(kernel, args, kwargs)
            target, args, kwargs = _target(kernel, args, kwargs)
            ordered = positional(target, args, kwargs)
            self.accelerator.launches.launch(size, target, ordered, Caller.now(), self, options)
        except TrilbyError as error:
            point_to(error, Caller.now())
            raise
        return self

    def explicit(self, *, stale: Stale = "raise") -> AbstractContextManager[None]:
        """A `with` block in which nothing moves but by `put` and `get`.

        Whoever reads there what is stale gets a `StaleReadError`, or with `stale="warn"` a
        warning and the data.
        """
        return explicit_block(self.accelerator.residency.replicas, stale, "cc")

    def put(self, *places: Place | float) -> Self:
        """Bring buffers, views or fields to the device, as far as it does not have them.

        `cc.put(a, b.array[:100]).dispatch(n, kernel, a, b)`
        """
        self.accelerator.put(*cast("tuple[Place, ...]", places))
        return self

    def get(self, *places: Place | float) -> Self:
        """Bring buffers, views or fields to the host, as far as it does not have them.

        `cc.dispatch(n, kernel, table).get(table.count)`
        """
        self.accelerator.get(*cast("tuple[Place, ...]", places))
        return self

    def run_compute(
        self, function: Compute[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run another compute function as a part of this one."""
        ready = self.accelerator.compiler.compute(function, self.transfers)
        return _run(self, ready, args, kwargs)

    # ------------------------------------------------- what is put into compute functions

    def pre_access(self, buffer: object) -> None:
        """The host is about to read a buffer."""
        self._bring_home(buffer, "the host is about to read it")

    def post_access(self, buffer: object) -> None:
        """The host has read a buffer, which changes nothing."""

    def pre_mutate(self, buffer: object) -> None:
        """The host is about to write to a buffer, and perhaps to read it."""
        self._bring_home(buffer, "the host is about to write to it")

    def post_mutate(self, buffer: object) -> None:
        """The host may have written to a buffer; what it wrote, its accessors have told."""

    def to_device(self, buffer: object) -> None:
        """Start to bring a buffer to the device, as the plan says."""
        prefetch(self.accelerator.residency, buffer)

    def apart(self, buffer: object, *others: object) -> bool:
        """Whether a buffer shares no memory with others, so that it stays when they change."""
        return all(are_apart(buffer, other) for other in others)

    def to_host(self, buffer: object, part: object = None) -> None:
        """Start to bring something to the host, as the plan says.

        `part` is a field of a buffer by its name, or an index or slice of a view.
        """
        self._bring_home(buffer, "the plan says that the host will read it", part)

    def field(self, owner: object, key: object) -> object:
        """What `put` and `get` are given for `owner.key` or `owner[key]`: no number is read."""
        return field_of(owner, key)

    def _bring_home(self, buffer: object, why: str, part: object = None) -> None:
        is_explicit = block_of(self.accelerator.residency.replicas) is not None
        found = None if is_explicit else part_of(buffer, part)
        if found is not None and isinstance(found.segment.watcher, Watch):
            found.segment.watcher.fetch(found.ranges, why)


def run_compute(
    accelerator: "Accelerator",
    ready: ReadyCompute,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    transfers: Transfers,
) -> Any:
    """Run a compute function from the outside."""
    check_launch()
    context = ComputeContext(accelerator, transfers, ready.varying)
    try:
        return _run(context, ready, args, kwargs)
    finally:
        context.bring_home_written()
        bury_when_idle()


def _run(
    context: ComputeContext, ready: ReadyCompute, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    function = ready.function
    check_declared(function.__name__, ready.declared, args, kwargs)
    try:
        if not ready.is_explicit:
            return function(context, *args, **kwargs)
        with context.explicit():
            return function(context, *args, **kwargs)
    except TypeError as error:
        trace = error.__traceback__
        if trace is None or trace.tb_next is not None:
            raise  # it comes from inside of the function
        names = function.__code__.co_varnames[1 : function.__code__.co_argcount]
        raise ArgumentTypeError(
            f"`{function.__name__}`: {error}",
            advice=f"its parameters after the context are {', '.join(names) or 'none'}",
        ) from error


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
        raise not_a_kernel(kernel, getattr(kernel, "__name__", ""))
    if args or kwargs:
        raise ArgumentTypeError(
            "a lambda carries the arguments of its kernel, and more are given beside it",
            advice="write `cc.dispatch(n, lambda kc: kernel(kc, a))` or "
            "`cc.dispatch(n, kernel, a)`",
        )
    from trilby.reflect.quote import quote  # noqa: PLC0415 -- few programs give a lambda

    quoted = quote(kernel)
    if not is_kernel(quoted.target):
        raise not_a_kernel(quoted.target, getattr(quoted.target, "__name__", ""))
    return quoted.target, quoted.args, quoted.kwargs
