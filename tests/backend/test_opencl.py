"""The OpenCL backend, on the driver that is there: hand-written OpenCL C, real launches.

What would end the process (a driver that cannot link) runs in a process of its own.
"""

import gc
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from numpy.typing import NDArray

from trilby.backend.base import Backend, DeviceInfo, Family, Scalar
from trilby.backend.null import NullEvent, NullExecutable, NullMemory
from trilby.backend.opencl import OpenCLBackend, OpenCLFamily, OpenCLMemory
from trilby.data.dtypes import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64
from trilby.data.ndrange import NDRange
from trilby.errors import (
    ArgumentTypeError,
    BuildError,
    DeviceError,
    DeviceUnavailableError,
    RangeError,
)

RANGE = "int max_x, int max_y, int max_z"

SCALE = f"""
__kernel void scale(__global int *a, int factor, {RANGE}) {{
    int x = get_global_id(0);
    if (x < max_x) a[x] = a[x] * factor;
}}
"""

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


def upload(backend: OpenCLBackend, values: NDArray[Any]) -> OpenCLMemory:
    memory = backend.allocate(values.nbytes)
    backend.upload(memory, 0, memoryview(values).cast("B")).wait()
    return memory


def download(backend: OpenCLBackend, memory: OpenCLMemory, like: NDArray[Any]) -> NDArray[Any]:
    result = np.zeros_like(like)
    backend.download(memory, 0, memoryview(result).cast("B")).wait()
    return result


# ------------------------------------------------------------------------------- launches


@pytest.mark.parametrize("items", [1, 31, 128, 129, 1000, 100_000])
def test_every_work_item_of_a_range_runs_once(backend: OpenCLBackend, items: int) -> None:
    numbers = np.arange(items + 5, dtype=np.int32)
    memory = upload(backend, numbers)
    scale = backend.build(SCALE, "scale")
    backend.launch(scale, NDRange(items), [memory, Scalar(I32, 3)]).wait()
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
    kernel = backend.build(GRID, "grid")
    backend.launch(kernel, NDRange(size, local), [memory]).wait()
    assert np.array_equal(download(backend, memory, x), 10000 * z + 100 * y + x)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (NDRange(1), (128, 1, 1)),
        (NDRange(10**6), (128, 1, 1)),
        (NDRange((20, 20)), (16, 8, 1)),
        (NDRange((20, 20, 20)), (16, 8, 1)),
        (NDRange((64, 64), local=(32, 4)), (32, 4, 1)),
    ],
)
def test_the_group_of_a_launch(
    backend: OpenCLBackend, size: NDRange, expected: tuple[int, ...]
) -> None:
    memory = backend.allocate(12)
    backend.launch(backend.build(GROUPS, "groups"), size, [memory]).wait()
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
    backend.launch(backend.build(text, "put"), NDRange(1), [memory, Scalar(kind, value)]).wait()
    assert download(backend, memory, expected).tobytes() == expected.tobytes()


def test_an_ndarray_is_its_memory_and_then_its_shape(backend: OpenCLBackend) -> None:
    text = f"""
    __kernel void shape(__global int *a, int rows, int columns, float s, {RANGE}) {{
        a[0] = rows; a[1] = columns; a[2] = (int)s;
    }}
    """
    memory = backend.allocate(12)
    numbers = [Scalar(I32, 480), Scalar(I32, 640), Scalar(F32, 7.0)]
    backend.launch(backend.build(text, "shape"), NDRange(1), [memory, *numbers]).wait()
    assert list(download(backend, memory, np.zeros(3, np.int32))) == [480, 640, 7]


