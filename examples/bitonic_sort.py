"""Bitonic sort: all its steps are passes of one dispatch, and the numbers move once each way."""

import argparse

import numpy as np
import numpy.typing as npt

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array

Numbers = npt.NDArray[np.int32]
LARGEST = np.iinfo(np.int32).max


@tb.kernel
def sort_step(kc: KernelContext, a: S32Array) -> None:
    """Compare each number with one partner. Stage 0 has one step, stage 1 has two, and so on."""
    stage = 0
    step = kc.pass_id
    while step > stage:
        step -= stage + 1
        stage += 1
    partner = kc.x ^ (1 << (stage - step))
    if partner > kc.x:
        rises = (kc.x >> (stage + 1)) % 2 == 0
        left = a.array[kc.x]
        right = a.array[partner]
        if (left > right) == rises:
            a.array[kc.x] = right
            a.array[partner] = left


@tb.compute
def sort(cc: ComputeContext, a: S32Array) -> int:
    stages = (a.length - 1).bit_length()
    cc.dispatch(a.length, sort_step, a, passes=stages * (stages + 1) // 2)
    return cc.passes_done


def run(accelerator: Accelerator, numbers: Numbers) -> tuple[Numbers, int]:
    """The numbers in order, and how many passes that took."""
    length = 1 << max(len(numbers) - 1, 0).bit_length()
    a = S32Array.create(accelerator, length=length)
    a.array[:] = LARGEST  # what is there to make a power of two ends behind all others
    a.array[: len(numbers)] = numbers
    passes = accelerator.compute(sort, a)
    return np.asarray(a.array[: len(numbers)]), passes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=100_000, help="how many numbers")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    numbers = np.random.default_rng(1).integers(-(10**9), 10**9, options.length, np.int32)
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    with accelerator.record() as ledger:
        ordered, passes = run(accelerator, numbers)
    np.testing.assert_array_equal(ordered, np.sort(numbers))
    print(f"{options.length:,} numbers are in order after {passes} passes, as NumPy has them")
    print(ledger)


if __name__ == "__main__":
    main()
