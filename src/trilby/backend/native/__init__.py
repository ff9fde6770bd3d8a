"""The native backend: the processor itself as a device, through LLVM.

Kernels become vector code, work groups are spread over the threads of one queue, and the memory
is the host's own. llvmlite brings LLVM: no compiler, linker or driver is needed.
"""

from trilby.backend.native.device import NativeBackend, NativeFamily

__all__ = ["NativeBackend", "NativeFamily"]
