"""Objects whose operators leave a trace: whatever the strategy, each runs as often as it stands."""

# ruff: noqa: ARG001 -- all compute functions are called alike

from collections.abc import Callable
from typing import Any

import pytest

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, Transfers


@tb.kernel
def increase(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + 1


class Source:
    """Gives its things in turn, whatever it is asked for."""

    def __init__(self, log: list[str], *things: S32Array) -> None:
        self.log = log
        self.things = things
        self.manager = Manager(log, things[-1])

    def __getitem__(self, place: int) -> S32Array:
        self.log.append(f"[{place}]")
        return self.things[len(self.log) % len(self.things)]


class Odd:
    """A number of which each use is noted, and changes nothing else."""

    def __init__(self, log: list[str], value: int) -> None:
        self.log = log
        self.value = value

    def __index__(self) -> int:
        self.log.append("index")
        return self.value

    def __bool__(self) -> bool:
        self.log.append("bool")
        return self.value > 0

    def __add__(self, other: int) -> "Odd":
        self.log.append("+")
        return Odd(self.log, self.value + other)

    def __mod__(self, other: int) -> int:
        self.log.append("%")
        return self.value % other

    def __lt__(self, other: int) -> bool:
        self.log.append("<")
        return self.value < other

    def __gt__(self, other: int) -> bool:
        self.log.append(">")
        return self.value > other

    def __eq__(self, other: object) -> bool:
        self.log.append("==")
        return self.value == other

    def __hash__(self) -> int:
        self.log.append("hash")
        return self.value


@tb.compute
def items(cc: ComputeContext, a: Any, b: Any, source: Any, q: Any) -> Any:
    for _ in range(3):
        cc.dispatch(4, increase, source[0])
    return source[1].array.tolist()


@tb.compute
def indices(cc: ComputeContext, a: S32Array, b: S32Array, source: Any, q: Any) -> Any:
    cc.dispatch(4, increase, a)
    found: list[Any] = [a.array[q], a.array[q + 1]]
    found += [a.array[q % 3], int(a.array[q:3][0])]
    cc.dispatch(4, increase, a)
    view = a.array[1:4]
    return found, view[q]


@tb.compute
def choices(cc: ComputeContext, a: S32Array, b: S32Array, source: Any, q: Any) -> Any:
    pair: list[Any] = [a, b]
    cc.dispatch(4, increase, a if q < 3 else b)
    cc.dispatch(4, increase, pair[q])
    cc.dispatch(4, increase, a if q else b)
    return (b if q > 3 else a).array[0], pair[q].array[1]


@tb.compute
def turns(cc: ComputeContext, a: S32Array, b: S32Array, source: Any, q: Any) -> Any:
    for _ in range(q):
        cc.dispatch(4, increase, a)
    for i in range(q, 3):
        cc.dispatch(4, increase, b)
        b.array[0] += a.array[i]
    return [a.array[i] for i in range(q)], [b.array[i] for i in range(q + 1)]


@tb.compute
def lists(cc: ComputeContext, a: S32Array, b: S32Array, source: Any, q: Any) -> Any:
    pair: list[Any] = [a, b]
    pair[q].array[:] = 5
    cc.dispatch(4, increase, pair[q])
    other: Any = pair if q < 5 else source
    for g in range(2):
        cc.dispatch(4, increase, other[g % 2])
    number: Any = q if q > 0 else a
    return pair[number].array[number], pair[q % 2].array.sum()


class Manager:
    """Gives something else than itself to a `with` block, and has attributes like a buffer."""

    def __init__(self, log: list[str], thing: S32Array) -> None:
        self.log = log
        self.thing = thing

    @property
    def array(self) -> Any:
        self.log.append("array")
        return self.thing.array

    def __enter__(self) -> S32Array:
        self.log.append("enter")
        return self.thing

    def __exit__(self, *_: object) -> None:
        self.log.append("exit")


@tb.compute
def managed(cc: ComputeContext, a: S32Array, b: S32Array, source: Any, q: Any) -> Any:
    with Manager(source.log, a) as x:
        cc.dispatch(4, increase, x)
        first = x.array[0]
    with source.manager as x:
        cc.dispatch(4, increase, x)
        return first, x.array[0]


@tb.compute
def unpacked(cc: ComputeContext, a: S32Array, b: S32Array, source: Any, q: Any) -> Any:
    both: list[Any] = [a, b]
    seen: list[int] = []
    for x in [*both]:
        cc.dispatch(4, increase, x)
        seen.append(x.array[0])
    first, second = [*both]
    cc.dispatch(4, increase, second)
    last, *rest = (*both, first)
    cc.dispatch(4, increase, rest[0])
    named: dict[str, Any] = {"k": last}
    cc.dispatch(4, increase, {**named}["k"])
    seen += [x.array[1] for x in [*both, *rest]]
    return seen, second.array[2], q + 1 > 0


FUNCTIONS = [items, indices, choices, turns, lists, managed, unpacked]


def run(
    function: Any, transfers: Transfers, accelerator: Accelerator
) -> tuple[Any, list[str], list[list[int]]]:
    """What a function gives, what was asked of its objects, and what is in the buffers."""
    log: list[str] = []
    a, b = S32Array.of(range(4)), S32Array.of(range(10, 14))
    with accelerator.strategy(transfers):
        found = accelerator.compute(function, a, b, Source(log, a, b), Odd(log, 1))
    return found, log, [a.array.tolist(), b.array.tolist()]


@pytest.mark.parametrize("transfers", [one for one in Transfers if one is not Transfers.ALWAYS])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.name)
def test_each_operator_runs_as_often_as_it_stands(
    function: Callable[..., Any], transfers: Transfers
) -> None:
    with Accelerator("interpreter", poison=True) as accelerator:
        expected = run(function, Transfers.ALWAYS, accelerator)
        assert expected[1]
        assert run(function, transfers, accelerator) == expected


# ------------------------------------------------------ what parameters of no known type give


@tb.compute
def unpacks(cc: ComputeContext, both: Any) -> list[int]:
    seen: list[int] = []
    for x in [*both]:
        cc.dispatch(4, increase, x)
        seen.append(x.array[0])
    first = (*both,)[0]
    cc.dispatch(4, increase, first)
    return [*seen, first.array[0]]


@tb.compute
def borrows(cc: ComputeContext, manager: Any) -> list[int]:
    with manager as x:
        cc.dispatch(4, increase, x)
        return [x.array[0], x.array[1]]


@pytest.mark.parametrize("transfers", Transfers)
def test_what_is_unpacked_or_given_to_a_block_is_not_what_it_comes_from(
    transfers: Transfers,
) -> None:
    with Accelerator("interpreter", poison=True, transfers=transfers) as accelerator:
        a, b = S32Array.of(range(4)), S32Array.of(range(10, 14))
        assert accelerator.compute(unpacks, [a, b]) == [1, 11, 2]
        log: list[str] = []
        assert accelerator.compute(borrows, Manager(log, b)) == [12, 13]
        assert log == ["enter", "exit"]
