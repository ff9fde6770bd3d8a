"""The hand-off: a backend inspects, changes or runs what a compute call reaches."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.runtime.conftest import with_backend
from tests.runtime.programs import square_all, square_kernel
from tests.runtime.test_transforms import adding, copy_all, copy_rows, twice

import trilby as tb
from trilby import ComputeContext, S32Array, i32
from trilby.analysis.closure import ComputeClosure
from trilby.backend.interpreter import InterpreterFamily
from trilby.backend.interpreter.interpreter_device import InterpreterBackend
from trilby.errors import ModelError
from trilby.model.op import Block, Op
from trilby.model.ops.control import Break
from trilby.model.ops.host import Dispatch
from trilby.model.rewrite import Rewriter, rewrite


class Taking(InterpreterBackend):
    """An interpreter with a hand-off; keeps the closures that it was handed."""

    def __init__(self, change: Callable[[ComputeClosure], ComputeClosure]) -> None:
        super().__init__(InterpreterFamily().devices()[0])
        self.change = change
        self.closures: list[ComputeClosure] = []

    def handoff(self, closure: ComputeClosure) -> ComputeClosure:
        self.closures.append(closure)
        return self.change(closure)


def as_it_is(closure: ComputeClosure) -> ComputeClosure:
    return closure


def with_sums(closure: ComputeClosure) -> ComputeClosure:
    for graph in closure.graph.kernels.values():
        for func in graph.functions:
            closure = closure.with_function(func, adding(func))
    return closure


@tb.func
def raised(n: i32) -> i32:
    return n + 1


@tb.compute
def inner(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, twice, a)


@tb.compute
def outer(cc: ComputeContext, a: S32Array) -> int:
    inner(cc, a)
    cc.dispatch(a.length, square_kernel, a)
    return raised(int(a.array[0]))


def test_a_backend_sees_graphs_models_and_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Taking(as_it_is)
    accelerator = with_backend(monkeypatch, backend)
    a = S32Array.of([3])
    assert accelerator.compute(outer, a) == 37
    assert accelerator.compute(outer, a) == 72**2 + 1
    whole, alone = backend.closures  # each compute function once
    assert whole.entry is not None
    assert [f.name for f in whole.graph.functions] == [inner.symbol, outer.symbol]
    assert whole.entry.name == outer.symbol
    assert [f.name for f in whole.graph.device_functions] == [raised.symbol]
    assert set(whole.graph.kernels) == {twice.symbol, square_kernel.symbol}
    assert "both" in str(whole.access[square_kernel.symbol])
    assert "reads array[x]" in str(whole.footprints[square_kernel.symbol])
    assert [f.name for f in alone.graph.functions] == [inner.symbol]


def test_a_backend_changes_kernels_before_they_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accelerator = with_backend(monkeypatch, Taking(with_sums))
    a = S32Array.of([3, 5])
    accelerator.compute(square_all, a)
    assert a.array.tolist() == [6, 10]
    assert "sub" not in accelerator.source_of(square_kernel)


def test_a_kernel_of_ranks_that_a_launch_decides_is_handed_over_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = Taking(with_sums)
    accelerator = with_backend(monkeypatch, backend)
    source = accelerator.array(np.arange(6, dtype=np.int32).reshape(2, 3))
    to = accelerator.array(np.zeros((2, 3), np.int32))
    accelerator.compute(copy_all, source, to)
    assert to.tolist() == [[0, 2, 4], [6, 8, 10]]
    _, late = backend.closures
    assert late.entry is None
    assert set(late.graph.kernels) == {copy_rows.symbol}


def test_a_backend_changes_a_compute_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each launch is made twice."""

    def doubled(closure: ComputeClosure) -> ComputeClosure:
        def visit(op: Op, out: Rewriter) -> None:
            out.emit(op)
            if isinstance(op, Dispatch):
                out.emit(replace(op))

        entry = closure.entry
        return closure.with_function(entry, rewrite(entry, visit)) if entry else closure

    accelerator = with_backend(monkeypatch, Taking(doubled))
    a = S32Array.of([3, 5])
    accelerator.compute(square_all, a)
    assert a.array.tolist() == [81, 625]


def test_a_backend_runs_a_call_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def run(cc: ComputeContext, a: S32Array) -> str:
        given.append(cc)
        a.array[:] = -1
        cc.dispatch(a.length, twice, a)
        return "done by the backend"

    backend = Taking(lambda closure: replace(closure, run=run) if closure.entry else closure)
    accelerator = with_backend(monkeypatch, backend)
    a = S32Array.of([3, 5])
    for _ in range(2):
        assert accelerator.compute(square_all, a) == "done by the backend"
        assert a.array.tolist() == [-2, -2]
    assert all(isinstance(cc, ComputeContext) for cc in given)
    with pytest.raises(TypeError, match="run"):
        accelerator.compute(square_all)  # pyright: ignore[reportCallIssue]


def test_what_a_backend_breaks_is_its_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(closure: ComputeClosure) -> ComputeClosure:
        kernel = closure.graph.kernels[square_kernel.symbol].entry
        return closure.with_function(kernel, replace(kernel, body=Block((Break(),))))

    accelerator = with_backend(monkeypatch, Taking(broken))
    with pytest.raises(ModelError, match="the transform `handoff` is at fault"):
        accelerator.compute(square_all, S32Array.of([1]))
