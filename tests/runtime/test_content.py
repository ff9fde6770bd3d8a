"""The rules of what is current where, each by itself."""

import os
import threading
import time

import pytest
from tests.runtime.contents import (
    arrive,
    changed,
    failure,
    finish,
    fresh,
    on_host,
    pending,
    replica,
    span,
)

from trilby.data.ranges import Ranges
from trilby.runtime.content import LOCK

WHOLE = span(0, 16)
LEFT, RIGHT = span(0, 8), span(8, 16)


# ------------------------------------------------------------------------ writes of the host


def test_what_the_host_writes_is_stale_on_every_device() -> None:
    content = on_host()
    one, other = replica(content, WHOLE), replica(content, RIGHT)
    content.touch(LEFT, None, "me")
    assert (one.valid, other.valid) == (RIGHT, RIGHT)
    assert content.host == WHOLE


def test_what_the_host_writes_is_current_on_the_host() -> None:
    content = on_host()
    content.touch(WHOLE, replica(content), "k")
    content.touch(LEFT, None, "me")
    assert content.host == LEFT


def test_what_the_host_writes_is_fresh_no_more() -> None:
    content = fresh()
    content.touch(LEFT, None, "me")
    assert content.fresh == RIGHT


def test_the_hosts_own_memory_on_a_device_is_never_stale() -> None:
    content = on_host()
    shared = replica(content, WHOLE, shared=True)
    assert not changed(content, lambda: content.touch(LEFT, None, "me"))
    assert shared.valid == WHOLE


def test_a_write_of_the_host_is_a_change_where_it_makes_something_stale() -> None:
    content = on_host()
    assert not changed(content, lambda: content.touch(WHOLE, None, "me"))  # as it was
    copy = replica(content, LEFT)
    assert not changed(content, lambda: content.touch(RIGHT, None, "me"))
    assert changed(content, lambda: content.touch(LEFT, None, "me"))
    content.touch(WHOLE, copy, "k")
    copy.valid = Ranges.EMPTY
    assert changed(content, lambda: content.touch(WHOLE, None, "me"))  # it lacked it
    assert changed(zeros := fresh(), lambda: zeros.touch(LEFT, None, "me"))


def test_the_last_writer_is_remembered() -> None:
    content = on_host()
    assert content.writer_of(WHOLE) == "the host wrote it"
    content.touch(LEFT, None, "me")
    assert content.writer_of(WHOLE) == "me"
    content.touch(LEFT, replica(content), "a kernel")
    assert content.writer_of(LEFT) == content.writer_of(WHOLE) == "a kernel"
    assert content.writer_of(RIGHT) == "me"


def test_the_writer_is_the_launch_whose_event_is_the_last() -> None:
    """A launch that is repeated tells nobody else."""
    content = on_host()
    copy, other = replica(content), replica(content)
    content.touch(LEFT, copy, "the first time")
    copy.writers, other.writers = (pending(),), (pending(),)
    assert content.writer_of(LEFT) == "the first time"
    copy.writers = (pending()._replace(origin="again"),)
    other.writers = (pending()._replace(origin="another"),)
    assert content.writer_of(LEFT) == "again"
    assert content.writer_of(RIGHT) == "the host wrote it"
    content.host |= LEFT  # once it is home, who knows
    assert content.writer_of(LEFT) == "the first time"


# ------------------------------------------------------------------------ writes of a device


def test_what_a_device_writes_is_current_there_and_nowhere_else() -> None:
    content = on_host()
    writing, other = replica(content), replica(content, WHOLE)
    content.touch(LEFT, writing, "k")
    assert writing.valid == LEFT
    assert content.host == RIGHT
    assert other.valid == RIGHT


def test_what_a_device_writes_is_fresh_no_more() -> None:
    content = fresh()
    content.touch(LEFT, replica(content), "k")
    assert (content.fresh, content.host) == (RIGHT, RIGHT)


def test_a_device_on_the_hosts_memory_writes_as_the_host_does() -> None:
    content = fresh()
    writing, other = replica(content, shared=True), replica(content, WHOLE)
    content.touch(LEFT, writing, "k")
    assert content.host == WHOLE
    assert other.valid == RIGHT
    assert content.fresh == RIGHT


def test_the_hosts_own_memory_is_not_made_stale_by_another_device() -> None:
    """The state of that memory is the host's; there is no second one."""
    content = on_host()
    shared = replica(content, WHOLE, shared=True)
    content.touch(WHOLE, replica(content), "k")
    assert shared.valid == WHOLE
    assert content.host == Ranges.EMPTY


def test_a_write_of_a_device_is_a_change_where_it_makes_something_stale() -> None:
    content = on_host()
    writing = replica(content)
    assert changed(content, lambda: content.touch(LEFT, writing, "k"))
    assert not changed(content, lambda: content.touch(LEFT, writing, "k"))
    content.host |= LEFT  # it was fetched
    assert changed(content, lambda: content.touch(LEFT, writing, "k"))
    writing.valid = Ranges.EMPTY
    assert changed(content, lambda: content.touch(LEFT, writing, "k"))
    replica(content, LEFT)
    assert changed(content, lambda: content.touch(LEFT, writing, "k"))


def test_a_write_beside_what_others_have_is_no_change() -> None:
    content = on_host()
    writing, other = replica(content), replica(content, RIGHT)
    content.touch(LEFT, writing, "k")
    assert not changed(content, lambda: content.touch(LEFT, writing, "k"))
    assert other.valid == RIGHT


def test_the_host_begins_to_walk_anew_in_what_a_device_wrote() -> None:
    content = on_host()
    content.scan = 5, 7
    content.touch(LEFT, replica(content), "k")
    assert content.scan == (-1, 0)


