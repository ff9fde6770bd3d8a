"""Where the values of a function are used, as far as it matters for writing expressions."""

from collections.abc import Iterator

from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, blocks, operands, walk
from trilby.model.ops.core import Var, VarLoad, VarStore
from trilby.model.value import Value


@dataclass(frozen=True, slots=True)
class Uses:
    """How often each value is used, and whether only in the block that makes it.

    `names` has the variable that a value begins, where that is its only use. `steady` are the
    contents of variables that do not change before their last use: the variable can stand for
    them wherever they are used.
    """

    count: dict[Value, int]
    elsewhere: frozenset[Value]
    names: dict[Value, str]
    steady: frozenset[Value]


def uses_of(function: Func) -> Uses:
    """Count the uses of every value of a function."""
    count: dict[Value, int] = {}
    home: dict[Value, Block] = {}
    elsewhere: set[Value] = set()
    names: dict[Value, str] = {}
    steady: set[Value] = set()

    def visit(block: Block) -> None:
        steady.update(_steady(block))
        for op in block.ops:
            if isinstance(op, Var):
                names.update((value, op.name) for value in op.init)
            for value in operands(op):
                count[value] = count.get(value, 0) + 1
                if home.get(value) is not block:
                    elsewhere.add(value)
            if op.result is not None:
                home[op.result] = block
            for inner in blocks(op):
                visit(inner)

    visit(function.body)
    once = {v: n for v, n in names.items() if count[v] == 1 and v not in elsewhere}
    return Uses(count, frozenset(elsewhere), once, frozenset(steady))


def _steady(block: Block) -> Iterator[Value]:
    """The contents read in a block whose variable is not set before they are used last."""
    inside = [tuple(_with_inner(op)) for op in block.ops]
    used = [{value for op in ops for value in operands(op)} for ops in inside]
    stored = [{op.var for op in ops if isinstance(op, VarStore)} for ops in inside]
    for start, op in enumerate(block.ops):
        if not isinstance(op, VarLoad) or op.result is None:
            continue
        later = range(start + 1, len(block.ops))
        last = max((n for n in later if op.result in used[n]), default=start)
        # A store may well be the last use: what it stores is read before it changes anything.
        end = last if isinstance(block.ops[last], VarStore) else last + 1
        if not any(op.var in stored[n] for n in range(start + 1, end)):
            yield op.result


def _with_inner(op: Op) -> Iterator[Op]:
    yield op
    for inner in blocks(op):
        yield from walk(inner)
