"""Launches that are held back: none is lost, none overtakes another."""

import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import FrameType

import numpy as np
from tests.backend.opencl_running import RANGE, download, upload

from trilby.backend.base import Scalar
from trilby.backend.opencl_bursts import OpenCLRepeated
from trilby.backend.opencl_device import OpenCLBackend
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange

ADVANCE = f"""
__kernel void advance(__global int *a, int factor, int summand, {RANGE}) {{
    int x = get_global_id(0);
    if (x < max_x) a[x] = (a[x] * factor + summand) % 10007;
}}
"""
"""Done in another order, or not as often, it gives something else."""


def nothing() -> None:
    """Nobody reads when it is full."""


class Interrupted(BaseException):
    """What a signal raises in the middle of anything, as Ctrl-C does."""


class Interrupts:
    """Signals that come again and again, and are heard only when they are wanted."""

    def __init__(self) -> None:
        self.are_heard = False
        self.count = 0

    def hear(self, _number: int, _frame: FrameType | None) -> None:
        if self.are_heard:
            self.count += 1
            raise Interrupted

    @contextmanager
    def heard(self) -> Generator[None]:
        try:
            self.are_heard = True
            yield
        finally:
            self.are_heard = False


@contextmanager
def interrupts() -> Generator[Interrupts]:
    """Interrupt this thread all the time."""
    given, is_over = Interrupts(), threading.Event()
    main = threading.get_ident()

    def send() -> None:
        while not is_over.wait(0.0001):
            signal.pthread_kill(main, signal.SIGUSR1)

    def ignore(what: "sys.UnraisableHookArgs") -> None:
        """Objects may end while they are heard, which nobody can interrupt."""
        if what.exc_type is not Interrupted:
            unraisable(what)

    unraisable, sys.unraisablehook = sys.unraisablehook, ignore
    before = signal.signal(signal.SIGUSR1, given.hear)
    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield given
    finally:
        is_over.set()
        sender.join()
        signal.signal(signal.SIGUSR1, before)
        sys.unraisablehook = unraisable


def test_an_interrupt_while_launches_are_given_loses_none_and_repeats_none(
    opencl: OpenCLBackend,
) -> None:
    values = np.arange(64, dtype=np.int32)
    memory = upload(opencl, values)
    kernel = opencl.build(ADVANCE, "advance")
    launches: list[OpenCLRepeated] = []
    for factor, summand in ((3, 1), (5, 2)):
        arguments = memory, Scalar(I32, factor), Scalar(I32, summand)
        launch = opencl.repeated(opencl.prepare(kernel, NDRange((64,)), arguments))
        assert isinstance(launch, OpenCLRepeated)
        launches.append(launch)
    expected = values.astype(np.int64)
    one, other = launches
    after = (other,), (one,)
    other.run(())
    expected = (expected * 5 + 2) % 10007
    kept = [one.keep(nothing), other.keep(nothing)]
    kept[1].may_skip = True
    turns = 0
    with interrupts() as signals:
        while signals.count < 20:
            turns += 1
            for number in range(20):
                one.most = other.most = 1000
                (one, other)[number % 2].run(after[number % 2])
                expected = (expected * (3, 5)[number % 2] + (1, 2)[number % 2]) % 10007
            while opencl.burst.held:
                with suppress(Interrupted), signals.heard():
                    opencl.burst.submit()
    other.latest.wait()
    for runs in kept:
        _, _, seconds, unmeasured = runs.take()[:4]
        assert np.maximum(unmeasured, 1).sum() == 10 * turns
        assert not np.isnan(seconds).any()
    assert download(opencl, memory, values).tolist() == expected.tolist()
