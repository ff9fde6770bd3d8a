"""NumPy's functions on tracked arrays, each compared with the same on NumPy's own."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

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


def test_a_function_that_would_change_its_argument_behind_our_back_is_refused() -> None:
    numbers = cast("Any", eight())
    with pytest.raises(ValueError, match="read-only"):
        np.copyto(dst=numbers, src=[1] * 8)
    assert numbers.tolist() == list(range(8))


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
