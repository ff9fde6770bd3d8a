"""Ids and sizes in three dimensions, with and without local sizes, also where groups stick out."""

from itertools import product

import numpy as np
import pytest
from tests.conformance.running import Numbers, launch

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, NDRange, i32

FIELDS = 18


@tb.func
def put(out: NDArray[i32], row: i32, field: i32, value: i32) -> None:
    out[row, field] = value


@tb.kernel
def ids(kc: KernelContext, out: NDArray[i32]) -> None:
    row = (kc.z * kc.max_y + kc.y) * kc.max_x + kc.x
    put(out, row, 0, kc.x)
    put(out, row, 1, kc.y)
    put(out, row, 2, kc.z)
    put(out, row, 3, kc.max_x)
    put(out, row, 4, kc.max_y)
    put(out, row, 5, kc.max_z)
    put(out, row, 6, kc.local_x)
    put(out, row, 7, kc.local_y)
    put(out, row, 8, kc.local_z)
    put(out, row, 9, kc.local_max_x)
    put(out, row, 10, kc.local_max_y)
    put(out, row, 11, kc.local_max_z)
    put(out, row, 12, kc.group_x)
    put(out, row, 13, kc.group_y)
    put(out, row, 14, kc.group_z)
    put(out, row, 15, kc.group_max_x)
    put(out, row, 16, kc.group_max_y)
    put(out, row, 17, kc.group_max_z)
    if row == 0:
        out[row, FIELDS] = kc.pass_id


def expected_ids(size: tuple[int, ...], local: tuple[int, ...]) -> Numbers:
    """Counted by hand: one row for each work item, x fastest."""
    sizes, steps = (np.array([*given, 1, 1][:3]) for given in (size, local))
    at = np.array(list(product(*(range(n) for n in sizes[::-1]))))[:, ::-1]
    groups = -(-sizes // steps)
    every = np.ones((len(at), 1), np.int64)
    columns = [at, every * sizes, at % steps, every * steps, at // steps, every * groups]
    return np.concatenate(columns, axis=1)


RANGES = [
    ((12,), (4,)),
    ((13,), (4,)),
    ((3,), (8,)),
    ((1,), (1,)),
    ((8, 6), (4, 2)),
    ((7, 5), (4, 2)),
    ((5, 1), (1, 1)),
    ((4, 4, 4), (2, 2, 2)),
    ((5, 3, 2), (2, 2, 2)),
    ((2, 3, 5), (1, 3, 2)),
]


def run(accelerator: Accelerator, size: NDRange) -> Numbers:
    out = accelerator.array(np.full((size.items, FIELDS + 1), -1, np.int32))
    launch(accelerator, size, ids, out)
    return np.asarray(out)


@pytest.mark.parametrize(("size", "local"), RANGES)
def test_ids_with_a_local_size(
    accelerator: Accelerator, size: tuple[int, ...], local: tuple[int, ...]
) -> None:
    found = run(accelerator, NDRange(size, local))
    np.testing.assert_array_equal(found[:, :FIELDS], expected_ids(size, local))
    assert found[0, FIELDS] == 0


@pytest.mark.parametrize("size", [(1,), (1000,), (17, 9), (5, 4, 3)])
def test_ids_where_the_device_chooses(accelerator: Accelerator, size: tuple[int, ...]) -> None:
    found = run(accelerator, NDRange(size))
    local = tuple(int(n) for n in found[0, 9 : 9 + len(size)])
    np.testing.assert_array_equal(found[:, :FIELDS], expected_ids(size, local))


def test_a_range_without_items_does_nothing(accelerator: Accelerator) -> None:
    out = accelerator.array(np.full((1, FIELDS + 1), -1, np.int32))
    for size in (0, (0, 4), (3, 0, 2)):
        launch(accelerator, size, ids, out)
    assert (np.asarray(out) == -1).all()
