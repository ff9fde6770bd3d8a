"""Ctrl-C again and again, and random operations for a long time, with figures.

    python -m tests.stress ctrl-c --backend native --memory discrete --seconds 120
    python -m tests.stress soak --backend opencl --memory shared --seconds 600

Both poison what is stale. After each Ctrl-C all elements of a buffer must show the same number of
launches: those that were counted, or the one more that was under way. In a soak every value that
the host reads must be what NumPy computes. A process that dies says so by its exit status.
"""

import argparse
import gc
import os
import random
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
from tests.runtime.conftest import opened_as
from tests.runtime.test_signals import PROGRAMS, once

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, i32
from trilby.errors import ReentryError

LENGTH = 4096
LONGEST_SECONDS = 0.02

# ---------------------------------------------------------------------------------- Ctrl-C


class Alarms:
    """An alarm is what Ctrl-C is: it comes at any time, and raises `KeyboardInterrupt`."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 -- no secrets
        self._is_wanted = False
        self.heard = ""
        """Where the last one was."""

    @contextmanager
    def taken(self) -> Generator[None]:
        """Hear of alarms here."""
        before = signal.signal(signal.SIGALRM, self._raise)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _raise(self, _: int, frame: FrameType | None) -> None:
        if self._is_wanted:
            self.heard = _place(frame)
            raise KeyboardInterrupt

    def interrupt(self, act: Callable[[], object]) -> None:
        """Do something again and again until it is interrupted."""
        delay = self._chance.uniform(1e-5, LONGEST_SECONDS)
        try:
            try:
                self._is_wanted = True
                # Python hears of some where a finaliser runs, and ignores what is raised there.
                signal.setitimer(signal.ITIMER_REAL, delay, LONGEST_SECONDS)
                while True:
                    act()
            finally:  # where another may be heard
                self._is_wanted = False
        except KeyboardInterrupt:
            self._is_wanted = False


def _place(frame: FrameType | None) -> str:
    calls: list[str] = []
    while frame is not None and len(calls) < 9:
        calls.append(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(calls)


def press_ctrl_c(accelerator: Accelerator, seconds: float, seed: int = 0) -> Counter[str]:
    """Interrupt loops at random times, and see what is left each time."""
    chance, figures = random.Random(seed), Counter[str]()  # noqa: S311 -- no secrets
    a = S32Array.create(length=LENGTH)
    for program, _ in PROGRAMS.values():
        accelerator.compute(program, a, [0, 0])
    until = time.monotonic() + seconds
    alarms = Alarms(seed)
    with alarms.taken():
        while time.monotonic() < until:
            name = chance.choice(list(PROGRAMS))
            program, slack = PROGRAMS[name]
            before, done = _launches(a), [0, 0]
            alarms.interrupt(partial(accelerator.compute, program, a, done))
            figures["interrupts"] += 1
            figures[f"interrupts of {name}"] += 1
            try:
                launched = _launches(a) - before
                accelerator.compute(once, a)
                assert _launches(a) == before + launched + 1, "the next launch is not one more"
                assert done[0] <= launched <= done[0] + slack, f"{launched} launches of {done[0]}"
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}; interrupted in {alarms.heard}") from error
            figures["launches"] += launched
            if figures["interrupts"] % 50 == 0:
                a = S32Array.create(length=LENGTH)
                gc.collect()
    return figures


def _launches(a: S32Array) -> int:
    """What all elements show."""
    found = set(np.unique(np.asarray(a.array)).tolist())
    if len(found) != 1:
        raise AssertionError(f"some elements are of other launches than others: {sorted(found)}")
    return found.pop()


# ------------------------------------------------------------------------------------ soak


@tb.kernel
def scale(kc: KernelContext, a: NDArray[i32], first: i32, factor: i32) -> None:
    a[kc.x + first] = a[kc.x + first] * factor + kc.x


@tb.kernel
def combine(kc: KernelContext, a: NDArray[i32], b: NDArray[i32], out: NDArray[i32]) -> None:
    out[kc.x] = a[kc.x] ^ (b[kc.x] + 1)


@tb.compute
def scale_part(cc: ComputeContext, a: NDArray[i32], first: int, count: int, factor: int) -> None:
    cc.dispatch(count, scale, a, first, factor)


@tb.compute
def scale_often(cc: ComputeContext, a: NDArray[i32], count: int, factor: int, often: int) -> None:
    cc.dispatch(count, scale, a, 0, factor, passes=often)


@tb.compute
def combine_all(cc: ComputeContext, a: NDArray[i32], b: NDArray[i32], out: NDArray[i32]) -> None:
    cc.dispatch(out.shape[0], combine, a, b, out)


class Soak:
    """Arrays on a device, and beside each what NumPy makes of it."""

    def __init__(self, accelerator: Accelerator, seed: int) -> None:
        self.accelerator = accelerator
        self.chance = random.Random(seed)  # noqa: S311 -- no secrets
        self.size = 64
        self.pairs: list[tuple[NDArray[Any], Any]] = []
        self.figures = Counter[str]()
        for _ in range(3):
            self.make()

    def run(self, seconds: float) -> Counter[str]:
        """Do something again and again."""
        steps: list[Callable[[], None]] = [
            self.make,
            self.drop,
            self.write,
            self.read,
            self.read,
            self.launch,
            self.launch,
            self.launch_passes,
            self.combine,
            self.combine,
            self.hear_a_signal,
        ]
        if self.accelerator.device.backend != "opencl" and hasattr(os, "fork"):
            steps.append(self.compute_in_a_child)
        until = time.monotonic() + seconds
        strategies = list(tb.Transfers)
        while time.monotonic() < until:
            with self.accelerator.strategy(self.chance.choice(strategies)):
                for _ in range(20):
                    step = self.chance.choice(steps)
                    step()
                    self.figures["operations"] += 1
                    self.figures[step.__name__] += 1
            for pair in self.pairs:
                self.check(*pair, slice(None))
        return self.figures

    def any(self) -> tuple[NDArray[Any], Any]:
        return self.chance.choice(self.pairs)

    def part(self) -> slice:
        first, last = sorted(self.chance.sample(range(self.size + 1), 2))
        return slice(first, last)

    def make(self) -> None:
        """A new array: of its own, or on memory of the host."""
        content = np.array([self.chance.randrange(1000) for _ in range(self.size)], np.int32)
        self.pairs.append((self.accelerator.array(content), content.copy()))

    def drop(self) -> None:
        if len(self.pairs) > 3:
            self.pairs.pop(self.chance.randrange(len(self.pairs)))

    def write(self) -> None:
        (array, expected), part = self.any(), self.part()
        value = self.chance.randrange(1000)
        array[part] = value
        expected[part] = value

    def read(self) -> None:
        self.check(*self.any(), self.part())

    def launch(self) -> None:
        (array, expected), part = self.any(), self.part()
        count, factor = part.stop - part.start, self.chance.randrange(1, 4)
        self.accelerator.compute(scale_part, array, part.start, count, factor)
        expected[part] = expected[part] * factor + np.arange(count, dtype=np.int32)

    def launch_passes(self) -> None:
        array, expected = self.any()
        often = self.chance.randrange(1, 20)
        self.accelerator.compute(scale_often, array, self.size, 3, often)
        for _ in range(often):
            expected[:] = expected * np.int32(3) + np.arange(self.size, dtype=np.int32)

    def combine(self) -> None:
        (a, x), (b, y), (out, z) = self.any(), self.any(), self.any()
        self.accelerator.compute(combine_all, a, b, out)
        z[:] = x ^ (y + np.int32(1))

    def hear_a_signal(self) -> None:
        """A signal comes at any step of another operation; its handler computes, or is refused."""
        before = signal.signal(signal.SIGALRM, self._handle)
        try:
            signal.setitimer(signal.ITIMER_REAL, self.chance.uniform(1e-5, 5e-4))
            for _ in range(3):
                self.chance.choice([self.make, self.drop, self.write, self.launch, self.combine])()
        except ReentryError:
            self.figures["signal handlers that were refused"] += 1
            self.pairs.clear()  # which of both was done is not known
            for _ in range(3):
                self.make()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _handle(self, _: int, _frame: FrameType | None) -> None:
        numbers = np.arange(self.size, dtype=np.int32)
        array = self.accelerator.array(numbers.copy())
        self.accelerator.compute(combine_all, array, array, array)
        assert np.array_equal(np.asarray(array), numbers ^ (numbers + 1))
        self.figures["signal handlers that computed"] += 1

    def compute_in_a_child(self) -> None:
        """A forked child has all arrays as they are, and computes with them."""
        if self.chance.random() < 0.95:  # a child takes as long as a hundred other operations
            return
        array, expected = self.any()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            child = os.fork()
        if not child:
            status = 1
            try:
                self.check(array, expected, slice(None))
                self.accelerator.compute(scale_part, array, 0, self.size, 3)
                expected[:] = expected * np.int32(3) + np.arange(self.size, dtype=np.int32)
                self.check(array, expected, slice(None))
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "in a child"
        self.figures["children"] += 1

    def check(self, array: NDArray[Any], expected: Any, part: slice) -> None:
        found = np.asarray(array[part])
        if not np.array_equal(found, expected[part]):
            raise AssertionError(f"{part}: {found.tolist()} is not {expected[part].tolist()}")
        self.figures["values checked"] += found.size


def soak(accelerator: Accelerator, seconds: float, seed: int = 0) -> Counter[str]:
    """Random operations on arrays, compared with NumPy."""
    with np.errstate(over="ignore"):
        return Soak(accelerator, seed).run(seconds)


# ------------------------------------------------------------------------- the command line

KINDS = {"ctrl-c": press_ctrl_c, "soak": soak}


def main() -> None:
    """Run one of both on one device, and print what was done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--backend", default="native")
    parser.add_argument("--memory", choices=["discrete", "shared"], default="discrete")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    name = given.backend + (", shared" if given.memory == "shared" else "")
    with opened_as(name) as accelerator:
        figures = KINDS[given.kind](accelerator, given.seconds, given.seed)
    listed = ", ".join(f"{count:,} {what}" for what, count in figures.most_common())
    print(f"{given.kind}, {name}, {given.seconds:g} s: {listed}")  # noqa: T201 -- what it is for


if __name__ == "__main__":
    main()