def test_one_kernel_takes_new_arguments_at_each_launch(backend: OpenCLBackend) -> None:
    ones = np.ones(4, np.int32)
    first, second = upload(backend, ones), upload(backend, ones)
    scale = backend.build(SCALE, "scale")
    started = [
        backend.launch(scale, NDRange(4), [first, Scalar(I32, 2)]),
        backend.launch(scale, NDRange(3), [second, Scalar(I32, 5)]),
    ]
    for event in started:
        event.wait()
    assert list(download(backend, first, ones)) == [2, 2, 2, 2]
    assert list(download(backend, second, ones)) == [5, 5, 5, 1]


def test_many_threads_may_launch_one_kernel(backend: OpenCLBackend) -> None:
    scale = backend.build(SCALE, "scale")
    ones = np.ones(1000, np.int32)
    memories = [upload(backend, ones) for _ in range(8)]

    def work(index: int) -> None:
        for _ in range(20):
            backend.launch(scale, NDRange(1000), [memories[index], Scalar(I32, index)]).wait()

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
    scale = backend.build(SCALE, "scale")
    event = backend.upload(memory, 0, memoryview(numbers).cast("B"))
    for _ in range(5):
        event = backend.launch(scale, NDRange(1 << 20), [memory, Scalar(I32, 3)], [event])
    backend.download(memory, 0, memoryview(result).cast("B"), [event]).wait()
    assert np.array_equal(result, np.full(1 << 20, 2 * 3**5))


def test_events_of_other_devices_are_waited_for_by_the_host(backend: OpenCLBackend) -> None:
    class Watched(NullEvent):
        waited = False

        def wait(self) -> None:
            Watched.waited = True

    other = OpenCLFamily().open(0)
    ones = np.ones(4, np.int32)
    elsewhere = other.fill(other.allocate(16), 0, 16, 0)
    memory = upload(backend, ones)
    scale = backend.build(SCALE, "scale")
    arguments = [memory, Scalar(I32, 7)]
    backend.launch(scale, NDRange(4), arguments, [Watched(), elsewhere]).wait()
    other.close()
    assert Watched.waited
    assert list(download(backend, memory, ones)) == [7, 7, 7, 7]


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        (
            NDRange(8192, local=8192),
            "a group of 8192 = 8192 work items is too large: the device takes {items} for this "
            "kernel",
        ),
        (
            NDRange((256, 256), local=(128, 128)),
            "a group of 128 × 128 = 16384 work items is too large: the device takes {items} for "
            "this kernel",
        ),
        (
            NDRange(2**31),
            "the range (2147483648,) has 2147483648 work items along one axis, and an index "
            "counts to 2147483647",
        ),
        (
            NDRange((2, 2**31 - 1), local=(1, 2)),
            "the range (2, 2147483647) has 2147483647 work items along one axis, and an index "
            "counts to 2147483647",
        ),
    ],
)
def test_impossible_ranges_are_refused(backend: OpenCLBackend, size: NDRange, problem: str) -> None:
    kernel = backend.build(GROUPS, "groups")
    with pytest.raises(RangeError) as caught:
        backend.launch(kernel, size, [backend.allocate(12)])
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
    gate = backend.fill(memory, 0, size, 0)
    source = bytearray(b"\x07" * size)
    event = backend.upload(memory, 0, memoryview(source), [gate])
    with pytest.raises(BufferError):  # somebody still looks at these bytes
        source.clear()
    del source
    gc.collect()
    event.wait()
    result = bytearray(size)
    backend.download(memory, 0, memoryview(result)).wait()
    assert result == b"\x07" * size


@pytest.mark.parametrize("offset", [0, 12])
def test_a_copy_beyond_the_end_is_an_error(backend: OpenCLBackend, offset: int) -> None:
    memory = backend.allocate(16)
    with pytest.raises(DeviceError, match="failed at copying to the device"):
        backend.upload(memory, offset, memoryview(bytes(17)))
    with pytest.raises(DeviceError, match="failed at copying to the host"):
        backend.download(memory, offset, memoryview(bytearray(17)))


