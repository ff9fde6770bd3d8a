"""Which places in the parameters of a function each of its values may stand for.

Without regard to order: a variable that holds one buffer after the other counts as both.
"""

from collections.abc import Iterator
from dataclasses import field
from typing import TypeAlias

from trilby.data.schema import BufferType, NDArrayType, join_path
from trilby.dataclass import dataclass
from trilby.model.op import Func, Op, walk
from trilby.model.ops.control import Ternary
from trilby.model.ops.core import Var, VarLoad, VarStore, Yield
from trilby.model.ops.memory import Place
from trilby.model.value import Value

Root: TypeAlias = tuple[int, str]
"""A parameter, by its number, and a path below it."""


@dataclass(slots=True)
class Aliases:
    """The places of every value that stands for any."""

    roots: dict[Value, frozenset[Root]] = field(default_factory=dict[Value, frozenset[Root]])

    def of(self, value: Value) -> frozenset[Root]:
        """All that a value may stand for; nothing for numbers and for a work item's own arrays."""
        return self.roots.get(value, frozenset())

    def add(self, value: Value, more: frozenset[Root]) -> bool:
        """Widen what a value may stand for; true where that was news."""
        known = self.of(value)
        self.roots[value] = known | more
        return not more <= known


def aliases_of(function: Func) -> Aliases:
    """Follow the buffers of a function through its variables, references and choices."""
    aliases = Aliases()
    for number, param in enumerate(function.params):
        if isinstance(param.type, BufferType | NDArrayType):
            aliases.add(param, frozenset({(number, "")}))
    # A loop may carry a buffer from a later statement to an earlier one: go round until calm.
    ops = tuple(walk(function.body))
    while sum(_flows(aliases, op) for op in ops):
        pass
    return aliases


def _flows(aliases: Aliases, op: Op) -> bool:
    match op:
        case Var(init=(content,)):
            return aliases.add(op.value, aliases.of(content))
        case VarLoad(var):
            return aliases.add(op.value, aliases.of(var))
        case VarStore(var, stored):
            return aliases.add(var, aliases.of(stored))
        case Place(base, _, path):
            below = frozenset((n, join_path(p, path)) for n, p in aliases.of(base))
            return aliases.add(op.value, below)
        case Ternary(_, then, otherwise):
            arms = [aliases.of(y) for y in (*_yields(then.ops), *_yields(otherwise.ops))]
            return aliases.add(op.value, frozenset[Root]().union(*arms))
        case _:
            return False


def _yields(ops: tuple[Op, ...]) -> Iterator[Value]:
    return (op.yielded for op in ops if isinstance(op, Yield))
