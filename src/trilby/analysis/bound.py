"""Which variables of a compute function surely have a value, and where.

Loading any other may raise `UnboundLocalError`, so it must happen in its turn, or not at all.
Python's own question of definite assignment, on the structured blocks of a model.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import reduce

from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return, Var, VarLoad, VarStore
from trilby.model.ops.host import HostFor, HostIf, HostRun, HostWhile, HostWith
from trilby.model.value import Value


def sure_loads(func: Func) -> frozenset[Value]:
    """The results of the loads whose variables surely have a value."""
    return frozenset(_found(func).sure)


def bound_before(func: Func) -> Mapping[Op, frozenset[str]]:
    """The names of the variables that surely have a value where each op begins."""
    return _found(func).before


def _found(func: Func) -> "_BoundNames":
    finder = _BoundNames({op.value: op.name for op in walk(func.body) if isinstance(op, Var)})
    finder.block(func.body, frozenset())
    return finder


@dataclass(frozen=True, slots=True)
class _BoundNames:
    """A walk over a function: behind `a = 1` the names that are bound are `{a}`."""

    names: dict[Value, str]
    sure: set[Value] = field(default_factory=set[Value])
    before: dict[Op, frozenset[str]] = field(default_factory=dict[Op, frozenset[str]])

    def block(self, block: Block, bound: frozenset[str]) -> frozenset[str] | None:
        """The names that are bound behind a block, given those before it; None if it is left."""
        for op in block.ops:
            self.before[op] = bound
            bound = self.op(op, bound)
        leaves = block.ops and isinstance(block.ops[-1], Return | Break | Continue)
        return None if leaves else bound

    def op(self, op: Op, bound: frozenset[str]) -> frozenset[str]:
        match op:
            case Var(init=(_,)):
                return bound | {op.name}
            case VarStore():
                return bound | {self.names[op.var]}
            case VarLoad():
                if self.names[op.var] in bound:
                    self.sure.add(op.value)
                return bound | {self.names[op.var]}
            case HostRun():
                return bound - _deleted(op)
            case HostIf():
                ways = [self.block(op.then, bound), self.block(op.otherwise, bound)]
                ends = [way for way in ways if way is not None]
                return reduce(frozenset[str].intersection, ends) if ends else bound
            case HostFor():
                bound = bound - _deleted(*walk(op.body))
                self.block(op.body, bound | set(op.sets))
                self.block(op.otherwise, bound)
            case HostWhile():
                bound = bound - _deleted(*walk(op.body))
                tested = self.block(op.test, bound) or bound
                self.block(op.body, tested)
                self.block(op.otherwise, tested)
            case HostWith():
                bound = bound | set(op.sets)
                self.block(op.body, bound)
                # the manager may swallow what stopped the body
                bound = bound - _deleted(*walk(op.body))
            case _:
                pass
        return bound


def _deleted(*ops: Op) -> frozenset[str]:
    """The names that text may delete."""
    return frozenset(
        name for op in ops if isinstance(op, HostRun) for name in op.code.names.deleted
    )
