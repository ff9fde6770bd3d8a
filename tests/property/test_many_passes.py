"""Random sequences of dispatches with many passes on several accelerators, the host in between.

The same dispatch comes again with other numbers, counts and options, from other threads, with
another strategy or while somebody profiles: after each step somebody may look, and must see what
NumPy has.
"""

import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, Transfers, i32
from trilby.errors import ArgumentTypeError, ArgumentValueError, PassesCancelledError

LENGTH = 12
NUMBERS = (1, 1, 2, True, np.int32(5), np.int64(-7), 2**31 - 1, -(2**31))
REFUSED = (2**31, -(2**40), 1.5, "1", None, np.float32(2), 10**400)

Mirror: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]


@tb.kernel
def scale(kc: KernelContext, a: S32Array, b: S32Array, number: i32) -> None:
    a.array[kc.x] = a.array[kc.x] * 3 + number + kc.pass_id + b.array[0] * 0


@tb.kernel
def flip(kc: KernelContext, a: S32Array, b: S32Array, number: i32) -> None:
    if kc.pass_id % 2 == 0:
        b.array[kc.x] = a.array[kc.x] + number
    else:
        a.array[kc.x] = b.array[kc.x] * 2


@tb.kernel
def overwrite(kc: KernelContext, a: S32Array, b: S32Array, number: i32) -> None:
    a.array[kc.x] = number - kc.pass_id
    b.array[(kc.x + number) & 3] = 4


@tb.kernel
def walk(kc: KernelContext, a: S32Array, b: S32Array, number: i32) -> None:
    b.array[kc.pass_id % 12] = a.array[(kc.pass_id + 1) % 12] + number


@tb.kernel
def raise_flag(kc: KernelContext, a: S32Array, b: S32Array, number: i32) -> None:
    a.array[kc.x] += 1
    if kc.x == 0 and a.array[0] % 4 == 0:
        b.array[number & 1] = 7


@tb.kernel
def refuse(kc: KernelContext, a: S32Array, b: S32Array, number: i32) -> None:
    assert b.array[kc.x] < 40, "too far"
    a.array[kc.x] += number
    b.array[kc.x] += 5


def one_pass(kernel: object, a: Mirror, b: Mirror, number: int, at: int) -> bool:
    """What a pass does to whole arrays; false where it fails."""
    with np.errstate(over="ignore"):
        if kernel is scale:
            a[:] = a * np.int32(3) + np.int32(number) + np.int32(at)
        elif kernel is flip and at % 2 == 0:
            b[:] = a + np.int32(number)
        elif kernel is flip:
            a[:] = b * np.int32(2)
        elif kernel is overwrite:
            a[:] = np.int32(number) - np.int32(at)
            b[:4] = 4
        elif kernel is walk:
            b[at % LENGTH] = a[(at + 1) % LENGTH] + np.int32(number)
        elif kernel is raise_flag:
            a += np.int32(1)
            if a[0] % 4 == 0:
                b[number & 1] = 7
        elif (b >= 40).any():
            return False
        else:
            a += np.int32(number)
            b += np.int32(5)
    return True


KERNELS: tuple[Any, ...] = (scale, flip, overwrite, walk, raise_flag, refuse)


def nothing_to_say(_done: int, _passes: int) -> None:
    """Progress that nobody shows."""


@tb.compute
def run(
    cc: ComputeContext, kernel: Any, a: S32Array, b: S32Array, number: Any, options: dict[str, Any]
) -> int:
    cc.dispatch(a.length, kernel, a, b, number, **options)
    return cc.passes_done


@tb.compute
def run_explicitly(
    cc: ComputeContext, kernel: Any, a: S32Array, b: S32Array, number: Any, options: dict[str, Any]
) -> int:
    with cc.explicit():
        cc.put(a)
        cc.put(b)
        cc.dispatch(a.length, kernel, a, b, number, **options)
        return cc.passes_done


