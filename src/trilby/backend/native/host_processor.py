"""The processor of this machine: what code is made for, its vectors, threads and group sizes.

What was detected is handed in, so that other machines can be tried; only `this_host` looks.
"""

import ctypes
import os
import platform
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import takewhile

from trilby.backend.base import DeviceInfo
from trilby.backend.group_size import GroupLimits, group_size
from trilby.backend.native.cache import users_cache
from trilby.backend.native.toolchain import Processor, installed, load_llvm
from trilby.codegen.llvm.target import LlvmTarget
from trilby.data.ndrange import MAX_DIMENSIONS, NDRange
from trilby.dataclass import dataclass
from trilby.errors import DeviceUnavailableError
from trilby.options import thread_limit
from trilby.version import VERSION

# ---------------------------------------------------------------------------------------- detection
# What LLVM says of this machine's processor, kept from one process to the next.
#
# It is asked again for another llvmlite, another Trilby, or a processor of which the system says
# anything else. Where the system says nothing it is asked every time.

_CHANGING = ("processor", "cpu MHz", "bogomips", "BogoMIPS", "apicid", "initial apicid", "core id")
"""What differs from core to core, or from moment to moment."""


def detect(told: Mapping[str, str]) -> Processor:
    """The processor of which the system tells this, if anything: what is in `/proc/cpuinfo`."""
    lasting = "\n".join(f"{name}: {told[name]}" for name in told if name not in _CHANGING)
    identity = f"processor 2, trilby {VERSION}, llvmlite {installed()}"
    kept = users_cache(identity, "txt") if told else None
    found = kept.get(lasting) if kept else None
    if found is not None:
        return Processor(*found.decode().split("\n"))
    made: Processor = load_llvm().detected()
    if kept:
        text = f"{made.triple}\n{made.cpu}\n{made.features}\n{made.llvm}"
        kept.put(lasting, text.encode())
    return made


# --------------------------------------------------------------------------------------------- host

_WIDE_512 = frozenset({"avx512f", "avx512bw", "avx512dq", "avx512vl"})
_NARROWEST = 128
"""LLVM makes several instructions of a vector that a processor has not: it never fails."""


@dataclass(frozen=True, slots=True)
class HostProcessor:
    """A processor: what code is compiled for, what it is generated for, and the device it is."""

    processor: Processor
    target: LlvmTarget
    device: DeviceInfo

    @property
    def threads(self) -> int:
        """How many threads work at the same time."""
        return self.device.compute_units


@cache
def this_host() -> HostProcessor:
    """The machine that this runs on; raises where its system has not what the device needs."""
    check_system(sys.platform, sys.byteorder, 64 if sys.maxsize > 2**32 else 32)
    told = told_by_system()
    return host_from(
        detect(told),
        threads=usable_threads(thread_limit()),
        told=told or {"model name": platform.processor()},
        vector_math=loaded_vector_math(),
    )


def host_from(
    found: Processor, *, threads: int, told: Mapping[str, str], vector_math: str = ""
) -> HostProcessor:
    """A host from what LLVM and the system say of it; either may know nothing."""
    has = frozenset(flag[1:] for flag in found.features.split(",") if flag.startswith("+"))
    machine = found.triple.partition("-")[0]
    bits = width_bits(machine, has)
    named = f"{machine} processor" if found.cpu == "generic" else found.cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    device = DeviceInfo(
        backend="native",
        index=0,
        name=told.get("model name") or named,
        kind="cpu",
        vendor=told.get("vendor_id") or "unknown vendor",
        driver=f"LLVM {found.llvm} for {found.cpu}, {bits}-bit vectors",
        memory_bytes=memory,
        compute_units=threads,
        max_group_items=MAX_GROUP_ITEMS,
        features=frozenset({"f64", "i64_atomics", "shared_memory"}),
    )
    target = LlvmTarget(bits, found.triple, has, vector_math=vector_math)
    return HostProcessor(found, target, device)


