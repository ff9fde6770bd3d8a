"""Whether a device has what a kernel needs: the one check, for all backends, before building.

How large a buffer in constant memory may be is checked at launch, when its size is known.
"""

from trilby.analysis.needs import FEATURES, Need, needs
from trilby.analysis.reach import KernelGraph, short_name
from trilby.backend.base import DeviceInfo
from trilby.errors import MissingFeatureError
from trilby.model.op import Func
from trilby.model.value import space_of
from trilby.source import NOWHERE

_SPOKEN = {"f64": "no `f64`", "i64_atomics": "no atomics on 64 bits"}


def check_features(graph: KernelGraph, device: DeviceInfo) -> None:
    """Refuse a kernel that needs more than a device has, at the first line that does."""
    _check_constant_arguments(graph.entry, device)
    if device.features >= FEATURES:
        return
    for need in needs(graph):
        if need.feature not in device.features:
            raise _lacks(device, need)


def _check_constant_arguments(kernel: Func, device: DeviceInfo) -> None:
    constant = [param.hint for param in kernel.params if space_of(param.type) == "constant"]
    if not device.constant_arguments or len(constant) <= device.constant_arguments:
        return
    raise MissingFeatureError(
        f"`{short_name(kernel.name)}` has {len(constant)} buffers in constant memory "
        f"({', '.join(constant)}), and {device.name} takes {device.constant_arguments}",
        advice="take `tb.Constant` off the largest: they then lie in global memory",
        location=None if kernel.location == NOWHERE else kernel.location,
    )


def _lacks(device: DeviceInfo, need: Need) -> MissingFeatureError:
    return MissingFeatureError(
        f"{device.name} has {_SPOKEN[need.feature]}, and {need.why}",
        advice=f"{need.advice}; or use a device that has it: `trilby devices` lists them",
        location=None if need.location == NOWHERE else need.location,
        calls=need.calls,
    )
