"""A user's program that rewrites models, checked by pyright strict and mypy strict, and run."""

from dataclasses import replace
from typing import assert_type

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array
from trilby.analysis.closure import ComputeClosure
from trilby.data.dtypes import I32
from trilby.model.build import Builder
from trilby.model.op import Func, Op, walk
from trilby.model.ops.arith import Add, Mul
from trilby.model.ops.core import Constant, Return
from trilby.model.ops.memory import Load, Store
from trilby.model.ops.transfer import PostAccess, PostMutate, PreAccess, PreMutate
from trilby.model.parse import parse
from trilby.model.rewrite import Rewriter, Transform, rewrite, transform
from trilby.model.text import to_text
from trilby.model.value import Value
from trilby.model.verify import verify


@tb.kernel
def double(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] * 2


@tb.compute
def double_all(cc: ComputeContext, a: S32Array) -> int:
    cc.dispatch(a.length, double, a)
    return a.array[0]


@transform("compute")
def track(func: Func) -> Func:
    context = func.params[0]

    def visit(op: Op, out: Rewriter) -> None:
        if isinstance(op, Store):
            out.run(PreMutate, context, op.base)
            out.emit(op)
            out.run(PostMutate, context, op.base)
        elif isinstance(op, Load):
            out.run(PreAccess, context, op.base)
            assert_type(out.emit(op), Load)
            out.run(PostAccess, context, op.base)
        else:
            out.emit(op)

    return rewrite(func, visit)


@transform("kernel", "func")
def triple(func: Func) -> Func:
    """Every factor becomes 3."""
    factors = {op.right for op in walk(func.body) if isinstance(op, Mul)}

    def visit(op: Op, out: Rewriter) -> None:
        if isinstance(op, Constant) and op.result in factors:
            op = replace(op, literal=3)
        out.emit(op)

    return rewrite(func, visit)


def use_transforms() -> int:
    assert_type(track, Transform)
    with Accelerator("interpreter", transforms=[track, triple]) as accelerator:
        assert_type(accelerator.transforms, tuple[Transform, ...])
        entry = accelerator.context_of(double_all).graph.entry
        assert_type(entry, Func)
        assert_type(track(entry), Func)
        return accelerator.compute(double_all, S32Array.of([5]))


def build_and_parse() -> str:
    n = Value(I32, "n")
    b = Builder()
    one = assert_type(b.value(Constant, 1, type=I32), Value)
    b.run(Return, (b.value(Add, n, one, type=I32),))
    func = Func("successor", (n,), I32, b.block())
    verify(func)
    return to_text(parse(to_text(func), {}))


def hand_off(closure: ComputeClosure) -> ComputeClosure:
    for graph in closure.graph.kernels.values():
        closure = closure.with_function(graph.entry, triple(graph.entry))
    return closure
