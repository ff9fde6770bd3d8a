"""Random sequences of calls on several accelerators at once, with the host in between.

Arrays overlap, raw views live for a while, arrays are released and made anew, hot loops run: after
each step somebody may look, and must see what NumPy has. The memory is that of a plain array or of
something else, such as a mapped file, and each array is made of another kind of object on it.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.wrapped_memory import MEMORIES, WRAPPINGS, Ints

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, Ledger, NDArray, i32
from trilby.oracle.excess import excess

LENGTH = 8
SPANS = (slice(0, 8), slice(4, 12), slice(12, 20), slice(0, 8))
"""Where the arrays lie in one memory: two overlap, and two are the same."""


@tb.kernel
def add_one(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.x] += 1


@tb.kernel
def add_to_even(kc: KernelContext, a: NDArray[i32]) -> None:
    if kc.x % 2 == 0:
        a[kc.x] += 10


@tb.kernel
def number(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.x] = i32(kc.x)


@tb.kernel
def add_from(kc: KernelContext, a: NDArray[i32], b: NDArray[i32]) -> None:
    b[kc.x] = a[kc.x] + b[kc.x]


@tb.kernel
def copy(kc: KernelContext, a: NDArray[i32], b: NDArray[i32]) -> None:
    b[kc.x] = a[kc.x]


@tb.compute
def repeat_one(cc: ComputeContext, kernel: int, a: NDArray[i32], times: int) -> None:
    if kernel == 0:
        for _ in range(times):
            cc.dispatch(LENGTH, add_one, a)
    elif kernel == 1:
        for _ in range(times):
            cc.dispatch(LENGTH, add_to_even, a)
    else:
        cc.dispatch(LENGTH, number, a)


@tb.compute
def repeat_two(
    cc: ComputeContext, kernel: int, a: NDArray[i32], b: NDArray[i32], times: int
) -> None:
    if kernel == 0:
        for _ in range(times):
            cc.dispatch(LENGTH, add_from, a, b)
            a, b = b, a
    else:
        cc.dispatch(LENGTH, copy, a, b)


@dataclass
class World:
    """What there is, and what it should be."""

    accelerators: Sequence[Accelerator]
    memory: Ints
    wrappings: Sequence[str]
    expected: Ints = field(default_factory=lambda: np.arange(20, dtype=np.int32))
    arrays: list[NDArray[int]] = field(default_factory=list[NDArray[int]])
    views: dict[int, Any] = field(default_factory=dict[int, Any])

    def __post_init__(self) -> None:
        self.memory[:] = self.expected
        self.arrays = [self.wrapped(place) for place in range(len(SPANS))]

    def wrapped(self, place: int) -> NDArray[int]:
        """An array of the object that has its turn, on the memory of a place."""
        return NDArray[int](WRAPPINGS[self.wrappings[place]](self.memory[SPANS[place]]))

    def mirror(self, place: int) -> Ints:
        return self.expected[SPANS[place]]

    def run_one(self, device: int, kernel: int, place: int, times: int) -> None:
        self.accelerators[device].compute(repeat_one, kernel, self.arrays[place], times)
        mirror = self.mirror(place)
        if kernel == 0:
            mirror += times
        elif kernel == 1:
            mirror[::2] += 10 * times
        else:
            mirror[:] = range(LENGTH)

    def run_two(self, device: int, kernel: int, place: int, times: int) -> None:
        """From one array to one that is apart, or the other way round."""
        places = (place, 2) if place != 2 else (2, times % 2)
        a, b = (self.arrays[one] for one in places)
        self.accelerators[device].compute(repeat_two, kernel, a, b, times)
        left, right = (self.mirror(one) for one in places)
        for _ in range(times if kernel == 0 else 0):
            right += left
            left, right = right, left
        if kernel:
            right[:] = left

    def read(self, _device: int, _kernel: int, place: int, times: int) -> None:
        array, mirror = self.arrays[place], self.mirror(place)
        if times % 2:
            assert int(array[times % LENGTH]) == mirror[times % LENGTH]
        else:
            assert array.tolist() == mirror.tolist()

    def write(self, device: int, kernel: int, place: int, times: int) -> None:
        part = slice(kernel, kernel + 1 + device)
        self.arrays[place][part] = times
        self.mirror(place)[part] = times

    def look_raw(self, _device: int, _kernel: int, place: int, times: int) -> None:
        """Write through a raw view, which then stays alive."""
        view = self.views.get(place)
        if view is None:
            view = self.views[place] = self.arrays[place].raw()
        assert view.tolist() == self.mirror(place).tolist()
        view[times % LENGTH] = times
        self.mirror(place)[times % LENGTH] = times

    def end_raw(self, _device: int, _kernel: int, place: int, _times: int) -> None:
        self.views.pop(place, None)

    def renew(self, _device: int, kernel: int, place: int, _times: int) -> None:
        """Another array on the same memory; the old one is gone, or released."""
        if place in self.views:
            return
        if kernel == 0:
            self.arrays[place].release()
        self.arrays[place] = self.wrapped(place)

    def collect(self, _device: int, _kernel: int, _place: int, _times: int) -> None:
        gc.collect()


STEPS = st.tuples(
    st.sampled_from(
        [World.run_one] * 4
        + [World.run_two] * 3
        + [World.read, World.write] * 2
        + [World.look_raw, World.end_raw, World.renew, World.collect]
    ),
    st.integers(0, 5),
    st.integers(0, 2),
    st.integers(0, 3),
    st.sampled_from([1, 1, 2, 3, 40]),
)

RECORDED = st.just([]) | st.lists(st.integers(0, 5), max_size=2)
"""The accelerators that are recorded: often none, since hot loops then take a shorter way."""

KINDS = st.tuples(
    st.sampled_from(list(MEMORIES)),
    st.lists(st.sampled_from(list(WRAPPINGS)), min_size=len(SPANS), max_size=len(SPANS)),
    st.booleans(),
)
"""Whose the memory is, what the arrays are made of, and whether they are released at the end."""


@pytest.fixture(scope="module")
def accelerators() -> Iterator[Sequence[Accelerator]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(Accelerator("native", memory="discrete", poison=True)),
            stack.enter_context(Accelerator("native", memory="shared", poison=True)),
            stack.enter_context(Accelerator("opencl", memory="discrete", poison=True)),
            stack.enter_context(Accelerator("opencl", memory="discrete")),
            stack.enter_context(Accelerator("opencl", memory="shared", poison=True)),
            stack.enter_context(Accelerator("interpreter", poison=True)),
        ]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


def check_ledger(ledger: Ledger) -> None:
    """All that moved was the least, or is explained, also where arrays overlap."""
    copies, optimal = ledger.recording.all_copies, ledger.optimal
    found = excess(ledger.recording.trace, copies)
    beyond = sum(one.nbytes for one in found if one.kind.beyond_minimum)
    assert sum(copy.nbytes for copy in copies) == optimal.range.nbytes + beyond
    assert optimal.range.nbytes <= optimal.buffer.nbytes
    assert ledger.ratio >= 0


@given(recorded=RECORDED, kinds=KINDS, steps=st.lists(STEPS, min_size=3, max_size=25))
def test_everybody_sees_what_numpy_has(
    accelerators: Sequence[Accelerator],
    folder: Path,
    kinds: tuple[str, list[str], bool],
    recorded: list[int],
    steps: list[tuple[Any, int, int, int, int]],
) -> None:
    memory, wrappings, is_released = kinds
    world = World(accelerators, MEMORIES[memory](folder, 20), wrappings)
    with ExitStack() as recording:
        ledgers = [recording.enter_context(accelerators[one].record()) for one in recorded]
        for step, device, kernel, place, times in steps:
            step(world, device, kernel, place, times)
        for place in range(len(SPANS)):
            assert world.arrays[place].tolist() == world.mirror(place).tolist()
    for ledger in ledgers:
        check_ledger(ledger)
    world.views.clear()
    while world.arrays:
        if is_released:
            world.arrays[-1].release()
        world.arrays.pop()
    gc.collect()
    assert world.memory.tolist() == world.expected.tolist()
