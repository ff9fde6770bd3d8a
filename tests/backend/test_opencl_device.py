"""An OpenCL device, on the driver that is there: hand-written OpenCL C, real launches."""

import gc
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from tests.backend.opencl_running import RANGE, SCALE, Gate, build, download, scale, scaling, upload
from tests.model.samples import SQUARE, SQUARE_KERNEL, TYPES

from trilby.analysis.reach import KernelGraph
from trilby.backend.base import Scalar
from trilby.backend.opencl import OpenCLFamily
from trilby.backend.opencl.opencl_device import OpenCLBackend
from trilby.data.dtypes import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from trilby.data.ndrange import NDRange
from trilby.errors import (
    ArgumentTypeError,
    BuildError,
    DeviceError,
    OutOfDeviceMemoryError,
    RangeError,
)
from trilby.model.parse import parse

GRID = f"""
__kernel void grid(__global int *a, {RANGE}) {{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < max_x && y < max_y && z < max_z)
        a[(z * max_y + y) * max_x + x] = 10000 * z + 100 * y + x;
}}
"""

GROUPS = f"""
__kernel void groups(__global int *a, {RANGE}) {{
    if (get_global_id(0) == 0 && get_global_id(1) == 0 && get_global_id(2) == 0) {{
        a[0] = get_local_size(0);
        a[1] = get_local_size(1);
        a[2] = get_local_size(2);
    }}
}}
"""


@pytest.fixture(scope="module")
def backend() -> Iterator[OpenCLBackend]:
    opened = OpenCLFamily().open(0)
    yield opened
    opened.close()


# ------------------------------------------------------------------------------- launches


@pytest.mark.parametrize("items", [1, 31, 128, 129, 1000, 100_000])
def test_every_work_item_of_a_range_runs_once(backend: OpenCLBackend, items: int) -> None:
    numbers = np.arange(items + 5, dtype=np.int32)
    memory = upload(backend, numbers)
    scale = build(backend, SCALE, "scale")
    backend.prepare(scale, NDRange(items), [memory, Scalar(I32, 3)]).submit().wait()
    expected = np.where(numbers < items, numbers * 3, numbers)
    assert np.array_equal(download(backend, memory, numbers), expected)


@pytest.mark.parametrize(
    ("size", "local"),
    [
        ((7, 5), None),
        ((40, 30), (4, 5)),
        ((33, 9), (8, 8)),
        ((7, 5, 3), None),
        ((17, 9, 4), (4, 2, 2)),
    ],
)
def test_a_range_of_more_dimensions_is_laid_out_with_x_first(
    backend: OpenCLBackend, size: tuple[int, ...], local: tuple[int, ...] | None
) -> None:
    max_x, max_y, max_z = (*size, 1)[:3]
    z, y, x = np.indices((max_z, max_y, max_x), dtype=np.int32)
    memory = backend.allocate(4 * x.size)
    kernel = build(backend, GRID, "grid")
    backend.prepare(kernel, NDRange(size, local), [memory]).submit().wait()
    assert np.array_equal(download(backend, memory, x), 10000 * z + 100 * y + x)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (NDRange(1), (128, 1, 1)),
        (NDRange(10**3), (128, 1, 1)),
        (NDRange(10**6), (512, 1, 1)),
        (NDRange((20, 20)), (16, 8, 1)),
        (NDRange((20, 20, 20)), (16, 8, 1)),
        (NDRange((64, 64), local=(32, 4)), (32, 4, 1)),
    ],
)
def test_the_group_of_a_launch(
    backend: OpenCLBackend, size: NDRange, expected: tuple[int, ...]
) -> None:
    memory = backend.allocate(12)
    backend.prepare(build(backend, GROUPS, "groups"), size, [memory]).submit().wait()
    assert tuple(download(backend, memory, np.zeros(3, np.int32))) == expected


