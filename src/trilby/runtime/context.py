"""The compute context: what a compute function uses to reach the device."""

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, overload

from trilby.data.kernel_context import KernelContext
from trilby.data.ndrange import NDRange, as_range
from trilby.errors import ArgumentTypeError
from trilby.reflect.functions import Compute, Kernel, is_kernel
from trilby.reflect.quote import quote
from trilby.runtime.binding import bind, positional, ranks_of, uses
from trilby.runtime.callers import caller_location
from trilby.source import Location

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator

P = ParamSpec("P")


class ComputeContext:
    """The first parameter of every compute function. Accelerators make it, nobody else.

    `accelerator` is the one that runs the compute function.
    """

    def __init__(self, accelerator: "Accelerator") -> None:
        self.accelerator = accelerator

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
        at = caller_location()
        target, args, kwargs = _target(kernel, args, kwargs, at)
        launch_range = as_range(size)
        accelerator = self.accelerator
        ordered = positional(target, args, kwargs, at)
        ready = accelerator.compiler.kernel(target, ranks_of(ordered))
        bound = bind(target, ready.analysed.signature, ordered, at)
        if launch_range.items:
            accelerator.launch(ready, launch_range, bound, uses(bound, ready.analysed.access), at)

    def run_compute(
        self, function: Compute[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run another compute function as a part of this one."""
        return self.accelerator.compiler.compute(function).function(self, *args, **kwargs)


def _target(
    kernel: object, args: tuple[Any, ...], kwargs: dict[str, Any], at: Location
) -> tuple[Kernel[...], tuple[Any, ...], dict[str, Any]]:
    """The kernel and its arguments, from either spelling."""
    if is_kernel(kernel):
        return kernel, args, kwargs
    if isinstance(kernel, FunctionType) and kernel.__name__ == "<lambda>":
        quoted = quote(kernel)
        if is_kernel(quoted.target):
            return quoted.target, quoted.args, quoted.kwargs
        kernel = quoted.target
    name = getattr(kernel, "__name__", type(kernel).__name__)
    raise ArgumentTypeError(
        f"`{name}` is not a kernel and cannot be dispatched",
        advice=f"decorate `{name}` with @tb.kernel"
        if callable(kernel)
        else "write `cc.dispatch(n, kernel, …)`",
        location=at,
    )
