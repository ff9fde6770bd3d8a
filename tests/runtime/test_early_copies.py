"""Copies that a plan foresees start before they are needed, and as soon as it is right.

The order in which the device is given its work tells. Every buffer has another size, so that it
is known which one is copied.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import pytest
from tests.runtime.conftest import with_backend
from tests.runtime.devices import Watched

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDRange, S32Array, Transfers, i32
from trilby.backend.base import Memory, Ticket
from trilby.data.ranges import Rows
from trilby.reflect.functions import Compute

A, B, C = 4, 6, 9
"""The lengths of the three buffers."""
NAMES = {4 * A: "a", 4 * B: "b", 4 * C: "c", 4: "one"}


class Ordered(Watched):
    """An interpreter that keeps the order of copies and launches: `up a`, `run`, `down one`."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[str] = []

    def upload(
        self,
        memory: Memory,
        offset: int,
        source: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        if source.nbytes in NAMES and offset:
            self.order.append(f"up {NAMES[source.nbytes]}")
        return super().upload(memory, offset, source, after, rows)

    def download(
        self,
        memory: Memory,
        offset: int,
        target: memoryview,
        after: Sequence[Ticket] = (),
        rows: Rows | None = None,
    ) -> Ticket:
        self.order.append(f"down {NAMES[target.nbytes]}")
        return super().download(memory, offset, target, after, rows)

    def note(self, what: str) -> None:
        if what == "run":
            self.order.append("run")
        super().note(what)


@tb.kernel
def double(kc: KernelContext, x: S32Array) -> None:
    x.array[kc.x] *= 2


@tb.kernel
def fill(kc: KernelContext, x: S32Array, value: i32) -> None:
    x.array[kc.x] = value


@tb.compute
def one_after_the_other(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    cc.dispatch(a.length, double, a)
    size = NDRange(max(range(c.length)) + 1)
    cc.dispatch(b.length, double, b)
    cc.dispatch(size, double, c)


@tb.compute
def written_between(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(a.length, double, a)
    b.array[:] = 7
    cc.dispatch(a.length, double, a)
    cc.dispatch(b.length, double, b)


@tb.compute
def behind_a_return(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    cc.dispatch(a.length, double, a)
    if a.length == b.length:
        return
    cc.dispatch(c.length, double, c)
    cc.dispatch(b.length, double, b)


@tb.compute
def under_a_condition(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    cc.dispatch(a.length, double, a)
    if a.length != b.length:
        cc.dispatch(c.length, double, c)
        cc.dispatch(b.length, double, b)


@tb.compute
def overwritten_there(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(a.length, double, a)
    cc.dispatch(b.length, fill, b, 3)
    cc.dispatch(b.length, double, b)


@tb.compute
def in_front_of_a_loop(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(a.length, double, a)
    for _ in range(2):
        cc.dispatch(b.length, double, b)


@tb.compute
def in_a_loop(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    for i in range(2):
        cc.dispatch(a.length, double, a)
        cc.dispatch(b.length, double, b)
        b.array[:] = i


def nothing() -> None:
    """Nobody knows what is done here."""


@tb.compute
def behind_a_callback(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    cc.dispatch(a.length, double, a)
    nothing()
    cc.dispatch(c.length, double, c)
    cc.dispatch(b.length, double, b)


@tb.compute
def looked_at_later(cc: ComputeContext, a: S32Array, b: S32Array, c: S32Array) -> int:
    cc.dispatch(a.length, double, a)
    cc.dispatch(b.length, double, b)
    cc.dispatch(c.length, double, c)
    return int(a.array.sum()) + int(c.array[1])


@tb.compute
def looked_at_in_each_turn(cc: ComputeContext, a: S32Array, b: S32Array) -> int:
    total = 0
    for i in range(2):
        cc.dispatch(a.length, double, a)
        cc.dispatch(b.length, double, b)
        total += int(a.array[i])
    return total


@tb.compute
def filled_and_doubled(cc: ComputeContext, a: S32Array, b: S32Array) -> None:
    cc.dispatch(a.length, fill, a, 3)
    cc.dispatch(b.length, double, b)


@tb.compute
def looked_at_perhaps(cc: ComputeContext, a: S32Array, b: S32Array) -> int:
    cc.dispatch(a.length, double, a)
    cc.dispatch(b.length, double, b)
    return int(a.array.sum()) if a.length == b.length else 0


UPLOADS: dict[Any, list[str]] = {
    one_after_the_other: ["up a", "up b", "up c", "run", "run", "run"],
    written_between: ["up a", "run", "up b", "run", "run"],
    behind_a_return: ["up a", "run", "up c", "up b", "run", "run"],
    under_a_condition: ["up a", "run", "up c", "up b", "run", "run"],
    overwritten_there: ["up a", "run", "run", "run"],
    in_front_of_a_loop: ["up a", "up b", "run", "run", "run"],
    in_a_loop: ["up a", "up b", "run", "run", "up b", "run", "run"],
    behind_a_callback: ["up a", "run", "up c", "up b", "run", "run"],
}
DOWNLOADS: dict[Any, list[str]] = {
    looked_at_later: ["run", "down a", "run", "run", "down one"],
    looked_at_in_each_turn: ["run", "down one", "run", "run", "down a", "run"],
}
FORESEEING = pytest.mark.parametrize("strategy", [Transfers.AUTO, Transfers.PLANNED])


@pytest.fixture
def device() -> Ordered:
    return Ordered()


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch, device: Ordered) -> Accelerator:
    return with_backend(monkeypatch, device)


def buffers(function: Compute[..., Any]) -> list[S32Array]:
    """As many as a function takes."""
    wanted = len(inspect.signature(function.function).parameters) - 1
    return [S32Array.of(range(length)) for length in (A, B, C)[:wanted]]


@FORESEEING
@pytest.mark.parametrize("function", UPLOADS, ids=lambda one: one.name)
def test_uploads_start_before_they_are_needed(
    accelerator: Accelerator, device: Ordered, function: Compute[..., Any], strategy: Transfers
) -> None:
    with accelerator.strategy(strategy):
        accelerator.compute(function, *buffers(function))
    assert device.order == UPLOADS[function]


@FORESEEING
@pytest.mark.parametrize("function", DOWNLOADS, ids=lambda one: one.name)
def test_downloads_start_when_their_kernel_ends(
    accelerator: Accelerator, device: Ordered, function: Compute[..., Any], strategy: Transfers
) -> None:
    with accelerator.strategy(strategy):
        accelerator.compute(function, *buffers(function))
    order = [done for done in device.order if not done.startswith("up")]
    assert order == DOWNLOADS[function]


def test_what_may_not_be_looked_at_does_not_come(accelerator: Accelerator, device: Ordered) -> None:
    accelerator.compute(looked_at_perhaps, *buffers(looked_at_perhaps))
    assert "down a" not in device.order


@FORESEEING
def test_one_buffer_by_two_names_comes_once(
    accelerator: Accelerator, device: Ordered, strategy: Transfers
) -> None:
    a, _ = buffers(filled_and_doubled)
    with accelerator.strategy(strategy):
        accelerator.compute(filled_and_doubled, a, a)
    assert device.order == ["run", "run"]


@FORESEEING
def test_apart_or_not_is_asked_when_the_function_runs(
    accelerator: Accelerator, device: Ordered, strategy: Transfers
) -> None:
    with accelerator.strategy(strategy):
        accelerator.compute(filled_and_doubled, *buffers(filled_and_doubled))
    assert device.order == ["up b", "run", "run"]


def test_where_memory_is_short_nothing_comes_early(
    monkeypatch: pytest.MonkeyPatch, device: Ordered
) -> None:
    accelerator = with_backend(monkeypatch, device, memory_limit=1000)
    accelerator.compute(one_after_the_other, *buffers(one_after_the_other))
    assert device.order == ["up a", "run", "up b", "run", "up c", "run"]
