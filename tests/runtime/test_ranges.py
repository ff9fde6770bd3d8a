"""Ranges for kernels whose work items wait for each other."""

import pytest
from tests.messages import message

from trilby.data.ndrange import NDRange
from trilby.errors import RangeError
from trilby.runtime.launches import LARGEST, in_whole_groups


@pytest.mark.parametrize(
    ("size", "local"),
    [
        ((1,), (1,)),
        ((100,), (100,)),
        ((256,), (256,)),
        ((257,), (1,)),  # a prime
        ((1000,), (250,)),
        ((1024,), (256,)),
        ((64, 48), (16, 16)),
        ((30, 7), (15, 7)),
        ((17, 34), (1, 2)),
        ((16, 16, 16), (16, 4, 4)),
        ((9, 9, 9), (9, 3, 3)),
    ],
)
def test_the_largest_group_that_divides_the_range(
    size: tuple[int, ...], local: tuple[int, ...]
) -> None:
    assert in_whole_groups(NDRange(size), 4096) == NDRange(size, local)


@pytest.mark.parametrize("size", [(96,), (60, 14), (7, 11, 13), (512, 3, 8)])
def test_groups_always_fill_the_range(size: tuple[int, ...]) -> None:
    local = in_whole_groups(NDRange(size), 4096).local
    assert local is not None
    assert all(n % step == 0 for n, step in zip(size, local, strict=True))
    assert all(step <= most for step, most in zip(local, LARGEST[len(size) - 1], strict=True))


def test_a_local_size_that_divides_the_range_is_kept() -> None:
    asked = NDRange((12, 8), (3, 8))
    assert in_whole_groups(asked, 4096) is asked


def test_a_local_size_that_does_not_divide_the_range_is_refused() -> None:
    with pytest.raises(RangeError) as caught:
        in_whole_groups(NDRange((10, 8), (4, 4)), 4096)
    assert message(caught.value) == (
        "the range (10, 8) is not a multiple of the local size (4, 4), and the kernel has "
        "barriers or local memory, which need whole groups\n"
        "  help: the next smaller size that fits is `local=(2, 4)`. Or launch (12, 8) work items "
        "and leave out the surplus in the kernel: pass the true size and test `if kc.x < n` "
        "around reads and writes, not around barriers"
    )
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("size", "items", "local"),
    [
        ((1024,), 64, (64,)),
        ((1000,), 128, (125,)),
        ((64, 64), 64, (8, 8)),
        ((60, 60), 100, (10, 10)),
        ((64, 8, 8), 1, (1, 1, 1)),
    ],
)
def test_no_group_is_chosen_that_the_device_does_not_take(
    size: tuple[int, ...], items: int, local: tuple[int, ...]
) -> None:
    assert in_whole_groups(NDRange(size), items) == NDRange(size, local)


def test_the_advice_fits_the_device_too() -> None:
    with pytest.raises(RangeError) as caught:
        in_whole_groups(NDRange(1000, 256), 128)
    assert "`local=125`" in caught.value.advice
