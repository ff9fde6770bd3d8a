"""Finding OpenCL devices: for real, with made-up drivers, and where something is missing.

What would end the process (a driver that cannot link) runs in a process of its own.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyopencl as cl
import pytest

from trilby.backend.base import Backend, DeviceInfo, Family
from trilby.backend.opencl import OpenCLFamily, pocl
from trilby.errors import DeviceUnavailableError


def test_it_is_what_the_protocols_ask_for() -> None:
    family: Family = OpenCLFamily()
    backend: Backend = family.open(0)
    assert backend.device == family.devices()[0]
    backend.close()


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
    version = "OpenCL 3.0 fake"
    driver_version = "1.0"
    global_mem_size = 1 << 30
    max_mem_alloc_size = 1 << 28
    max_compute_units = 4
    max_work_group_size = 256
    max_constant_buffer_size = 1 << 16
    max_constant_args = 8
    queue_properties = cl.command_queue_properties.PROFILING_ENABLE
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


def no_refusal(*_: object) -> None:
    """There is nothing to try of a platform that does not exist."""


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
    monkeypatch.setattr(cl, "get_platforms", lambda: platforms)
    monkeypatch.setattr(pocl, "refusal", no_refusal)
    assert names(OpenCLFamily().devices()) == expected
    platforms.reverse()
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
from trilby.codegen.cfamily import Generated
from trilby.data.ndrange import NDRange
from trilby.errors import DeviceUnavailableError
try:
    backend = OpenCLFamily().open(0)
    text = "__kernel void k(int a, int b, int c) {}"
    backend.prepare(backend.build(Generated(text, "k")), NDRange(1), []).submit().wait()
    print("launched")
except DeviceUnavailableError as error:
    print(error.problem, f"  help: {error.advice}", sep="\\n")
"""


def in_a_new_process(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_driver_that_cannot_link_is_refused_and_nothing_aborts(tmp_path: Path) -> None:
    done = in_a_new_process(LAUNCH_IN_A_NEW_PROCESS, PATH="/nowhere", POCL_CACHE_DIR=str(tmp_path))
    assert (
        "PoCL, the OpenCL driver for the CPU, does not get a small kernel to run here: error: "
        'unable to execute command: Executable "ld" doesn\'t exist!'
    ) in done.stdout
    assert (
        "install a linker with the development files of libgcc and of the C library; on Debian and "
        "Ubuntu: apt install gcc libc6-dev"
    ) in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("complaint", "cause", "advice"),
    [
        ("", "error: linker command failed", "apt install gcc libc6-dev"),
        ("ld: cannot find -lgcc: No such file", "ld: cannot find -lgcc", "libc6-dev"),
        ("ld: final link failed: No space left on device", "ld: final link", "POCL_CACHE_DIR"),
    ],
)
def test_a_linker_that_fails_is_found_out_before_it_ends_the_process(
    tmp_path: Path, complaint: str, cause: str, advice: str
) -> None:
    linker = tmp_path / "ld"
    linker.write_text(f'#!/bin/sh\necho "{complaint}" >&2\nexit 1\n', encoding="utf-8")
    linker.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    done = in_a_new_process(LAUNCH_IN_A_NEW_PROCESS, PATH=path, POCL_CACHE_DIR=str(tmp_path))
    assert f"does not get a small kernel to run here: {cause}" in done.stdout
    assert advice in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


def test_a_cache_that_takes_no_kernel_is_found_out_as_well(tmp_path: Path) -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    done = in_a_new_process(limited + LAUNCH_IN_A_NEW_PROCESS, POCL_CACHE_DIR=str(tmp_path))
    assert "does not get a small kernel to run here" in done.stdout
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


SCALING_IN_A_NEW_PROCESS = """
import os, sys, threading
import numpy as np
from tests.backend.opencl_running import Gate, download, scaling, upload
from trilby.backend.opencl import OpenCLFamily
from trilby.errors import DeviceUnavailableError
opencl = OpenCLFamily().open(0)
gate = Gate.on(opencl)
ones = np.ones(1000, np.int32)
memory = upload(opencl, ones)
launch = scaling(opencl, memory, 3)
launch.submit().wait()
"""


def test_a_forked_child_is_told_and_the_parent_goes_on() -> None:
    program = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks of threads
under_way = launch.submit(after=[gate.ticket])
if os.fork():
    os.wait()
    gate.open()
    under_way.wait()
    print(set(download(opencl, memory, ones).tolist()), flush=True)
    sys.exit()
for use in (launch.submit, under_way.wait, lambda: opencl.fill(memory, 0, 4, 0)):
    try:
        use()
    except DeviceUnavailableError as error:
        print(error.problem, flush=True)
print(under_way.done, flush=True)
opencl.free(memory, [under_way])
opencl.close()
"""
    done = in_a_new_process(SCALING_IN_A_NEW_PROCESS + program)
    told = "this process was forked from one that had used OpenCL: drivers do not survive that\n"
    assert (done.stdout, done.stderr) == (3 * told + "False\n{9}\n", "")
    assert done.returncode == 0


def test_a_program_may_end_while_work_is_under_way_and_threads_wait() -> None:
    program = """
under_way = launch.submit(after=[gate.ticket])
copied = opencl.upload(memory, 0, memoryview(bytearray(4000)), [under_way])
threading.Thread(target=under_way.wait, daemon=True).start()
threading.Timer(0.2, gate.open).start()
print("end")
"""
    done = in_a_new_process(SCALING_IN_A_NEW_PROCESS + program)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)
