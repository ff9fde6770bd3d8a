"""Prepared launches: set once, run often, changed in between."""

import numpy as np
import pytest
from tests.backend.opencl_running import RANGE, SCALE, Gate, build, download, scaling, upload

from trilby.backend.base import Scalar, StructArgument
from trilby.backend.opencl.opencl_device import OpenCLBackend
from trilby.data.dtypes import F64, I32
from trilby.data.ndrange import NDRange
from trilby.data.schema import Field, StructType
from trilby.errors import DeviceError

PAIR = StructType("Pair", (Field("a", I32), Field("b", I32)))
ADD_PAIR = f"""
typedef struct {{ int a; int b; }} Pair;
__kernel void add_pair(__global int *a, Pair p, {RANGE}) {{ a[0] += 10 * p.a + p.b; }}
"""


def ones(n: int = 4) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.ones(n, np.int32)


def test_a_prepared_launch_runs_any_number_of_times(opencl: OpenCLBackend) -> None:
    memory = upload(opencl, ones())
    prepared = scaling(opencl, memory, 3)
    event = prepared.submit()
    for _ in range(4):
        event = prepared.submit(after=[event])
    event.wait()
    assert download(opencl, memory, ones()).tolist() == [3**5] * 4


def test_new_arguments_are_for_the_runs_to_come(opencl: OpenCLBackend, gate: Gate) -> None:
    first, second = upload(opencl, ones()), upload(opencl, ones())
    prepared = scaling(opencl, first, 3)
    events = [prepared.submit(after=[gate.ticket])]
    prepared.replace(1, Scalar(I32, 5))
    events.append(prepared.submit(after=events[-1:]))
    prepared.replace(0, second)
    events.append(prepared.submit(after=events[-1:]))
    gate.open()
    for event in events:
        event.wait()
    assert download(opencl, first, ones()).tolist() == [15] * 4
    assert download(opencl, second, ones()).tolist() == [5] * 4


def test_a_struct_can_be_replaced(opencl: OpenCLBackend) -> None:
    memory = upload(opencl, ones())
    pairs = [StructArgument(PAIR, np.array(n, np.int32).tobytes()) for n in ((1, 2), (3, 4))]
    prepared = opencl.prepare(
        build(opencl, ADD_PAIR, "add_pair"), NDRange(1, 1), [memory, pairs[0]]
    )
    prepared.submit().wait()
    prepared.replace(1, pairs[1])
    prepared.submit().wait()
    assert download(opencl, memory, ones()).tolist() == [1 + 12 + 34, 1, 1, 1]


def test_launches_prepared_side_by_side_keep_their_arguments(opencl: OpenCLBackend) -> None:
    memories = [upload(opencl, ones()) for _ in range(3)]
    kernel = build(opencl, SCALE, "scale")
    prepared = [
        opencl.prepare(kernel, NDRange(4 - n), [memory, Scalar(I32, n + 2)])
        for n, memory in enumerate(memories)
    ]
    for _ in range(2):
        for event in [each.submit() for each in prepared]:
            event.wait()
    results = [download(opencl, memory, ones()).tolist() for memory in memories]
    assert results == [[4, 4, 4, 4], [9, 9, 9, 1], [16, 16, 1, 1]]


def test_a_kernel_object_serves_one_prepared_launch_after_another(opencl: OpenCLBackend) -> None:
    kernel = build(opencl, SCALE, "scale")
    memory, other = upload(opencl, ones()), upload(opencl, ones())
    prepared = opencl.prepare(kernel, NDRange(4), [memory, Scalar(I32, 7)])
    served = prepared.kernel
    prepared.submit().wait()
    del prepared
    again = opencl.prepare(kernel, NDRange(2), [other, Scalar(I32, 3)])
    assert again.kernel is served
    again.submit().wait()
    assert download(opencl, memory, ones()).tolist() == [7] * 4
    assert download(opencl, other, ones()).tolist() == [3, 3, 1, 1]


def test_memory_that_is_freed_makes_a_prepared_launch_useless(opencl: OpenCLBackend) -> None:
    memory, other = upload(opencl, ones()), upload(opencl, ones())
    prepared = scaling(opencl, memory, 3)
    prepared.submit().wait()
    opencl.free(memory)
    again = opencl.allocate(memory.nbytes)  # the same bytes, with another owner
    opencl.fill(again, 0, again.nbytes, 1).wait()
    message = "16 bytes of opencl:0 were freed, and are used all the same"
    for _ in range(2):
        with pytest.raises(DeviceError, match=message):
            prepared.submit()
    with pytest.raises(DeviceError, match=message):
        prepared.replace(0, memory)
    assert download(opencl, again, ones()).tolist() == [0x01010101] * 4
    prepared.replace(0, other)
    prepared.submit().wait()
    assert download(opencl, other, ones()).tolist() == [3] * 4


def test_a_launch_that_fails_leaves_the_queue_usable(opencl: OpenCLBackend) -> None:
    kernel = build(opencl, SCALE, "scale")
    memory = upload(opencl, ones())
    with pytest.raises(DeviceError, match="failed at running `scale`"):
        opencl.prepare(kernel, NDRange(4), [memory, Scalar(F64, 2.0)])
    with pytest.raises(DeviceError, match="failed at running `scale`"):
        opencl.prepare(kernel, NDRange(4), [Scalar(I32, 2), Scalar(I32, 2)])
    prepared = opencl.prepare(kernel, NDRange(4), [memory, Scalar(I32, 2)])
    with pytest.raises(DeviceError, match="failed at running `scale`"):
        prepared.replace(9, Scalar(I32, 3))
    prepared.submit().wait()
    assert download(opencl, memory, ones()).tolist() == [2] * 4


def test_a_closed_device_runs_nothing(opencl: OpenCLBackend) -> None:
    memory = upload(opencl, ones())
    prepared = scaling(opencl, memory, 2)
    empty = opencl.prepare(build(opencl, f"__kernel void k({RANGE}) {{}}", "k"), NDRange(1), [])
    empty.submit().wait()
    opencl.close()
    for each in (prepared, empty):
        with pytest.raises(DeviceError, match="was closed"):
            each.submit()
    opencl.free(memory)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_arguments_that_are_missing_are_missed(opencl: OpenCLBackend, count: int) -> None:
    kernel = build(opencl, SCALE, "scale")
    memory = upload(opencl, ones())
    opencl.prepare(kernel, NDRange(4), [memory, Scalar(I32, 2)]).submit().wait()
    arguments = [memory, Scalar(I32, 5), Scalar(I32, 6)][:count]
    with pytest.raises(DeviceError, match=f"`scale` takes 2 arguments, and {count} are given"):
        opencl.prepare(kernel, NDRange(4), arguments)
