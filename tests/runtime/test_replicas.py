"""The memory of one device, each rule by itself: what has to wait for what, and what moves."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import count

import pytest
from tests.runtime.contents import pending
from tests.runtime.devices import Deferred, Watched

from trilby.backend.base import Backend, Memory, Ticket
from trilby.data.ranges import Ranges, Rows
from trilby.data.segment import Segment
from trilby.errors import DeviceError
from trilby.process import PROCESS
from trilby.runtime.content import Content, Replica
from trilby.runtime.replicas import Moved, Reason, Replicas

LENGTHS = (range(4),)
REASON = Reason("it is needed", None)


def on(backend: Backend, *, share: bool = False, poison: bool = False) -> Replicas:
    """The memory of a device; copies are told to nobody."""
    return Replicas(backend, _hear, share=share, poison=poison, limit=None)


def _hear(_moved: Moved) -> None: ...


def content_of(segment: Segment) -> Content:
    """Memory that the host has filled."""
    whole = Ranges.span(segment.address, segment.address + segment.nbytes)
    return Content(segment.address, segment.address + segment.nbytes, whole, Ranges.EMPTY)


def made(replicas: Replicas, nbytes: int = 16) -> Replica:
    """The copy of a buffer whose first four bytes are a length."""
    segment = Segment.allocate(nbytes, "a")
    return replicas.make(content_of(segment), segment, LENGTHS, set())


def telling() -> tuple[Replicas, list[tuple[int, int]]]:
    """The memory of a device, and where its copies begin and how long a row of them is."""
    moved: list[tuple[int, int]] = []

    def hear(copy: Moved) -> None:
        moved.append((copy.ranges.start - copy.replica.address, copy.ranges.nbytes))

    return Replicas(Watched(), hear, share=False, poison=False, limit=None), moved


def part(one: Replica, start: int, stop: int) -> Ranges:
    return Ranges.span(start, stop).shifted(one.address)


class FailsToUpload(Deferred):
    """Work that is put off; no upload is taken. What was freed is told, and after what."""

    def __init__(self) -> None:
        super().__init__()
        self.freed: list[tuple[Ticket, ...]] = []

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        raise DeviceError("upload failed")

    def free(self, memory: Memory, after: Sequence[Ticket] = ()) -> None:
        self.freed.append(tuple(after))


# ------------------------------------------------------------------------------- new memory


def test_every_accelerator_on_a_device_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = defaultdict[str, "count[int]"](lambda: count(1))
    monkeypatch.setattr(PROCESS, "opening_numbers", numbers)
    spec = Watched().device.spec
    assert [on(Watched()).place for _ in range(3)] == [spec, f"{spec}#2", f"{spec}#3"]


def test_memory_that_a_device_cannot_share_is_copied() -> None:
    able, unable = Deferred(shares=True), Deferred(shares=False)
    assert made(on(able, share=True)).shared
    assert not made(on(unable, share=True)).shared
    assert not made(on(able, share=False)).shared


def test_memory_that_could_not_be_filled_is_given_back_when_nothing_uses_it() -> None:
    backend = FailsToUpload()
    with pytest.raises(DeviceError, match="upload failed"):
        made(on(backend, poison=True))
    assert backend.freed == [(Ticket(backend.upload_queue, 1),)]
    assert [event.what for event in backend.events] == ["fill"]


def test_lengths_come_after_the_poison() -> None:
    backend = Deferred()
    made(on(backend, poison=True))
    assert [event.what for event in backend.events] == ["fill", "upload"]  # in one queue


def test_lengths_that_come_later_wait_for_all_that_uses_the_memory() -> None:
    """Whoever comes next waits for them alone."""
    backend = Deferred()
    replicas = on(backend)
    one = made(replicas)
    one.writers, one.readers = (writer := pending(),), (reader := pending(),)
    replicas.add_lengths(one, LENGTHS)
    assert backend.started("upload")[-1].after == (writer, reader)
    assert (one.writers, one.readers) == ((Ticket(backend.upload_queue, 2),), ())


# --------------------------------------------------------------------------- to the device


def test_zeros_that_nobody_wrote_are_made_once() -> None:
    backend = Watched()
    replicas = on(backend)
    one = made(replicas)
    content = Content(one.address, one.address + 16, one.whole, one.whole)
    before = list(backend.done)
    for _ in range(2):
        content.fetch(one.whole, REASON, one)
    assert backend.done == [*before, "fill"]
    assert one.valid == one.whole


def test_what_is_copied_without_need_is_there() -> None:
    replicas = on(Watched())
    one = made(replicas)
    content = Content(one.address, one.address + 16, one.whole, Ranges.EMPTY)
    content.copy("up", one, one.whole, REASON)
    assert one.valid == one.whole


def test_a_fill_waits_for_all_that_uses_the_memory_and_all_wait_for_it() -> None:
    backend = Deferred()
    replicas = on(backend)
    one = made(replicas)
    content = Content(one.address, one.address + 16, one.whole, one.whole)
    one.writers, one.readers = (writer := pending(),), (reader := pending(),)
    content.fetch(one.whole, REASON, one)
    (fill,) = backend.started("fill")
    assert fill.after == (writer, reader)
    assert (one.writers, one.readers) == ((Ticket(backend.upload_queue, 2),), ())


def test_poison_leaves_lengths_alone() -> None:
    backend = Watched()
    replicas = on(backend, poison=True)
    one = made(replicas)
    one.host[:4] = b"abcd"
    replicas.add_lengths(one, LENGTHS)
    replicas.poison(one, Ranges.EMPTY, one.whole)
    assert backend.content(0) == b"abcd" + b"\xa5" * 12


@pytest.mark.parametrize("why", ["the device has it", "nobody wrote it", "it has to move"])
def test_a_small_gap_is_closed_only_with_what_has_to_move(why: str) -> None:
    replicas, moved = telling()
    one = made(replicas, 32)
    content = Content(one.address, one.address + 32, one.whole, Ranges.EMPTY)
    gap = part(one, 6, 8)
    if why == "the device has it":
        one.valid = gap
    elif why == "nobody wrote it":
        content.fresh = gap
    content.fetch(part(one, 0, 6) | part(one, 8, 32), REASON, one)
    assert moved == ([(0, 32)] if why == "it has to move" else [(0, 6), (8, 24)])


# ----------------------------------------------------------------------------- to the host


@pytest.mark.parametrize("has_gap", [True, False])
def test_a_small_gap_is_closed_only_with_what_the_host_lacks(has_gap: bool) -> None:  # noqa: FBT001 -- as pytest gives it
    replicas, moved = telling()
    one = made(replicas, 32)
    host = part(one, 6, 8) if has_gap else Ranges.EMPTY
    content = Content(one.address, one.address + 32, host, Ranges.EMPTY)
    content.replicas.append(one)
    one.valid = one.whole
    content.fetch(part(one, 0, 6) | part(one, 8, 32), REASON)
    assert moved == ([(0, 6), (8, 24)] if has_gap else [(0, 32)])


def test_what_is_fetched_is_current_on_both_sides() -> None:
    one = made(on(Watched()))
    content, left = one.content, part(one, 0, 8)
    version = content.version
    content.fetch(left, REASON, one)
    assert (content.host, one.valid) == (one.whole, left)
    assert content.version != version
    content.touch(one.whole, one, "a kernel")
    version = content.version
    content.fetch(left, REASON)
    assert (content.host, one.valid) == (left, one.whole)
    assert content.version != version


def test_rows_are_current_and_what_lies_between_them_is_not() -> None:
    replicas, moved = telling()
    one = made(replicas, 64)
    content = Content(one.address, one.address + 64, Ranges.EMPTY, Ranges.EMPTY)
    content.replicas.append(one)
    one.valid = one.whole
    rows = part(one, 0, 4) | part(one, 16, 20) | part(one, 32, 36)
    content.fetch(rows, REASON)
    assert moved == [(0, 12)]  # one copy of three rows
    assert content.host == rows


def test_what_is_current_nowhere_is_told() -> None:
    one = made(on(Watched()))
    content = Content(one.address, one.address + 16, Ranges.EMPTY, Ranges.EMPTY)
    content.replicas.append(one)
    one.valid = part(one, 0, 8)
    with pytest.raises(AssertionError, match="is current nowhere"):
        content.fetch(one.whole, REASON)