NUMBERS = [
    (I8, "char", -7, np.int8),
    (U8, "uchar", 250, np.uint8),
    (I16, "short", -30_000, np.int16),
    (U16, "ushort", 65_000, np.uint16),
    (I32, "int", -(2**31), np.int32),
    (U32, "uint", 2**32 - 1, np.uint32),
    (I64, "long", -(2**63), np.int64),
    (U64, "ulong", 2**64 - 1, np.uint64),
    (F32, "float", 0.1, np.float32),
    (F64, "double", 0.1, np.float64),
    (BOOL, "uchar", True, np.uint8),
    (F16, "ushort", 0.1, np.uint16),
]


@pytest.mark.parametrize(
    ("kind", "c_type", "value", "numpy_type"), NUMBERS, ids=[str(n[0]) for n in NUMBERS]
)
def test_a_number_arrives_as_it_was_given(
    backend: OpenCLBackend, kind: Any, c_type: str, value: float, numpy_type: type[np.generic]
) -> None:
    text = f"__kernel void put(__global {c_type} *a, {c_type} v, {RANGE}) {{ a[0] = v; }}"
    expected = np.array([value], np.float16).view(np.uint16) if kind is F16 else None
    expected = np.array([value], numpy_type) if expected is None else expected
    memory = backend.allocate(expected.nbytes)
    backend.prepare(
        build(backend, text, "put"), NDRange(1), [memory, Scalar(kind, value)]
    ).submit().wait()
    assert download(backend, memory, expected).tobytes() == expected.tobytes()


def test_an_ndarray_is_its_memory_and_then_its_shape(backend: OpenCLBackend) -> None:
    text = f"""
    __kernel void shape(__global int *a, int rows, int columns, float s, {RANGE}) {{
        a[0] = rows; a[1] = columns; a[2] = (int)s;
    }}
    """
    memory = backend.allocate(12)
    numbers = [Scalar(I32, 480), Scalar(I32, 640), Scalar(F32, 7.0)]
    backend.prepare(build(backend, text, "shape"), NDRange(1), [memory, *numbers]).submit().wait()
    assert list(download(backend, memory, np.zeros(3, np.int32))) == [480, 640, 7]


def test_one_kernel_takes_new_arguments_at_each_launch(backend: OpenCLBackend) -> None:
    ones = np.ones(4, np.int32)
    first, second = upload(backend, ones), upload(backend, ones)
    scale = build(backend, SCALE, "scale")
    started = [
        backend.prepare(scale, NDRange(4), [first, Scalar(I32, 2)]).submit(),
        backend.prepare(scale, NDRange(3), [second, Scalar(I32, 5)]).submit(),
    ]
    for event in started:
        event.wait()
    assert list(download(backend, first, ones)) == [2, 2, 2, 2]
    assert list(download(backend, second, ones)) == [5, 5, 5, 1]


def test_many_threads_may_launch_one_kernel(backend: OpenCLBackend) -> None:
    scale = build(backend, SCALE, "scale")
    ones = np.ones(1000, np.int32)
    memories = [upload(backend, ones) for _ in range(8)]

    def work(index: int) -> None:
        for _ in range(20):
            backend.prepare(
                scale, NDRange(1000), [memories[index], Scalar(I32, index)]
            ).submit().wait()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, memory in enumerate(memories):
        with np.errstate(over="ignore"):
            expected = np.full(1000, np.int32(1)) * np.array(index, np.int32) ** np.int32(20)
        assert np.array_equal(download(backend, memory, ones), expected)


def test_what_comes_after_waits(backend: OpenCLBackend) -> None:
    numbers = np.full(1 << 20, 2, np.int32)
    result = np.zeros_like(numbers)
    memory = backend.allocate(numbers.nbytes)
    scale = build(backend, SCALE, "scale")
    event = backend.upload(memory, 0, numbers.data.cast("B"))
    for _ in range(5):
        event = backend.prepare(scale, NDRange(1 << 20), [memory, Scalar(I32, 3)]).submit(
            after=[event]
        )
    backend.download(memory, 0, result.data.cast("B"), [event]).wait()
    assert np.array_equal(result, np.full(1 << 20, 2 * 3**5))


