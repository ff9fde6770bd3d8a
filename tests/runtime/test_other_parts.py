"""Launches that need other parts of a buffer each time: one copy takes the place of many."""

import pytest
from tests.runtime.conftest import Nulls
from tests.runtime.programs import dispatch, number, take

import trilby as tb
from trilby import Accelerator, KernelContext, S32Array, i32


def bytes_up(accelerator: Accelerator, *launches: tuple[object, ...]) -> list[int]:
    """What each of some dispatches brings to the device."""
    found: list[int] = []
    for given in launches:
        with accelerator.record() as ledger:
            accelerator.compute(dispatch, 4, *given)
        assert not ledger.downloads
        found.append(ledger.bytes_up)
    return found


def test_the_second_launch_brings_all_that_others_may_need(discrete: Accelerator) -> None:
    a, out = S32Array.of(range(64)), S32Array.create(length=4)
    launches = [(take, a, start, out) for start in (0, 8, 16, 60)]
    assert bytes_up(discrete, *launches) == [4 * 4, 60 * 4, 0, 0]
    assert out.array.tolist() == [60, 61, 62, 63]


@tb.kernel
def copy_within(kc: KernelContext, a: S32Array, start: i32, to: i32) -> None:
    a.array[to + kc.x] = a.array[start + kc.x]


def test_what_it_overwrites_is_not_brought(discrete: Accelerator) -> None:
    a = S32Array.of(range(16))
    launches = [(copy_within, a, 0, 8), (copy_within, a, 4, 12)]
    assert bytes_up(discrete, *launches) == [4 * 4, 4 * 4]
    assert a.array.tolist() == [*range(8), *range(8)]


def test_what_another_device_has_newer_stays_there(discrete: Accelerator) -> None:
    a, out = S32Array.of(range(16)), S32Array.create(length=4)
    with Accelerator("interpreter", memory="discrete", poison=True) as other:
        other.compute(dispatch, 4, number, a)
        assert bytes_up(discrete, (take, a, 4, out), (take, a, 8, out)) == [4 * 4, 8 * 4]
        assert out.array.tolist() == [8, 9, 10, 11]
        assert a.array[:4].tolist() == [100, 101, 102, 103]


def test_zeros_that_nobody_wrote_are_made_when_they_are_needed(null: Nulls) -> None:
    a, out = S32Array.create(length=64), S32Array.create(length=4)
    a.array[:8] = 1
    for start in (0, 4, 8):
        null.accelerator.compute(dispatch, 4, take, a, start, out)
    assert null.backend.counts["filled_bytes"] == 4 * 4


class Two(tb.Buffer):
    length: i32
    left: tb.Array[i32] = tb.array("length")
    right: tb.Array[i32] = tb.array("length")


@tb.kernel
def take_left(kc: KernelContext, two: Two, start: i32, out: S32Array) -> None:
    out.array[kc.x] = two.left[start + kc.x]


@pytest.mark.parametrize("length", [16, 64])
def test_only_fields_that_it_reads_are_brought(discrete: Accelerator, length: int) -> None:
    two, out = Two.create(length=length), S32Array.create(length=4)
    two.left[:] = range(length)
    two.right[:] = range(length)
    launches = [(take_left, two, 0, out), (take_left, two, 4, out)]
    assert bytes_up(discrete, *launches) == [4 * 4, (length - 4) * 4]
    assert out.array.tolist() == [4, 5, 6, 7]
