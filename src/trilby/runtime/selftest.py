"""A kernel with a known result, to see whether a device works."""

import numpy as np

from trilby.backend.base import Backend, Scalar
from trilby.data.dtypes import I32
from trilby.data.kernel_context import KernelContext
from trilby.data.names import i32
from trilby.data.ndarray import NDArray
from trilby.data.ndrange import NDRange
from trilby.reflect.functions import func, kernel
from trilby.runtime.compile import analyse_kernel

ITEMS = 100


@func
def _cube(v: i32) -> i32:
    return v * v * v


@kernel
def _cubes(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.x] = _cube(a[kc.x]) // 7 - 3


def check_device(backend: Backend) -> str | None:
    """Run the kernel: None if the result is right, or what is wrong with it."""
    numbers = np.arange(-50, ITEMS - 50, dtype=np.int32)
    expected = numbers**3 // 7 - 3
    executable = backend.compile(analyse_kernel(_cubes, (1,)).graph)
    memory = backend.allocate(numbers.nbytes)
    try:
        backend.upload(memory, 0, numbers.data.cast("B")).wait()
        arguments = [memory, Scalar(I32, ITEMS)]
        backend.run(backend.prepare(executable, NDRange(ITEMS), arguments)).wait()
        backend.download(memory, 0, numbers.data.cast("B")).wait()
    finally:
        backend.free(memory)
    wrong = int((numbers != expected).sum())
    return f"{wrong} of {ITEMS} numbers are wrong" if wrong else None