def test_commands_of_other_devices_are_waited_for_by_the_host(backend: OpenCLBackend) -> None:
    other = OpenCLFamily().open(0)
    gate = Gate.on(other)
    ones = np.ones(4, np.int32)
    memory = upload(backend, ones)
    opener = threading.Timer(0.05, gate.open)
    opener.start()
    done = scale(backend, memory, 7, [gate.ticket])
    assert gate.ticket.done
    done.wait()
    opener.join()
    other.close()
    assert list(download(backend, memory, ones)) == [7, 7, 7, 7]


def test_a_failure_of_another_device_is_raised_by_what_comes_after_it(
    backend: OpenCLBackend,
) -> None:
    other = OpenCLFamily().open(0)
    gate = Gate.on(other)
    memory = upload(backend, np.ones(4, np.int32))
    prepared = scaling(backend, memory, 7)
    gate.fail()
    with pytest.raises(DeviceError, match="failed at opening a gate"):
        prepared.submit(after=[gate.ticket])
    assert prepared.begun == 0
    other.close()


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        (
            NDRange(8192, local=8192),
            ("a group of 8192 work items is too large: the device takes {items} for this kernel"),
        ),
        (
            NDRange((256, 256), local=(128, 128)),
            (
                "a group of 128 × 128 = 16384 work items is too large: the device takes {items} "
                "for this kernel"
            ),
        ),
        (
            NDRange((2, 2**31 - 1), local=(1, 2)),
            (
                "the range (2, 2147483647) has 2147483647 work items along one axis, and an index "
                "counts to 2147483647"
            ),
        ),
    ],
)
def test_impossible_ranges_are_refused(backend: OpenCLBackend, size: NDRange, problem: str) -> None:
    kernel = build(backend, GROUPS, "groups")
    with pytest.raises(RangeError) as caught:
        backend.prepare(kernel, size, [backend.allocate(12)]).submit()
    assert caught.value.problem == problem.format(items=backend.device.max_group_items)
    assert caught.value.advice


# --------------------------------------------------------------------------------- memory


def test_copies_and_fills_take_parts(backend: OpenCLBackend) -> None:
    memory = backend.allocate(16)
    backend.fill(memory, 0, 16, 0xAB).wait()
    backend.fill(memory, 3, 2, 0).wait()
    backend.upload(memory, 8, memoryview(b"xyz")).wait()
    target = bytearray(b"-" * 8)
    backend.download(memory, 2, memoryview(target)[1:7]).wait()
    assert bytes(target) == b"-\xab\x00\x00\xab\xab\xab-"
    whole = bytearray(16)
    backend.download(memory, 0, memoryview(whole)).wait()
    assert bytes(whole) == b"\xab\xab\xab\x00\x00\xab\xab\xabxyz" + b"\xab" * 5


def test_no_bytes_are_no_error(backend: OpenCLBackend) -> None:
    memory = backend.allocate(0)
    assert memory.nbytes == 0
    filled = backend.fill(memory, 0, 0, 1)
    backend.upload(memory, 0, memoryview(b""), [filled]).wait()
    backend.download(memory, 0, memoryview(bytearray()), [filled]).wait()
    backend.free(memory)


def test_an_upload_keeps_the_bytes_alive_until_it_is_done(backend: OpenCLBackend) -> None:
    size = 1 << 24
    memory = backend.allocate(size)
    gate = Gate.on(backend)
    source = bytearray(b"\x07" * size)
    event = backend.upload(memory, 0, memoryview(source), [gate.ticket])
    with pytest.raises(BufferError):  # somebody still looks at these bytes
        source.clear()
    del source
    gc.collect()
    gate.open()
    event.wait()
    result = bytearray(size)
    backend.download(memory, 0, memoryview(result)).wait()
    assert result == b"\x07" * size


