"""A kernel that prints to something that collects garbage and launches kernels."""

import gc
import io
import sys

from tests.runtime.conftest import opened_as
from tests.runtime.programs import add, dispatch

import trilby as tb
from trilby import KernelContext, S32Array

TIMES = 10


@tb.kernel
def show(kc: KernelContext, a: S32Array) -> None:
    print("shows", a.array[kc.x])  # noqa: T201 -- it is what a kernel does


def main(name: str) -> None:
    """Print, and say what came of it."""
    accelerator = opened_as(name)
    a, b = S32Array.of(range(8)), S32Array.create(length=8)
    accelerator.compute(dispatch, 8, add, b, 1)

    class Output(io.StringIO):
        def write(self, text: str, /) -> int:
            accelerator.compute(dispatch, 8, add, b, 1)
            ring: list[object] = [S32Array.create(length=8)]
            ring.append(ring)
            accelerator.compute(dispatch, 8, add, ring[0], 1)
            return super().write(text)

    before, output = sys.stdout, Output()
    gc.set_threshold(3, 2, 2)
    sys.stdout = output
    for _ in range(TIMES):
        accelerator.compute(dispatch, 8, show, a)
    sys.stdout = before
    lines = output.getvalue().split("\n")[:-1]
    expected = sorted(f"shows {n}" for n in range(8)) * TIMES
    print(sorted(lines) == sorted(expected), set(b.array.tolist()) == {8 * TIMES + 1})  # noqa: T201 -- for the test
    accelerator.close()