@dataclass(frozen=True)
class Step:
    """One thing that happens, and the numbers that say to what."""

    what: str
    device: int
    place: int
    kernel: int
    number: int
    passes: int
    extra: int


@dataclass
class World:
    """What there is, and what it should be."""

    accelerators: Sequence[Accelerator]
    buffers: list[S32Array] = field(default_factory=list[S32Array])
    mirrors: list[Mirror] = field(default_factory=list[Mirror])
    views: dict[int, Any] = field(default_factory=dict[int, Any])
    last: Step | None = None

    def __post_init__(self) -> None:
        self.mirrors = [np.arange(LENGTH, dtype=np.int32) * n for n in range(3)]
        self.buffers = [S32Array.of(mirror) for mirror in self.mirrors]

    def take(self, step: Step) -> None:
        """Do it; what comes again is the last dispatch with another number and count.

        The host mostly looks at its buffers, too.
        """
        if step.what == "again" and self.last is not None:
            step = replace(self.last, what="run", number=step.number, passes=step.passes)
        elif step.place and self.last is not None and step.what in {"read", "write", "look raw"}:
            step = replace(step, place=self.places(self.last)[step.passes % 2])
        steps: dict[str, Callable[[Step], None]] = {
            "read": self.read,
            "write": self.write,
            "look raw": self.look_raw,
            "end raw": self.end_raw,
            "renew": self.renew,
            "collect": self.collect,
            "refused": self.refused,
            "cancelled": self.cancelled,
        }
        steps.get(step.what, self.dispatch)(step)

    def given(self, step: Step) -> tuple[Any, S32Array, S32Array, Any, dict[str, Any]]:
        a, b = self.places(step)
        options: dict[str, Any] = {"passes": step.passes}
        if KERNELS[step.kernel] is raise_flag:
            options |= {"until": self.buffers[b].array[:1], "check_every": 1 + step.extra % 3}
        number = NUMBERS[step.number]
        return KERNELS[step.kernel], self.buffers[a], self.buffers[b], number, options

    def places(self, step: Step) -> tuple[int, int]:
        return step.place, (step.place + 1 + step.extra % 2) % 3

    def expect(self, step: Step) -> int:
        """The passes that are done; what they do is done to the mirrors."""
        kernel, a, b = KERNELS[step.kernel], *(self.mirrors[one] for one in self.places(step))
        every, number = 1 + step.extra % 3, int(NUMBERS[step.number])
        for at in range(step.passes):
            is_looked_at = kernel is raise_flag and at and at % every == 0
            if (is_looked_at and b[0]) or not one_pass(kernel, a, b, number, at):
                return at
        return step.passes

    def dispatch(self, step: Step) -> None:
        self.last = step
        accelerator = self.accelerators[step.device]
        kernel, a, b, number, options = self.given(step)
        done: list[int] = []

        def go() -> None:
            entry = run_explicitly if step.what == "explicit" else run
            with suppress(AssertionError):
                done.append(accelerator.compute(entry, kernel, a, b, number, options))

        if step.what == "progress":
            options["progress"] = nothing_to_say
        if step.what == "timeout":
            options |= {"timeout": 1000, "cancel": threading.Event()}
        with self.around(step, accelerator):
            if step.what == "thread":
                thread = threading.Thread(target=go)
                thread.start()
                thread.join()
            else:
                go()
        if step.what == "explicit" and self.views:
            accelerator.get(a, b)
        expected = self.expect(step)
        has_failed = KERNELS[step.kernel] is refuse and expected < step.passes
        assert done == ([] if has_failed else [expected])
        for place in self.places(step) if has_failed else ():  # what others wrote may be there
            self.buffers[place].array[:] = self.mirrors[place]

    @staticmethod
    def around(step: Step, accelerator: Accelerator) -> Any:
        if step.what == "profile":
            return accelerator.profile()
        if step.what == "record":
            return accelerator.record()
        if step.what == "strategy":
            return accelerator.strategy(tuple(Transfers)[step.extra % len(Transfers)])
        return nullcontext()

    def refused(self, step: Step) -> None:
        """A number that does not fit, in the middle of others that do."""
        kernel, a, b, _, options = self.given(step)
        wrong = REFUSED[step.extra % len(REFUSED)]
        with pytest.raises((ArgumentTypeError, ArgumentValueError)):
            self.accelerators[step.device].compute(run, kernel, a, b, wrong, options)

    def cancelled(self, step: Step) -> None:
        """What is stopped before the first pass does nothing."""
        if step.passes:
            kernel, a, b, number, options = self.given(step)
            options["cancel"] = threading.Event()
            options["cancel"].set()
            with pytest.raises(PassesCancelledError):
                self.accelerators[step.device].compute(run, kernel, a, b, number, options)

    def read(self, step: Step) -> None:
        array, mirror = self.buffers[step.place].array, self.mirrors[step.place]
        if step.extra % 2:
            assert int(array[step.extra]) == mirror[step.extra]
        else:
            assert array.tolist() == mirror.tolist()

    def write(self, step: Step) -> None:
        part = slice(step.extra, step.extra + 1 + step.passes)
        self.buffers[step.place].array[part] = self.mirrors[step.place][part] = step.number

    def look_raw(self, step: Step) -> None:
        """Write through a raw view, which then stays alive."""
        view = self.views.get(step.place)
        if view is None:
            view = self.views[step.place] = self.buffers[step.place].array.raw()
        assert view.tolist() == self.mirrors[step.place].tolist()
        view[step.extra] = self.mirrors[step.place][step.extra] = step.number

    def end_raw(self, step: Step) -> None:
        self.views.pop(step.place, None)

    def collect(self, _: Step) -> None:
        gc.collect()

    def renew(self, step: Step) -> None:
        """Another buffer in the place of one that is gone, or released."""
        self.views.pop(step.place, None)
        if step.extra % 2:
            self.buffers[step.place].release()
        self.buffers[step.place] = S32Array.of(self.mirrors[step.place])


