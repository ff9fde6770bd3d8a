"""A kernel with all its helpers put in: each call has its own copy of the callee's ops.

So every analysis knows what a call is given, and masks need not be passed to functions.
"""

from dataclasses import replace
from typing import ClassVar

from trilby.analysis.reach import KernelGraph
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, block_fields
from trilby.model.ops.core import Call
from trilby.model.rewrite import clone_block


@dataclass(frozen=True, slots=True, eq=False)
class Inlined(Op):
    """The body of a helper in the place of its call; `return` in it ends it."""

    mnemonic: ClassVar[str] = "inlined"
    body: Block
    callee: str


def inline(graph: KernelGraph) -> Func:
    """The kernel without calls."""
    bodies: dict[str, Block] = {}
    for function in graph.functions:  # callees come first
        bodies[function.name] = _without_calls(function.body, graph, bodies)
    return replace(graph.entry, body=bodies[graph.entry.name])


def _without_calls(block: Block, graph: KernelGraph, bodies: dict[str, Block]) -> Block:
    return Block(tuple(_without_call(op, graph, bodies) for op in block.ops), block.params)


def _without_call(op: Op, graph: KernelGraph, bodies: dict[str, Block]) -> Op:
    if isinstance(op, Call):
        params = graph.function(op.callee).params
        body = clone_block(bodies[op.callee], dict(zip(params, op.args, strict=True)))
        return Inlined(body, op.callee, result=op.result, location=op.location)
    inner = {
        name: _without_calls(getattr(op, name), graph, bodies) for name in block_fields(type(op))
    }
    return replace(op, **inner) if inner else op