def test_too_much_memory_is_refused_with_figures(backend: OpenCLBackend) -> None:
    with pytest.raises(DeviceError) as caught:
        backend.allocate(1 << 50)
    largest = cl.get_platforms()[0].get_devices()[0].max_mem_alloc_size
    assert caught.value.problem == (
        f"{backend.device.name} has no room for 1,125,899,906,842,624 bytes: its memory is "
        f"{backend.device.memory_bytes:,} bytes in all, and one buffer may have {largest:,}"
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
        backend.launch(backend.build(SCALE, "scale"), NDRange(4), [memory, Scalar(I32, 2)])
    with pytest.raises(DeviceError, match=message):
        backend.free(memory)


def test_memory_may_be_freed_while_it_is_used(backend: OpenCLBackend) -> None:
    ones = np.ones(1 << 20, np.int32)
    memory = upload(backend, ones)
    result = np.zeros_like(ones)
    scale = backend.build(SCALE, "scale")
    event = backend.launch(scale, NDRange(1 << 20), [memory, Scalar(I32, 9)])
    copied = backend.download(memory, 0, memoryview(result).cast("B"), [event])
    backend.free(memory)
    copied.wait()
    assert np.array_equal(result, ones * 9)


def test_what_other_backends_made_is_refused(backend: OpenCLBackend) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        backend.upload(NullMemory(4), 0, memoryview(b"1234"))
    assert caught.value.problem == "opencl:0 was given `NullMemory`, which another accelerator made"
    with pytest.raises(ArgumentTypeError, match="given `NullMemory`"):
        backend.free(NullMemory(4))
    with pytest.raises(ArgumentTypeError, match="given `NullExecutable`"):
        backend.launch(NullExecutable("nothing"), NDRange(1), [])
    other = OpenCLFamily().open(0)
    with pytest.raises(ArgumentTypeError, match="given `OpenCLMemory`"):
        other.fill(backend.allocate(4), 0, 4, 0)
    with pytest.raises(ArgumentTypeError, match="given `OpenCLKernel`"):
        other.launch(backend.build(SCALE, "scale"), NDRange(1), [])
    other.close()


def test_a_closed_device_says_so() -> None:
    opened = OpenCLFamily().open(0)
    memory = opened.allocate(16)
    kernel = opened.build(SCALE, "scale")
    opened.close()
    opened.close()
    message = re.escape(f"opencl:0 ({opened.device.name}) was closed")
    with pytest.raises(DeviceError, match=message):
        opened.allocate(16)
    with pytest.raises(DeviceError, match=message):
        opened.build(SCALE, "scale")
    with pytest.raises(DeviceError, match=message):
        opened.fill(memory, 0, 16, 0)
    with pytest.raises(DeviceError, match=message):
        opened.launch(kernel, NDRange(1), [memory, Scalar(I32, 1)])


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
        backend.build(text, "broken")
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
        backend.build(text, "k")
    assert caught.value.advice == (f"{backend.device.name} has no f16: use f32, or another device")


def test_a_kernel_that_is_not_in_the_text_is_an_error(backend: OpenCLBackend) -> None:
    with pytest.raises(DeviceError, match="failed at preparing `other`"):
        backend.build(SCALE, "other")


def test_a_compiler_that_talks_is_not_heard(
    backend: OpenCLBackend, capfd: pytest.CaptureFixture[str]
) -> None:
    text = f"#warning listen\n__kernel void k(__global int *a, {RANGE}) {{ int unused; }}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        backend.build(text, "k")
    assert capfd.readouterr() == ("", "")


def test_the_source_can_be_read(backend: OpenCLBackend) -> None:
    assert backend.build(SCALE, "scale").source == SCALE


# -------------------------------------------------------------------------------- devices


def test_it_is_what_the_protocols_ask_for(backend: OpenCLBackend) -> None:
    as_backend: Backend = backend
    family: Family = OpenCLFamily()
    assert as_backend.device in family.devices()


def test_a_device_tells_what_it_is() -> None:
    (info, *_) = OpenCLFamily().devices()
    listed = {
        device.name.strip(): device
        for platform in cl.get_platforms()
        for device in platform.get_devices()
    }
    device = listed[info.name]
    assert info.spec == "opencl:0"
    assert info.memory_bytes == device.global_mem_size
    assert info.max_group_items == device.max_work_group_size
    assert info.compute_units == device.max_compute_units
    assert ("f64" in info.features) == ("cl_khr_fp64" in device.extensions)
    assert ("f16" in info.features) == ("cl_khr_fp16" in device.extensions)


def test_a_device_that_is_not_there() -> None:
    family = OpenCLFamily()
    count = len(family.devices())
    with pytest.raises(DeviceUnavailableError) as caught:
        family.open(count)
    assert caught.value.problem == (
        f"there is no `opencl:{count}`: the number of OpenCL devices is {count}"
    )


class FakePlatform:
    """A driver with made-up devices, or one that fails to list them."""

    def __init__(self, name: str, *devices: "FakeDevice", error: cl.Error | None = None) -> None:
        self.name = name
        self.version = "OpenCL 1.2"
        self._devices = devices
        self._error = error
        for device in devices:
            device.platform = self

    def get_devices(self) -> Sequence["FakeDevice"]:
        if self._error is not None:
            raise self._error
        return list(self._devices)


class FakeDevice:
    platform: FakePlatform
    vendor = "Maker"
    driver_version = "1.0"
    global_mem_size = 1 << 30
    max_compute_units = 4
    max_work_group_size = 256
    host_unified_memory = False

    def __init__(self, name: str, kind: int, *, available: bool = True) -> None:
        self.name = name
        self.type = kind
        self.available = available
        self.extensions = "cl_khr_fp16 cl_khr_int64_base_atomics"


def some_error() -> cl.Error:
    """OpenCL's errors can only be made by OpenCL."""
    with pytest.raises(cl.Error) as caught:
        cl.Buffer(cl.Context(cl.get_platforms()[0].get_devices()), 0, 0)
    return caught.value


CPU, GPU, OTHER = cl.device_type.CPU, cl.device_type.GPU, cl.device_type.ACCELERATOR
POCL = "Portable Computing Language"


def names(infos: Sequence[DeviceInfo]) -> list[str]:
    return [f"{info.spec} {info.name} {info.kind}" for info in infos]


def test_devices_have_an_order_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    platforms = [
        FakePlatform("Oclgrind", FakeDevice("simulator", CPU)),
        FakePlatform(POCL, FakeDevice("pthread", CPU), FakeDevice("basic", CPU)),
        FakePlatform("Zeta CPU runtime", FakeDevice("many cores", CPU)),
        FakePlatform("rusticl", FakeDevice("llvmpipe", CPU)),
        FakePlatform("NVIDIA CUDA", FakeDevice("A100", GPU)),
        FakePlatform("Intel FPGA", FakeDevice("board", OTHER)),
        FakePlatform("AMD", FakeDevice("MI300 ", GPU)),
    ]
    expected = [
        "opencl:0 MI300 gpu",
        "opencl:1 A100 gpu",
        "opencl:2 board accelerator",
        "opencl:3 many cores cpu",
        "opencl:4 pthread cpu",
        "opencl:5 basic cpu",
        "opencl:6 simulator software",
        "opencl:7 llvmpipe software",
    ]
    for order in (platforms, platforms[::-1]):
        monkeypatch.setattr(cl, "get_platforms", lambda order=order: order)
        assert names(OpenCLFamily().devices()) == expected


def test_features_come_from_the_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    platform = FakePlatform("Maker", FakeDevice("gpu", GPU), FakeDevice("cpu", CPU))
    monkeypatch.setattr(cl, "get_platforms", lambda: [platform])
    gpu, cpu = OpenCLFamily().devices()
    assert gpu.features == {"f16"}
    assert cpu.features == {"f16", "shared_memory"}


def test_a_driver_that_fails_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    error = some_error()
    platforms = [
        FakePlatform("Broken", error=error),
        FakePlatform("Empty"),
        FakePlatform("Good", FakeDevice("asleep", GPU, available=False), FakeDevice("A", GPU)),
    ]
    monkeypatch.setattr(cl, "get_platforms", lambda: platforms)
    family = OpenCLFamily()
    assert names(family.devices()) == ["opencl:0 A gpu"]
    assert [refusal.problem for refusal in family.refused()] == [
        f"the driver Broken does not list its devices: {error}",
        "the driver Empty has no devices",
        "asleep is not available, says its driver",
    ]


def test_without_any_usable_device_all_reasons_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    platforms = [FakePlatform("One"), FakePlatform("Two")]
    monkeypatch.setattr(cl, "get_platforms", lambda: platforms)
    with pytest.raises(DeviceUnavailableError) as caught:
        OpenCLFamily().devices()
    assert caught.value.problem == ("the driver One has no devices; the driver Two has no devices")
    assert caught.value.advice == (
        "its hardware may be missing, in use, or without its kernel module"
    )


LAUNCH_IN_A_NEW_PROCESS = """
from trilby.backend.opencl import OpenCLFamily
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceUnavailableError
try:
    backend = OpenCLFamily().open(0)
    text = "__kernel void k(int a, int b, int c) {}"
    backend.launch(backend.build(text, "k"), NDRange(1), []).wait()
    print("launched")
except DeviceUnavailableError as error:
    print(error)
"""


def in_a_new_process(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_driver_that_cannot_link_is_refused_and_nothing_aborts() -> None:
    done = in_a_new_process(LAUNCH_IN_A_NEW_PROCESS, PATH="/nowhere")
    assert done.stdout == (
        "PoCL, the OpenCL driver for the CPU, cannot link kernels here: there is no `ld` on the "
        "PATH\n"
        "  help: install a linker with the development files of libgcc and of the C library; on "
        "Debian and Ubuntu: apt install gcc libc6-dev\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_new_process_can_launch(tmp_path: Path) -> None:
    done = in_a_new_process(LAUNCH_IN_A_NEW_PROCESS, POCL_CACHE_DIR=str(tmp_path))
    assert (done.stdout, done.stderr, done.returncode) == ("launched\n", "", 0)


def test_without_a_driver_the_advice_says_how_to_get_one() -> None:
    done = in_a_new_process(LAUNCH_IN_A_NEW_PROCESS, OCL_ICD_VENDORS="/nowhere/none.icd")
    assert done.stdout == (
        "pyopencl is installed, and no OpenCL driver is\n"
        '  help: pip install "trilby[opencl]" brings a driver for the CPU; a GPU has one from its '
        "maker. OCL_ICD_VENDORS, if it is set, hides all drivers but one\n"
    )


def test_a_driver_without_devices_is_explained() -> None:
    done = in_a_new_process(LAUNCH_IN_A_NEW_PROCESS, POCL_DEVICES="nonsense")
    assert done.stdout == (
        "the driver Portable Computing Language has no devices\n"
        "  help: PoCL needs a folder for its cache: set POCL_CACHE_DIR to one that can be "
        "written. POCL_DEVICES, if it is set, must name a device that exists\n"
    )


def test_two_devices_can_be_used_at_once() -> None:
    program = """
from trilby.backend.opencl import OpenCLFamily
family = OpenCLFamily()
for info in family.devices():
    backend = family.open(info.index)
    memory = backend.allocate(4)
    backend.fill(memory, 0, 4, 65 + info.index).wait()
    target = bytearray(4)
    backend.download(memory, 0, memoryview(target)).wait()
    print(info.spec, target.decode())
"""
    done = in_a_new_process(program, POCL_DEVICES="pthread pthread")
    assert (done.stdout, done.stderr) == ("opencl:0 AAAA\nopencl:1 BBBB\n", "")
