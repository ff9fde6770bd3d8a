"""Signals at every moment: Ctrl-C, and handlers that use buffers and launch kernels.

Afterwards the buffers are as a whole number of launches leaves them, and all goes on.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from tests.runtime.interrupting import Signal

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array
from trilby.errors import ReentryError

LENGTH = 8


@tb.kernel
def add_one(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] += 1


@tb.kernel
def add_one_surely(kc: KernelContext, a: S32Array) -> None:
    assert a.array[kc.x] >= 0
    a.array[kc.x] += 1


@tb.kernel
def copy(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[kc.x]


@tb.compute
def launches(cc: ComputeContext, a: S32Array, done: list[int]) -> None:
    for _ in range(3):
        cc.dispatch(a.length, add_one, a)
        done[0] += 1


@tb.compute
def reads_between_launches(cc: ComputeContext, a: S32Array, done: list[int]) -> None:
    for _ in range(2):
        cc.dispatch(a.length, add_one, a)
        done[0] += 1
        done[1] = a.array[0]


@tb.compute
def asserting_launches(cc: ComputeContext, a: S32Array, done: list[int]) -> None:
    for _ in range(2):
        cc.dispatch(a.length, add_one_surely, a)
        done[0] += 1


@tb.compute
def copies(cc: ComputeContext, a: S32Array, done: list[int]) -> None:
    b = S32Array.create(length=a.length)
    cc.dispatch(a.length, add_one, a)
    done[0] += 1
    cc.dispatch(a.length, copy, a, b)
    done[1] = b.array[3]


@tb.compute
def passes(cc: ComputeContext, a: S32Array, done: list[int]) -> None:
    cc.dispatch(a.length, add_one, a, passes=2)
    done[0] += 2


@tb.compute
def writes(cc: ComputeContext, a: S32Array, done: list[int]) -> None:
    cc.dispatch(a.length, add_one, a)
    done[0] += 1
    np.add(a.array, 1, out=cast("Any", a.array))
    done[0] += 1
    cc.dispatch(a.length, add_one, a)
    done[0] += 1
    np.add(a.array[:1], 0, out=cast("Any", a.array[:1]))
    b = S32Array.create(length=a.length)
    cc.dispatch(a.length, copy, a, b)
    b.array[0] = -1
    done[1] = b.array[3]


@tb.compute
def once(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add_one, a)


PROGRAMS: dict[str, tuple[Any, int]] = {
    "launches": (launches, 1),
    "reads between launches": (reads_between_launches, 1),
    "asserting launches": (asserting_launches, 1),
    "copies": (copies, 1),
    "passes": (passes, 2),
    "host writes": (writes, 1),
}
"""Compute functions, and how many launches may be under way without being counted."""


class Trial:
    """A buffer whose elements are the number of launches, one as the other."""

    def __init__(self, accelerator: Accelerator, program: Any) -> None:
        self.accelerator = accelerator
        self.program = program
        self.a = S32Array.create(length=LENGTH)
        accelerator.compute(program, self.a, [0, 0])  # compile
        accelerator.compute(once, self.a)

    def run(self, moment: int, handler: Callable[[], None] | None = None) -> "Run":
        """Run the program, and send it a signal."""
        before = self.launches()
        assert self.a.array[0] == before  # the host has this one, and the device all others
        signal = Signal(moment) if handler is None else Signal(moment, handler)
        done, raised = [0, 0], None
        try:
            with signal:
                self.accelerator.compute(self.program, self.a, done)
        except (KeyboardInterrupt, ReentryError) as error:
            raised = error
        return Run(signal.where, done[0], self.launches() - before - 1, raised)

    def launches(self) -> int:
        """The number of launches so far, which all elements show; and one more shows the same."""
        (found,) = set(self.a.array.tolist())
        self.accelerator.compute(once, self.a)
        assert set(self.a.array.tolist()) == {found + 1}
        return found + 1


class Run:
    """What a program did that got a signal."""

    def __init__(
        self, where: str | None, counted: int, launched: int, raised: BaseException | None
    ) -> None:
        self.where = where
        self.counted = counted
        self.launched = launched
        self.raised = raised


def step_of(accelerator: Accelerator) -> int:
    """Most moments count on the native device with copies; elsewhere there are fewer or slower."""
    is_short = accelerator.device.backend == "native" and not accelerator.residency.replicas.shares
    return 3 if is_short else 23


@pytest.mark.parametrize(("program", "slack"), PROGRAMS.values(), ids=PROGRAMS)
def test_ctrl_c_at_any_moment(accelerator: Accelerator, program: Any, slack: int) -> None:
    trial = Trial(accelerator, program)
    for moment in range(0, 100_000, step_of(accelerator)):
        run = trial.run(moment)
        if run.where is None:
            assert moment > 0
            return
        assert run.counted <= run.launched <= run.counted + slack, run.where


@pytest.mark.parametrize(("program", "slack"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_signal_handler_works_or_is_refused(
    accelerator: Accelerator, program: Any, slack: int
) -> None:
    """It reads the buffer and launches a kernel: both work, or both raise a clear error."""
    trial = Trial(accelerator, program)
    other = S32Array.create(length=LENGTH)
    worked: list[int] = []

    def handle() -> None:
        assert len(set(trial.a.array.tolist())) == 1
        accelerator.compute(once, trial.a)
        worked.append(1)
        accelerator.compute(once, other)

    for moment in range(0, 100_000, 3 * step_of(accelerator)):
        worked.clear()
        run = trial.run(moment, handle)
        if run.where is None:
            return
        if run.raised is None:
            assert run.launched == run.counted + len(worked), run.where
        else:
            assert "signal handler" in str(run.raised)
            least = run.counted + len(worked)
            assert least <= run.launched <= least + slack, run.where
        assert len(set(other.array.tolist())) == 1


@pytest.mark.parametrize(("program", "slack"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_signal_handler_with_new_buffers_works_or_is_refused(
    accelerator: Accelerator, program: Any, slack: int
) -> None:
    """It makes buffers, brings and uses them, and lets go of them: all of that, or an error."""
    trial = Trial(accelerator, program)

    def handle() -> None:
        new, put = S32Array.of([3] * LENGTH), S32Array.of([5] * LENGTH)
        accelerator.compute(once, new)
        assert new.array.tolist() == [4] * LENGTH
        accelerator.put(put)
        accelerator.get(new)
        with accelerator.array(np.arange(LENGTH, dtype=np.int32)) as wrapped:
            accelerator.put(wrapped)

    for moment in range(0, 100_000, 3 * step_of(accelerator)):
        run = trial.run(moment, handle)
        if run.where is None:
            return
        if run.raised is not None:
            assert "signal handler" in str(run.raised)
        assert run.counted <= run.launched <= run.counted + slack, run.where


def test_a_function_that_numpy_calls_on_errors_launches_nothing(accelerator: Accelerator) -> None:
    a = S32Array.of([4] * LENGTH)
    accelerator.compute(once, a)

    def launch(*_: object) -> None:
        accelerator.compute(once, a)

    with (
        np.errstate(divide="call", call=launch),
        pytest.raises(ReentryError, match="NumPy calls on errors"),
    ):
        np.floor_divide(a.array, 0, out=cast("Any", a.array))
    assert len(set(a.array.tolist())) == 1
    accelerator.compute(once, a)
    assert len(set(a.array.tolist())) == 1