STEPS = st.builds(
    Step,
    st.sampled_from(
        ["run"] * 3
        + ["again"] * 12
        + ["thread", "explicit", "strategy", "profile", "record", "progress", "timeout"]
        + ["refused", "cancelled", "read", "read", "write", "write", "write"]
        + ["look raw", "look raw", "end raw", "renew", "collect"]
    ),
    st.sampled_from([0, 0, 0, 1, 2, 3, 4]),
    st.integers(0, 2),
    st.sampled_from(range(len(KERNELS))),
    st.sampled_from(range(len(NUMBERS))),
    st.sampled_from([0, 1, 2, 3, 3, 3, 5, 20]),
    st.integers(0, 7),
)


@pytest.fixture(scope="module")
def accelerators() -> Iterator[Sequence[Accelerator]]:
    kinds: list[dict[str, Any]] = [{"memory": "discrete"}, {"memory": "shared"}]
    with ExitStack() as stack:
        yield [
            *(stack.enter_context(Accelerator("native", **kind, poison=True)) for kind in kinds),
            *(stack.enter_context(Accelerator("opencl", **kind, poison=True)) for kind in kinds),
            stack.enter_context(Accelerator("interpreter", poison=True)),
        ]


@given(steps=st.lists(STEPS, min_size=6, max_size=30))
def test_passes_leave_what_numpy_has(
    accelerators: Sequence[Accelerator], steps: list[Step]
) -> None:
    world = World(accelerators)
    for step in steps:
        world.take(step)
    for place, view in world.views.items():
        assert view.tolist() == world.mirrors[place].tolist()
    for buffer, mirror in zip(world.buffers, world.mirrors, strict=True):
        assert buffer.array.tolist() == mirror.tolist()
