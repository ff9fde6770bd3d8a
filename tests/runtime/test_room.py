"""A device that is full: who goes, who stays, and what is refused."""

import pytest
from tests.runtime.conftest import with_backend
from tests.runtime.contents import on_host, replica, span
from tests.runtime.devices import Watched
from tests.runtime.programs import add, add_to, copy, dispatch, number, square_kernel

import trilby as tb
from trilby import Accelerator, KernelContext, Ledger, S32Array
from trilby.data.ranges import Ranges
from trilby.errors import OutOfDeviceMemoryError
from trilby.runtime.content import Replica
from trilby.runtime.replicas import Room

# An S32Array of 249 elements takes 1,000 bytes on a device: a length, and 4 bytes each.
LENGTH = 249


def buffers(count: int) -> list[S32Array]:
    return [S32Array.of(range(k, k + LENGTH)) for k in range(count)]


def directions(ledger: Ledger) -> list[tuple[str, str]]:
    return [(one.direction, one.buffer) for one in ledger.copies]


@pytest.fixture(params=["interpreter", "opencl"])
def limited(request: pytest.FixtureRequest) -> Accelerator:
    """A device with room for three buffers."""
    return Accelerator(request.param, memory="discrete", memory_limit=3_000, poison=True)


def test_data_survives_that_had_to_go(limited: Accelerator) -> None:
    many = buffers(7)
    for _ in range(3):
        for one in many:
            limited.compute(dispatch, LENGTH, add, one, 1)
    for k, one in enumerate(many):
        assert one.array.tolist() == list(range(k + 3, k + 3 + LENGTH))
    assert limited.residency.replicas.room.used <= 3_000


def test_as_much_as_fits_stays(limited: Accelerator) -> None:
    a, b, c = buffers(3)
    with limited.record() as ledger:
        for _ in range(3):
            for one in (a, b, c):
                limited.compute(dispatch, LENGTH, add, one, 1)
    assert directions(ledger) == [("up", "a")] * 3


def test_what_the_host_has_too_goes_first_and_costs_nothing(limited: Accelerator) -> None:
    a, b, c, d = buffers(4)
    limited.compute(dispatch, LENGTH, copy, b, a)  # of these two only `b` is on the host too
    limited.compute(dispatch, LENGTH, add, c, 1)
    with limited.record() as ledger:
        limited.compute(dispatch, LENGTH, add, d, 1)
        limited.compute(dispatch, LENGTH, add, a, 1)
        limited.compute(dispatch, LENGTH, add, c, 1)
    assert directions(ledger) == [("up", "a")]  # `d`, as `add` calls it
    assert a.array.tolist() == list(range(2, 2 + LENGTH))


def test_what_was_not_used_for_longest_goes_first(limited: Accelerator) -> None:
    a, b, c, d = buffers(4)
    for one in (a, b, c, d):
        limited.compute(dispatch, LENGTH, number, one)
    with limited.record() as ledger:
        for one in (b, c, d):
            limited.compute(dispatch, LENGTH, add, one, 1)
        assert ledger.copies == ()
        assert a.array[0] == 100
    assert ledger.copies == ()  # it came home when it went


def test_launches_that_are_new_count_as_uses(limited: Accelerator) -> None:
    a, b, c, d = buffers(4)
    limited.compute(dispatch, LENGTH, number, a)
    limited.compute(dispatch, LENGTH, square_kernel, a)  # so it seems to be needed again soon
    limited.compute(dispatch, LENGTH, number, b)
    limited.compute(dispatch, LENGTH, number, c)
    with limited.record() as ledger:
        limited.compute(dispatch, LENGTH, number, d)
        assert b.array[0] == 100
    assert len(ledger.downloads) == 1  # it came home when it went


