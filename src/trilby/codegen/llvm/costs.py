"""Which blocks are so short that running them in idle lanes is cheaper than a jump around them."""

from trilby.codegen.llvm.inlining import Inlined
from trilby.codegen.llvm.shapes import Shapes
from trilby.data.dtypes import ScalarType
from trilby.model.op import Block, Op, blocks
from trilby.model.ops import arith
from trilby.model.ops.control import For, While
from trilby.model.ops.core import Call
from trilby.model.ops.debug import Assert, Print
from trilby.model.ops.grid import Barrier
from trilby.model.ops.memory import Atomic, CompareExchange, Load, Store

FREELY = 24
"""The steps that a block may take at the most to be run without a jump."""

_NEVER = 1 << 20
_SLOW = (arith.Pow, Call, For, While, Assert, Print, Barrier, Atomic, CompareExchange)


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
