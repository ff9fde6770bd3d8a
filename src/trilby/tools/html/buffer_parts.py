"""The parts of a buffer for a notebook: its fields, its first values, and where it is.

Values are looked at in the host's memory, as far as they are current there: a buffer that is
shown stays where it is.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trilby.data.buffer import Buffer
from trilby.data.layout import Slot
from trilby.data.ndarray import NDArray
from trilby.data.ranges import Ranges
from trilby.data.schema import ArrayType
from trilby.data.segment import Segment
from trilby.data.window import Window, window
from trilby.dataclass import dataclass
from trilby.runtime.content import LOCK, Content, Replica
from trilby.runtime.watch import Watch
from trilby.tools.html.elements import Html, bytes_text, tag

# ---------------------------------------------------------------------------------------- residence
# Where the content of a buffer is current, found out without moving any of it.


class DeviceCopy(NamedTuple):
    """What a device has of a buffer: how many bytes of it are current there."""

    place: str
    nbytes: int
    shared: bool


@dataclass(frozen=True, slots=True)
class Residence:
    """Where a buffer is: what the host may look at now, from its start, and what devices have.

    `nbytes` are the bytes of its data, and `host_bytes` those that are current on the host; the
    lengths of arrays, which every copy has, do not count. `is_busy` is true while work is under
    way that writes to the host's memory.
    """

    host: Ranges
    nbytes: int
    host_bytes: int
    devices: tuple[DeviceCopy, ...]
    is_busy: bool


def residence_of(segment: Segment) -> Residence:
    """What is known of a segment; one that no device has seen is the host's."""
    whole = Ranges.span(0, segment.nbytes)
    watch = segment.watcher
    if not isinstance(watch, Watch):
        return Residence(whole, whole.nbytes, whole.nbytes, (), is_busy=False)
    with LOCK:
        content = watch.content
        replicas = content.replicas_of(segment.address, segment.nbytes)
        data = whole.shifted(segment.address)
        host = (content.host | content.fresh) & data
        for replica in replicas:
            data -= replica.lengths
        copies = tuple(_copy(replica, data) for replica in replicas)
        here, busy = host.shifted(-segment.address), _is_busy(content)
        return Residence(here, data.nbytes, (host & data).nbytes, copies, is_busy=busy)


def _copy(replica: Replica, data: Ranges) -> DeviceCopy:
    current = data if replica.shared else replica.valid & data
    return DeviceCopy(replica.owner.place, current.nbytes, replica.shared)


def _is_busy(content: Content) -> bool:
    arriving = any(not ticket.done for _, ticket in content.arriving)
    return arriving or any(map(_is_written, content.replicas))


def _is_written(replica: Replica) -> bool:
    return replica.shared and any(not ticket.done for ticket in replica.writers)


# ------------------------------------------------------------------------------------- buffer parts

MOST_VALUES = 8
MOST_FIELDS = 30
LONGEST = 200
"""The most letters of some values."""


def buffer_rows(buffer: Buffer) -> Iterator[tuple[object, ...]]:
    """A row for each field: its name, type, shape and first values."""
    residence = residence_of(buffer.segment)
    elements = buffer.__elements__
    fields = [field for field in buffer.__schema__.fields if field.name in elements]
    for field in fields[:MOST_FIELDS]:
        slot = buffer.layout.slots[field.name]
        kind = field.type.element if isinstance(field.type, ArrayType) else field.type
        shape = " × ".join(f"{length:,}" for length in slot.shape)
        values = _of_slot(buffer, slot, residence)
        name = tag("span", field.name, class_="name")
        yield name, getattr(kind, "name", None) or str(kind), shape, values
    if len(fields) > MOST_FIELDS:
        yield f"and {len(fields) - MOST_FIELDS} more", "", "", ""


def _of_slot(buffer: Buffer, slot: Slot, residence: Residence) -> Html:
    if slot.name in buffer.__lengths__:
        return tag("code", buffer.__lengths__[slot.name])
    element = buffer.__elements__[slot.name]
    found = window(buffer.segment, slot.offset, element, slot.shape, slot.strides, slot.cell)
    return _values(found, residence)


def array_rows(array: NDArray[object]) -> Iterator[tuple[Html]]:
    """The first values of an array, in one row."""
    yield (_values(array.__window__, residence_of(array.segment)),)


def _values(shown: Window, residence: Residence) -> Html:
    """The first values, or why they are not shown."""
    first = _first(shown)
    if not first.live.size:
        return tag("span", "none", class_="quiet")
    if residence.is_busy:
        return tag("span", "being written", class_="quiet")
    if not residence.host.covers(first.ranges):
        return tag("span", "newer on the device", class_="quiet")
    numbers = first.live.reshape(-1).copy()
    more = shown.live.size > numbers.size
    with np.printoptions(precision=6, suppress=True):
        text = ", ".join(str(number) for number in numbers[:MOST_VALUES])
    text = f"{text[:LONGEST]}…" if len(text) > LONGEST else text
    return tag("code", f"{text}, …" if more else text)


def _first(shown: Window) -> Window:
    """The first elements along the last axis."""
    live = shown.live
    if not live.ndim or not live.size:
        return shown
    return shown.part((*[0] * (live.ndim - 1), slice(0, MOST_VALUES)))


def residence_line(segment: Segment) -> Html:
    """Where the content is."""
    found = residence_of(segment)
    places = [_share("host", found.host_bytes, found.nbytes)]
    for copy in found.devices:
        share = _share(copy.place, copy.nbytes, found.nbytes)
        places.append(f"{copy.place}: on the host's memory" if copy.shared else share)
    return tag("p", "current on ", " · ".join(places), class_="note")


def _share(place: str, nbytes: int, all_bytes: int) -> str:
    if nbytes >= all_bytes:
        return f"{place}: all"
    part = f"{bytes_text(nbytes)} of {bytes_text(all_bytes)}"
    return f"{place}: {part if nbytes else 'nothing'}"
