"""A sum in passes: each adds the upper half to the lower one, until a kernel says it is done."""

import argparse

import numpy as np
import numpy.typing as npt

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, S64Array

MOST_PASSES = 31
"""More numbers than this many passes can add up do not fit a range."""


@tb.kernel
def add_halves(kc: KernelContext, a: S64Array, done: S32Array) -> None:
    """Of what is left after the passes before, add the upper half to the lower one."""
    left = a.length
    for _ in range(kc.pass_id):
        left = (left + 1) // 2
    half = (left + 1) // 2
    if kc.x + half < left:
        a.array[kc.x] += a.array[kc.x + half]
    if kc.x == 0 and half == 1:
        done.array[0] = 1


@tb.compute
def add_up(cc: ComputeContext, a: S64Array, done: S32Array, every: int) -> tuple[int, int]:
    done.array[0] = 0
    cc.dispatch(
        (a.length + 1) // 2,
        lambda kc: add_halves(kc, a, done),
        passes=MOST_PASSES,
        until=done.array[0],
        check_every=every,
    )
    return int(a.array[0]), cc.passes_done


def run(
    accelerator: Accelerator, numbers: npt.NDArray[np.int64], every: int = 1
) -> tuple[int, int]:
    """The sum of some numbers, and how many passes it took."""
    return accelerator.compute(add_up, S64Array.of(numbers), S32Array.create(length=1), every)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=1_000_000, help="how many numbers")
    parser.add_argument("--every", type=int, default=4, help="passes between two looks at the flag")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    length: int = options.length
    numbers = np.random.default_rng(1).integers(-(10**9), 10**9, length, np.int64)
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    with accelerator.record() as ledger:
        total, passes = run(accelerator, numbers, options.every)
    if total != int(numbers.sum()):
        raise AssertionError(f"{total}, and NumPy has {numbers.sum()}")
    print(f"the sum of {options.length:,} numbers is {total:,}, after {passes} passes")
    print(ledger)


if __name__ == "__main__":
    main()
