"""Whether a model is whole: its structure here, what each op demands in `rules`.

Every value is defined once, before its use and in a block that encloses it; blocks end as
they should. What breaks a rule is a fault of whoever made the model, not of its user.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from trilby.dataclass import dataclass
from trilby.errors import ModelError
from trilby.model.op import Block, Func, Op, operands, roles
from trilby.model.ops.control import AndThen, Break, Continue, For, OrElse, Ternary, While
from trilby.model.ops.core import Inlined, Return, Yield
from trilby.model.ops.host import HostFor, HostWhile
from trilby.model.rules import Problems, Program, problems
from trilby.model.text import op_text
from trilby.model.value import NONE, Value
from trilby.source import NOWHERE

TERMINATORS = (Return, Yield, Break, Continue)
LOOPS = (While, For, HostWhile, HostFor)
"""Ops whose block `body` can be left by `break`."""

_YIELDING: dict[type[Op], frozenset[str]] = {
    While: frozenset({"test"}),
    HostWhile: frozenset({"test"}),
    Ternary: frozenset({"then", "otherwise"}),
    AndThen: frozenset({"rest"}),
    OrElse: frozenset({"rest"}),
}
"""The blocks that hand a value to the op that holds them."""


def verify(func: Func, functions: Mapping[str, Func] | None = None) -> None:
    """Raise `ModelError`, at the place in the source, for the first op that breaks a rule.

    With `functions`, the models that can be called by their symbols, calls are checked too.
    """
    checker = _Checker(Program(func, functions, func.result))
    checker.define(func.params, None)
    if func.raw and len(func.raw.names) != len(func.params):
        raise checker.error(None, "its raw code has other parameters than the function")
    if func.body.params:
        raise checker.error(None, "its body has parameters besides those of the function")
    checker.block(func.body, set(func.params), (False, False))


_Around: TypeAlias = tuple[bool, bool]
"""What encloses a block: whether a loop that can be left, and an op that waits for a value."""


@dataclass(frozen=True, slots=True, eq=False)
class _Checker:
    program: Program
    defined: set[Value] = field(default_factory=set[Value])

    def error(self, op: Op | None, problem: str) -> ModelError:
        func = self.program.func
        line = f"\n  in `{op_text(func, op)}`" if op else ""
        places = (op.location if op else NOWHERE, func.location)
        return ModelError(
            f"the model of `{func.name}` is broken: {problem}{line}",
            advice="whatever made or rewrote this model is at fault; `to_text` shows all of it",
            location=next((place for place in places if place != NOWHERE), None),
        )

    def define(self, values: Iterable[Value], op: Op | None) -> None:
        for value in values:
            if value in self.defined:
                raise self.error(op, "a value is defined twice")
            self.defined.add(value)

    def block(self, block: Block, visible: set[Value], around: _Around) -> None:
        for number, op in enumerate(block.ops, 1):
            for problem in self.problems(op, visible, around):
                raise self.error(op, problem)
            if isinstance(op, TERMINATORS) and number < len(block.ops):
                raise self.error(block.ops[number], f"it follows `{op.mnemonic}` and never runs")
            self.inner(op, visible, around)
            if op.result:
                self.define((op.result,), op)
                visible.add(op.result)

    def problems(self, op: Op, visible: set[Value], around: _Around) -> Problems:
        for value in operands(op):
            if value not in visible:
                ended = value in self.defined
                yield f"it uses a value {'of another block' if ended else 'before it is defined'}"
        in_loop, yields = around
        if isinstance(op, Break | Continue) and not in_loop:
            yield "there is no loop around it"
        if isinstance(op, Yield) and not yields:
            yield "nothing waits for the value of this block"
        yield from problems(op, self.program)

    def inner(self, op: Op, visible: set[Value], around: _Around) -> None:
        for name, role in roles(type(op)):
            if role != "block":
                continue
            block: Block = getattr(op, name)
            yields = name in _YIELDING.get(type(op), ())
            if yields and not (block.ops and isinstance(block.ops[-1], Yield)):
                raise self.error(op, f"its block `{name}` does not end in a `yield`")
            self.define(block.params, op)
            seen = {*visible, *block.params}
            if isinstance(op, Inlined):
                self.inlined(op).block(block, seen, (False, False))
                continue
            in_loop = (isinstance(op, LOOPS) and name == "body") or (around[0] and not yields)
            self.block(block, seen, (in_loop, yields))

    def inlined(self, op: Inlined) -> "_Checker":
        """A checker for the body of a callee, whose `return` ends that body alone."""
        returns = op.result.type if op.result else NONE
        return replace(self, program=replace(self.program, returns=returns))