def test_what_is_used_again_and_again_stays(limited: Accelerator) -> None:
    """`seldom` comes every fourth time, so it is needed last."""
    often, sometimes, seldom, new = buffers(4)
    for turn in range(9):
        limited.compute(dispatch, LENGTH, number, often)
        limited.compute(dispatch, LENGTH, number, sometimes)
        if turn % 4 == 0:
            limited.compute(dispatch, LENGTH, number, seldom)
    with limited.record() as ledger:
        limited.compute(dispatch, LENGTH, number, new)
        assert [one.buffer for one in ledger.downloads] == ["a"]
        assert seldom.array[0] == 100
    assert len(ledger.downloads) == 1
    assert "the device is full" in ledger.downloads[0].cause


def test_buffers_of_one_launch_do_not_push_each_other_out(limited: Accelerator) -> None:
    a, b, idle, new = buffers(4)
    limited.compute(dispatch, LENGTH, number, a)
    limited.compute(dispatch, LENGTH, number, b)
    limited.compute(dispatch, LENGTH, number, idle)
    with limited.record() as ledger:
        limited.compute(dispatch, LENGTH, add_three, new, a, b)
    # the idle one comes home; `a` and `b` stay, though they are used longer ago
    assert [(one.direction, one.buffer) for one in ledger.copies] == [("down", "a"), ("up", "x")]
    assert new.array[0] == 3 + 100 + 100


def test_a_launch_that_cannot_fit_is_refused_with_figures(limited: Accelerator) -> None:
    a, b = S32Array.of(range(499)), S32Array.of(range(499))
    with pytest.raises(OutOfDeviceMemoryError) as caught:
        limited.compute(dispatch, 499, add_to, a, b)
    text = str(caught.value)
    assert "one launch needs 4,000 bytes on the device at the same time" in text
    assert "the memory limit has 3,000" in text
    assert "launch over smaller buffers, one part after the other, or raise `memory_limit`" in text
    assert "programs.py" in text
    assert a.array.tolist() == b.array.tolist() == list(range(499))
    limited.compute(dispatch, 499, add, a, 1)  # one of them fits
    assert a.array.tolist() == list(range(1, 500))


def test_a_buffer_that_is_larger_than_the_limit_is_refused(limited: Accelerator) -> None:
    a = S32Array.create(length=1000)
    with pytest.raises(OutOfDeviceMemoryError, match="needs 4,004 bytes"):
        limited.compute(dispatch, 1, add, a, 1)


def test_memory_that_was_freed_counts_no_more(limited: Accelerator) -> None:
    for turn in range(10):
        a = S32Array.of(range(LENGTH))
        with limited.record() as ledger:
            limited.compute(dispatch, LENGTH, add, a, turn)
            a.release()
        assert ledger.downloads == ()
    assert limited.residency.replicas.room.used == 0


def test_the_hosts_memory_takes_no_room() -> None:
    with Accelerator("opencl", memory="shared", memory_limit=3_000) as accelerator:
        many = buffers(7)
        for one in many:
            accelerator.compute(dispatch, LENGTH, add, one, 1)
        assert accelerator.residency.replicas.room.used == 0
        assert many[6].array[0] == 7


# ---------------------------------------------------------- a device that says it is full


def test_a_device_without_room_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched(room=3_000)
    accelerator = with_backend(monkeypatch, backend, poison=True)
    many = buffers(7)
    for _ in range(2):
        for one in many:
            accelerator.compute(dispatch, LENGTH, add, one, 1)
    assert [one.array[0] for one in many] == [k + 2 for k in range(7)]
    assert backend.used <= 3_000


def test_a_device_that_is_too_small_for_a_launch_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched(room=1_500)
    accelerator = with_backend(monkeypatch, backend, poison=True)
    a, b = buffers(2)
    with pytest.raises(OutOfDeviceMemoryError) as caught:
        accelerator.compute(dispatch, LENGTH, add_to, a, b)
    assert "one launch needs 2,000 bytes" in str(caught.value)
    assert "raise `memory_limit`" not in str(caught.value)
    assert isinstance(caught.value.__cause__, OutOfDeviceMemoryError)
    assert a.array.tolist() == list(range(LENGTH))
    accelerator.compute(dispatch, LENGTH, add, a, 1)
    assert a.array[0] == 1


