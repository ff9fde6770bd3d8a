"""The compute context: what a compute function uses to reach the device."""

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, overload

from trilby.data.kernel_context import KernelContext
from trilby.data.ndrange import NDRange, as_range
from trilby.errors import ArgumentTypeError
from trilby.reflect.functions import Compute, Kernel, is_compute, is_helper, is_kernel
from trilby.reflect.quote import quote
from trilby.runtime.binding import bind, positional, ranks_of, uses
from trilby.runtime.callers import Caller, errors_at_dispatch
from trilby.runtime.constant_memory import check_constant_memory
from trilby.runtime.ranges import in_whole_groups

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
        caller = Caller.now()
        with errors_at_dispatch(caller):
            _check_order(size)
            target, args, kwargs = _target(kernel, args, kwargs)
            launch_range = as_range(size)
            ordered = positional(target, args, kwargs)
            ready = self.accelerator.compiler.kernel(target, ranks_of(ordered))
            bound = bind(target, ready.analysed.signature, ordered)
            used = uses(bound, ready.analysed.access)
            check_constant_memory(bound.buffers, ready.analysed.access, self.accelerator.device)
            if not launch_range.items:
                return
            if ready.analysed.works_in_groups:
                launch_range = in_whole_groups(launch_range)
            self.accelerator.launch(ready, launch_range, bound, used, caller.line)

    def run_compute(
        self, function: Compute[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run another compute function as a part of this one."""
        return self.accelerator.compiler.compute(function).function(self, *args, **kwargs)


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
