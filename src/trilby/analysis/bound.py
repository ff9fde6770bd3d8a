"""Which variables of a compute function an op sets, and which surely have a value, and where.

Loading any other may raise `UnboundLocalError`, so it must happen in its turn, or not at all.
Python's own question of definite assignment, on the structured blocks of a model.
"""

from collections.abc import Mapping
from functools import reduce

from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return, Var, VarLoad, VarStore
from trilby.model.ops.host import HostFor, HostIf, HostRun, HostWhile, HostWith
from trilby.model.value import Value


def names_set(op: Op, names: Mapping[Value, str]) -> tuple[str, ...]:
    """The names of the variables that an op itself sets or declares; `names` are by variable."""
    match op:
        case VarStore(var) if var in names:
            return (names[var],)
        case Var(name=name):
            return (name,)
        case HostRun() | HostFor() | HostWith():
            return op.sets
        case _:
            return ()


def sure_loads(func: Func) -> frozenset[Value]:
    """The results of the loads whose variables surely have a value."""
    names = names_of(func)
    before = bound_before(func).items()
    loads = ((op, bound) for op, bound in before if isinstance(op, VarLoad))
    return frozenset(op.value for op, bound in loads if names[op.var] in bound)


def bound_before(func: Func) -> Mapping[Op, frozenset[str]]:
    """The names of the variables that surely have a value where each op begins.

    In `a = 1; b = a` it is no name for the first op, and `a` for the last.
    """
    names = names_of(func)
    before: dict[Op, frozenset[str]] = {}

    def behind(block: Block, bound: frozenset[str]) -> frozenset[str] | None:
        """The names that are bound behind a block, given those before it; None if it is left."""
        for op in block.ops:
            before[op] = bound
            bound = behind_op(op, bound)
        leaves = block.ops and isinstance(block.ops[-1], Return | Break | Continue)
        return None if leaves else bound

    def behind_op(op: Op, bound: frozenset[str]) -> frozenset[str]:
        match op:
            case Var(init=(_,)):
                return bound | {op.name}
            case VarStore() | VarLoad():
                return bound | {names[op.var]}
            case HostRun():
                return bound - _deleted(op)
            case HostIf():
                ways = [behind(op.then, bound), behind(op.otherwise, bound)]
                ends = [way for way in ways if way is not None]
                return reduce(frozenset[str].intersection, ends) if ends else bound
            case HostFor():
                bound = bound - _deleted(*walk(op.body))
                behind(op.body, bound | set(op.sets))
                behind(op.otherwise, bound)
            case HostWhile():
                bound = bound - _deleted(*walk(op.body))
                tested = behind(op.test, bound) or bound
                behind(op.body, tested)
                behind(op.otherwise, tested)
            case HostWith():
                bound = bound | set(op.sets)
                behind(op.body, bound)
                # the manager may swallow what stopped the body
                bound = bound - _deleted(*walk(op.body))
            case _:
                pass
        return bound

    behind(func.body, frozenset())
    return before


def names_of(func: Func) -> dict[Value, str]:
    """The names of a function's variables, by the variables."""
    return {op.value: op.name for op in walk(func.body) if isinstance(op, Var)}


def _deleted(*ops: Op) -> frozenset[str]:
    """The names that text may delete."""
    return frozenset(
        name for op in ops if isinstance(op, HostRun) for name in op.code.names.deleted
    )