# ------------------------------------------------------------------------------------ copies


def test_the_host_waits_for_what_is_on_its_way_to_what_it_reads() -> None:
    content = on_host()
    left, right = pending(), pending()
    arrive(content, LEFT, left)
    arrive(content, RIGHT, right)
    assert content.before_host_reads(span(0, 1)) == [left]
    assert content.before_host_reads(span(7, 9)) == [left, right]
    finish(left)
    content.before_host_reads(WHOLE)
    assert content.before_host_reads(WHOLE) == [right]


def test_the_host_reads_beside_copies_that_leave() -> None:
    content = on_host()
    content.leaving.append((LEFT, pending()))
    assert content.before_host_reads(WHOLE) == []


def test_the_host_writes_after_what_comes_and_what_leaves() -> None:
    content = on_host()
    coming, going = pending(), pending()
    arrive(content, LEFT, coming)
    content.leaving.append((RIGHT, going))
    assert content.before_host_writes(LEFT) == [coming]
    assert content.before_host_writes(RIGHT) == [going]
    finish(going)
    content.before_host_writes(WHOLE)
    assert content.before_host_writes(WHOLE) == [coming]
    assert content.leaving == []


def test_the_host_waits_for_kernels_on_its_own_memory() -> None:
    content = on_host()
    shared, apart = replica(content, shared=True), replica(content, WHOLE)
    reading, writing, elsewhere = pending(), pending(), pending()
    shared.readers, shared.writers = (reading,), (writing,)
    apart.readers = apart.writers = (elsewhere,)
    assert content.before_host_reads(LEFT) == [writing]
    assert content.before_host_writes(LEFT) == [writing, reading]
    finish(reading)
    finish(writing)
    content.before_host_writes(LEFT)
    assert content.before_host_writes(LEFT) == []
    assert (shared.readers, shared.writers) == ((), ())


def test_what_a_copy_failed_to_bring_is_told_once_and_is_not_here() -> None:
    content = on_host()
    content.touch(WHOLE, replica(content), "k")
    arrive(content, LEFT, failed := failure())
    arrive(content, RIGHT, pending())
    version = content.version
    assert content.before_host_reads(LEFT) == [failed]
    assert content.host == RIGHT
    assert content.version != version
    assert content.before_host_reads(LEFT) == []


def test_a_copy_that_failed_is_noticed_when_other_bytes_are_read() -> None:
    content = on_host()
    arrive(content, LEFT, failure())
    assert content.before_host_reads(RIGHT) == []
    assert content.host == RIGHT


def test_a_kernel_that_failed_on_the_hosts_memory_is_told() -> None:
    content = on_host()
    shared = replica(content, shared=True)
    shared.writers = (failed := failure(),)
    assert content.before_host_reads(LEFT) == [failed]


# --------------------------------------------------------------------------------- quietness


def test_nothing_need_be_asked_while_the_host_has_everything() -> None:
    content = on_host()
    copy = replica(content, WHOLE)
    copy.readers = (pending(),)
    assert content.is_quiet
    content.touch(LEFT, copy, "k")
    assert not content.is_quiet


@pytest.mark.parametrize("what", ["arriving", "leaving"])
def test_copies_under_way_are_no_quiet(what: str) -> None:
    content = on_host()
    getattr(content, what).append((LEFT, pending()))
    assert not content.is_quiet


@pytest.mark.parametrize("what", ["readers", "writers"])
def test_kernels_on_the_hosts_memory_are_no_quiet(what: str) -> None:
    content = on_host()
    shared = replica(content, shared=True)
    assert content.is_quiet
    setattr(shared, what, (pending(),))
    assert not content.is_quiet


# ---------------------------------------------------------------------------------- replicas


def test_a_replica_knows_its_place() -> None:
    copy = replica(on_host(16), place=(4, 12))
    assert (copy.nbytes, copy.whole) == (8, span(4, 12))
    assert copy.has_place_of(1004, 8)
    assert not copy.has_place_of(1004, 4)
    assert not copy.has_place_of(1000, 8)
    copy.fields = ("x", 0, 2), ("y", 4, 8)
    assert copy.data == span(4, 6) | span(8, 12)


def test_a_writer_takes_the_place_of_all_that_it_waited_for() -> None:
    copy = replica(on_host())
    first, reading, second = pending(), pending(), pending()
    copy.written_by(first)
    copy.read_by(reading)
    assert (copy.writers, copy.readers) == ((first,), (reading,))
    copy.written_by(second)
    assert (copy.writers, copy.readers) == ((second,), ())


def test_the_last_reader_of_each_queue_speaks_for_those_before() -> None:
    copy = replica(on_host())
    one, other = pending(), pending()
    for ticket in (one, other, later := one._replace(number=2)):
        copy.read_by(ticket)
    assert copy.readers == (other, later)


# ------------------------------------------------------------------------------------- forks


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_finds_nothing_that_another_thread_had_begun() -> None:
    begun, done = threading.Event(), list[int]()

    def change() -> None:
        with LOCK:
            begun.set()
            time.sleep(0.1)
            done.append(7)

    changing = threading.Thread(target=change)
    changing.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        os._exit(sum(done) if LOCK.acquire(timeout=1) else 1)
    _, status = os.waitpid(child, 0)
    changing.join()
    assert os.waitstatus_to_exitcode(status) == 7


def test_a_replica_that_was_dropped_has_nothing_that_others_lack() -> None:
    content = on_host(8)
    device = replica(content)
    content.touch(span(0, 8), device, "a kernel")
    assert content.only_at(device).nbytes == 8
    content.replicas.remove(device)  # as where Ctrl-C comes in the middle of dropping it
    assert content.only_at(device) == Ranges.EMPTY
