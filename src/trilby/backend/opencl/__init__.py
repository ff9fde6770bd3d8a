"""The OpenCL devices of a machine: found, put in order, described, and opened.

The modules of this folder are the only ones that know pyopencl; `opencl_device` drives one device.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import pyopencl as cl

from trilby.backend.base import DeviceInfo
from trilby.backend.failures import none_left
from trilby.backend.opencl import pocl
from trilby.backend.opencl.opencl_device import OpenCLBackend
from trilby.backend.opencl.opencl_drivers import check_drivers, use_drivers
from trilby.errors import DeviceUnavailableError
from trilby.locks import computed_once
from trilby.options import driver_variables, pocl_cache_folder

_Kind: TypeAlias = Literal["cpu", "gpu", "accelerator", "software"]

_RANK: dict[_Kind, int] = {"gpu": 0, "accelerator": 1, "cpu": 2, "software": 3}

_DRIVER_ADVICE = "its hardware may be missing, in use, or without its kernel module"


class OpenCLFamily:
    """The OpenCL devices of this machine, always in the same order.

    GPUs come first, then other accelerators, vendors' CPU drivers, PoCL, and simulators.
    """

    name = "opencl"

    @computed_once
    def _listed(self) -> tuple[tuple[cl.Device, ...], tuple[DeviceUnavailableError, ...]]:
        use_drivers()
        refused: list[DeviceUnavailableError] = []
        found = [device for platform in _platforms() for device in _usable(platform, refused)]
        return tuple(sorted(found, key=_precedence)), tuple(refused)

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
        """Make a context and a queue on a device."""
        infos = self.devices()
        if not 0 <= index < len(infos):
            raise DeviceUnavailableError(
                f"there is no `opencl:{index}`: the number of OpenCL devices is {len(infos)}",
                advice="count from 0; `trilby devices` lists them",
            )
        try:
            return OpenCLBackend(self._listed[0][index], infos[index])
        except cl.Error as error:
            raise DeviceUnavailableError(
                f"{infos[index].name} cannot be opened: {error}",
                advice="another program may hold it, or its driver may be out of date",
            ) from error


def _platforms() -> Sequence[cl.Platform]:
    try:
        return cl.get_platforms()
    except cl.Error as error:
        raise DeviceUnavailableError(
            "pyopencl is installed, and no OpenCL driver is",
            advice='pip install "trilby[opencl]" brings a driver for the CPU; a GPU has one from '
            "its maker. OCL_ICD_VENDORS, if it is set, hides all drivers but one",
        ) from error


def _usable(platform: cl.Platform, refused: list[DeviceUnavailableError]) -> list[cl.Device]:
    """The devices of a driver that can be used; `refused` takes the rest, with the reason."""
    try:
        devices = platform.get_devices()
    except cl.Error as error:
        problem = f"the driver {platform.name} does not list its devices: {error}"
        refused.append(DeviceUnavailableError(problem, advice=_DRIVER_ADVICE))
        return []
    if not devices:
        advice = pocl.NO_DEVICES_ADVICE if platform.name == pocl.PLATFORM else _DRIVER_ADVICE
        problem = f"the driver {platform.name} has no devices"
        refused.append(DeviceUnavailableError(problem, advice=advice))
    reasons = [_refusal(device) for device in devices]
    refused.extend(reason for reason in reasons if reason is not None)
    return [device for device, reason in zip(devices, reasons, strict=True) if reason is None]


def _refusal(device: cl.Device) -> DeviceUnavailableError | None:
    if not device.available:
        problem = f"{device.name.strip()} is not available, says its driver"
        return DeviceUnavailableError(problem, advice=_DRIVER_ADVICE)
    if device.platform.name != pocl.PLATFORM or not device.type & cl.device_type.CPU:
        return None
    version, target = device.platform.version, device.version.split()[-1]
    return pocl.refusal(pocl.Setting(version, driver_variables(), pocl_cache_folder(), target))


def _precedence(device: cl.Device) -> tuple[int, bool, str, str]:
    platform = device.platform
    return _RANK[_kind(device)], platform.name == pocl.PLATFORM, platform.name, platform.version


def _kind(device: cl.Device) -> _Kind:
    name = f"{device.platform.name} {device.name}".lower()
    if "oclgrind" in name or "llvmpipe" in name:
        return "software"
    if device.type & cl.device_type.GPU:
        return "gpu"
    return "cpu" if device.type & cl.device_type.CPU else "accelerator"


def _describe(device: cl.Device, index: int) -> DeviceInfo:
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
        features=_features(device),
        buffer_bytes=device.max_mem_alloc_size,
        constant_bytes=device.max_constant_buffer_size,
        constant_arguments=device.max_constant_args,
        clock="device" if _measures(device) else "none",
    )


def _measures(device: cl.Device) -> bool:
    return bool(device.queue_properties & cl.command_queue_properties.PROFILING_ENABLE)


def _features(device: cl.Device) -> frozenset[str]:
    extensions = frozenset(device.extensions.split())
    wide_atomics = {"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"}
    has = {
        "f64": "cl_khr_fp64" in extensions,
        "f16": "cl_khr_fp16" in extensions,
        "i64_atomics": wide_atomics <= extensions,
        # Others copy behind the host's back, or keep caches of their own.
        "shared_memory": _kind(device) == "cpu",
    }
    return frozenset(feature for feature, present in has.items() if present)
