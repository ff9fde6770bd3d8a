"""Accesses of a work item that may lie side by side: members of a struct, `a[4 * i]` and `+ 1`.

Accesses belong together if their places differ by a number of bytes that is known, and if all of
them may happen where one of them does: loads where the first one stands, and stores at the last
one. What lies between them, and may touch the same memory or end the block, keeps them apart.
"""

from collections.abc import Hashable
from typing import TypeAlias

from trilby.codegen.checked_types import expect
from trilby.codegen.llvm.ir import axes_of, stored_kind
from trilby.codegen.llvm.regions import leaves_outwards
from trilby.codegen.value_uses import all_blocks
from trilby.data.dtypes import I32, I64, ScalarType
from trilby.data.layout import fixed_offsets, member_offset
from trilby.data.schema import (
    INDEX,
    BufferType,
    StructType,
    sizes_of,
    type_at,
    walk_path,
)
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, blocks, operands, roles, walk
from trilby.model.ops import arith
from trilby.model.ops.core import Call, Constant
from trilby.model.ops.debug import Assert, Print
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.ops.memory import AtomicUpdate, CompareExchange, Extent, Load, Store
from trilby.model.value import Value, pointee, space_of

Access: TypeAlias = Load | Store

Neighbour: TypeAlias = tuple[Access, int]
"""An access, and how many bytes its place is behind that of the first one in its row."""

MOST_ROWS = 32
"""A kernel that has more of them is so long that compiling it would take longer than it saves."""

_CHANGES = (Call, Store, AtomicUpdate, CompareExchange, Barrier, Assert, Print)
_PURE = (Constant, Grid, Extent, arith.Binary, arith.Unary, arith.Cast)


@dataclass(frozen=True, slots=True)
class _BytePlace:
    """A place: bytes behind something that is known by `root`, in a memory space."""

    root: Hashable
    offset: int
    size: int
    kind: str
    space: str

    def overlaps(self, other: "_BytePlace") -> bool:
        """Whether a work item may mean the same bytes by two places."""
        if self.root != other.root:
            return self.space == other.space
        return self.offset < other.offset + other.size and other.offset < self.offset + self.size


_Row: TypeAlias = list[tuple[Access, _BytePlace]]
"""Accesses that belong together so far."""


def neighbours_of(func: Func) -> dict[Op, tuple[Neighbour, ...]]:
    """For the first access of each row all that are in it, in the order of the program."""
    places = _Places(func)
    found: dict[Op, tuple[Neighbour, ...]] = {}
    for block in all_blocks(func.body):
        for row in _rows(block, places):
            op, first = row[0]
            found[op] = tuple((one, spot.offset - first.offset) for one, spot in row)
    return found if len(found) <= MOST_ROWS else {}


def _rows(block: Block, places: "_Places") -> list[_Row]:
    """The rows of one block that have more than one access."""
    current: dict[tuple[type[Op], Hashable, str], _Row] = {}
    found: list[_Row] = []
    for op in block.ops:
        inner = [one for nested in blocks(op) for one in walk(nested)]
        if inner:
            # Loads may happen before a branch or a loop that changes nothing and is not left.
            if any(isinstance(one, _CHANGES) for one in inner) or leaves_outwards(op):
                current.clear()
            elif any(isinstance(one, Load) for one in inner):
                current = {key: row for key, row in current.items() if key[0] is not Store}
        elif isinstance(op, Load | Store) and op.path not in sizes_of(op.base.type):
            spot = places.spot(op)
            for key, row in list(current.items()):
                both_read = isinstance(op, Load) and key[0] is Load
                if not both_read and any(spot.overlaps(other) for _, other in row):
                    del current[key]
            if spot.space != "private":
                key = (type(op), spot.root, spot.kind)
                if key not in current:
                    current[key] = []
                    found.append(current[key])
                current[key].append((op, spot))
        elif isinstance(op, _CHANGES) and not isinstance(op, Store):
            current.clear()
    return [row for row in found if len(row) > 1]


class _Places:
    """Numbers all values of a kernel, equal ones alike, and takes known parts out of indices."""

    def __init__(self, func: Func) -> None:
        self._numbers: dict[Value, Hashable] = {}
        self._sums: dict[Value, tuple[Hashable, int]] = {}
        self._known: dict[Hashable, int] = {}
        self._literals: dict[Value, int] = {}
        for op in walk(func.body):
            if op.result is not None and isinstance(op, _PURE):
                self._number(op, op.result)

    def _number(self, op: Op, value: Value) -> None:
        same = tuple(self._of(operand) for operand in operands(op))
        attributes = [name for name, role in roles(type(op)) if role == "attribute"]
        told = tuple(repr(getattr(op, name)) for name in attributes)
        described = (type(op), value.type, told, same)
        self._numbers[value] = self._known.setdefault(described, len(self._known))
        if isinstance(op, Constant) and isinstance(op.literal, int):
            self._literals[value] = op.literal
        # Indices of 32 bits and more are outside of every array where they wrap.
        is_index = value.type in {I32, I64}
        if isinstance(op, arith.Add | arith.Sub) and is_index:
            self._sum(op, value)

    def _sum(self, op: arith.Add | arith.Sub, value: Value) -> None:
        """A sum with a known number is that number behind the rest."""
        for rest, known in ((op.left, op.right), (op.right, op.left)):
            if known in self._literals and (isinstance(op, arith.Add) or known is op.right):
                root, before = self._split(rest)
                sign = 1 if isinstance(op, arith.Add) else -1
                self._sums[value] = root, before + sign * self._literals[known]
                return

    def _of(self, value: Value) -> Hashable:
        return self._numbers.get(value, value)

    def _split(self, value: Value) -> tuple[Hashable, int]:
        if value in self._literals:
            return "", self._literals[value]
        return self._sums.get(value, (self._of(value), 0))

    def spot(self, op: Access) -> _BytePlace:
        """Where an access happens."""
        root: list[Hashable] = [self._of(op.base)]
        offset = 0
        indices = list(op.indices)
        for step, here in walk_path(pointee(op.base.type), op.path):
            if step == INDEX:
                dims, stride = axes_of(here)
                last = len(dims) - 1
                root += [self._of(index) for index in indices[:last]]
                rest, known = self._split(indices[last])
                del indices[: len(dims)]
                root += [rest, stride]
                offset += known * stride
            elif isinstance(here, BufferType) and step not in fixed_offsets(here):
                root.append(step)
            elif isinstance(here, StructType):
                offset += member_offset(here, step)
        type_ = expect(ScalarType, type_at(pointee(op.base.type), op.path))
        space = space_of(op.base.type)
        return _BytePlace(tuple(root), offset, type_.size, stored_kind(type_), space)
