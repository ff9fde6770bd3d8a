"""What LLVM says of this machine's processor, kept from one process to the next.

It is asked again for another llvmlite, another Trilby, or a processor of which the system says
anything else. Where the system says nothing it is asked every time.
"""

from trilby.backend.native.cache import Cache
from trilby.backend.native.processor import Detected
from trilby.backend.native.toolchain import detected, installed
from trilby.options import cache_folder
from trilby.version import VERSION

_CHANGING = ("processor", "cpu MHz", "bogomips", "BogoMIPS", "apicid", "initial apicid", "core id")
"""What differs from core to core, or from moment to moment."""


def detect(told: str) -> Detected:
    """The processor that the system tells this of: the text of `/proc/cpuinfo`, or nothing."""
    folder = cache_folder()
    if not told or folder is None:
        return detected()
    kept = Cache(folder, f"processor, trilby {VERSION}, llvmlite {installed()}", kind="txt")
    about = lasting(told)
    found = kept.get(about)
    if found is not None:
        return _from_text(found.decode())
    made = detected()
    kept.put(about, _as_text(made).encode())
    return made


def lasting(told: str) -> str:
    """What is said of the first core, without what changes."""
    lines = told.partition("\n\n")[0].splitlines()
    return "\n".join(line for line in lines if line.partition(":")[0].strip() not in _CHANGING)


def _as_text(found: Detected) -> str:
    flags = (f"{'+' if has else '-'}{name}" for name, has in found.features)
    return "\n".join((found.triple, found.cpu, found.llvm, *flags))


def _from_text(text: str) -> Detected:
    triple, cpu, llvm, *flags = text.split("\n")
    return Detected(triple, cpu, tuple((flag[1:], flag[0] == "+") for flag in flags), llvm)
