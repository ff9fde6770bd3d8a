"""Memory of an OpenCL device: reuse of what was freed, its limits, and the host's own."""

import gc
import threading
import time
import weakref
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.backend.opencl_running import RANGE, Gate, build, download, scale, scaling, upload
from tests.backend.test_opencl_passes import Interrupted, interrupts

from trilby.backend.base import Scalar
from trilby.backend.opencl.opencl_device import KEPT_SHARE, OpenCLBackend, OpenCLMemory
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange
from trilby.errors import OutOfDeviceMemoryError

KB = 1024


def place_of(memory: OpenCLMemory) -> int:
    """What tells buffers of OpenCL from each other, whatever objects of Python they have."""
    assert memory.buffer is not None
    return memory.buffer.int_ptr


def small_device(opencl: OpenCLBackend, nbytes: int) -> OpenCLBackend:
    """The device, with little memory."""
    opencl.device = replace(opencl.device, memory_bytes=nbytes, buffer_bytes=nbytes)
    return opencl


# ---------------------------------------------------------------------------------- reuse


def test_freed_memory_is_handed_out_again(opencl: OpenCLBackend) -> None:
    memory = opencl.allocate(5000)
    place = place_of(memory)
    opencl.free(memory)
    again = opencl.allocate(5000)
    assert place_of(again) == place
    assert place_of(opencl.allocate(5000)) != place
    opencl.free(again)
    assert place_of(opencl.allocate(9000)) != place  # it has another size


def test_memory_in_use_is_not_handed_out(opencl: OpenCLBackend, gate: Gate) -> None:
    ones = np.ones(1000, np.int32)
    result = np.zeros_like(ones)
    memory = upload(opencl, ones)
    place = place_of(memory)
    scaled = scale(opencl, memory, 3, [gate.ticket])
    copied = opencl.download(memory, 0, result.data.cast("B"), [scaled])
    opencl.free(memory, [scaled, copied])
    del memory
    other = opencl.allocate(4000)
    assert place_of(other) != place
    opencl.fill(other, 0, other.nbytes, 0).wait()  # would overtake
    gate.open()
    copied.wait()
    assert np.array_equal(result, ones * 3)
    assert place_of(opencl.allocate(4000)) == place


def test_a_closed_device_gives_all_back(opencl: OpenCLBackend) -> None:
    memories = [opencl.allocate(size * KB) for size in (4, 4, 2)]
    for memory in memories[:2]:
        opencl.free(memory, [scale(opencl, memory, 2)])
    assert opencl.pool.managed_bytes == 10 * KB
    opencl.close()
    assert opencl.pool.managed_bytes == 2 * KB
    opencl.free(memories[2])
    assert opencl.pool.managed_bytes == 0


def test_only_a_part_of_the_device_is_kept(opencl: OpenCLBackend) -> None:
    small_device(opencl, KEPT_SHARE * 10 * KB)
    memories = [opencl.allocate(4 * KB) for _ in range(4)]
    for memory, kept in zip(memories, (4, 8, 0, 4), strict=True):
        opencl.free(memory)
        assert opencl.pool.managed_bytes - opencl.pool.active_bytes == kept * KB


def test_many_threads_and_the_collector_may_free(opencl: OpenCLBackend) -> None:
    class Owner:
        def __init__(self) -> None:
            self.me = self  # only the collector can take it
            memory = opencl.allocate(256)
            weakref.finalize(self, opencl.free, memory)

    def work() -> None:
        for _ in range(300):
            Owner()
            opencl.free(opencl.allocate(256))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    opencl.close()
    assert opencl.pool.managed_bytes == 0


