"""NumPy's functions on tracked arrays, each compared with the same on NumPy's own."""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from tests.data.watching import Device

from trilby.data.library import S32Array
from trilby.data.views import Array


def eight() -> Array[int]:
    return S32Array.of(range(8)).array


FUNCTIONS: list[tuple[str, Callable[[Any], Any]]] = [
    ("arithmetic", lambda a: 2 * a + 1 - a // 3),
    ("comparison", lambda a: (a > 3) & (a != 5)),
    ("negation", lambda a: -a),
    ("power", lambda a: a**2),
    ("matmul", lambda a: a @ a),
    ("sin", np.sin),
    ("divmod", lambda a: np.stack(np.divmod(a, 3))),
    ("reduce", np.add.reduce),
    ("accumulate", np.add.accumulate),
    ("outer", lambda a: np.multiply.outer(a, a)),
    ("sum", lambda a: a.sum()),
    ("sum of an axis", lambda a: np.sum(a, axis=0)),
    ("mean", lambda a: a.mean()),
    ("min and max", lambda a: (a.min(), a.max())),
    ("any and all", lambda a: (a.any(), a.all())),
    ("concatenate", lambda a: np.concatenate([a, a[:2]])),
    ("where", lambda a: np.where(a > 3, a, -1)),
    ("sort", lambda a: np.sort(a[::-1])),
    ("clip", lambda a: np.clip(a, 2, 5)),
    ("split", lambda a: np.concatenate(np.split(a, 2)[::-1])),
    ("dot", lambda a: np.dot(a, a)),
    ("astype", lambda a: a.astype(np.float32)),
    ("percentile", lambda a: np.percentile(a, 50)),
    ("array_equal", lambda a: np.array_equal(a, a[:])),
]


@pytest.mark.parametrize("function", [f[1] for f in FUNCTIONS], ids=[f[0] for f in FUNCTIONS])
def test_numpy_takes_tracked_arrays(function: Callable[[Any], Any]) -> None:
    expected = function(np.arange(8, dtype=np.int32))
    found = function(eight())
    assert np.array_equal(found, expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert not isinstance(found, Array)


CHANGES: list[tuple[str, Callable[[Any], Any]]] = [
    ("in place", lambda a: a.__iadd__(5)),
    ("in place on a slice", lambda a: a[2:5].__imul__(3)),
    ("out", lambda a: np.add(a, 1, out=a)),
    ("out elsewhere", lambda a: np.negative(a[4:], out=a[:4])),
    ("out with where", lambda a: np.add(a, 1, out=a, where=np.arange(8) > 3)),
    ("two outs", lambda a: np.divmod(a[:4], 3, out=(a[:4], a[4:]))),
    ("function's out", lambda a: np.cumsum(a, out=a)),
    ("clip's out", lambda a: np.clip(a, 2, 5, out=a)),
    ("at", lambda a: np.add.at(a, [1, 1, 2], 10)),
    ("copyto", lambda a: np.copyto(a[2:4], [8, 9])),
    ("copyto where", lambda a: np.copyto(a, 9, where=np.arange(8) > 3)),
    ("put", lambda a: np.put(a, [0, 2], [-4, -5])),
    ("putmask", lambda a: np.putmask(a, np.arange(8) > 4, 0)),
    ("fill", lambda a: a[1:3].fill(6)),
]


@pytest.mark.parametrize("change", [c[1] for c in CHANGES], ids=[c[0] for c in CHANGES])
def test_numpy_writes_to_tracked_arrays(change: Callable[[Any], Any]) -> None:
    expected = np.arange(8, dtype=np.int32)
    change(expected)
    numbers = eight()
    change(numbers)
    assert numbers.tolist() == expected.tolist()


def test_out_gives_back_what_was_given() -> None:
    numbers = cast("Any", eight())
    assert np.add(numbers, 1, out=numbers) is numbers
    plain = np.zeros(8, np.int32)
    assert np.add(numbers, 1, out=plain) is plain
    assert np.cumsum(numbers, out=numbers) is numbers
    quotient, remainder = np.divmod(numbers, 3, out=cast("Any", (numbers, None)))
    assert quotient is numbers
    assert type(remainder) is np.ndarray


class Both(NamedTuple):
    """What is a tuple, and not a plain one."""

    first: Any
    second: Any


class Numbered:
    """What NumPy takes for a sequence, and Python does not."""

    def __init__(self, *things: Any) -> None:
        self.things = things

    def __len__(self) -> int:
        return len(self.things)

    def __getitem__(self, place: int) -> Any:
        return self.things[place]


GATHERED: list[tuple[str, Callable[[Any], Any]]] = [
    ("a named tuple", lambda a: np.concatenate(Both(a, a[2:4]))),
    ("a named tuple of rows", lambda a: np.stack(Both(a, a))),
    ("a deque", lambda a: np.concatenate(deque([a, a]))),
    ("an object with items", lambda a: np.concatenate(Numbered(a, a))),
    ("a named tuple as one array", lambda a: np.sum(Both(a, a), axis=0)),
]


@pytest.mark.parametrize("function", [f[1] for f in GATHERED], ids=[f[0] for f in GATHERED])
def test_numpy_takes_tracked_arrays_in_whatever_holds_them(function: Callable[[Any], Any]) -> None:
    expected = np.arange(8, dtype=np.int32)
    assert np.array_equal(function(eight()), function(expected))


ODD = np.arange(8) % 2 == 1

WRITES: list[tuple[str, Callable[[Any], Any]]] = [
    ("a result by position", lambda a: np.add(a, 10, a)),
    ("one in a tuple", lambda a: np.add(a, 10, out=(a,))),
    ("one in a dictionary", lambda a: np.add(a, 10, out=a)),
    ("one with a mask", lambda a: np.add(a, 10, a, where=ODD)),
    ("two results", lambda a: np.divmod(a[:4], 3, a[:4], a[4:])),
    ("a sum by position", lambda a: np.cumsum(a, 0, None, a)),
    ("a reduction by position", lambda a: np.sum(a[1:], 0, None, a[0, ...])),
    ("all by position", lambda a: np.all(a[1:], 0, a[0, ...])),
    ("clip by position", lambda a: np.clip(a, 2, 5, a)),
    ("take by position", lambda a: np.take(a, [7, 6, 0], 0, a[:3])),
    ("concatenate by position", lambda a: np.concatenate([a[4:], a[:4]], 0, a)),
    ("copyto", lambda a: np.copyto(a, 9)),
    ("copyto by keywords", lambda a: np.copyto(dst=a, src=[1] * 8)),
    ("copyto with a mask", lambda a: np.copyto(a, 9, where=ODD)),
    ("copyto with a mask by position", lambda a: np.copyto(a, 9, "same_kind", ODD)),
    ("copyto everywhere by position", lambda a: np.copyto(a, 9, "same_kind", True)),  # noqa: FBT003
    ("put", lambda a: np.put(a, [1, 99], 7, "wrap")),
    ("put by keywords", lambda a: np.put(ind=[1], v=7, a=a)),
    ("putmask", lambda a: np.putmask(a, ODD, 7)),
    ("place", lambda a: np.place(a, ODD, [7, 8])),
    ("put_along_axis", lambda a: np.put_along_axis(a, np.array([3]), 7, 0)),
    ("put_along_axis by keywords", lambda a: np.put_along_axis(a, axis=0, values=7, indices=_3())),
    ("nan_to_num", lambda a: np.nan_to_num(a, False)),  # noqa: FBT003
    ("at", lambda a: np.add.at(a, [1, 1], 7)),
]


def _3() -> Any:
    return np.array([3])


@pytest.mark.parametrize("function", [f[1] for f in WRITES], ids=[f[0] for f in WRITES])
def test_what_numpy_writes_is_written_and_nothing_else(function: Callable[[Any], Any]) -> None:
    expected = np.arange(8, dtype=np.int32)
    function(expected)
    numbers = S32Array.of(range(8))
    Device(numbers.segment)
    function(numbers.array)
    assert numbers.array.tolist() == expected.tolist()


def _choosy(number: int) -> int:
    if number == 4:
        raise KeyError(number)
    return number + 1


FAILING: list[tuple[str, Callable[[Any], Any]]] = [
    ("a place that is not there", lambda a: np.put(a, [0, 99, 1], 7)),
    ("first a place that is not there", lambda a: np.put(a, [99, 0], 7)),
    ("a selection", lambda a: a.__setitem__([0, 99], 7)),
    ("a shape", lambda a: np.add(a, [1, 2], a)),
    ("a type", lambda a: np.add(a, 0.5, a)),
    ("an exponent", lambda a: np.power(a, np.array([2, 1, 0, -1] * 2, np.int32), a)),
    ("a Python function", lambda a: np.frompyfunc(_choosy, 1, 1)(a, a, casting="unsafe")),
    ("a warning", lambda a: np.floor_divide(a, 0, a)),
    ("a warning with a mask", lambda a: np.floor_divide(a, 0, a, where=ODD)),
    ("a warning in a function", lambda a: np.divide(a[:4], 0, a[4:], casting="unsafe")),
    ("a shape for copyto", lambda a: np.copyto(a, [1, 2, 3])),
]


@pytest.mark.parametrize("function", [f[1] for f in FAILING], ids=[f[0] for f in FAILING])
@pytest.mark.parametrize("is_current", [False, True])
def test_after_a_call_that_fails_all_see_what_it_left(
    function: Callable[[Any], Any], *, is_current: bool
) -> None:
    expected = np.arange(8, dtype=np.int32)
    with pytest.raises(Exception) as right:  # noqa: PT011 -- any that NumPy raises
        function(expected)
    numbers = S32Array.of(range(8))
    device = Device(numbers.segment)
    if is_current:
        numbers.array.tolist()
    with pytest.raises(right.type):
        function(numbers.array)
    assert numbers.array.tolist() == expected.tolist()
    assert device.truth[4:36].view(np.int32).tolist() == expected.tolist()


@pytest.mark.parametrize("is_current", [False, True])
def test_after_an_interrupt_in_the_middle_all_see_the_same(*, is_current: bool) -> None:
    """It comes when the host has written, and before anybody heard of that."""
    numbers = S32Array.of(range(8))
    device = Device(numbers.segment)
    if is_current:
        numbers.array.tolist()

    def write(live: Any) -> None:
        live[...] = 7
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        numbers.array.__window__.write_by(write)
    expected = [7] * 8
    assert numbers.array.tolist() == expected
    assert device.truth[4:36].view(np.int32).tolist() == expected


def test_arrays_of_two_buffers_in_one_call() -> None:
    left, right = cast("Any", eight()), cast("Any", eight())
    right[:] = 10
    assert (left * right).tolist() == [10 * n for n in range(8)]
    np.subtract(left, right, out=right)
    assert right.tolist() == [n - 10 for n in range(8)]
    assert left.tolist() == list(range(8))


def test_what_is_given_back_never_shares_the_memory() -> None:
    numbers = cast("Any", eight())
    live = numbers.__window__.live
    made: list[Any] = [
        np.ravel(numbers),
        np.squeeze(numbers),
        np.flip(numbers),
        np.broadcast_to(numbers, (2, 8)),
        np.atleast_2d(numbers),
        *np.array_split(numbers, 3),
        *np.meshgrid(numbers, numbers, copy=False),
    ]
    assert [np.may_share_memory(each, live) for each in made] == [False] * len(made)
