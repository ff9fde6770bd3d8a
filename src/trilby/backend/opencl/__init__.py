"""The OpenCL devices of a machine: found, put in order, described, and opened.

The modules of this folder are the only ones that know pyopencl; `opencl_device` drives one device.
"""

from collections.abc import Iterator, Sequence

import pyopencl as cl

from trilby.backend.base import DeviceInfo, Kind
from trilby.backend.failures import none_left
from trilby.backend.opencl import pocl
from trilby.backend.opencl.opencl_device import OpenCLBackend
from trilby.backend.opencl.opencl_drivers import check_drivers
from trilby.errors import DeviceUnavailableError
from trilby.locks import computed_once
from trilby.options import driver_variables, pocl_cache_folder

_ORDER: tuple[Kind, ...] = ("gpu", "accelerator", "cpu", "software")


class OpenCLFamily:
    """The OpenCL devices of this machine, always in the same order.

    GPUs come first, then other accelerators, vendors' CPU drivers, PoCL, and simulators.
    """

    name = "opencl"

    @computed_once
    def _listed(self) -> tuple[list[cl.Device], list[DeviceUnavailableError]]:
        check_drivers(opening=True)
        try:
            platforms = cl.get_platforms()
        except cl.Error as error:
            raise DeviceUnavailableError(
                "pyopencl is installed, and no OpenCL driver is",
                advice='pip install "trilby[opencl]" brings a driver for the CPU; a GPU has one '
                "from its maker. OCL_ICD_VENDORS, if it is set, hides all drivers but one",
            ) from error
        found = [one for platform in platforms for one in _devices_or_refusals(platform)]
        refused = [one for one in found if isinstance(one, DeviceUnavailableError)]
        devices = [one for one in found if not isinstance(one, DeviceUnavailableError)]
        return sorted(devices, key=_precedence), refused

    def devices(self) -> Sequence[DeviceInfo]:
        """The devices that can be used."""
        check_drivers()
        found, refused = self._listed
        if not found:
            raise none_left(refused)
        return [_describe(device, index) for index, device in enumerate(found)]

    def refused(self) -> Sequence[DeviceUnavailableError]:
        """The drivers and devices that are there and cannot be used, and why."""
        return self._listed[1]

    def open(self, index: int) -> OpenCLBackend:
        """Make a context and queues on a device."""
        check_drivers(opening=True)
        infos = self.devices()
        if not 0 <= index < len(infos):
            problem = f"there is no `opencl:{index}`: the number of OpenCL devices is {len(infos)}"
            raise DeviceUnavailableError(
                problem, advice="count from 0; `trilby devices` lists them"
            )
        try:
            return OpenCLBackend(self._listed[0][index], infos[index])
        except cl.Error as error:
            problem = f"{infos[index].name} cannot be opened: {error}"
            advice = "another program may hold it, or its driver may be out of date"
            raise DeviceUnavailableError(problem, advice=advice) from error


def _devices_or_refusals(platform: cl.Platform) -> Iterator[cl.Device | DeviceUnavailableError]:
    """The devices of a driver, with reasons in place of those that cannot be used."""
    is_pocl = platform.name == pocl.PLATFORM
    advice = "its hardware may be missing, in use, or without its kernel module"
    try:
        devices = platform.get_devices()
    except cl.Error as error:
        problem = f"the driver {platform.name} does not list its devices: {error}"
        yield DeviceUnavailableError(problem, advice=advice)
        return
    if not devices:
        problem = f"the driver {platform.name} has no devices"
        yield DeviceUnavailableError(problem, advice=pocl.NO_DEVICES_ADVICE if is_pocl else advice)
    for device in devices:
        if not device.available:
            problem = f"{device.name.strip()} is not available, says its driver"
            yield DeviceUnavailableError(problem, advice=advice)
        elif is_pocl and device.type & cl.device_type.CPU:
            target, folder = device.version.split()[-1], pocl_cache_folder()
            yield pocl.refusal(platform.version, target, driver_variables(), folder) or device
        else:
            yield device


def _precedence(device: cl.Device) -> tuple[int, bool, str, str]:
    name, version = device.platform.name, device.platform.version
    return _ORDER.index(_kind(device)), name == pocl.PLATFORM, name, version


def _kind(device: cl.Device) -> Kind:
    name = f"{device.platform.name} {device.name}".lower()
    if "oclgrind" in name or "llvmpipe" in name:
        return "software"
    if device.type & cl.device_type.GPU:
        return "gpu"
    return "cpu" if device.type & cl.device_type.CPU else "accelerator"


def _describe(device: cl.Device, index: int) -> DeviceInfo:
    extensions = frozenset(device.extensions.split())
    has = {
        "f64": "cl_khr_fp64" in extensions,
        "f16": "cl_khr_fp16" in extensions,
        "i64_atomics": extensions >= {"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"},
        # Others copy behind the host's back, or keep caches of their own.
        "shared_memory": _kind(device) == "cpu",
    }
    measures = device.queue_properties & cl.command_queue_properties.PROFILING_ENABLE
    return DeviceInfo(
        backend=OpenCLFamily.name,
        index=index,
        name=device.name.strip(),
        kind=_kind(device),
        vendor=device.vendor.strip(),
        driver=f"{device.platform.name.strip()} {device.driver_version.strip()}",
        memory_bytes=device.global_mem_size,
        compute_units=device.max_compute_units,
        max_group_items=device.max_work_group_size,
        features=frozenset(feature for feature, present in has.items() if present),
        buffer_bytes=device.max_mem_alloc_size,
        constant_bytes=device.max_constant_buffer_size,
        constant_arguments=device.max_constant_args,
        clock="device" if measures else "none",
    )
