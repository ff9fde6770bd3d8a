"""Other names for the same numbers: what the host sees and writes through them is never stale."""

from dataclasses import dataclass

import numpy as np
from tests.apps.program import Bytes, Copies, Numbers, Outcome, Program

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, i32

LENGTH = 32
MIDDLE = slice(8, 20)
MIDDLE_BYTES = 4 * 12


@dataclass(frozen=True)
class Signal:
    """Samples, and a view of some of them that was taken before anything ran."""

    samples: S32Array
    middle: tb.Array[i32]
    channels: dict[str, S32Array]


@tb.kernel
def amplify(kc: KernelContext, samples: S32Array, factor: i32) -> None:
    samples.array[kc.x] *= factor


def cut_off(signal: Signal, limit: int) -> None:
    """Through the view, out of sight of the compute function."""
    signal.middle[:] = np.minimum(signal.middle, limit)


@tb.compute
def amplify_and_cut(cc: ComputeContext, signal: Signal) -> int:
    same = signal.channels["left"]
    cc.dispatch(same.length, amplify, same, 2)
    loudest = int(signal.middle.max())
    cut_off(signal, 2 * LENGTH)
    cc.dispatch(signal.samples.length, amplify, signal.samples, 3)
    return loudest


def numbers() -> Numbers:
    return np.arange(20, 20 + LENGTH, dtype=np.int32)


def make(_: Accelerator) -> Signal:
    samples = S32Array.of(numbers())
    return Signal(samples, samples.array[MIDDLE], {"left": samples})


def run(accelerator: Accelerator, signal: Signal) -> Outcome:
    loudest = accelerator.compute(amplify_and_cut, signal)
    return [np.array(loudest), np.asarray(signal.channels["left"]), np.asarray(signal.middle)]


def reference() -> Outcome:
    samples = numbers() * 2
    loudest = samples[MIDDLE].max()
    samples[MIDDLE] = np.minimum(samples[MIDDLE], 2 * LENGTH)
    return [loudest, samples * 3, samples[MIDDLE] * 3]


ALIASES = Program(
    "reading and writing through aliases",
    "H W a; k RW a; H R view; H W view; k RW a; H R a",
    make,
    run,
    reference,
    minimal=Copies(2, 2),
    naive=Copies(2, 2),
    moved=Bytes(4 * LENGTH + MIDDLE_BYTES, MIDDLE_BYTES + 4 * LENGTH),
)
