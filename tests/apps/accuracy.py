"""Accuracy of a classifier (HeCBench): rows whose label is among the best few are counted."""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Copies, Numbers, Outcome, Program, floats, seeded

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array2D, KernelContext, S32Array, i32

ROWS, CLASSES = 32, 8
BEST = 3
GRIDS = 4
REPEATS = 3


class Counter(tb.Buffer):
    value: tb.Atomic[i32]


class Predictions(NamedTuple):
    label: S32Array
    data: F32Array2D
    accurate: Counter


@tb.kernel
def count_accurate(
    kc: KernelContext, label: S32Array, data: F32Array2D, best: i32, accurate: Counter
) -> None:
    for row in range(kc.x, data.height, kc.max_x):
        mine = data.array[row, label.array[row]]
        better = 0
        for column in range(data.width):
            if data.array[row, column] > mine:
                better += 1
        if better < best:
            tb.atomic_inc(accurate.value)


@tb.compute
def count_on_grids(cc: ComputeContext, predictions: Predictions, repeats: int) -> list[int]:
    """Count on grids of four sizes; all must find the same."""
    label, data, accurate = predictions
    counts: list[int] = []
    for grid in range(1, GRIDS + 1):
        for _ in range(repeats):
            accurate.value = 0
            cc.dispatch(grid * data.height // GRIDS, count_accurate, label, data, BEST, accurate)
        counts.append(accurate.value)
    return counts


def labels() -> Numbers:
    return seeded(13).integers(0, CLASSES, ROWS, np.int32)


def scores() -> Numbers:
    return floats(14, ROWS, CLASSES)


def make(accelerator: Accelerator) -> Predictions:
    return Predictions(S32Array.of(labels()), F32Array2D.of(scores()), Counter.create(accelerator))


def run(accelerator: Accelerator, predictions: Predictions) -> Outcome:
    return [np.array(accelerator.compute(count_on_grids, predictions, REPEATS))]


def reference() -> Outcome:
    mine = scores()[np.arange(ROWS), labels()]
    better = (scores() > mine[:, None]).sum(axis=1)
    return [np.full(GRIDS, (better < BEST).sum())]


ACCURACY = Program(
    "accuracy",
    "4×{rep×{H count=0; k R label, data, atomic count}; H R count}",
    make,
    run,
    reference,
    minimal=Copies(2 + GRIDS * REPEATS, GRIDS),
    naive=Copies(3 * GRIDS * REPEATS, 3 * GRIDS * REPEATS),
)
