"""Random sequences of calls around memory that leaves the tracked accesses.

Untracked views live before, during and after launches, some of which fail; NumPy calls run code
that launches kernels; pickles, snapshots and what callbacks were given are kept. What NumPy has is
what the arrays have, and what was kept stays as it was.
"""

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, i32
from trilby.errors import OutOfDeviceMemoryError, StaleReadError

LENGTH = 8
SPANS = (slice(0, 8), slice(4, 12), slice(12, 20))
"""Where the arrays lie in one memory: two of them overlap."""

ROOM = 400
"""The memory limit of the devices with separate memory, in bytes."""

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]


@tb.kernel
def add(kc: KernelContext, a: NDArray[i32], n: i32) -> None:
    a[kc.x] += n


@tb.kernel
def add_from(kc: KernelContext, a: NDArray[i32], b: NDArray[i32]) -> None:
    a[kc.x] += b[kc.x]


@tb.compute
def run_add(cc: ComputeContext, a: NDArray[i32], n: int) -> None:
    cc.dispatch(LENGTH, add, a, n)


@tb.compute
def run_add_from(cc: ComputeContext, a: NDArray[i32], b: NDArray[i32]) -> None:
    cc.dispatch(LENGTH, add_from, a, b)


class Converted:
    """An operand that does something when NumPy converts it."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act = act

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001 -- NumPy's signature
        self.act()
        return np.ones(LENGTH, dtype or np.int32)


@dataclass
class World:
    """What there is, what it should be, and what was taken out of it."""

    accelerators: Sequence[Accelerator]
    memory: Numbers = field(default_factory=lambda: np.arange(20, dtype=np.int32))
    expected: Numbers = field(default_factory=lambda: np.arange(20, dtype=np.int32))
    views: dict[int, Any] = field(default_factory=dict[int, Any])
    kept: list[tuple[Callable[[], Any], list[int]]] = field(
        default_factory=list[tuple[Callable[[], Any], list[int]]]
    )

    def __post_init__(self) -> None:
        self.arrays = [NDArray[int](self.memory[span]) for span in SPANS]
        self.large = NDArray[int](np.zeros(10 * ROOM, np.int32))

    def mirror(self, place: int) -> Numbers:
        return self.expected[SPANS[place]]

    def is_shared(self, device: int) -> bool:
        return self.accelerators[device].residency.replicas.shares

    def keep(self, give: Callable[[], Any], place: int) -> None:
        self.kept.append((give, self.mirror(place).tolist()))

    # ------------------------------------------------------------------------- the steps

    def launch(self, device: int, place: int, number: int) -> None:
        self.accelerators[device].compute(run_add, self.arrays[place], number)
        self.mirror(place)[:] += number

    def launch_without_room(self, device: int, place: int, _number: int) -> None:
        if self.is_shared(device):
            return
        with pytest.raises(OutOfDeviceMemoryError):
            self.accelerators[device].compute(run_add_from, self.arrays[place], self.large)

    def launch_of_stale_data(self, device: int, place: int, number: int) -> None:
        if self.is_shared(device):
            return
        accelerator, other = self.accelerators[device], 0 if place == 2 else 2
        accelerator.compute(run_add, self.arrays[other], number)
        self.mirror(other)[:] += number
        self.arrays[place][number % LENGTH] = number
        self.mirror(place)[number % LENGTH] = number
        with accelerator.explicit(), pytest.raises(StaleReadError):
            accelerator.compute(run_add_from, self.arrays[other], self.arrays[place])

    def put_and_get(self, device: int, place: int, number: int) -> None:
        """A write through a view after a `put` is not what the kernel sees."""
        accelerator, array, view = self.accelerators[device], self.arrays[place], self.views
        with accelerator.explicit():
            accelerator.put(array)
            if place in view and not self.is_shared(device):
                view[place][:] = -number
            accelerator.compute(run_add, array, number)
            accelerator.get(array)
        self.mirror(place)[:] += number

    def use_view(self, _device: int, place: int, number: int) -> None:
        if place not in self.views:
            self.views[place] = self.arrays[place].raw()
        view = self.views[place]
        assert view.tolist() == self.mirror(place).tolist()
        view[number % LENGTH :] = number
        self.mirror(place)[number % LENGTH :] = number

    def end_view(self, _device: int, place: int, _number: int) -> None:
        self.views.pop(place, None)

    def read(self, _device: int, place: int, number: int) -> None:
        array, mirror = self.arrays[place], self.mirror(place)
        if number % 2:
            assert array[number % LENGTH] == mirror[number % LENGTH]
        else:
            assert array.tolist() == mirror.tolist()

    def write(self, _device: int, place: int, number: int) -> None:
        self.arrays[place][1:3] = self.mirror(place)[1:3] = number

    def take_out(self, _device: int, place: int, number: int) -> None:
        """Keep a snapshot, or a pickle in one of its forms."""
        array = self.arrays[place]
        if number % 4 == 0:
            snapshot = np.asarray(array)
            self.keep(lambda: snapshot, place)
        elif number % 4 == 1:
            buffers: list[pickle.PickleBuffer] = []
            text = pickle.dumps(array, protocol=5, buffer_callback=buffers.append)
            self.keep(lambda: pickle.loads(text, buffers=buffers), place)  # noqa: S301 -- our own
        elif number % 4 == 2:
            make, content = cast("Any", array.__reduce__())
            self.keep(lambda: make(*content), place)
        else:
            view = np.ravel(cast("Any", array))
            self.keep(lambda: view, place)

    def call_back(self, device: int, place: int, number: int) -> None:
        """A callback keeps what it is given, and launches kernels."""
        before = self.mirror(place).tolist()
        given: list[Any] = []

        def callback(part: Any) -> int:
            given.append(part)
            self.launch(device, place, number)
            return int(part.sum())

        total = cast("Any", np.apply_along_axis)(callback, 0, self.arrays[place])
        assert int(total) == sum(before)
        self.kept.append((lambda: given[0], before))

    def convert(self, device: int, place: int, number: int) -> None:
        """An operand launches kernels when it is converted."""
        operand = Converted(lambda: self.launch(device, place, number))
        total = cast("Any", self.arrays[place]) + cast("Any", operand)
        assert total.tolist() == (self.mirror(place) + 1).tolist()
        self.arrays[place][:] = cast("Any", operand)
        self.mirror(place)[:] = 1

    def iterate(self, _device: int, place: int, number: int) -> None:
        with pytest.raises(ValueError, match="read-only"):
            np.nditer(cast("Any", self.arrays[place]), op_flags=cast("Any", [["readwrite"]]))
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(self.arrays[place])[0] = number

    def shuffle(self, _device: int, place: int, number: int) -> None:
        numbers = self.mirror(place).tolist()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy does not know it
            for shuffled in (numbers, self.arrays[place]):
                np.random.default_rng(number).shuffle(cast("Any", shuffled))
        self.mirror(place)[:] = numbers


STEPS = st.tuples(
    st.sampled_from(
        [World.launch, World.use_view] * 3
        + [World.end_view, World.launch_without_room, World.launch_of_stale_data] * 2
        + [World.put_and_get, World.call_back, World.convert, World.take_out] * 2
        + [World.read, World.write, World.iterate, World.shuffle]
    ),
    st.integers(0, 3),
    st.integers(0, 2),
    st.integers(1, 9),
)


@pytest.fixture(scope="module")
def accelerators() -> Iterator[Sequence[Accelerator]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                Accelerator("native", memory="discrete", poison=True, memory_limit=ROOM)
            ),
            stack.enter_context(Accelerator("native", memory="shared", poison=True)),
            stack.enter_context(
                Accelerator("opencl", memory="discrete", poison=True, memory_limit=ROOM)
            ),
            stack.enter_context(
                Accelerator("interpreter", memory="discrete", poison=True, memory_limit=ROOM)
            ),
        ]


@given(steps=st.lists(STEPS, min_size=3, max_size=25))
def test_nothing_is_lost_and_what_was_taken_stays(
    accelerators: Sequence[Accelerator], steps: list[tuple[Any, int, int, int]]
) -> None:
    world = World(accelerators)
    for step, device, place, number in steps:
        step(world, device, place, number)
    for place, view in world.views.items():
        assert view.tolist() == world.mirror(place).tolist()
    for place, array in enumerate(world.arrays):
        assert array.tolist() == world.mirror(place).tolist()
    for give, content in world.kept:
        assert give().tolist() == content
    world.views.clear()
    for array in (*world.arrays, world.large):
        array.release()
    assert world.memory.tolist() == world.expected.tolist()