@pytest.mark.parametrize("offset", [0, 12])
def test_a_copy_beyond_the_end_is_an_error(backend: OpenCLBackend, offset: int) -> None:
    memory = backend.allocate(16)
    message = f"bytes {offset} to {offset + 17} were asked for in 16 bytes of opencl:0"
    with pytest.raises(DeviceError, match=message):
        backend.upload(memory, offset, memoryview(bytes(17)))
    with pytest.raises(DeviceError, match=message):
        backend.download(memory, offset, memoryview(bytearray(17)))
    with pytest.raises(DeviceError, match=message):
        backend.fill(memory, offset, 17, 0)
    with pytest.raises(DeviceError, match="bytes -1 to 1 were asked for"):
        backend.fill(memory, -1, 2, 0)


def test_too_much_memory_is_refused_with_figures() -> None:
    backend = OpenCLFamily().open(0)
    _in_use = backend.allocate(1000)
    with pytest.raises(OutOfDeviceMemoryError) as caught:
        backend.allocate(1 << 50)
    largest = cl.get_platforms()[0].get_devices()[0].max_mem_alloc_size
    assert caught.value.problem == (
        f"{backend.device.name} has no room for 1,125,899,906,842,624 bytes: its memory is "
        f"{backend.device.memory_bytes:,} bytes in all, 1,000 of them in use, and one buffer may "
        f"have {largest:,}"
    )
    assert caught.value.advice == (
        "release buffers that are no longer used, or work in smaller pieces"
    )


def test_freed_memory_cannot_be_used(backend: OpenCLBackend) -> None:
    memory = backend.allocate(16)
    backend.free(memory)
    message = "16 bytes of opencl:0 were freed, and are used all the same"
    with pytest.raises(DeviceError, match=message):
        backend.fill(memory, 0, 16, 0)
    with pytest.raises(DeviceError, match=message):
        backend.prepare(
            build(backend, SCALE, "scale"), NDRange(4), [memory, Scalar(I32, 2)]
        ).submit()
    with pytest.raises(DeviceError, match=message):
        backend.free(memory)


def test_memory_may_be_freed_while_it_is_used(backend: OpenCLBackend) -> None:
    ones = np.ones(1 << 20, np.int32)
    memory = upload(backend, ones)
    result = np.zeros_like(ones)
    scale = build(backend, SCALE, "scale")
    event = backend.prepare(scale, NDRange(1 << 20), [memory, Scalar(I32, 9)]).submit()
    copied = backend.download(memory, 0, result.data.cast("B"), [event])
    backend.free(memory)
    copied.wait()
    assert np.array_equal(result, ones * 9)


class OtherMemory:
    nbytes = 4


class OtherKernel:
    source = ""
    asserts = prints = False


def test_what_other_backends_made_is_refused(backend: OpenCLBackend) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        backend.upload(OtherMemory(), 0, memoryview(b"1234"))
    assert (
        caught.value.problem == "opencl:0 was given `OtherMemory`, which another accelerator made"
    )
    with pytest.raises(ArgumentTypeError, match="given `OtherMemory`"):
        backend.free(OtherMemory())
    with pytest.raises(ArgumentTypeError, match="given `OtherKernel`"):
        backend.prepare(OtherKernel(), NDRange(1), []).submit()
    other = OpenCLFamily().open(0)
    with pytest.raises(ArgumentTypeError, match="given `OpenCLMemory`"):
        other.fill(backend.allocate(4), 0, 4, 0)
    with pytest.raises(ArgumentTypeError, match="given `OpenCLKernel`"):
        other.prepare(build(backend, SCALE, "scale"), NDRange(1), []).submit()
    other.close()


