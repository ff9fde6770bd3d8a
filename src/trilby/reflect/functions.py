"""The decorators: `@tb.func`, `@tb.kernel`, `@tb.compute`, and what they make.

A decorated function keeps its Python function and is reflected when it is first used.
Only `@tb.func` can be called as plain Python.
"""

import sys
from collections.abc import Callable, Collection, Mapping
from functools import partial, update_wrapper
from types import FunctionType
from typing import Any, Concatenate, Generic, ParamSpec, TypeGuard, TypeVar, overload

from trilby.data.kernel_context import KernelContext
from trilby.errors import ArgumentTypeError, DirectCallError
from trilby.source import Location

P = ParamSpec("P")
R = TypeVar("R")


class Reflectable:
    """A decorated function: the Python function and the names that were in sight.

    `scope` holds the local names where a function was decorated inside another one,
    so that its annotations can be resolved.
    """

    kind: str

    def __init__(self, function: Callable[..., Any], scope: Mapping[str, object]) -> None:
        if not isinstance(function, FunctionType):
            raise ArgumentTypeError(
                f"@tb.{self.kind} takes a function, and this is {_described(function)}",
                advice=f"write `@tb.{self.kind}` directly above `def`, below other decorators",
            )
        self.function = function
        self.scope = scope
        wrapper: Any = self
        update_wrapper(wrapper, function)

    @property
    def symbol(self) -> str:
        """The qualified name: `squares.square_kernel`."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    @property
    def name(self) -> str:
        """The name that the function was defined with."""
        return self.function.__name__

    @property
    def location(self) -> Location:
        """Where the function stands."""
        code = self.function.__code__
        return Location(code.co_filename, code.co_firstlineno)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.symbol}>"

    def __reduce__(self) -> str:
        """Pickled by name, as plain functions are; a copy is the function itself."""
        return self.function.__qualname__


def _described(thing: object) -> str:
    if isinstance(thing, Reflectable):
        return f"`{thing.name}`, which is a @tb.{thing.kind} already"
    if isinstance(thing, type):
        return f"the class `{thing.__name__}`"
    return f"an object of the class `{type(thing).__name__}`"


class Kernel(Reflectable, Generic[P]):
    """A function that runs once for each work item, on a device."""

    kind = "kernel"

    def __call__(self, kc: KernelContext, /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Kernels are dispatched, not called: this raises with what to write instead."""
        raise DirectCallError(
            f"`{self.name}` is a kernel and cannot be called: it runs on a device, once for "
            "each work item",
            advice=f"inside a compute function write `cc.dispatch(n, {self.name}, …)` or "
            f"`cc.dispatch(n, lambda kc: {self.name}(kc, …))`",
            location=_line_of_caller(),
        )


class Helper(Reflectable, Generic[P, R]):
    """A function that kernels call; on the host it is the plain Python function."""

    kind = "func"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the Python function."""
        return self.function(*args, **kwargs)


class Compute(Reflectable, Generic[P, R]):
    """Host code that dispatches kernels; reflected, rewritten, then run."""

    kind = "compute"

    def __init__(
        self,
        function: Callable[..., Any],
        scope: Mapping[str, object],
        *,
        explicit: bool = False,
    ) -> None:
        super().__init__(function, scope)
        self.explicit = explicit

    def __call__(self, cc: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run inside another compute function; anywhere else this raises."""
        if hasattr(cc, "run_compute"):  # a compute context
            result: R = cc.run_compute(self, args, kwargs)
            return result
        raise DirectCallError(
            f"`{self.name}` is a compute function and cannot be called directly",
            advice=f"write `accelerator.compute({self.name}, …)` or "
            f"`accelerator.compute(lambda cc: {self.name}(cc, …))`",
            location=_line_of_caller(),
        )


def is_helper(thing: object) -> TypeGuard[Helper[..., object]]:
    """True for what `@tb.func` makes."""
    return isinstance(thing, Helper)


def is_kernel(thing: object) -> TypeGuard[Kernel[...]]:
    """True for what `@tb.kernel` makes."""
    return isinstance(thing, Kernel)


def is_compute(thing: object) -> TypeGuard[Compute[..., Any]]:
    """True for what `@tb.compute` makes."""
    return isinstance(thing, Compute)


def kernel(function: Callable[Concatenate[KernelContext, P], None]) -> Kernel[P]:
    """Make a kernel of a function whose first parameter is the kernel context.

    >>> @tb.kernel
    ... def double(kc: KernelContext, a: S32Array) -> None:
    ...     a.array[kc.x] = a.array[kc.x] * 2
    """
    return Kernel(function, scope_of_caller())


def func(function: Callable[P, R]) -> Helper[P, R]:
    """Make a function that kernels can call.

    >>> @tb.func
    ... def square(v: i32) -> i32:
    ...     return v * v
    """
    return Helper(function, scope_of_caller())


@overload
def compute(function: Callable[Concatenate[Any, P], R], /) -> Compute[P, R]: ...
@overload
def compute(
    *, explicit: bool = False
) -> Callable[[Callable[Concatenate[Any, P], R]], Compute[P, R]]: ...
def compute(*given: Any, explicit: bool = False) -> Any:
    """Make a compute function of a function whose first parameter is the compute context.

    >>> @tb.compute
    ... def double_all(cc: ComputeContext, a: S32Array) -> None:
    ...     cc.dispatch(a.length, double, a)

    With `@tb.compute(explicit=True)` nothing moves in it but by `cc.put` and `cc.get`.
    """
    scope = scope_of_caller()
    decorator = partial(Compute[..., Any], scope=scope, explicit=explicit)
    return decorator(*given) if given else decorator


def scope_of_caller() -> Mapping[str, object]:
    """The local names where the decorator stands, or nothing at module level."""
    frame = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- names in an enclosing function cannot be had otherwise
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)


def _line_of_caller() -> Location:
    """The line that calls what calls this."""
    frame = sys._getframe(2)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] -- the cheap way to look at the stack
    return Location(frame.f_code.co_filename, frame.f_lineno, 0, frame.f_lineno, sys.maxsize)


# --------------------------------------------------------------------------------- dispatch options
# The options of a dispatch beside the arguments of its kernel, and how the two are told apart.

DISPATCH_OPTIONS = ("passes", "until", "check_every", "progress", "cancel", "timeout")
"""What `cc.dispatch` takes by name. Kernels may have such parameters, and get them by position."""


def check_options(
    kernel: Kernel[...], given: int, names: Collection[str], location: Location | None = None
) -> None:
    """Refuse a name that could be an option as well as a parameter that has no value yet.

    `given` is how many arguments of the kernel are given by position.
    """
    code = kernel.function.__code__
    parameters = code.co_varnames[1 : code.co_argcount]
    for name in names:
        if name in DISPATCH_OPTIONS and name in parameters[given:]:
            raise ArgumentTypeError(
                f"`{name}` is an option of every dispatch, and a parameter of `{kernel.name}` too",
                advice=f"give the kernel's own `{name}` by its position, without a name",
                location=location,
            )
