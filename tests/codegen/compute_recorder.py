"""A compute context that writes down what is dispatched, and kernels that can be quoted by it.

It knows nothing of models: a function runs here as plain Python, and its lambdas are really
called, so that what Trilby makes of the function can be compared with what Python does.
"""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from trilby.reflect.functions import Compute, Kernel


class RecordedKernel(Kernel[...]):
    """A kernel that, when called inside a lambda, says with what it would be launched."""

    def __call__(self, kc: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self, args, kwargs


def kernel(function: Callable[..., Any]) -> RecordedKernel:
    return RecordedKernel(function, {})


def compute(function: Callable[..., Any]) -> Compute[..., Any]:
    return Compute(function, {})


class Recorder:
    """Takes the place of a compute context."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def dispatch(
        self, size: Any, kernel: Any, *args: Any, passes: Any = None, **kwargs: Any
    ) -> int:
        if isinstance(kernel, FunctionType):
            kernel, args, kwargs = kernel("kc")
        if isinstance(size, int) and size < 0:
            message = "negative"
            raise ValueError(message)
        self.calls.append((size, kernel.name, _bound(kernel, args, kwargs), passes))
        return len(self.calls)

    def run_compute(
        self, function: Compute[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self.calls.append((function.name, _bound(function, args, kwargs)))
        return function.function(self, *args, **kwargs)


def _bound(
    function: Kernel[...] | Compute[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Any]:
    """The arguments in the order of the parameters, however they were given."""
    bound = inspect.signature(function.function).bind("context", *args, **kwargs)
    bound.apply_defaults()
    return [_shown(argument) for argument in bound.arguments.values()]


def _shown(argument: Any) -> Any:
    """Buffers by their numbers: they may change after the call."""
    array = getattr(argument, "array", argument)
    return array.tolist() if hasattr(array, "tolist") else repr(argument)
