"""Squares: the smallest program. Run it with `python examples/squares.py --help`."""

import argparse

import numpy as np

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, i32


@tb.func
def square(v: i32) -> i32:
    return v * v


@tb.kernel
def square_kernel(kc: KernelContext, s32: S32Array) -> None:
    s32.array[kc.x] = square(s32.array[kc.x])


@tb.compute
def square_all(cc: ComputeContext, s32: S32Array) -> None:
    cc.dispatch(s32.length, lambda kc: square_kernel(kc, s32))


def run(accelerator: Accelerator, length: int) -> S32Array:
    """Square the numbers from 0 to `length` - 1."""
    numbers = S32Array.create(accelerator, length=length)
    numbers.array[:] = range(length)
    accelerator.compute(lambda cc: square_all(cc, numbers))
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=32, help="how many numbers")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    with accelerator.record() as ledger:
        numbers = run(accelerator, options.length)
        print(numbers.array[:])  # the copy back is made here, because here it is read
    expected = np.arange(options.length, dtype=np.int32) ** 2
    np.testing.assert_array_equal(numbers.array[:], expected)
    print(ledger)


if __name__ == "__main__":
    main()