def test_an_interrupt_never_hands_out_memory_that_is_in_use(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    work = opencl.fill(opencl.allocate(4), 0, 4, 0, [gate.ticket])
    used: set[int] = set()
    with interrupts() as signals:
        while signals.count < 100:
            with suppress(Interrupted), signals.heard():
                memory = opencl.allocate(64)
                place = place_of(memory)
                assert place not in used
                used.add(place)
                opencl.free(memory, [work])


def test_memory_that_nobody_frees_is_not_handed_out(opencl: OpenCLBackend) -> None:
    """Ctrl-C may come before it is freed, and commands may be using it."""
    place = place_of(opencl.allocate(5000))
    gc.collect()
    assert place_of(opencl.allocate(5000)) != place


def test_new_memory_does_not_wait_for_kernels(opencl: OpenCLBackend) -> None:
    """Some drivers run commands only where no kernel does, also those of other queues."""
    text = (
        f"__kernel void k(__global int *a, {RANGE}) {{"
        " int x = get_global_id(0), t = x; for (int n = 0; n < 10000000; n++) t = t * 3 ^ n;"
        " a[x] = t; }"
    )
    items = opencl.device.compute_units * 64
    memory = opencl.allocate(4 * items)
    running = opencl.prepare(build(opencl, text, "k"), NDRange(items), [memory]).submit()
    sizes = [nbytes for nbytes in (1, 500, 6 * KB, 70 * KB) if opencl.allocate(nbytes)]
    assert not running.done
    assert len(sizes) == 4
    running.wait()


# --------------------------------------------------------------------------------- limits


def test_what_is_kept_makes_room(opencl: OpenCLBackend) -> None:
    small_device(opencl, 80 * KB)
    opencl.free(opencl.allocate(8 * KB))
    memory = opencl.allocate(76 * KB)
    assert opencl.pool.managed_bytes == memory.nbytes == 76 * KB


def test_room_that_is_about_to_be_free_is_waited_for(opencl: OpenCLBackend, gate: Gate) -> None:
    small_device(opencl, 80 * KB)
    memory = opencl.allocate(8 * KB)
    filled = opencl.fill(memory, 0, 4, 0, [gate.ticket])
    opencl.free(memory, [filled])
    opener = threading.Timer(0.05, gate.open)
    opener.start()
    assert opencl.allocate(76 * KB).nbytes == 76 * KB
    assert filled.done
    opener.join()


def test_a_full_device_says_so_with_figures(opencl: OpenCLBackend) -> None:
    small_device(opencl, 64 * KB)
    _in_use = opencl.allocate(60 * KB)
    with pytest.raises(OutOfDeviceMemoryError) as caught:
        opencl.allocate(5 * KB)
    assert caught.value.problem == (
        f"{opencl.device.name} has no room for 5,120 bytes: its memory is 65,536 bytes in all, "
        "61,440 of them in use, and one buffer may have 65,536"
    )
    assert opencl.allocate(4 * KB).nbytes == 4 * KB


@pytest.mark.parametrize("less", [0, 1, 4096])
def test_the_largest_buffer_that_the_driver_takes(opencl: OpenCLBackend, less: int) -> None:
    size = opencl.device.buffer_bytes - less
    if opencl.device.memory_bytes < size:
        pytest.skip("this device has less memory than one buffer may have")
    memory = opencl.allocate(size)
    opencl.fill(memory, size - 4, 4, 7).wait()
    opencl.free(memory)
    with pytest.raises(OutOfDeviceMemoryError):
        opencl.allocate(opencl.device.buffer_bytes + 1)


def test_the_largest_buffers_count_as_well(opencl: OpenCLBackend) -> None:
    """The pool would round this size up to one that the driver refuses."""
    small_device(opencl, 2 * ((1 << 25) + 1))
    opencl.device = replace(opencl.device, buffer_bytes=(1 << 25) + 1)
    largest = [opencl.allocate(opencl.device.buffer_bytes) for _ in range(2)]
    with pytest.raises(OutOfDeviceMemoryError, match=r"67,108,866 of them in use"):
        opencl.allocate(4)
    opencl.free(largest[0])
    assert opencl.allocate(4).nbytes == 4


# ---------------------------------------------------------------------- the host's memory


def placed(offset: int, nbytes: int, dtype: type[np.generic]) -> np.ndarray[Any, Any]:
    """An array that begins so many bytes after a multiple of 4096."""
    block = np.zeros(nbytes + 8192, np.uint8)
    start = -block.__array_interface__["data"][0] % 4096 + offset
    return block[start : start + nbytes].view(dtype)


def shared(opencl: OpenCLBackend, array: np.ndarray[Any, Any]) -> OpenCLMemory:
    memory = opencl.share(array.data.cast("B"))
    assert memory is not None
    return memory


# Vectors of 32 bytes are the widest that every driver compiles: test_driver_faults.py.
KINDS = {
    "float": (np.float32, "a[x] = a[x] * 2 + 1;", 1),
    "double": (np.float64, "a[x] = a[x] * 2 + 1;", 1),
    "float4": (np.float32, "vstore4(vload4(x, a) * 2 + 1, x, a);", 4),
    "float8": (np.float32, "vstore8(vload8(x, a) * 2 + 1, x, a);", 8),
    "double4": (np.float64, "vstore4(vload4(x, a) * 2 + 1, x, a);", 4),
    "int": (np.int32, "atomic_add(&a[x], a[x] + 1);", 1),
}


@pytest.mark.parametrize("offset", [0, 8, 16, 24, 32, 64, 72, 128, 1000])
@pytest.mark.parametrize("kind", KINDS)
def test_kernels_work_on_the_hosts_memory_wherever_it_begins(
    opencl: OpenCLBackend, kind: str, offset: int
) -> None:
    dtype, body, width = KINDS[kind]
    element = kind.rstrip("0123456789")
    text = (
        f"__kernel void k(__global {element} *a, {RANGE}) "
        f"{{ int x = get_global_id(0); if (x < max_x) {{ {body} }} }}"
    )
    array = placed(offset, 1024 * np.dtype(dtype).itemsize, dtype)
    array[:] = np.arange(1024)
    memory = shared(opencl, array)
    assert memory.nbytes == array.nbytes
    prepared = opencl.prepare(build(opencl, text, "k"), NDRange(1024 // width), [memory])
    prepared.submit().wait()
    assert np.array_equal(array, np.arange(1024) * 2 + 1)
    array[:] = 5  # the host's turn
    prepared.submit().wait()
    assert np.array_equal(array, np.full(1024, 11))


@pytest.mark.parametrize("offset", [1, 2, 4, 12])
def test_memory_at_odd_places_is_refused(opencl: OpenCLBackend, offset: int) -> None:
    array = placed(offset, 64, np.uint8)
    assert opencl.share(array.data) is None


@pytest.mark.parametrize("source", [b"", b"read-only"])
def test_no_bytes_and_constant_bytes_are_not_shared(opencl: OpenCLBackend, source: bytes) -> None:
    assert opencl.share(memoryview(source)) is None


def test_a_device_with_memory_of_its_own_shares_nothing(opencl: OpenCLBackend) -> None:
    opencl.device = replace(opencl.device, features=frozenset())
    assert opencl.share(placed(0, 64, np.uint8).data) is None


def test_shared_memory_keeps_the_hosts_alive_until_the_work_is_done(
    opencl: OpenCLBackend, gate: Gate
) -> None:
    array = np.arange(1024, dtype=np.int32)
    kept = weakref.ref(array)
    result = np.zeros_like(array)
    memory = shared(opencl, array)
    scaled = scale(opencl, memory, 3, [gate.ticket])
    copied = opencl.download(memory, 0, result.data.cast("B"), [scaled])
    del array
    opencl.free(memory, [scaled, copied])
    gc.collect()
    assert kept() is not None
    gate.open()
    copied.wait()
    assert np.array_equal(result, np.arange(1024) * 3)
    while kept() is not None:  # PoCL lets go of a buffer a moment after its last command
        opencl.free(opencl.allocate(64))
        time.sleep(0.001)


def test_shared_memory_is_never_handed_out(opencl: OpenCLBackend) -> None:
    array = placed(0, 4096, np.int32)
    array[:] = 7
    opencl.free(shared(opencl, array))
    memory = opencl.allocate(4096)
    opencl.fill(memory, 0, 4096, 0).wait()
    assert array.tolist() == [7] * 1024


def test_two_memories_may_share_the_same_bytes(opencl: OpenCLBackend) -> None:
    array = placed(0, 4096, np.int32)
    array[:] = 1
    whole, half = shared(opencl, array), shared(opencl, array[512:])
    first = scale(opencl, whole, 3)
    scaling(opencl, half, 5).submit(after=[first]).wait()
    assert array.tolist() == [3] * 512 + [15] * 512


def test_shared_memory_takes_copies_too(opencl: OpenCLBackend) -> None:
    array = placed(64, 4096, np.int32)
    memory = shared(opencl, array)
    numbers = np.arange(1024, dtype=np.int32)
    opencl.upload(memory, 0, numbers.data.cast("B")).wait()
    assert np.array_equal(array, numbers)
    array += 1
    assert np.array_equal(download(opencl, memory, numbers), numbers + 1)


def test_a_number_of_a_launch_is_beside_the_memory(opencl: OpenCLBackend) -> None:
    array = placed(8, 4096, np.int32)
    array[:] = 2
    memory = shared(opencl, array)
    prepared = scaling(opencl, memory, 3)
    prepared.submit().wait()
    prepared.replace(1, Scalar(I32, 10))
    prepared.submit().wait()
    assert array.tolist() == [60] * 1024
