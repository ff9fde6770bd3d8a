"""How many work items run at once.

A step of arithmetic takes several cycles, and the next one of a sum waits for it: what is computed
for several vectors of work items in turn fills that time, as long as registers last.
"""

from trilby.codegen.llvm.target import LlvmTarget
from trilby.codegen.llvm.writer import Analysed
from trilby.data.dtypes import ScalarType
from trilby.model.op import Block, Op, operands, walk
from trilby.model.ops.control import For, While
from trilby.model.ops.core import VarLoad, VarStore
from trilby.model.ops.grid import Barrier

LONG_KERNEL = 250
"""How many values a kernel may compute to be run in two vectors at once."""

LIGHT_LOOP = 2
"""How many vectors a loop may keep in registers to be run for four vectors of work items."""


def lanes_for(analysed: Analysed, target: LlvmTarget) -> int:
    """How many work items run at once: two vectors of 32 bits, or four for sums in light loops.

    One vector is enough where it is a wide one, where numbers have 64 bits and fill two, and where
    a kernel is so long that compiling it takes longer than it saves.
    """
    lanes = target.width_bits // 32
    ops = list(walk(analysed.func.body))
    kinds = [op.result.type for op in ops if op.result is not None]
    wide = sum(isinstance(kind, ScalarType) and kind.bits == 64 for kind in kinds)
    if target.width_bits >= 512 or wide * 3 > len(kinds) or len(kinds) > LONG_KERNEL:
        return lanes
    return lanes * 4 if _only_sums(analysed, ops) else lanes * 2


def _only_sums(analysed: Analysed, ops: list[Op]) -> bool:
    """Whether all loops are run by all lanes, and keep few numbers that differ between them.

    Groups of kernels with barriers often have short rows, which would fill no such vectors.
    """
    loops = [op for op in ops if isinstance(op, For | While)]
    if not loops or any(isinstance(op, Barrier) for op in ops):
        return False
    if any(loop in analysed.shapes.divergent for loop in loops):
        return False
    return all(_kept(analysed, loop.body) <= LIGHT_LOOP for loop in loops)


def _kept(analysed: Analysed, body: Block) -> int:
    """How many numbers of a loop differ between lanes and are kept from turn to turn."""
    inside = list(walk(body))
    made = {op.result for op in inside if op.result is not None}
    used = {value for op in inside for value in operands(op) if value not in made}
    used |= {op.var for op in inside if isinstance(op, VarLoad | VarStore)}
    return sum(None in analysed.shapes.of(value) for value in used)
