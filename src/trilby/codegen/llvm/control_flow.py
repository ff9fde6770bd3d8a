"""Variables, branches, choices, loops and bodies of helpers, run by the lanes that a mask names.

Where all lanes agree on a condition, it is an ordinary branch. Where they may not, both sides are
run, each by its own lanes, and jumped around if there are none.
"""

from collections.abc import Callable, Iterator, Sequence

from trilby.codegen.checked_types import expect, scalar
from trilby.codegen.llvm.arithmetic import compared
from trilby.codegen.llvm.ir import BIT, Lanes, of_kind
from trilby.codegen.llvm.shapes import Shapes
from trilby.codegen.llvm.writer import KernelWriter, Scope, VariableSlot
from trilby.data.dtypes import ScalarType
from trilby.model.op import Block, Op, blocks, walk
from trilby.model.ops import arith
from trilby.model.ops.control import AndThen, Break, Continue, For, If, OrElse, Ternary, While
from trilby.model.ops.core import Call, Inlined, Return, Var, VarStore, yielded
from trilby.model.ops.debug import Assert, Print
from trilby.model.ops.grid import Barrier
from trilby.model.ops.memory import AtomicUpdate, CompareExchange, Load, Store
from trilby.model.value import VarType

# -------------------------------------------------------------------------------------------- costs
# Which blocks are so short that running them in idle lanes is cheaper than a jump around them.

FREELY = 24
"""The steps that a block may take at the most to be run without a jump."""

_NEVER = 1 << 20
_SLOW = (arith.Pow, Call, For, While, Assert, Print, Barrier, AtomicUpdate, CompareExchange)


def is_short(block: Block, shapes: Shapes, *, loads: bool) -> bool:
    """True for a block that may run with no lane on.

    A place that is the same for all lanes needs one lane that is on; with `loads` false memory
    may not be touched at all.
    """
    return _cost(block, shapes, loads=loads) <= FREELY


def _cost(block: Block, shapes: Shapes, *, loads: bool) -> int:
    total = 0
    for op in block.ops:
        total += _step(op, shapes, loads=loads)
        total += sum(_cost(inner, shapes, loads=loads) for inner in blocks(op))
        if total > FREELY:
            return _NEVER
    return total


def _step(op: Op, shapes: Shapes, *, loads: bool) -> int:
    match op:
        case _ if isinstance(op, _SLOW):
            return _NEVER
        case Load():
            return _NEVER if _is_one_place(op, shapes) or not loads else 4
        case Store():
            return _NEVER if _is_one_place(op, shapes) or not loads else 16
        case arith.FloorDiv() | arith.Mod() | arith.TrueDiv():
            return 8
        case arith.Math():
            return 2 if op.function in _LIGHT else 16
        case Inlined():
            return _NEVER if op in shapes.divergent else 1
        case _:
            return 1 if op.result is None or isinstance(op.result.type, ScalarType) else 0


def _is_one_place(op: Load | Store, shapes: Shapes) -> bool:
    return all(stride == 0 for value in (op.base, *op.indices) for stride in shapes.of(value))


_LIGHT = frozenset(
    {"min", "max", "clamp", "abs", "fabs", "sign", "floor", "ceil", "trunc", "copysign", "fma"}
)


# ------------------------------------------------------------------------------------------ control

LONGEST = 150
"""How many ops a block may have at the most to be written twice."""

# -- variables ----------------------------------------------------------------------------


def var(writer: KernelWriter, op: Var) -> None:
    """Memory for a variable, and its first content."""
    if op.value not in writer.variables:
        type_ = expect(VarType, op.value.type).of
        writer.variables[op.value] = writer.slots(type_, writer.shapes.of(op.value))
    for init in op.init:
        writer.fill(writer.variables[op.value], writer.values[init])


def var_store(writer: KernelWriter, op: VarStore) -> None:
    """A new content, in the lanes that run."""
    blend = op in writer.shapes.blended
    writer.fill(writer.variables[op.var], writer.values[op.stored], blend=blend)


# -- branches -----------------------------------------------------------------------------


def if_(writer: KernelWriter, op: If) -> None:
    """Run one block, or each by its own lanes."""
    condition = writer.take(op.condition)
    if op not in writer.shapes.divergent:

        def write(block: Block, end: str) -> None:
            with writer.masked(writer.mask):
                writer.block(block, end)

        arms = (op.then, op.otherwise) if op.otherwise.ops else (op.then,)
        _branch(writer, condition, arms, write)
        return
    masks = _split(writer, condition)
    for block, mask in zip((op.then, op.otherwise), masks, strict=True):
        if block.ops:
            _part(writer, block, mask)


