"""The parts of a buffer for a notebook: its fields, its first values, and where it is.

Values are looked at in the host's memory, as far as they are current there: a buffer that is
shown stays where it is.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from trilby.data.buffer import Buffer
from trilby.data.layout import Slot
from trilby.data.ndarray import NDArray
from trilby.data.ranges import Ranges
from trilby.data.schema import ArrayType
from trilby.data.segment import Segment
from trilby.data.window import Window, window
from trilby.runtime.content import LOCK
from trilby.runtime.watch import Watch
from trilby.tools.html.elements import Html, bytes_text, tag

# ---------------------------------------------------------------------------------------- residence
# Where the content of a buffer is current, found out without moving any of it.


class Residence(NamedTuple):
    """Where a buffer is: what the host may look at now, from its start, and who has how much.

    `nbytes` are the bytes of its data, and `places` has those that are current in each place, or
    None for a device that works on the host's memory; the lengths of arrays, which every copy has,
    do not count. `is_busy` is true while work is under way that writes to the host's memory.
    """

    host: Ranges
    nbytes: int
    places: dict[str, int | None]
    is_busy: bool = False


def residence_of(segment: Segment) -> Residence:
    """What is known of a segment; one that no device has seen is the host's."""
    whole = Ranges.span(0, segment.nbytes)
    watch = segment.watcher
    if not isinstance(watch, Watch):
        return Residence(whole, whole.nbytes, {"host": whole.nbytes})
    with LOCK:
        content = watch.content
        replicas = content.replicas_of(segment.address, segment.nbytes)
        data = whole.shifted(segment.address)
        host = (content.host | content.fresh) & data
        for replica in replicas:
            data -= replica.lengths
        places: dict[str, int | None] = {"host": (host & data).nbytes}
        for replica in replicas:
            places[replica.owner.place] = None if replica.shared else (replica.valid & data).nbytes
        writers = [one.writers for one in content.replicas if one.shared]
        arriving = [ticket for _, ticket in content.arriving]
        is_busy = any(not ticket.done for ticket in chain(arriving, *writers))
        return Residence(host.shifted(-segment.address), data.nbytes, places, is_busy)


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
    live, first = shown.live, shown
    if live.ndim and live.size:  # the first elements along the last axis
        first = shown.part((*[0] * (live.ndim - 1), slice(0, MOST_VALUES)))
    if not first.live.size:
        return tag("span", "none", class_="quiet")
    if residence.is_busy:
        return tag("span", "being written", class_="quiet")
    if not residence.host.covers(first.ranges):
        return tag("span", "newer on the device", class_="quiet")
    numbers = first.live.reshape(-1).copy()
    more = live.size > numbers.size
    with np.printoptions(precision=6, suppress=True):
        text = ", ".join(str(number) for number in numbers[:MOST_VALUES])
    text = f"{text[:LONGEST]}…" if len(text) > LONGEST else text
    return tag("code", f"{text}, …" if more else text)


def residence_line(segment: Segment) -> Html:
    """Where the content is."""
    found = residence_of(segment)
    shares = [f"{place}: {_share(n, found.nbytes)}" for place, n in found.places.items()]
    return tag("p", "current on ", " · ".join(shares), class_="note")


def _share(nbytes: int | None, all_bytes: int) -> str:
    if nbytes is None:
        return "on the host's memory"
    if nbytes >= all_bytes:
        return "all"
    return f"{bytes_text(nbytes)} of {bytes_text(all_bytes)}" if nbytes else "nothing"
