"""Every error that Trilby raises on purpose.

Each class derives from `TrilbyError` and from the builtin that it resembles, so that
`except TypeError` works as a Python programmer expects. A message says where (file,
line, caret, call chain), what, and what to do about it.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

from trilby.source import Location, chain_text, excerpt, users_location


class TrilbyError(Exception):
    """Base of all errors of this package.

    `problem` is the sentence that says what is wrong, `advice` says what to do,
    `location` is the place in the user's source, `calls` the chain of helper calls that
    led there, innermost first. Where nothing better is known, the location is the innermost
    call of the user's program that the error passed through.
    """

    def __init__(
        self,
        problem: str,
        *,
        advice: str = "",
        location: Location | None = None,
        calls: Sequence[tuple[str, Location]] = (),
    ) -> None:
        self.problem = problem
        self.advice = advice
        self._location = location
        self.calls = tuple(calls)
        super().__init__(TrilbyError.__str__(self))  # that of a subclass may need more

    @property
    def location(self) -> Location | None:
        """The place in the user's source, if one is known."""
        return self._location or users_location(self.__traceback__)

    @location.setter
    def location(self, location: Location | None) -> None:
        self._location = location

    @property
    def is_placed(self) -> bool:
        """Whether the location was given, and is not the way that the error took."""
        return self._location is not None

    def __str__(self) -> str:
        location = self.location
        parts = [f"{location}: {self.problem}" if location else self.problem]
        if location:
            parts.append(excerpt(location))
        parts.append(chain_text(self.calls))
        if self.advice:
            parts.append(f"  help: {self.advice}")
        return "\n".join(part for part in parts if part)

    def within(self, name: str, called_at: Location) -> Self:
        """Add the caller's frame to the chain; used while an error passes outwards."""
        self.calls = (*self.calls, (name, called_at))
        return self

    def __reduce__(self) -> tuple[object, ...]:
        known = {"advice": self.advice, "location": self.location, "calls": self.calls}
        return partial(type(self), self.problem, **known), ()


class SchemaError(TrilbyError, TypeError):
    """A buffer or struct class is declared in a way that has no layout."""


class BindingError(TrilbyError, ValueError):
    """Memory or lengths do not fit the buffer class they are bound to."""


class FieldError(TrilbyError, AttributeError):
    """A buffer or struct has no such field, or the field cannot be assigned."""


class ReleasedError(TrilbyError, RuntimeError):
    """A buffer was used after `release()`."""


class SourceError(TrilbyError, OSError):
    """The source of a function is gone, or is no longer what was compiled."""


class UnsupportedSyntaxError(TrilbyError, SyntaxError):
    """A kernel uses Python that has no meaning on a device."""


class KernelTypeError(TrilbyError, TypeError):
    """Types in a kernel do not fit each other."""


class KernelNameError(TrilbyError, NameError):
    """A kernel uses a name that is unknown, or unset on some path."""


class RecursionRefusedError(TrilbyError, RecursionError):
    """A kernel reaches a function that reaches itself."""


class DirectCallError(TrilbyError, TypeError):
    """A kernel or a compute function was called as if it were a plain function."""


class ArgumentTypeError(TrilbyError, TypeError):
    """An argument of a launch has a type that its parameter does not take."""


class ArgumentValueError(TrilbyError, ValueError):
    """An argument of a launch has the right type and an impossible value."""


class NumberOverflowError(TrilbyError, OverflowError):
    """A number is too large, or too small, for the type that it is stored in."""


class RangeError(TrilbyError, ValueError):
    """A range is negative, has too many dimensions, or is not made of integers."""


class ModelError(TrilbyError, ValueError):
    """A code model breaks a rule of its own, or its text does not parse."""


class DeviceError(TrilbyError, RuntimeError):
    """A device or its driver failed."""


class DeviceUnavailableError(DeviceError):
    """The backend or device that was asked for is not on this machine."""


class BuildError(DeviceError):
    """A device's compiler refused the generated code."""


class OutOfDeviceMemoryError(DeviceError):
    """A device, or the limit that was set for it, has no room for a buffer."""


class OutOfHostMemoryError(TrilbyError, MemoryError):
    """The machine has no room for a new buffer."""


class PassesStoppedError(TrilbyError, RuntimeError):
    """Passes of a dispatch were stopped before the last one.

    `done` of them are done, as a whole and on every buffer, and no part of another one.
    """

    def __init__(self, problem: str, *, done: int = 0, **more: Any) -> None:
        super().__init__(problem, **more)
        self.done = done

    def __reduce__(self) -> tuple[object, ...]:
        return *super().__reduce__(), {"done": self.done}


class PassesCancelledError(PassesStoppedError):
    """The `cancel` of a dispatch was set, and its passes were stopped."""


class PassesTimeoutError(PassesStoppedError, TimeoutError):
    """The passes of a dispatch took longer than its `timeout`, and were stopped."""


class GuardError(TrilbyError, RuntimeError):
    """Data had to move inside of `accelerator.guard()`."""


class ReentryError(TrilbyError, RuntimeError):
    """A signal handler ran in the middle of a launch or a copy, and began another one."""


class StaleReadError(TrilbyError, RuntimeError):
    """Inside of `explicit()` somebody reads what the other side changed and nobody moved."""


class MissingFeatureError(DeviceError):
    """A kernel needs something that its device does not have, such as `f64`."""


class KernelIndexError(TrilbyError, IndexError):
    """A work item left the bounds of an array (interpreter only)."""


class KernelAssertionError(TrilbyError, AssertionError):
    """An `assert` in a kernel did not hold."""


class KernelDivergenceError(TrilbyError, RuntimeError):
    """The work items of a group came to different barriers (interpreter only)."""


class KernelArithmeticError(TrilbyError, ZeroDivisionError):
    """A work item divided an integer by zero (interpreter only)."""