def _split(writer: KernelWriter, condition: Lanes) -> tuple[str, str]:
    """The lanes for which a condition holds, and those for which it does not."""
    chosen = writer.spread(condition)
    others = writer.flipped(chosen)
    if writer.mask is None:
        return chosen, others
    return writer.both(writer.mask, chosen), writer.both(writer.mask, others)


def _branch(
    writer: KernelWriter,
    condition: Lanes,
    arms: Sequence[Block],
    write: Callable[[Block, str], None],
) -> None:
    """One of one or two blocks, by a jump; `write` is given each of them, and the label behind."""
    then, otherwise, end = (writer.fresh(word) for word in ("then", "else", "end"))
    writer.branch(condition.text, then, otherwise if len(arms) > 1 else end)
    for label, block in zip((then, otherwise), arms, strict=False):
        writer.label(label)
        write(block, end)
        writer.jump(end)
    writer.label(end)


def _part(writer: KernelWriter, block: Block, mask: str) -> None:
    """Run a block by some of the lanes, and jump around it if there are none."""
    end = writer.fresh("end")
    if not is_short(block, writer.shapes, loads=True):
        ops = list(walk(block))
        touches_or_loops = any(isinstance(op, Load | Store | For | While) for op in ops)
        if writer.mask is None and len(ops) <= LONGEST and touches_or_loops:
            # A second text of the block, for when all lanes run it: it needs no mask.
            everyone, others = writer.fresh("everyone"), writer.fresh("others")
            writer.branch(writer.all(mask), everyone, others)
            writer.label(everyone)
            with writer.masked(None):
                writer.block(block, end)
            writer.jump(end)
            writer.label(others)
        some = writer.fresh("some")
        writer.branch(writer.any(mask), some, end)
        writer.label(some)
    with writer.masked(mask):
        writer.block(block, end)
    writer.label(end)


# -- choices ------------------------------------------------------------------------------


def ternary(writer: KernelWriter, op: Ternary) -> None:
    """The value of one of two blocks."""
    condition = writer.take(op.condition)
    splits = op in writer.shapes.divergent
    arms = (op.then, op.otherwise)
    if all(is_short(arm, writer.shapes, loads=splits) for arm in arms):
        masks = _split(writer, condition) if splits else (writer.mask, writer.mask)
        found = [_yielded(writer, arm, mask) for arm, mask in zip(arms, masks, strict=True)]
        pairs = zip(*found, strict=True)
        writer.give(op, *(writer.select(condition, left, right) for left, right in pairs))
        return
    slots = writer.slots(op.value.type, writer.shapes.of(op.value))
    _choose(writer, condition, arms, slots, splits=splits)
    writer.give(op, *writer.read(slots))


def _yielded(writer: KernelWriter, block: Block, mask: str | None) -> tuple[Lanes, ...]:
    """What a block yields, written where it stands."""
    with writer.masked(mask):
        writer.block(block, "")
    return writer.values[yielded(block)]


def _choose(
    writer: KernelWriter,
    condition: Lanes,
    arms: tuple[Block, ...],
    slots: list[VariableSlot],
    *,
    splits: bool,
) -> None:
    """Run the arms where they are due, and keep what they yield in memory."""
    if not splits:

        def keep(arm: Block, _end: str) -> None:
            writer.fill(slots, _yielded(writer, arm, writer.mask))

        _branch(writer, condition, arms, keep)
        return
    for arm, mask in zip(arms, _split(writer, condition), strict=False):
        some, end = writer.fresh("some"), writer.fresh("end")
        writer.branch(writer.any(mask), some, end)
        writer.label(some)
        found = _yielded(writer, arm, mask)
        with writer.masked(mask):
            writer.fill(slots, found, blend=True)
        writer.label(end)


def short_circuit(writer: KernelWriter, op: AndThen | OrElse) -> None:
    """`a and b`, or `a or b`: `b` is computed where `a` is true, or where it is false."""
    first = goes_on = writer.take(op.first)
    otherwise = of_kind(isinstance(op, OrElse), BIT)
    if isinstance(op, OrElse):
        goes_on = writer.apply("xor", [first, of_kind(1, BIT)])
    splits = op in writer.shapes.divergent
    if is_short(op.rest, writer.shapes, loads=splits):
        mask = _split(writer, goes_on)[0] if splits else writer.mask
        (rest,) = _yielded(writer, op.rest, mask)
        writer.give(op, writer.select(goes_on, rest, otherwise))
        return
    slots = writer.slots(op.value.type, writer.shapes.of(op.value))
    writer.fill(slots, [first])
    _choose(writer, goes_on, (op.rest,), slots, splits=splits)
    writer.give(op, *writer.read(slots))


