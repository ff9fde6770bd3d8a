"""The memory that local and private arrays take, and what is said where there is too little.

A device has to find it for all work items that run at once. Nothing here knows a driver.
"""

import sys

from trilby.analysis.reach import KernelGraph, short_name
from trilby.backend.base import DeviceInfo
from trilby.backend.group_size import GroupLimits
from trilby.data.layout import size_of
from trilby.dataclass import dataclass
from trilby.errors import OutOfDeviceMemoryError
from trilby.model.op import walk
from trilby.model.ops.core import Call
from trilby.model.ops.memory import LocalArray, PrivateArray
from trilby.model.value import RefType
from trilby.source import NOWHERE, Location


@dataclass(frozen=True, slots=True)
class WorkMemory:
    """The bytes of a kernel's arrays: for each work item, and for each group.

    `location` is that of the largest array.
    """

    kernel: str = ""
    private: int = 0
    local: int = 0
    location: Location = NOWHERE

    def no_room(self, device: DeviceInfo, needs: str, has: int) -> OutOfDeviceMemoryError:
        """A device has fewer bytes than a launch needs: `no_room(device, "2 groups need 8", 4)`."""
        return OutOfDeviceMemoryError(
            f"{device.name} has no room for the arrays of `{self.kernel}`: its private arrays take "
            f"{self.private:,} bytes for each work item and its local arrays {self.local:,} for "
            f"each group; {needs}, and there are {has:,}",
            advice="make the arrays or the groups smaller, or use a buffer of the host's",
            location=None if self.location == NOWHERE else self.location,
        )


NO_ARRAYS = WorkMemory()


def work_memory(graph: KernelGraph) -> WorkMemory:
    """What the arrays of a kernel take; those of a device function live while it is called."""
    private: dict[str, int] = {}
    local, largest, location = 0, 0, NOWHERE
    for function in graph.functions:  # callees come first
        own = deepest = 0
        for op in walk(function.body):
            if isinstance(op, LocalArray | PrivateArray) and isinstance(op.value.type, RefType):
                size = size_of(op.value.type.to)
                own += size if isinstance(op, PrivateArray) else 0
                local += size if isinstance(op, LocalArray) else 0
                if size > largest:
                    largest, location = size, op.location
            elif isinstance(op, Call):
                deepest = max(deepest, private.get(op.callee, 0))
        private[function.name] = own + deepest
    entry = graph.entry.name
    return WorkMemory(short_name(entry), private[entry], local, location)


def checked(graph: KernelGraph, device: DeviceInfo) -> WorkMemory:
    """What the arrays of a kernel take; raises where one work item has no room for them."""
    found = work_memory(graph)
    needed = found.private + found.local
    if needed > (device.memory_bytes or needed):
        raise found.no_room(device, f"one work item needs {needed:,}", device.memory_bytes)
    return found


# -- drivers ------------------------------------------------------------------------------

_USUAL_STACK = 1 << 21


def checked_by_driver(graph: KernelGraph, device: DeviceInfo, local_bytes: int) -> WorkMemory:
    """The same for a device that is used through a driver, with so much local memory."""
    found = checked(graph, device)
    if found.local > local_bytes:
        needs = f"one group needs {found.local:,} bytes of local memory"
        raise found.no_room(device, needs, local_bytes)
    if found.private > _on_stack(device):
        needs = f"one work item needs {found.private:,} bytes of a thread's stack"
        raise found.no_room(device, needs, _on_stack(device))
    return found


def limited_by_stack(limits: GroupLimits, arrays: WorkMemory, device: DeviceInfo) -> GroupLimits:
    """The largest group: what the driver says, and what its private arrays allow."""
    fitting = _on_stack(device) // arrays.private if arrays.private else limits.items
    if fitting >= limits.items:
        return limits
    because = f", each of which has {arrays.private:,} bytes of private arrays"
    return GroupLimits(fitting, limits.axes, because)


def _on_stack(device: DeviceInfo) -> int:
    """The bytes that private arrays of a group may take.

    Drivers for CPUs put them on the stack of a thread, and other things as well.
    """
    if device.kind != "cpu":
        return sys.maxsize
    if sys.platform == "win32":
        return _USUAL_STACK // 4
    import resource  # noqa: PLC0415 -- not everywhere

    limit, _ = resource.getrlimit(resource.RLIMIT_STACK)
    return (limit if limit != resource.RLIM_INFINITY else _USUAL_STACK) // 2
