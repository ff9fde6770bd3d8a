"""Loops. Where lanes may leave one by one, a loop goes on until the last of them has left."""

from collections.abc import Callable

from trilby.codegen.llvm.arithmetic import compared
from trilby.codegen.llvm.control_flow import yielded
from trilby.codegen.llvm.conversions import scalar
from trilby.codegen.llvm.lane_values import BIT, Lanes, of_kind
from trilby.codegen.llvm.trips import trips
from trilby.codegen.llvm.writer import KernelWriter, Scope, VariableSlot
from trilby.dataclass import dataclass
from trilby.model.op import walk
from trilby.model.ops.control import For, While

LONGEST = 200
"""How many ops a loop may have at the most to be written twice."""


def while_(writer: KernelWriter, op: While) -> None:
    """Run `test` and `body` while the test holds."""

    def test() -> Lanes:
        writer.block(op.test, "")
        return writer.take(yielded(op.test))

    _LoopBlocks(writer, op).write(_Steps(test, lambda: None, lambda: None))


def for_(writer: KernelWriter, op: For) -> None:
    """Count from `start` to `stop`."""
    start, stop, step = (writer.take(value) for value in (op.start, op.stop, op.step))
    type_ = scalar(op.start.type)
    (item,) = op.body.params
    counter = writer.slots(type_, writer.shapes.of(item))
    writer.fill(counter, [start])
    turns = _TurnCounter(writer, counter[0].kind)
    if step.literal not in {1, -1}:
        turns.count(trips(writer, type_, start, stop, step))

    def begin() -> None:
        writer.values[item] = writer.read(counter)

    def test() -> Lanes:
        begin()
        if turns.slots:
            return turns.go_on()
        order = "lt" if step.literal == 1 else "gt"
        return compared(writer, order, type_, [writer.take(item), stop])

    def advance() -> None:
        (now,) = writer.read(counter)
        writer.fill(counter, [writer.add(now, step)])
        turns.advance()

    _LoopBlocks(writer, op).write(_Steps(test, begin, advance))


class _TurnCounter:
    """The number of the turn, the same for all lanes that are in the loop."""

    def __init__(self, writer: KernelWriter, kind: str) -> None:
        self._writer = writer
        self._kind = kind
        self.slots: list[VariableSlot] = []
        self._all: Lanes | None = None

    def count(self, number: Lanes) -> None:
        """Count turns, of which each lane has so many."""
        self._all = number
        self.slots = [VariableSlot(self._writer.alloca(self._kind), self._kind, 0)]
        self._writer.fill(self.slots, [of_kind(0, self._kind)])

    def go_on(self) -> Lanes:
        """Whether there are turns left."""
        (now,) = self._writer.read(self.slots)
        if self._all is None:
            raise TypeError(self._kind)
        return self._writer.apply("icmp ult {t} {0}, {1}", [now, self._all], BIT)

    def advance(self) -> None:
        """One turn more."""
        if self.slots:
            (now,) = self._writer.read(self.slots)
            self._writer.fill(self.slots, [self._writer.add(now, of_kind(1, self._kind))])


@dataclass(frozen=True, slots=True)
class _LoopLabels:
    """The labels of a loop: where its test begins, and its body."""

    head: str
    body: str


@dataclass(frozen=True, slots=True)
class _Steps:
    """What a loop does in a turn, around its body.

    `test` says which lanes go on, `begin` gives the values that the body takes, and `advance`
    prepares the next turn.
    """

    test: Callable[[], Lanes]
    begin: Callable[[], None]
    advance: Callable[[], None]


class _LoopBlocks:
    """The blocks and masks of a loop.

    A loop that lanes may leave one by one is written twice, if nothing runs in it but itself: as
    long as all lanes are in it, no mask is asked for.
    """

    def __init__(self, writer: KernelWriter, op: For | While) -> None:
        self._writer = writer
        self._body = op.body
        self._is_divergent = op in writer.shapes.divergent
        self._leaves = any(inner in writer.shapes.leaving for inner in walk(op.body))
        self._exit = writer.fresh("exit")
        self._alive = writer.mask_memory() if self._is_divergent else ""
        self._turn = writer.alloca(writer.vector(BIT)) if self._leaves else ""
        self._is_twice = self._is_divergent and writer.mask is None and _is_innermost(op)

    def write(self, steps: _Steps) -> None:
        """The whole loop."""
        writer = self._writer
        slow = _LoopLabels(writer.fresh("loop"), writer.fresh("body"))
        if self._is_twice:
            fast = _LoopLabels(writer.fresh("loop"), writer.fresh("body"))
            with writer.masked(None):
                self._run(fast, slow, steps)
        with writer.masked(writer.mask):
            self._run(slow, slow, steps)
        writer.label(self._exit)

    def _run(self, turn: _LoopLabels, slow: _LoopLabels, steps: _Steps) -> None:
        writer = self._writer
        is_fast = turn is not slow
        writer.label(turn.head)
        if self._is_divergent and not is_fast:
            writer.mask = writer.load(writer.vector(BIT), self._alive)
        self._test(turn, slow, steps.test())
        writer.label(turn.body)
        if self._is_divergent and not is_fast:
            writer.mask = writer.load(writer.vector(BIT), self._alive)
        steps.begin()
        self._write_body()
        steps.advance()
        self._again(turn, slow)

    def _test(self, turn: _LoopLabels, slow: _LoopLabels, condition: Lanes) -> None:
        """Go on with the lanes for which the condition holds."""
        writer = self._writer
        if condition.is_uniform:
            writer.branch(condition.text, turn.body, self._exit)
            return
        mask = writer.spread(condition)
        if writer.mask is not None:
            mask = writer.both(writer.mask, mask)
        writer.store(writer.vector(BIT), mask, self._alive)
        if turn is not slow:
            some = writer.fresh("some")
            writer.branch(writer.all(mask), turn.body, some)
            writer.label(some)
        writer.branch(writer.any(mask), slow.body, self._exit)

    def _write_body(self) -> None:
        """The body, up to where the next turn is prepared."""
        writer = self._writer
        scope = Scope(writer.fresh("next"), self._exit, is_loop=True, alive=self._alive)
        if self._turn:
            scope.turn = self._turn
            writer.store(writer.vector(BIT), writer.lanes_on, self._turn)
        writer.scopes.append(scope)
        with writer.masked(writer.mask):
            writer.block(self._body, scope.end)
        writer.scopes.pop()
        writer.label(scope.end)

    def _again(self, turn: _LoopLabels, slow: _LoopLabels) -> None:
        """Back to the head, if a lane is left."""
        writer = self._writer
        if not self._is_divergent or not self._leaves:
            writer.jump(turn.head)
            return
        left = writer.load(writer.vector(BIT), self._alive)
        if turn is not slow:
            some = writer.fresh("some")
            writer.branch(writer.all(left), turn.head, some)
            writer.label(some)
        writer.branch(writer.any(left), slow.head, self._exit)


def _is_innermost(op: For | While) -> bool:
    inner = list(walk(op.body))
    return len(inner) <= LONGEST and not any(isinstance(one, For | While) for one in inner)
