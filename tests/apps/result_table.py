"""A table with an atomic counter: the counter goes up, and what was found comes back."""

from typing import NamedTuple

import numpy as np
from tests.apps.program import Bytes, Copies, Numbers, Outcome, Program, floats

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, f32, i32

POINTS = 60
LIMIT = 0.75


class ResultTable(tb.Buffer):
    class Result(tb.Struct):
        place: i32
        value: f32

    count: tb.Atomic[i32]
    length: i32
    result: tb.Array[Result] = tb.array("length")


class Buffers(NamedTuple):
    values: F32Array
    table: ResultTable


@tb.kernel
def find(kc: KernelContext, values: F32Array, limit: f32, table: ResultTable) -> None:
    if values.array[kc.x] > limit:
        slot = tb.atomic_add(table.count, 1)
        if slot < table.length:
            result = table.result[slot]
            result.place = kc.x
            result.value = values.array[kc.x]


@tb.compute
def find_all(cc: ComputeContext, values: F32Array, limit: float, table: ResultTable) -> None:
    table.count = 0
    cc.dispatch(values.length, find, values, limit, table)


def numbers() -> Numbers:
    return floats(5, POINTS)


def make(accelerator: Accelerator) -> Buffers:
    return Buffers(F32Array.of(numbers()), ResultTable.create(accelerator, length=POINTS))


def run(accelerator: Accelerator, buffers: Buffers) -> Outcome:
    accelerator.compute(find_all, buffers.values, LIMIT, buffers.table)
    found = buffers.table.count
    rows = np.sort(np.asarray(buffers.table.result[:found]), order="place")
    return [np.array(found), rows["place"], rows["value"]]


def reference() -> Outcome:
    places = np.flatnonzero(numbers() > LIMIT)
    return [np.array(len(places)), places, numbers()[places]]


FOUND = int(reference()[0])

RESULT_TABLE = Program(
    "result table with an atomic counter",
    "H W values; H W count=0; k R values, atomic count, w rows; H R count, rows[:count]",
    make,
    run,
    reference,
    minimal=Copies(2, 2),
    naive=Copies(2, 2),
    moved=Bytes(4 * POINTS + 4, 4 + 8 * FOUND),
)
