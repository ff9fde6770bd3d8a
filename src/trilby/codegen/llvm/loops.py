"""Loops. Where lanes may leave one by one, a loop goes on until the last of them has left."""

from trilby.codegen.llvm.arithmetic import compared
from trilby.codegen.llvm.control import yielded
from trilby.codegen.llvm.conversions import scalar
from trilby.codegen.llvm.lanes import BIT, Lanes, of_kind
from trilby.codegen.llvm.trips import trips
from trilby.codegen.llvm.writer import KernelWriter, Scope, Slot
from trilby.model.op import Block, walk
from trilby.model.ops.control import For, While


def while_(writer: KernelWriter, op: While) -> None:
    """Run `test` and `body` while the test holds."""
    loop = _Loop(writer, op, op.body)
    with writer.masked(writer.mask):
        loop.begin()
        writer.block(op.test, "")
        loop.test(writer.take(yielded(op.test)))
        loop.run()
        loop.again()
    loop.finish()


def for_(writer: KernelWriter, op: For) -> None:
    """Count from `start` to `stop`."""
    start, stop, step = (writer.take(value) for value in (op.start, op.stop, op.step))
    type_ = scalar(op.start.type)
    (item,) = op.body.params
    (stride,) = writer.shapes.of(item)
    counter = writer.slots(type_, (stride,))
    writer.fill(counter, [start])
    turns = _Turns(writer, op, counter)
    if step.literal not in {1, -1}:
        turns.count(trips(writer, type_, start, stop, step))
    loop = _Loop(writer, op, op.body)
    with writer.masked(writer.mask):
        loop.begin()
        (now,) = writer.read(counter)
        writer.values[item] = (now,)
        if turns.slots:
            loop.test(turns.go_on())
        else:
            order = "lt" if step.literal == 1 else "gt"
            loop.test(compared(writer, order, type_, [now, stop]))
        loop.run()
        (now,) = writer.read(counter)
        writer.fill(counter, [writer.add(now, step)])
        turns.advance()
        loop.again()
    loop.finish()


class _Turns:
    """The number of the turn, the same for all lanes that are in the loop."""

    def __init__(self, writer: KernelWriter, op: For, counter: list[Slot]) -> None:
        self._writer = writer
        self._kind = counter[0].kind
        self.slots: list[Slot] = []
        self._all: Lanes | None = None

    def count(self, number: Lanes) -> None:
        """Count turns, of which each lane has so many."""
        self._all = number
        self.slots = [Slot(self._writer.alloca(self._kind), self._kind, 0)]
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


class _Loop:
    """The blocks and masks of a loop, from its beginning to its end."""

    def __init__(self, writer: KernelWriter, op: For | While, body: Block) -> None:
        self._writer = writer
        self._body = body
        self._is_divergent = op in writer.shapes.divergent
        self._head = writer.fresh("loop")
        self._leaves = any(inner in writer.shapes.leaving for inner in walk(body))
        self._scope = Scope(writer.fresh("next"), writer.fresh("exit"), is_loop=True)

    def begin(self) -> None:
        """The head, to which each turn comes back."""
        writer = self._writer
        if self._is_divergent:
            self._scope.alive = writer.mask_memory()
        if self._leaves:
            self._scope.turn = writer.alloca(writer.vector(BIT))
        writer.label(self._head)
        if self._is_divergent:
            writer.mask = writer.load(writer.vector(BIT), self._scope.alive)

    def test(self, condition: Lanes) -> None:
        """Go on with the lanes for which the condition holds."""
        writer = self._writer
        body = writer.fresh("body")
        if condition.is_uniform:
            writer.branch(condition.text, body, self._scope.exit)
        else:
            writer.mask = writer.both(writer.lanes_on, writer.spread(condition))
            writer.store(writer.vector(BIT), writer.mask, self._scope.alive)
            writer.branch(writer.any(writer.mask), body, self._scope.exit)
        writer.label(body)

    def run(self) -> None:
        """The body, up to where the next turn is prepared."""
        writer = self._writer
        if self._scope.turn:
            writer.store(writer.vector(BIT), writer.lanes_on, self._scope.turn)
        writer.scopes.append(self._scope)
        with writer.masked(writer.mask):
            writer.block(self._body, self._scope.end)
        writer.scopes.pop()
        writer.label(self._scope.end)

    def again(self) -> None:
        """Back to the head, if a lane is left."""
        writer = self._writer
        if self._is_divergent and self._leaves:
            left = writer.load(writer.vector(BIT), self._scope.alive)
            writer.branch(writer.any(left), self._head, self._scope.exit)
        else:
            writer.jump(self._head)

    def finish(self) -> None:
        """What comes after the loop."""
        self._writer.label(self._scope.exit)