# -- helpers and exits --------------------------------------------------------------------


def inlined(writer: KernelWriter, op: Inlined) -> None:
    """The body of a helper, and what it returns."""
    last = op.body.ops[-1] if op.body.ops else None
    returns = list(_returns(op.body))
    scope = Scope(writer.fresh("returned"))
    is_plain = returns in ([], [last])
    if op.result is not None and not is_plain:
        scope.results = writer.slots(op.result.type, writer.shapes.of(op.result))
    with writer.masked(writer.mask):
        if any(inner in writer.shapes.leaving for inner in returns):
            scope.alive = writer.mask_memory()
        writer.scopes.append(scope)
        writer.block(op.body, scope.end)
        writer.scopes.pop()
    writer.label(scope.end)
    if not is_plain:
        writer.give(op, *writer.read(scope.results))
    elif isinstance(last, Return) and last.returned:
        writer.give(op, *writer.values[last.returned[0]])


def _returns(block: Block) -> Iterator[Return]:
    """The exits of a function, without those of helpers in it."""
    for op in block.ops:
        if isinstance(op, Return):
            yield op
        elif not isinstance(op, Inlined):
            for inner in blocks(op):
                yield from _returns(inner)


def return_(writer: KernelWriter, op: Return) -> None:
    """Leave a helper or the kernel, with all lanes or with those that run."""
    number = max(n for n, scope in enumerate(writer.scopes) if not scope.is_loop)
    frame = writer.scopes[number]
    if frame.results and op.returned:
        blend = op in writer.shapes.leaving or frame.of_group
        writer.fill(frame.results, writer.values[op.returned[0]], blend=blend)
    masks = [mask for scope in writer.scopes[number:] for mask in (scope.alive, scope.turn)]
    _leave(writer, op, frame, masks, frame.end)


def leave_loop(writer: KernelWriter, op: Break | Continue) -> None:
    """Leave the innermost loop, or this turn of it."""
    loop = writer.scopes[-1]
    if isinstance(op, Break):
        _leave(writer, op, loop, [loop.alive, loop.turn], loop.exit)
    else:
        _leave(writer, op, loop, [loop.turn], loop.end)


def _leave(writer: KernelWriter, op: Op, scope: Scope, masks: Sequence[str], end: str) -> None:
    """Leave a scope by a jump where all lanes do so; else those that run leave some masks."""
    by_jump = op not in writer.shapes.leaving
    if not by_jump or scope.of_group:
        for mask in masks:
            writer.clear(mask)
    if by_jump:
        writer.jump(end)


# ------------------------------------------------------------------------------------------- loops
# Where lanes may leave one by one, a loop goes on until the last of them has left.

LONGEST_LOOP = 200
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
            return writer.apply("icmp ult", [turn, total], BIT)
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
    inside = list(walk(op.body))
    is_innermost = not any(isinstance(inner, For | While) for inner in inside)
    is_short_loop = is_innermost and len(inside) <= LONGEST_LOOP
    is_twice = is_divergent and writer.mask is None and is_short_loop
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


def trips(writer: KernelWriter, type_: ScalarType, start: Lanes, stop: Lanes, step: Lanes) -> Lanes:
    """How many turns `range(start, stop, step)` has, an unsigned number; a step of 0 has none.

    Turns are counted, so that no bound can be jumped over by wrapping round.
    """
    up = _upwards(writer, type_, start, stop, step)
    if type_.kind != "int" or (step.literal is not None and step.literal > 0):
        return up
    zero = of_kind(0, start.kind)
    back = writer.apply("sub", [zero, step])
    down = _upwards(writer, type_, stop, start, back)
    falls = compared(writer, "lt", type_, [step, zero])
    return writer.select(falls, down, up)


def _upwards(
    writer: KernelWriter, type_: ScalarType, low: Lanes, high: Lanes, step: Lanes
) -> Lanes:
    """The turns from `low` up to `high` by a step that is taken as positive."""
    zero, one = of_kind(0, low.kind), of_kind(1, low.kind)
    is_zero = writer.apply("icmp eq", [step, zero], BIT)
    divisor = step if step.literal else writer.select(is_zero, one, step)
    distance = writer.apply("sub", [high, low])
    last = writer.apply("sub", [distance, one])
    whole = writer.apply("udiv", [last, divisor])
    count = writer.apply("add", [whole, one])
    rises = compared(writer, "lt", type_, [low, high])
    runs = rises if step.literal else writer.select(is_zero, of_kind(0, BIT), rises)
    return writer.select(runs, count, zero)