def test_a_device_that_is_too_small_for_a_buffer_says_so_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accelerator = with_backend(monkeypatch, Watched(room=500))
    with pytest.raises(OutOfDeviceMemoryError, match="no room for 1000 bytes"):
        accelerator.compute(dispatch, LENGTH, add, buffers(1)[0], 1)


# ------------------------------------------------------------------------ who goes, alone


class Gone:
    """Notes who had to go."""

    def __init__(self, room: Room) -> None:
        self.names: list[str] = []
        self._room = room

    def __call__(self, gone: Replica) -> None:
        self.names.append(gone.label)
        self._room.remove(gone)


def crowded(*uses: tuple[str, bool, int, int]) -> Room:
    """A room for 16 bytes that is full of 4-byte replicas: name, clean, use before, last use."""
    room = Room(Watched(), 4 * len(uses))
    room.clock = 100
    for name, clean, before, last in uses:
        content = on_host(4)
        one = replica(content, span(0, 4))
        one.label, one.use_before, one.last_use = name, before, last
        if not clean:
            content.host = Ranges.EMPTY
        room.add(one)
    return room


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        # clean ones first, whenever they are needed
        ([("dirty", False, 0, 1), ("clean", True, 98, 99)], "clean"),
        # of the clean: one that was used once before one that comes again
        ([("again", True, 10, 50), ("once", True, 0, 99)], "once"),
        # of those that come again: the one with the later next use, 90 + 80 against 99 + 1
        ([("late", False, 10, 90), ("soon", False, 98, 99)], "late"),
        ([("soon", True, 98, 99), ("late", True, 10, 90)], "late"),
        # of the dirty that were used once: the one that was used longest ago
        ([("new", False, 0, 99), ("old", False, 0, 20)], "old"),
        # 80 since its only use, against 8 until the next one
        ([("again", False, 90, 99), ("once", False, 0, 20)], "once"),
        # the next use counts, which is at 101 or at 100, and not how far uses lie apart
        ([("late", False, 97, 99), ("overdue", False, 20, 60)], "late"),
    ],
)
def test_who_goes(uses: list[tuple[str, bool, int, int]], expected: str) -> None:
    room = crowded(*uses)
    gone = Gone(room)
    room.allocate(4, set(), gone)
    assert gone.names == [expected]


def test_what_is_pinned_and_what_is_the_hosts_stays() -> None:
    room = crowded(("pinned", True, 0, 1), ("shared", True, 0, 2), ("free", False, 0, 99))
    kept, shared, _ = room.replicas
    room.remove(shared)
    shared.shared = True
    room.add(shared)
    room.limit = 8
    gone = Gone(room)
    room.allocate(4, {id(kept)}, gone)
    assert gone.names == ["free"]
    with pytest.raises(OutOfDeviceMemoryError, match="needs 12 bytes"):
        room.allocate(8, {id(kept)}, gone)


def test_who_was_used_when_matters_once_a_device_was_full() -> None:
    backend = Watched(room=4)
    room = Room(backend, None)
    held = backend.allocate(4)
    room.add(replica(on_host(4), span(0, 4)))

    def evict(gone: Replica) -> None:
        room.remove(gone)
        backend.free(held)

    assert not room.is_tight
    room.allocate(4, set(), evict)
    assert room.is_tight
    assert Room(backend, 4).is_tight


def test_what_another_device_has_too_is_clean() -> None:
    content = on_host(4)
    one, other = replica(content, span(0, 4)), replica(content, span(0, 4))
    content.host = Ranges.EMPTY
    assert content.only_at(one) == Ranges.EMPTY
    other.valid = span(0, 2)
    assert content.only_at(one) == span(2, 4)
    assert content.only_at(other) == Ranges.EMPTY


@tb.kernel
def add_three(kc: KernelContext, x: S32Array, y: S32Array, z: S32Array) -> None:
    x.array[kc.x] += y.array[kc.x] + z.array[kc.x]
