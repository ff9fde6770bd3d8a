"""saxpy on NumPy arrays: `z = a * x + y` for people who come with ndarrays."""

import argparse

import numpy as np
import numpy.typing as npt

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, f32


@tb.kernel
def saxpy_kernel(
    kc: KernelContext, a: f32, x: NDArray[f32], y: NDArray[f32], z: NDArray[f32]
) -> None:
    z[kc.x] = a * x[kc.x] + y[kc.x]


@tb.compute
def saxpy(cc: ComputeContext, a: f32, x: NDArray[f32], y: NDArray[f32], z: NDArray[f32]) -> None:
    cc.dispatch(x.shape[0], saxpy_kernel, a, x, y, z)


def run(
    accelerator: Accelerator, length: int, a: float, seed: int = 1
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """The device's answer and NumPy's."""
    random = np.random.default_rng(seed)
    left = random.standard_normal(length, dtype=np.float32)
    right = random.standard_normal(length, dtype=np.float32)
    result = accelerator.array(np.zeros(length, np.float32))
    accelerator.compute(saxpy, a, accelerator.array(left), accelerator.array(right), result)
    return np.asarray(result), np.float32(a) * left + right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=1_000_000, help="how many elements")
    parser.add_argument("--a", type=float, default=2.5, help="the factor")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    options = parser.parse_args()
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(options.backend, memory="discrete")
    with accelerator.record() as ledger:
        computed, expected = run(accelerator, options.length, options.a)
    np.testing.assert_array_equal(computed, expected)
    print(f"{options.length:,} elements, equal to NumPy's to the last bit")
    print(ledger)


if __name__ == "__main__":
    main()
