"""Finding the augmented assignments in a model: a load, a change of it, a store to its place.

They are written as one statement if what is added is one expression. If ops were put in
between, the three are written one by one, with the same effect.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from trilby.codegen.python_values import Known
from trilby.dataclass import dataclass
from trilby.model.holes import in_place_sign
from trilby.model.op import Op, blocks, operands
from trilby.model.ops.core import Constant, Var, VarLoad, VarStore
from trilby.model.ops.host import HostValue, HostView
from trilby.model.ops.memory import Load, Store
from trilby.model.value import Value


@dataclass(frozen=True, slots=True)
class Change:
    """`old` is loaded, changed by `operand` at the op number `end`, and stored by the next."""

    old: VarLoad | Load | HostView
    sign: str
    operand: Value
    store: Op
    end: int


def change_at(
    ops: Sequence[Op], at: int, known: Known, waiting: AbstractSet[Value]
) -> Change | None:
    """The augmented assignment that begins with the op number `at`, if there is one.

    `waiting` are values from before that were not evaluated yet.
    """
    old, uses = ops[at], known.uses
    if not isinstance(old, VarLoad | Load | HostView) or uses.left[old.value] != 1:
        return None
    end = next((n for n in range(at + 1, len(ops)) if old.value in operands(ops[n])), len(ops))
    if end + 1 >= len(ops):
        return None
    change, store = ops[end], ops[end + 1]
    if not isinstance(change, HostValue) or not change.result or change.inputs[0] is not old.value:
        return None
    sign = in_place_sign(change.code)
    if not sign or uses.left[change.result] != 1 or not _stores_back(old, change.result, store):
        return None
    operand = change.inputs[1]
    is_one = _is_one_expression(ops[at + 1 : end], operand, known, waiting)
    return Change(old, sign, operand, store, end) if is_one else None


def _stores_back(old: VarLoad | Load | HostView, new: Value, store: Op) -> bool:
    if isinstance(old, VarLoad):
        return isinstance(store, VarStore) and store.var is old.var and store.stored is new
    return (
        isinstance(store, Store)
        and store.stored is new
        and (store.base, store.indices, store.path) == (old.base, old.indices, old.path)
    )


def _is_one_expression(
    ops: Sequence[Op], wanted: Value, known: Known, waiting: AbstractSet[Value]
) -> bool:
    """Whether ops make a value that can be written where it is used, and nothing else."""
    stack: list[Value] = []
    for op in ops:
        if _is_name_or_number(op, known):
            continue
        needed = [value for value in operands(op) if value in stack]
        if not _is_plain(op, known) or not waiting.isdisjoint(operands(op)):
            return False
        if stack[len(stack) - len(needed) :] != needed:
            return False
        stack = [*stack[: len(stack) - len(needed)], *([op.result] if op.result else [])]
    return stack == [value for value in [wanted] if value in stack] and wanted not in waiting


def _is_name_or_number(op: Op, known: Known) -> bool:
    """Whether the result of an op can be written anywhere."""
    if isinstance(op, VarLoad):
        is_used = known.uses.left[op.value] > 0 and op.value not in known.uses.crossing
        return is_used and op.value in known.sure
    return isinstance(op, Constant)


def _is_plain(op: Op, known: Known) -> bool:
    """Whether an op is written as an expression in the place of its only use."""
    uses = known.uses
    if op.result is None or uses.left[op.result] != 1 or op.result in uses.crossing:
        return False
    is_change = isinstance(op, HostValue) and in_place_sign(op.code)
    return not is_change and not isinstance(op, Var) and not any(blocks(op))
