"""The options of a dispatch with many passes, checked before anything happens."""

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

from trilby.arguments import brief, whole_number
from trilby.data.dtypes import I32
from trilby.data.segment import Segment
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, ArgumentValueError
from trilby.reflect.dispatch_options import DISPATCH_OPTIONS, check_options
from trilby.reflect.functions import Kernel, is_kernel
from trilby.runtime.flags import Flag, flag_of

Progress: TypeAlias = Callable[[int, int], object]
"""What hears of a long run: how many passes are done, of how many."""

_MOST = I32.highest


@runtime_checkable
class CanBeSet(Protocol):
    """What ends passes from elsewhere: a `threading.Event`, or whatever is like it."""

    def is_set(self) -> bool:
        """True from the moment on at which no more passes are to begin."""
        ...


@dataclass(frozen=True, slots=True)
class PassOptions:
    """How many passes a dispatch runs, and what may end them before."""

    passes: int
    until: Flag | None = None
    check_every: int = 1
    progress: Progress | Literal[True] | None = None
    cancel: CanBeSet | None = None
    timeout: float | None = None

    def check_flag(self, kernel: Kernel[...], buffers: Sequence[Segment]) -> None:
        """Refuse a flag that the kernel cannot raise."""
        if self.until is not None and not any(map(self.until.is_in, buffers)):
            raise ArgumentValueError(
                f"`until` names an element of a buffer that `{kernel.name}` is not given",
                advice="pass that buffer to the kernel, which is to raise the flag",
            )


def options_among(
    kernel: object, args: Sequence[object], kwargs: dict[str, Any]
) -> tuple[PassOptions | None, dict[str, Any]]:
    """The options of a dispatch, if it has any, and what is left for the kernel."""
    given = {name: kwargs[name] for name in DISPATCH_OPTIONS if name in kwargs} if kwargs else None
    if not given:
        return None, kwargs
    if is_kernel(kernel):
        check_options(kernel, len(args), given)
    rest = {name: value for name, value in kwargs.items() if name not in given}
    return _checked(given), rest


def _checked(given: Mapping[str, Any]) -> PassOptions:
    passes = given.get("passes")
    if passes is None:
        name = next(iter(given))
        raise ArgumentTypeError(
            f"`{name}` is for many passes, and it is not said how many",
            advice=f"say how many there may be: `passes=1000, {name}=…`",
        )
    until = given.get("until")
    return PassOptions(
        _count("passes", passes, 0),
        None if until is None else flag_of(until),
        _count("check_every", given.get("check_every", 1), 1),
        _progress(given.get("progress")),
        _cancel(given.get("cancel")),
        _timeout(given.get("timeout")),
    )


def _count(name: str, value: object, least: int) -> int:
    number = whole_number(value)
    if number is None:
        raise ArgumentTypeError(
            f"`{name}` is a whole number, and this is {type(value).__name__}",
            advice=f"write `{name}=10`, or `{name}=int(…)`",
        )
    if not least <= number <= _MOST:
        raise ArgumentValueError(
            f"`{name}` is {brief(number)}, and can be {least} to {_MOST}",
            advice="give a number in between" + (", 0 for no pass" if not least else ""),
        )
    return number


def _progress(value: object) -> Progress | Literal[True] | None:
    if value is None or value is False:
        return None
    if value is True:
        return True
    if not callable(value):
        raise ArgumentTypeError(
            f"`progress` is called with two numbers, and this is {type(value).__name__}",
            advice="write `progress=True` for a bar, or give a function of the passes that are "
            "done and of all passes",
        )
    return cast("Progress", value)


def _cancel(value: object) -> CanBeSet | None:
    if value is None or isinstance(value, CanBeSet):
        return value
    raise ArgumentTypeError(
        f"`cancel` is asked whether it is set, and this is {type(value).__name__}",
        advice="give a `threading.Event()`, and call its `set()` from elsewhere",
    )


def _timeout(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ArgumentTypeError(
            f"`timeout` is a number of seconds, and this is {type(value).__name__}",
            advice="write `timeout=60`",
        )
    try:
        seconds = float(value)
    except OverflowError:  # an int of hundreds of digits
        seconds = math.inf if cast("int", value) > 0 else -math.inf
    if not seconds >= 0:
        raise ArgumentValueError(
            f"`timeout` is {brief(value)}, and time goes forward", advice="write `timeout=60`"
        )
    return seconds