def width_bits(machine: str, features: frozenset[str]) -> int:
    """The bits of the vectors to use: those on which all number types can be worked with."""
    if machine in {"x86_64", "amd64"}:
        if features >= _WIDE_512:
            return 512
        return 256 if "avx2" in features else _NARROWEST
    return _NARROWEST


def loaded_vector_math() -> str:
    """The C library's math on vectors, where it has one, for all code that is loaded later."""
    try:
        ctypes.CDLL("libmvec.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return ""
    return "libmvec"


def check_system(system: str, byte_order: str, bits: int) -> None:
    """Raise where the device's threads or its layout of numbers do not exist."""
    if system == "win32":
        missing = "it needs POSIX threads, which Windows has not"
    elif byte_order != "little":
        missing = "it needs a processor that stores the lowest byte first"
    elif bits != 64:
        missing = "it needs a 64-bit Python"
    else:
        return
    raise DeviceUnavailableError(
        f"the native device cannot be used here: {missing}",
        advice='use Accelerator("opencl") or Accelerator("interpreter")',
    )


def usable_threads(limit: int | None) -> int:
    """How many threads may run at once: what the system gives this process, or `limit`."""
    if limit is not None:
        return limit
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(min(cores, quota("/sys/fs/cgroup/cpu.max", cores)), 1)


def quota(file: str | os.PathLike[str], otherwise: int) -> int:
    """The cores that a container may use, from what its control group says: `200000 100000`."""
    try:
        with open(file, encoding="ascii") as content:
            most, period = content.read().split()
        return -(-int(most) // int(period))
    except (OSError, ValueError):  # no such file, or `max`
        return otherwise


def told_by_system(file: str = "/proc/cpuinfo") -> dict[str, str]:
    """What the system tells of its first processor, by name; nothing if there is no such file."""
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            parts = [line.partition(":") for line in takewhile(str.strip, lines)]
    except OSError:
        return {}
    return {name.strip(): value.strip() for name, _, value in parts}


# ------------------------------------------------------------------------------------------- groups
# How work items are put into groups on a processor, where a launch does not say so.
#
# A group is a piece of work for one thread. Long rows suit vectors, and threads want several
# pieces each, because some take longer than others. Kernels whose work items wait for each other
# come with a group size, which this module leaves alone.

MAX_GROUP_ITEMS = 4096
LIMITS = GroupLimits(MAX_GROUP_ITEMS, (MAX_GROUP_ITEMS,) * MAX_DIMENSIONS)

LONG_ROW = 2048
LONG_GROUP = 256
"""The shortest piece of a long row; short rows are cut into `SHORT_GROUP` at least."""
SHORT_GROUP = 16
SMALL_GROUP = 512
"""Groups of several rows have about so many items."""
PIECES = 4
"""So many pieces for each thread."""


@lru_cache(maxsize=1024)  # a program launches a few ranges, many times
def native_group(size: NDRange, threads: int) -> tuple[int, int, int]:
    """The group of a launch: what the range asks for, checked, or what suits a processor.

    `native_group(NDRange(1_000_000), 2)` is `(4096, 1, 1)`.
    """
    if size.local is not None:
        x, y, z = (*group_size(size, LIMITS), 1, 1)[:MAX_DIMENSIONS]
        return x, y, z
    row, rows, layers = size.padded
    wanted = PIECES * threads
    along = _piece(row, -(-wanted // max(rows * layers, 1)))
    several = max(min(SMALL_GROUP // along, rows * layers // wanted, rows), 1)
    return along, several if along >= row else 1, 1


def _piece(row: int, pieces: int) -> int:
    """The length of the pieces into which a row is cut."""
    shortest = LONG_GROUP if row >= LONG_ROW else SHORT_GROUP
    length = -(-row // max(pieces, 1))
    whole = -(-max(length, shortest) // shortest) * shortest
    return max(min(whole, row, MAX_GROUP_ITEMS), 1)
