"""Which loops the work items of a group may leave after different numbers of turns."""

from collections.abc import Iterator

from trilby.analysis.barriers import waiting_functions
from trilby.analysis.reach import KernelGraph, reaching
from trilby.model.op import Block, Func, Op, block_fields, operands, walk
from trilby.model.ops.arith import Binary, Cast, Math, Pow, Unary
from trilby.model.ops.control import Break, For, While
from trilby.model.ops.core import Call, Constant, Return
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import Value

Loop = For | While


def uneven_loops_around_others(graph: KernelGraph) -> frozenset[Op]:
    """The loops that items may leave at different times and in which other loops run.

    A loop with a barrier in it is even: all items of a group have to come by there. A whole
    power counts as a loop, since devices compute it in one.
    """
    waiting, looping = waiting_functions(graph), reaching(graph, For, While, Pow)
    found: set[Op] = set()
    for function in graph.functions:
        uneven = _uneven(function, is_kernel=function is graph.entry)
        for loop in uneven:
            inside = list(_inside(loop))
            waits = _holds(inside, waiting, Barrier)
            if not waits and _holds(inside, looping, For, While, Pow):
                found.add(loop)
    return frozenset(found)


def _inside(loop: Loop) -> Iterator[Op]:
    if isinstance(loop, While):
        yield from walk(loop.test)
    yield from walk(loop.body)


def _holds(ops: list[Op], functions: frozenset[str], *kinds: type[Op]) -> bool:
    """Whether such an op is among these, or a call of one of these functions."""
    return any(
        isinstance(op, kinds) or (isinstance(op, Call) and op.callee in functions) for op in ops
    )


def _uneven(function: Func, *, is_kernel: bool) -> list[Loop]:
    """The loops of a function that are not known to be even."""
    even = set(function.params) if is_kernel else set[Value]()
    found: list[Loop] = []
    for op in walk(function.body):
        if isinstance(op, For) and _is_even(op, even):
            even.update(op.body.params)
        elif isinstance(op, Loop):
            found.append(op)
        elif op.result is not None and _is_same_for_all(op, even):
            even.add(op.result)
    return found


def _is_even(loop: For, even: set[Value]) -> bool:
    """True where the range is the same for all, and nothing ends the loop early."""
    return even.issuperset(operands(loop)) and not _may_be_left(loop.body)


def _may_be_left(block: Block, *, in_loop: bool = False) -> bool:
    """Whether a block has a `return`, or a `break` that is not one of an inner loop."""
    for op in block.ops:
        if isinstance(op, Return) or (isinstance(op, Break) and not in_loop):
            return True
        inner = in_loop or isinstance(op, Loop)
        if any(_may_be_left(getattr(op, name), in_loop=inner) for name in block_fields(type(op))):
            return True
    return False


def _is_same_for_all(op: Op, even: set[Value]) -> bool:
    """Whether the result of an op is surely the same for all items of a group."""
    match op:
        case Constant() | Extent():
            return True
        case Grid(field=field):
            return "max" in field or field.startswith("group")
        case Load(indices=()):
            return op.base in even  # a field of a buffer's head
        case Binary() | Unary() | Cast() | Math():
            return even.issuperset(operands(op))
        case _:
            return False
