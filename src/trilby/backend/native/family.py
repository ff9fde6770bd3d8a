"""The one native device of a machine: found, described, opened."""

from collections.abc import Sequence

from trilby.backend.base import DeviceInfo
from trilby.backend.native.device import NativeBackend
from trilby.backend.native.engine import shared_engine
from trilby.backend.native.host_processor import MAX_GROUP_ITEMS, HostProcessor, this_host
from trilby.backend.native.modules import kept_modules
from trilby.backend.native.toolchain import kept_objects
from trilby.errors import DeviceUnavailableError


class NativeFamily:
    """The processor, which is everywhere."""

    __slots__ = ()
    name = "native"

    def devices(self) -> Sequence[DeviceInfo]:
        """The one device; raises where the system has not what it needs."""
        return (describe(this_host()),)

    def open(self, index: int) -> NativeBackend:
        """A backend with memory of its own; the threads are those of all."""
        if index != 0:
            raise DeviceUnavailableError(
                f"there is one native device, and no `native:{index}`", advice="use `native`"
            )
        engine = shared_engine()
        objects = kept_objects(engine.host.processor)
        return NativeBackend(describe(engine.host), engine, objects, kept_modules())


def describe(host: HostProcessor) -> DeviceInfo:
    """A processor as a device."""
    processor = host.processor
    return DeviceInfo(
        backend=NativeFamily.name,
        index=0,
        name=host.name,
        kind="cpu",
        vendor=host.vendor,
        driver=f"LLVM {processor.llvm} for {processor.cpu}, {host.width_bits}-bit vectors",
        memory_bytes=host.memory_bytes,
        compute_units=host.threads,
        max_group_items=MAX_GROUP_ITEMS,
        features=frozenset({"f64", "i64_atomics", "shared_memory"}),
    )
