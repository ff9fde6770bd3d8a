"""Whether all of a buffer is surely wanted on the host later: read there, or owed to the caller.

Asked for what lies behind a loop. The answer is yes only if it is yes on every way.
"""

from collections.abc import Iterator
from dataclasses import field

from trilby.analysis.alias import Thing
from trilby.analysis.plan_effects import Events
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, blocks, walk
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return
from trilby.model.ops.host import HostFor, HostIf, HostWhile


@dataclass(slots=True)
class Wanted:
    """Answers for one function; `parameters` are owed to the caller when it returns."""

    func: Func
    events: Events
    parameters: frozenset[Thing]
    _places: dict[Op, tuple[Block, int, Op | None]] = field(
        default_factory=dict[Op, tuple[Block, int, Op | None]]
    )

    def __post_init__(self) -> None:
        self._find(self.func.body, None)

    def _find(self, block: Block, around: Op | None) -> None:
        for number, op in enumerate(block.ops):
            self._places[op] = (block, number, around)
            for inner in blocks(op):
                self._find(inner, op)

    def behind(self, op: Op, thing: Thing) -> bool:
        """Whether a buffer is wanted behind an op, before the device writes to it again."""
        for later in self._following(op):
            if isinstance(later, HostFor | HostWhile) and later in self._around(op):
                # the next turn of a loop around
                if self._writes(later, thing):
                    return False
                continue
            answer = self._answer(later, thing)
            if answer is not None:
                return answer
        return thing in self.parameters

    def _around(self, op: Op) -> Iterator[Op]:
        around = self._places[op][2]
        while around is not None:
            yield around
            around = self._places[around][2]

    def _following(self, op: Op) -> Iterator[Op]:
        """The ops behind one, and behind what is around it; a loop around stands for its turns."""
        at: Op | None = op
        while at is not None:
            block, number, around = self._places[at]
            yield from block.ops[number + 1 :]
            if isinstance(around, HostFor | HostWhile):
                yield around
            at = around

    def _answer(self, op: Op, thing: Thing) -> bool | None:
        """What an op decides, or None where it is still open."""
        if isinstance(op, Return):
            return thing in self.parameters or ("returns", thing) in self.events.get(op, {})
        if isinstance(op, Break | Continue):
            return False  # it could be followed, and is not worth it
        if not any(blocks(op)):
            return self._decides(op, thing)
        if isinstance(op, HostIf):
            answers = [self._in_block(block, thing) for block in blocks(op)]
            if answers[0] is not None and answers[0] == answers[1]:
                return answers[0]
        return False if self._writes(op, thing) else None

    def _in_block(self, block: Block, thing: Thing) -> bool | None:
        for op in block.ops:
            answer = self._answer(op, thing)
            if answer is not None:
                return answer
        return None

    def _decides(self, op: Op, thing: Thing) -> bool | None:
        done = self.events.get(op, {})
        if done.get(("host reads", thing)):
            return True
        return False if self._writes(op, thing) or ("host overwrites", thing) in done else None

    def _writes(self, op: Op, thing: Thing) -> bool:
        """Whether the device may write to a buffer in an op, or inside of it."""
        keys = [("device writes", thing), ("device may write", thing)]
        inner = [op, *(one for block in blocks(op) for one in walk(block))]
        return any(key in self.events.get(one, {}) for one in inner for key in keys)