def test_a_closed_device_says_so() -> None:
    opened = OpenCLFamily().open(0)
    memory = opened.allocate(16)
    kernel = build(opened, SCALE, "scale")
    opened.close()
    opened.close()
    message = re.escape(f"opencl:0 ({opened.device.name}) was closed")
    with pytest.raises(DeviceError, match=message):
        opened.allocate(16)
    with pytest.raises(DeviceError, match=message):
        build(opened, SCALE, "scale")
    with pytest.raises(DeviceError, match=message):
        opened.fill(memory, 0, 16, 0)
    with pytest.raises(DeviceError, match=message):
        opened.prepare(kernel, NDRange(1), [memory, Scalar(I32, 1)])
    with pytest.raises(DeviceError, match=message):
        opened.share(memoryview(bytearray(64)))
    opened.free(memory)
    assert opened.pool.managed_bytes == 0


# --------------------------------------------------------------------------------- builds


def test_a_build_error_names_the_python_line(backend: OpenCLBackend, tmp_path: Path) -> None:
    file = tmp_path / "my app.py"
    file.write_text("one\ntwo\n    three = missing\n")
    text = f"""
__kernel void broken(__global int *a, {RANGE}) {{
#line 3 "{file}"
    a[0] = missing;
    a[1] = lost;
}}
"""
    with pytest.raises(BuildError) as caught:
        build(backend, text, "broken")
    error = caught.value
    name = backend.device.name
    assert (error.location and (error.location.file, error.location.line)) == (str(file), 3)
    first, *rest = str(error).splitlines()
    assert first == (
        f"{file}:3: the compiler of {name} refused `broken`: use of undeclared identifier 'missing'"
    )
    assert rest[0] == "  its log:"
    assert f"    error: {file}:4:12: use of undeclared identifier 'lost'" in rest
    assert "  3 | three = missing" in rest
    assert error.advice.startswith("the code is generated, so this is a fault of Trilby")


def test_a_device_without_halves_says_so(backend: OpenCLBackend) -> None:
    if "f16" in backend.device.features:
        pytest.skip("this device has halves")
    text = f"__kernel void k(__global half *a, {RANGE}) {{ half h = a[0]; a[1] = h; }}"
    with pytest.raises(BuildError) as caught:
        build(backend, text, "k")
    assert caught.value.advice == (f"{backend.device.name} has no f16: use f32, or another device")


def test_a_kernel_that_is_not_in_the_text_is_an_error(backend: OpenCLBackend) -> None:
    with pytest.raises(DeviceError, match="failed at preparing `other`"):
        build(backend, SCALE, "other")


def test_a_compiler_that_talks_is_not_heard(
    backend: OpenCLBackend, capfd: pytest.CaptureFixture[str]
) -> None:
    text = f"#warning listen\n__kernel void k(__global int *a, {RANGE}) {{ int unused; }}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(backend, text, "k")
    assert capfd.readouterr() == ("", "")


def test_a_model_is_compiled_and_runs(backend: OpenCLBackend) -> None:
    graph = KernelGraph((parse(SQUARE, {}), parse(SQUARE_KERNEL, TYPES)))
    kernel = backend.compile(graph)()
    assert "__kernel void tb_square_kernel(" in kernel.source
    numbers = np.array([5, 0, 1, -2, 3, 46341], np.int32)  # the length, and then the array
    memory = upload(backend, numbers)
    backend.prepare(kernel, NDRange(5), [memory, Scalar(I32, 5)]).submit().wait()
    expected = [5, 0, 1, 4, 9, 46341**2 - 2**32]
    assert list(download(backend, memory, numbers)) == expected


def test_the_source_can_be_read(backend: OpenCLBackend) -> None:
    assert build(backend, SCALE, "scale").source == SCALE


def test_devices_that_threads_open_leave_the_filters_of_warnings_alone() -> None:
    family = OpenCLFamily()
    family.open(0).close()
    before, interval = list(warnings.filters), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            opened = [threads.submit(lambda: family.open(0).close()) for _ in range(64)]
        for one in opened:
            one.result()
    finally:
        sys.setswitchinterval(interval)
    assert list(warnings.filters) == before
