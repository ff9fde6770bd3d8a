"""Put device functions into the places of their calls: each call has its own copy of the ops.

So every analysis knows what a call is given, and masks need not be passed to functions. A function
that is long and called more than once stays a function, since copies of copies would grow without
bounds: what is written is as long as the program, times a constant.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from trilby.analysis.reach import KernelGraph, reaching, short_name
from trilby.errors import BuildError
from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops.core import Call, Inlined
from trilby.model.ops.grid import Barrier
from trilby.model.rewrite import clone_block, with_blocks
from trilby.source import NOWHERE

LIMITS = (1000, 250, 60, 15)
"""How many ops a function may have, with those of its callees, to be copied to several calls."""

MOST = 20_000
"""A smaller limit is taken where a kernel would have more ops than this in all."""

DEEPEST = 16
"""How deep copies may lie within each other."""

TOO_MANY, TOO_DEEP = 100_000, 60
"""Functions with barriers are always copied, until there are so many ops."""


def inline_calls(graph: KernelGraph) -> Callable[[Func], Func]:
    """The change of the functions of a graph.

    `inline_calls(graph)(graph.entry)` is the kernel in which each call that is not worth a
    function of its own is an `inlined` op.
    """
    apart = _functions_apart(graph)
    params = {function.name: function.params for function in graph.functions}
    bodies: dict[str, Block] = {}

    def inlined(block: Block) -> Block:
        ops = tuple(map(inlined_op, block.ops))
        return block if ops == block.ops else Block(ops, block.params)

    def inlined_op(op: Op) -> Op:
        if not isinstance(op, Call):
            return with_blocks(op, inlined)
        if op.callee in apart:
            return op
        given = dict(zip(params[op.callee], op.args, strict=True))
        body = clone_block(bodies[op.callee], given)
        return Inlined(body, op.callee, result=op.result, location=op.location)

    for function in graph.functions:  # callees come first
        bodies[function.name] = inlined(function.body)

    def change(func: Func) -> Func:
        body = bodies[func.name]
        return func if body is func.body else replace(func, body=body)

    return change


def _functions_apart(graph: KernelGraph) -> frozenset[str]:
    """The functions that are not copied."""
    if len(graph.functions) == 1:
        return frozenset()
    own = {function.name: list(walk(function.body)) for function in graph.functions}
    waiting = reaching(graph, Barrier)
    apart, total, deepest = frozenset[str](), 0, 0
    for limit in LIMITS:
        apart, total, deepest = _apart_with(graph, own, waiting, limit)
        if total <= MOST:
            break
    written = sum(map(len, own.values()))
    if deepest <= TOO_DEEP and total <= max(TOO_MANY, 2 * written):
        return apart
    where = graph.entry.location
    raise BuildError(
        f"`{short_name(graph.entry.name)}` is too long for the native device: with a copy of each "
        f"function that waits at a barrier for each of its calls, it has {total:,} "
        f"operations, and calls lie {deepest} deep",
        advice="call functions with barriers in a loop, or take the barriers out of them",
        location=None if where == NOWHERE else where,
    )


def _apart_with(
    graph: KernelGraph, own: Mapping[str, list[Op]], waiting: frozenset[str], limit: int
) -> tuple[frozenset[str], int, int]:
    """The functions that are not copied; how many ops there are then, and how deep calls lie."""
    calls = {name: [op.callee for op in ops if isinstance(op, Call)] for name, ops in own.items()}
    sites = Counter(callee for callees in calls.values() for callee in callees)
    apart: set[str] = set()
    sizes: dict[str, int] = {}
    depths: dict[str, int] = {}
    for name, callees in calls.items():
        copied = [callee for callee in callees if callee not in apart]
        sizes[name] = len(own[name]) + sum(sizes[callee] for callee in copied)
        depths[name] = 1 + max((depths[callee] for callee in copied), default=0)
        is_long = sizes[name] > limit and sites[name] > 1
        if name not in waiting and (is_long or depths[name] > DEEPEST):
            apart.add(name)
    apart.discard(graph.entry.name)
    total = sum(sizes[name] for name in (*apart, graph.entry.name))
    return frozenset(apart), total, max(depths.values())
