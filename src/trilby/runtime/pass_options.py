"""The options of a dispatch with many passes, checked before anything happens."""

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np

from trilby.arguments import brief, whole_number
from trilby.backend.base import Ticket
from trilby.data.buffer import Buffer
from trilby.data.dtypes import I32, ScalarType, is_numpy_scalar
from trilby.data.ranges import Ranges
from trilby.data.segment import Segment
from trilby.data.views import Array
from trilby.data.window import window_of
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, ArgumentValueError
from trilby.reflect.functions import DISPATCH_OPTIONS, Kernel, check_options, is_kernel
from trilby.runtime.content import LOCK
from trilby.runtime.parts import Part
from trilby.runtime.watch import watched

# -------------------------------------------------------------------------------------------- flags
# The element of a buffer that says when passes may stop.

FlagPlace: TypeAlias = Buffer | Array[Any] | Part | float
"""What names a flag; for checkers an element is a number, whose place is given instead."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One number in a buffer: for `until=done.array[3]`, of `i32`, `place` is 12."""

    segment: Segment
    place: int
    type: ScalarType

    def fetch(self) -> list[Ticket]:
        """Start to bring it to the host, and nothing else; gives what has to be waited for."""
        with LOCK:
            watch = watched(self.segment)
            span = Ranges.span(self.place, self.place + self.type.size)
            return watch.start_to_read(span, "it says whether the passes are done")

    @property
    def is_raised(self) -> bool:
        """Whether it is not zero, when it was fetched."""
        content = self.segment.memory[self.place : self.place + self.type.size]
        return bool(np.frombuffer(content, self.type.numpy)[0] != 0)

    def is_in(self, segment: Segment) -> bool:
        """Whether it is one of the bytes of a segment."""
        address = self.segment.address + self.place
        return segment.address <= address < segment.address + segment.nbytes


def flag_of(thing: object) -> Flag:
    """The element that `until=` names; a buffer or a view stands for its first one."""
    if isinstance(thing, Part) and thing.element is not None:
        return Flag(thing.segment, thing.ranges.hull[0], thing.element)
    if isinstance(thing, Buffer):
        lengths = thing.__schema__.length_names
        for name, slot in thing.__layout__.slots.items():
            element = thing.__elements__.get(name)
            if isinstance(element, ScalarType) and name not in lengths and slot.size:
                return Flag(thing.segment, slot.offset, element)
    window = window_of(thing)
    if window is not None and isinstance(window.element, ScalarType) and window.live.size:
        return Flag(window.segment, window.start, window.element)
    raise _no_flag(thing)


def _no_flag(thing: object) -> ArgumentTypeError:
    advice = "name an element of a buffer: `until=done.array[0]`"
    if isinstance(thing, int | float) or is_numpy_scalar(thing):
        advice = (
            "only in the text of a compute function an element is not read at once: here write "
            "`until=done.array[:1]`, or the buffer itself, which stands for its first element"
        )
    return ArgumentTypeError(
        f"`until` is given {type(thing).__name__}, which is no element of a buffer", advice=advice
    )


# ------------------------------------------------------------------------------------- pass options

Progress: TypeAlias = Callable[[int, int], object]
"""What hears of a long run: how many passes are done, of how many."""

_MOST = I32.highest


@runtime_checkable
class CanBeSet(Protocol):
    """What ends passes from elsewhere: a `threading.Event`, or another class with `is_set`."""

    def is_set(self) -> bool:
        """True from the moment on at which no more passes are to begin."""
        ...


@dataclass(frozen=True, slots=True)
class PassOptions:
    """How many passes a dispatch runs, and what may end them before: `passes=1000, timeout=60`."""

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
