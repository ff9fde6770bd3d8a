"""Loops. Where lanes may leave one by one, a loop goes on until the last of them has left."""

from collections.abc import Callable

from trilby.codegen.llvm.arithmetic import compared
from trilby.codegen.llvm.conversions import scalar
from trilby.codegen.llvm.lane_values import BIT, Lanes, of_kind
from trilby.codegen.llvm.writer import KernelWriter, Scope, VariableSlot
from trilby.data.dtypes import ScalarType
from trilby.model.op import walk
from trilby.model.ops.control import For, While
from trilby.model.ops.core import yielded

LONGEST = 200
"""How many ops a loop may have at the most to be written twice."""


def while_(writer: KernelWriter, op: While) -> None:
    """Run `test` and `body` while the test holds."""

    def test() -> Lanes:
        writer.block(op.test, "")
        return writer.take(yielded(op.test))

    _loop(writer, op, test, lambda: None, lambda: None)


def for_(writer: KernelWriter, op: For) -> None:
    """Count from `start` to `stop`; with steps other than 1 and -1, the turns are counted too."""
    start, stop, step = (writer.take(value) for value in (op.start, op.stop, op.step))
    type_ = scalar(op.start.type)
    (item,) = op.body.params
    counter = writer.slots(type_, writer.shapes.of(item))
    writer.fill(counter, [start])
    kind, total = counter[0].kind, start
    turns: list[VariableSlot] = []
    if step.literal not in {1, -1}:
        total = trips(writer, type_, start, stop, step)
        turns = [VariableSlot(writer.alloca(kind), kind, 0)]
        writer.fill(turns, [of_kind(0, kind)])

    def begin() -> None:
        writer.values[item] = writer.read(counter)

    def test() -> Lanes:
        begin()
        for turn in writer.read(turns):
            return writer.apply("icmp ult {t} {0}, {1}", [turn, total], BIT)
        order = "lt" if step.literal == 1 else "gt"
        return compared(writer, order, type_, [writer.take(item), stop])

    def advance() -> None:
        for slots, distance in ((counter, step), (turns, of_kind(1, kind))):
            for now in writer.read(slots):
                writer.fill(slots, [writer.add(now, distance)])

    _loop(writer, op, test, begin, advance)


def _loop(
    writer: KernelWriter,
    op: For | While,
    test: Callable[[], Lanes],
    begin: Callable[[], None],
    advance: Callable[[], None],
) -> None:
    """The blocks and masks of a loop.

    `test` says which lanes go on, `begin` gives the values that the body takes, and `advance`
    prepares the next turn. A loop that lanes may leave one by one is written twice, if nothing runs
    in it but itself: as long as all lanes are in it, no mask is asked for.
    """
    bits = writer.vector(BIT)
    is_divergent = op in writer.shapes.divergent
    leaves = any(inner in writer.shapes.leaving for inner in walk(op.body))
    leave = writer.fresh("exit")
    alive = writer.mask_memory() if is_divergent else ""
    turn = writer.alloca(bits) if leaves else ""
    is_twice = is_divergent and writer.mask is None and _is_innermost(op)
    slow = (writer.fresh("loop"), writer.fresh("body"))

    def go_on(mask: str, everyone: str, some: str, *, is_fast: bool) -> None:
        """Jump to where all lanes are in the loop, to where some are, or out of it."""
        if is_fast:
            not_all = writer.fresh("some")
            writer.branch(writer.all(mask), everyone, not_all)
            writer.label(not_all)
        writer.branch(writer.any(mask), some, leave)

    def run(head: str, body: str, *, is_fast: bool) -> None:
        writer.label(head)
        if is_divergent and not is_fast:
            writer.mask = writer.load(bits, alive)
        condition = test()
        if condition.is_uniform:
            writer.branch(condition.text, body, leave)
        else:
            mask = writer.spread(condition)
            if writer.mask is not None:
                mask = writer.both(writer.mask, mask)
            writer.store(bits, mask, alive)
            go_on(mask, body, slow[1], is_fast=is_fast)
        writer.label(body)
        if is_divergent and not is_fast:
            writer.mask = writer.load(bits, alive)
        begin()
        scope = Scope(writer.fresh("next"), leave, is_loop=True, alive=alive, turn=turn)
        if turn:
            writer.store(bits, writer.lanes_on, turn)
        writer.scopes.append(scope)
        with writer.masked(writer.mask):
            writer.block(op.body, scope.end)
        writer.scopes.pop()
        writer.label(scope.end)
        advance()
        if is_divergent and leaves:
            go_on(writer.load(bits, alive), head, slow[0], is_fast=is_fast)
        else:
            writer.jump(head)

    if is_twice:
        fast = (writer.fresh("loop"), writer.fresh("body"))
        with writer.masked(None):
            run(*fast, is_fast=True)
    with writer.masked(writer.mask):
        run(*slow, is_fast=False)
    writer.label(leave)


def _is_innermost(op: For | While) -> bool:
    inner = list(walk(op.body))
    return len(inner) <= LONGEST and not any(isinstance(one, For | While) for one in inner)


def trips(writer: KernelWriter, type_: ScalarType, start: Lanes, stop: Lanes, step: Lanes) -> Lanes:
    """How many turns `range(start, stop, step)` has, an unsigned number; a step of 0 has none.

    Turns are counted, so that no bound can be jumped over by wrapping round.
    """
    up = _upwards(writer, type_, start, stop, step)
    if type_.kind != "int" or (step.literal is not None and step.literal > 0):
        return up
    zero = of_kind(0, start.kind)
    back = writer.apply("sub {t} {1}, {0}", [step, zero])
    down = _upwards(writer, type_, stop, start, back)
    falls = compared(writer, "lt", type_, [step, zero])
    return writer.select(falls, down, up)


def _upwards(
    writer: KernelWriter, type_: ScalarType, low: Lanes, high: Lanes, step: Lanes
) -> Lanes:
    """The turns from `low` up to `high` by a step that is taken as positive."""
    zero, one = of_kind(0, low.kind), of_kind(1, low.kind)
    is_zero = writer.apply("icmp eq {t} {0}, {1}", [step, zero], BIT)
    divisor = step if step.literal else writer.select(is_zero, one, step)
    distance = writer.apply("sub {t} {0}, {1}", [high, low])
    last = writer.apply("sub {t} {0}, {1}", [distance, one])
    whole = writer.apply("udiv {t} {0}, {1}", [last, divisor])
    count = writer.apply("add {t} {0}, {1}", [whole, one])
    rises = compared(writer, "lt", type_, [low, high])
    runs = rises if step.literal else writer.select(is_zero, of_kind(0, BIT), rises)
    return writer.select(runs, count, zero)
