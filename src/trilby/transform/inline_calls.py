"""Put device functions into the places of their calls: each call has its own copy of the ops.

So every analysis knows what a call is given, and masks need not be passed to functions. A function
that is long and called more than once stays a function, since copies of copies would grow without
bounds: what is written is as long as the program, times a constant.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from trilby.analysis.reach import KernelGraph, reaching, short_name
from trilby.dataclass import dataclass
from trilby.errors import BuildError
from trilby.model.op import Block, Func, Op, block_fields, walk
from trilby.model.ops.core import Call, Inlined
from trilby.model.ops.grid import Barrier
from trilby.model.rewrite import clone_block
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
    known = {function.name: function for function in graph.functions}
    bodies: dict[str, Block] = {}
    for function in graph.functions:  # callees come first
        bodies[function.name] = _without_calls(function.body, known, bodies, apart)

    def change(func: Func) -> Func:
        body = bodies[func.name]
        return func if body is func.body else replace(func, body=body)

    return change


# -- which functions stay -----------------------------------------------------------------


def _functions_apart(graph: KernelGraph) -> frozenset[str]:
    if len(graph.functions) == 1:
        return frozenset()
    own = {function.name: list(walk(function.body)) for function in graph.functions}
    waiting = reaching(graph, Barrier)
    found = _Found(frozenset(), 0, 0)
    for limit in LIMITS:
        found = _found(graph, own, waiting, limit)
        if found.total <= MOST:
            break
    written = sum(map(len, own.values()))
    if found.deepest > TOO_DEEP or found.total > max(TOO_MANY, 2 * written):
        raise _too_long(graph, found)
    return found.apart


@dataclass(frozen=True, slots=True)
class _Found:
    """The functions that are not copied, and how many ops all others then become."""

    apart: frozenset[str]
    total: int
    deepest: int


def _found(
    graph: KernelGraph, own: Mapping[str, list[Op]], waiting: frozenset[str], limit: int
) -> _Found:
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
    return _Found(frozenset(apart), total, max(depths.values()))


def _too_long(graph: KernelGraph, found: _Found) -> BuildError:
    where = graph.entry.location
    return BuildError(
        f"`{short_name(graph.entry.name)}` is too long for the native device: with a copy of each "
        f"function that waits at a barrier for each of its calls, it has {found.total:,} "
        f"operations, and calls lie {found.deepest} deep",
        advice="call functions with barriers in a loop, or take the barriers out of them",
        location=None if where == NOWHERE else where,
    )


# -- copies -------------------------------------------------------------------------------


def _without_calls(
    block: Block, known: Mapping[str, Func], bodies: dict[str, Block], apart: frozenset[str]
) -> Block:
    ops = tuple(_without_call(op, known, bodies, apart) for op in block.ops)
    return block if ops == block.ops else Block(ops, block.params)


def _without_call(
    op: Op, known: Mapping[str, Func], bodies: dict[str, Block], apart: frozenset[str]
) -> Op:
    if isinstance(op, Call):
        if op.callee in apart:
            return op
        params = known[op.callee].params
        body = clone_block(bodies[op.callee], dict(zip(params, op.args, strict=True)))
        return Inlined(body, op.callee, result=op.result, location=op.location)
    inner: dict[str, Block] = {}
    for name in block_fields(type(op)):
        before: Block = getattr(op, name)
        after = _without_calls(before, known, bodies, apart)
        if after is not before:
            inner[name] = after
    return replace(op, **inner) if inner else op
