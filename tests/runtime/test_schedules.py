"""Random programs on several devices that put everything off: all see what NumPy sees."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.conftest import with_backend
from tests.runtime.devices import Deferred, Watched
from tests.runtime.programs import dispatch

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, i32

if TYPE_CHECKING:
    from collections.abc import Callable

LENGTH = 6

Numbers: TypeAlias = npt.NDArray[np.int32]
Step: TypeAlias = tuple[str, int, int, int, int]
"""What, on which device, with which arrays, and how many elements."""

WHAT = [
    "add",
    "copy",
    "sum",
    "write",
    "look",
    "look at one",
    "set",
    "set one",
    "raw",
    "poke",
    "fetch",
]
STEPS = st.tuples(
    st.sampled_from(WHAT),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, LENGTH),
)


@tb.kernel
def add(kc: KernelContext, a: NDArray[i32], n: i32) -> None:
    a[kc.x] += n


@tb.kernel
def copy(kc: KernelContext, a: NDArray[i32], b: NDArray[i32]) -> None:
    b[kc.x] = a[kc.x]


@tb.kernel
def sum_up(kc: KernelContext, a: NDArray[i32], b: NDArray[i32]) -> None:
    b[kc.x] = a[kc.x] + b[kc.x]


@tb.kernel
def write(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.x] = 7 * kc.x


@tb.compute
def fetch(cc: ComputeContext, a: NDArray[i32]) -> None:
    cc.to_host(a)


@dataclass
class World:
    """Four arrays, two of which overlap, on four devices; and the same in NumPy.

    The devices: one of its own memory, poisoned; one of the host's; one with room for two arrays;
    and one that does everything at once.
    """

    devices: list[Accelerator]
    arrays: list[NDArray[int]]
    expected: list[Numbers]
    raw: dict[int, npt.NDArray[Any]] = field(default_factory=dict[int, npt.NDArray[Any]])

    @classmethod
    def make(cls) -> "World":
        memory = np.zeros(2 * LENGTH, np.int32)
        expected = np.zeros(2 * LENGTH, np.int32)
        parts = slice(0, LENGTH), slice(LENGTH // 2, LENGTH // 2 + LENGTH)
        lent = [NDArray[int](memory[part]) for part in parts]
        own = [NDArray[int]([np.int32(k)] * LENGTH) for k in (1, 2)]
        copies = [expected[part] for part in parts]
        copies += [np.full(LENGTH, k, np.int32) for k in (1, 2)]
        with pytest.MonkeyPatch.context() as patch:
            devices = [
                with_backend(patch, Deferred(), poison=True),
                with_backend(patch, Deferred(shares=True)),
                with_backend(patch, Deferred(), memory_limit=2 * 4 * LENGTH),
                with_backend(patch, Watched(), poison=True),
            ]
        return cls(devices, [*lent, *own], copies)

    def step(self, what: str, device: int, one: int, other: int, n: int) -> None:
        """Do something here and there."""
        a, x = self.arrays[one], self.expected[one]
        b, y = self.arrays[other], self.expected[other]
        apart = {one, other} != {0, 1}
        launch = cast("Callable[..., object]", self.devices[device].compute)
        match what:
            case "add":
                launch(dispatch, n, add, a, n)
                x[:n] += np.int32(n)
            case "copy" if apart:
                launch(dispatch, n, copy, a, b)
                y[:n] = x[:n]
            case "sum" if apart:
                launch(dispatch, n, sum_up, a, b)
                y[:n] += x[:n]
            case "write":
                launch(dispatch, n, write, a)
                x[:n] = 7 * np.arange(n)
            case "fetch":
                launch(fetch, a)
            case _:
                self._on_host(what, one, n)

    def _on_host(self, what: str, one: int, n: int) -> None:
        a, x = self.arrays[one], self.expected[one]
        match what:
            case "look":
                assert a[:n].tolist() == x[:n].tolist()
            case "look at one":
                assert a[n % LENGTH] == x[n % LENGTH]
            case "set":
                a[:n] = n
                x[:n] = n
            case "set one":
                a[n % LENGTH] = x[n % LENGTH] = 100 + n
            case "raw" if one >= 2:  # of one that nobody else overlaps
                self.raw[one] = a[: n + 1].raw()
            case "poke" if one in self.raw:
                raw = self.raw.pop(one) if n % 2 else self.raw[one]
                assert raw.tolist() == x[: len(raw)].tolist()
                raw[0] = x[0] = 1000 + n
            case _:
                pass


@given(steps=st.lists(STEPS, max_size=25))
def test_everybody_sees_what_was_written_last(steps: list[Step]) -> None:
    world = World.make()
    for step in steps:
        world.step(*step)
    for one, raw in world.raw.items():
        assert raw.tolist() == world.expected[one][: len(raw)].tolist()
    world.raw.clear()
    assert [one.tolist() for one in world.arrays] == [one.tolist() for one in world.expected]
    for device in world.devices:
        device.close()
    assert [one.tolist() for one in world.arrays] == [one.tolist() for one in world.expected]
