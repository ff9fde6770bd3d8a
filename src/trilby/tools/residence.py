"""Where the content of a buffer is current, found out without moving any of it."""

from typing import NamedTuple

from trilby.data.ranges import Ranges
from trilby.data.segment import Segment
from trilby.dataclass import dataclass
from trilby.runtime.content import LOCK, Content, Replica
from trilby.runtime.watch import Watch


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
        return Residence(whole, whole.total, whole.total, (), is_busy=False)
    with LOCK:
        content = watch.content
        replicas = content.replicas_of(segment.address, segment.nbytes)
        data = whole.shifted(segment.address)
        host = (content.host | content.fresh) & data
        for replica in replicas:
            data -= replica.lengths
        copies = tuple(_copy(replica, data) for replica in replicas)
        here, busy = host.shifted(-segment.address), _is_busy(content)
        return Residence(here, data.total, (host & data).total, copies, is_busy=busy)


def _copy(replica: Replica, data: Ranges) -> DeviceCopy:
    current = data if replica.shared else replica.valid & data
    return DeviceCopy(replica.owner.place, current.total, replica.shared)


def _is_busy(content: Content) -> bool:
    arriving = any(not event.done for _, event in content.arriving)
    return arriving or any(map(_is_written, content.replicas))


def _is_written(replica: Replica) -> bool:
    return replica.shared and any(not event.done for event in replica.writers)
