"""Several devices and several threads with the same buffers."""

import threading
from collections.abc import Callable

import pytest
from tests.runtime.conftest import opened_as
from tests.runtime.programs import (
    add,
    add_to,
    copy,
    dispatch,
)

from trilby import Accelerator, S32Array

PAIRS = [
    ("interpreter", "opencl"),
    ("interpreter", "opencl, shared"),
    ("opencl", "opencl"),
    ("opencl", "opencl, shared"),
    ("opencl, shared", "opencl, shared"),
    ("native", "native, shared"),
    ("native, shared", "opencl"),
]


@pytest.mark.parametrize("names", PAIRS, ids=" + ".join)
def test_accelerators_share_buffers(names: tuple[str, str]) -> None:
    a, b = S32Array.of(range(64)), S32Array.of([1] * 64)
    with opened_as(names[0]) as one, opened_as(names[1]) as other:
        for turn in range(10):
            one.compute(dispatch, 64, add_to, a, b)
            other.compute(dispatch, 64, add, a, 1)
            if turn == 5:
                b.array[:] = 2
        assert a.array[1] == 1 + 6 * 2 + 4 * 3
        one.compute(dispatch, 64, add, a, 1)
    assert a.array.tolist() == [i + 25 for i in range(64)]


def test_what_two_devices_only_read_goes_to_each_once() -> None:
    a = S32Array.of(range(64))
    outs = S32Array.create(length=64), S32Array.create(length=64)
    with opened_as("interpreter") as one, opened_as("opencl") as other:
        with one.record() as first, other.record() as second:
            for _ in range(3):
                one.compute(dispatch, 64, copy, a, outs[0])
                other.compute(dispatch, 64, copy, a, outs[1])
        assert (first.bytes_up, second.bytes_up) == (256, 256)
        assert outs[0].array.tolist() == outs[1].array.tolist() == list(range(64))


def in_threads(count: int, act: Callable[[int], None]) -> None:
    """Run something in several threads at once, and raise what any of them raises."""
    errors: list[BaseException] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait()
        try:
            act(number)
        except BaseException as error:  # noqa: BLE001 -- it is raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_with_buffers_of_their_own(accelerator: Accelerator) -> None:
    buffers = [S32Array.of(range(k, k + 16)) for k in range(4)]

    def act(number: int) -> None:
        mine = buffers[number]
        for turn in range(20):
            accelerator.compute(dispatch, 16, add, mine, 1)
            if turn % 7 == 0:
                assert mine.array[0] == number + turn + 1
                mine.array[5] += 1

    in_threads(4, act)
    for k, one in enumerate(buffers):
        assert one.array.tolist() == [i + 20 + (3 if i == k + 5 else 0) for i in range(k, k + 16)]


def test_threads_with_the_same_buffers(accelerator: Accelerator) -> None:
    a, b = S32Array.create(length=16), S32Array.of([1] * 16)

    def act(number: int) -> None:
        for turn in range(20):
            if number % 2:
                accelerator.compute(dispatch, 16, add_to, a, b)
            else:
                accelerator.compute(dispatch, 16, add, a, turn)
            if turn % 5 == 0:
                assert b.array.tolist() == [1] * 16
                a.array.tolist()

    in_threads(4, act)
    assert a.array.tolist() == [2 * 20 + 2 * sum(range(20))] * 16


@pytest.mark.parametrize("names", PAIRS[:4], ids=" + ".join)
def test_threads_with_accelerators_of_their_own_and_one_buffer(names: tuple[str, str]) -> None:
    a = S32Array.create(length=16)
    with opened_as(names[0]) as one, opened_as(names[1]) as other:

        def act(number: int) -> None:
            for _ in range(15):
                (one, other)[number].compute(dispatch, 16, add, a, 1)

        in_threads(2, act)
        assert a.array.tolist() == [30] * 16


def test_threads_make_and_drop_buffers(accelerator: Accelerator) -> None:
    def act(number: int) -> None:
        for turn in range(15):
            a, b = S32Array.of(range(turn + 1)), S32Array.create(length=turn + 1)
            accelerator.compute(dispatch, turn + 1, copy, a, b)
            del a
            assert b.array.tolist() == list(range(turn + 1)), number

    in_threads(4, act)
