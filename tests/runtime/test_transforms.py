"""Transforms of users: where they are applied, and what is said of wrong ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.messages import message
from tests.runtime.programs import square, square_all, square_kernel

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, i32
from trilby.backend.registry import open_backend
from trilby.errors import ArgumentTypeError, ArgumentValueError, ModelError
from trilby.model.op import Block, Func, Op
from trilby.model.ops.arith import Add, Mul
from trilby.model.ops.control import Break
from trilby.model.ops.core import Call
from trilby.model.ops.grid import Grid
from trilby.model.ops.host import Dispatch
from trilby.model.ops.memory import Load, Store
from trilby.model.ops.transfer import PostAccess, PreAccess
from trilby.model.rewrite import Rewriter, Transform, rewrite, transform

DEVICES = ["interpreter", "native", "opencl"]


@transform("kernel", "func")
def adding(func: Func) -> Func:
    """Sums in the place of products."""

    def visit(op: Op, out: Rewriter) -> None:
        if isinstance(op, Mul):
            op = Add(op.left, op.right, result=op.result, location=op.location)
        out.emit(op)

    return rewrite(func, visit)


@transform("kernel")
def without_calls(func: Func) -> Func:
    def visit(op: Op, out: Rewriter) -> None:
        if isinstance(op, Call):
            out.replace(op.value, op.args[0])
        else:
            out.emit(op)

    return rewrite(func, visit)


@transform("compute")
def announced(func: Func) -> Func:
    def visit(op: Op, out: Rewriter) -> None:
        if isinstance(op, Load):
            out.run(PreAccess, func.params[0], op.base)
        out.emit(op)
        if isinstance(op, Load):
            out.run(PostAccess, func.params[0], op.base)

    return rewrite(func, visit)


def squares(*transforms: Transform, device: str = "interpreter") -> list[int]:
    with Accelerator(device, transforms=transforms) as accelerator:
        a = S32Array.of([3, 4, 5])
        accelerator.compute(square_all, a)
        return a.array.tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_kernels_and_device_functions_are_changed_for_every_device(device: str) -> None:
    assert squares(device=device) == [9, 16, 25]
    assert squares(adding, device=device) == [6, 8, 10]
    assert squares(device=device) == [9, 16, 25]


def test_they_come_one_after_the_other() -> None:
    assert squares(without_calls, adding) == [3, 4, 5]
    with Accelerator("interpreter", transforms=[without_calls, adding]) as accelerator:
        kernel = accelerator.context_of(square_all).kernels[0]
        assert accelerator.transforms == (without_calls, adding)
    assert [step.name for step in kernel.transformed.steps] == ["without_calls", "adding"]
    assert [f.name for f in kernel.transformed.original] == [square.symbol, square_kernel.symbol]
    assert [f.name for f in kernel.graph.functions] == [square_kernel.symbol]


def test_a_kind_that_is_not_named_is_left_alone() -> None:
    only = Transform("only_kernels", adding.change, ("kernel",))
    assert squares(only) == [9, 16, 25]  # the product is in a device function


@tb.kernel
def copy_rows(kc: KernelContext, source: NDArray[i32], to: NDArray[i32]) -> None:
    to[kc.y, kc.x] = source[kc.y, kc.x] * source[kc.y, kc.x]


@tb.compute
def copy_all(cc: ComputeContext, source: NDArray[i32], to: NDArray[i32]) -> None:
    cc.dispatch((3, 2), copy_rows, source, to)


def test_kernels_that_are_compiled_at_their_launch_are_changed_too() -> None:
    with Accelerator("native", transforms=[adding]) as accelerator:
        source = accelerator.array(np.arange(6, dtype=np.int32).reshape(2, 3))
        to = accelerator.array(np.zeros((2, 3), np.int32))
        accelerator.compute(copy_all, source, to)
        assert to.tolist() == [[0, 2, 4], [6, 8, 10]]
        assert "add" in accelerator.source_of(copy_rows, 2, 2)


@transform("kernel")
def writing_only(func: Func) -> Func:
    """Every product becomes the id of the work item."""
    ids = [op.value for op in func.body.ops if isinstance(op, Grid)]

    def visit(op: Op, out: Rewriter) -> None:
        if isinstance(op, Load | Mul):
            out.replace(op.value, ids[0])
        else:
            out.emit(op)

    return rewrite(func, visit)


@tb.kernel
def twice(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] * 2


@tb.compute
def twice_all(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, twice, a)


@pytest.mark.parametrize("device", DEVICES)
def test_analyses_see_the_changed_kernel(device: str) -> None:
    """A kernel that reads nothing any more needs no upload."""
    with Accelerator(
        device, memory="discrete", poison=True, transforms=[writing_only]
    ) as accelerator:
        a = S32Array.of([7, 7, 7, 7])
        with accelerator.record() as ledger:
            accelerator.compute(twice_all, a)
        assert not ledger.uploads
        assert a.array.tolist() == [0, 1, 2, 3]


@tb.compute
def looks(cc: ComputeContext, a: S32Array) -> int:
    cc.dispatch(a.length, twice, a)
    return a.array[1]


@pytest.mark.parametrize("transfers", list(tb.Transfers))
def test_compute_functions_are_changed_before_transfers_are_placed(transfers: tb.Transfers) -> None:
    with Accelerator(
        "interpreter", transfers=transfers, poison=True, transforms=[announced]
    ) as accelerator:
        a = S32Array.of([1, 2, 3])
        with accelerator.record() as ledger:
            assert accelerator.compute(looks, a) == 4
        told = [copy.cause for copy in ledger.downloads]
        assert a.array.tolist() == [2, 4, 6]
    if transfers not in {tb.Transfers.ALWAYS, tb.Transfers.BY_ACCESS}:
        assert any("the host is about to read it" in cause for cause in told)


def test_a_device_that_takes_over_has_them_too() -> None:
    with Accelerator("interpreter", transforms=[adding]) as accelerator:
        accelerator.change_device(open_backend("native").backend)
        a = S32Array.of([3, 4])
        accelerator.compute(square_all, a)
        assert a.array.tolist() == [6, 8]


def test_compiled_code_on_disk_is_kept_for_each_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRILBY_CACHE", str(tmp_path))
    for _ in range(2):
        assert squares(device="native") == [9, 16, 25]
        assert squares(adding, device="native") == [6, 8, 10]


# ------------------------------------------------------------------------------- wrong ones


@transform("kernel")
def broken(func: Func) -> Func:
    return replace(func, body=Block((Break(),)))


@transform("kernel")
def renamed(func: Func) -> Func:
    return replace(func, name="other")


@transform("kernel")
def raising(func: Func) -> Func:
    raise KeyError(func.kind)


@transform("kernel")
def calling(func: Func) -> Func:
    return replace(func, body=Block((Call((), "unknown"), *func.body.ops)))


@transform("compute")
def deleting(func: Func) -> Func:
    return rewrite(func, lambda op, out: isinstance(op, Load | Store) or out.emit(op))


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (broken, "the model of `{kernel}` is broken: there is no loop around it\n  in `break`"),
        (renamed, "it made a function with another name, kind or parameters of `{kernel}`"),
        (raising, "it cannot change `{kernel}`: KeyError: 'kernel'"),
        (calling, "`unknown` is called, and nothing that was reached has this name"),
        (deleting, "the rewrite deleted an op whose result is used by `dispatch`"),
        (
            Transform("nothing", lambda _func: None, ("kernel",)),  # type: ignore[arg-type,return-value] # pyright: ignore[reportArgumentType]
            "it made an object of the class `NoneType` of `{kernel}`",
        ),
    ],
    ids=lambda one: one.name if isinstance(one, Transform) else "",
)
def test_an_error_names_the_transform(wrong: Transform, problem: str) -> None:
    with pytest.raises(ModelError) as caught:
        squares(adding, wrong)
    said = f"the transform `{wrong.name}` is at fault: {problem}"
    assert caught.value.problem == said.format(kernel=square_kernel.symbol)


@transform("compute")
def elsewhere(func: Func) -> Func:
    def visit(op: Op, out: Rewriter) -> None:
        out.emit(replace(op, kernel="nowhere") if isinstance(op, Dispatch) else op)

    return rewrite(func, visit)


def test_only_kernels_that_are_named_can_be_dispatched() -> None:
    with pytest.raises(ModelError, match="there is no function `nowhere`") as caught:
        squares(elsewhere)
    assert "functions that a compute function names" in caught.value.advice


def test_what_is_no_transform() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        Accelerator("interpreter", transforms=[adding.change])  # type: ignore[list-item] # pyright: ignore[reportArgumentType]
    assert "is not a transform" in message(caught.value)
    with pytest.raises(ArgumentTypeError, match="5 is not a transform"):
        Accelerator("interpreter", transforms=5)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentValueError, match="two transforms are called `adding`"):
        Accelerator("interpreter", transforms=[adding, adding])
