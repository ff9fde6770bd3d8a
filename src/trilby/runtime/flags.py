"""The element of a buffer that says when passes may stop."""

from typing import Any, TypeAlias

import numpy as np

from trilby.backend.base import Event
from trilby.data.buffer import Buffer
from trilby.data.dtypes import ScalarType, is_numpy_scalar
from trilby.data.ranges import Ranges
from trilby.data.segment import Segment
from trilby.data.views import Array
from trilby.data.window import window_of
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError
from trilby.runtime.content import LOCK
from trilby.runtime.parts import Part
from trilby.runtime.watch import watched

FlagPlace: TypeAlias = Buffer | Array[Any] | Part | float
"""What names a flag; for checkers an element is a number, whose place is given instead."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One number in a buffer, `place` bytes from its start."""

    segment: Segment
    place: int
    type: ScalarType

    def fetch(self) -> list[Event]:
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
