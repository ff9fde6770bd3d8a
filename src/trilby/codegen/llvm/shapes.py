"""What differs between the lanes of a kernel: numbers, paths, and lanes that leave early.

A fixpoint over variables: all is the same for all lanes until something shows otherwise. A
*context* is a stretch of code that the same lanes run. A variable that is set in another context
than its own keeps, in the lanes that are not there, what it had: it differs from lane to lane.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import count
from typing import TypeAlias

from trilby.analysis.spans import Spans
from trilby.codegen.checked_types import expect
from trilby.codegen.llvm import ir
from trilby.codegen.llvm.ir import Stride, part_kinds
from trilby.data.dtypes import Type
from trilby.data.schema import StructType, leaves
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, operands
from trilby.model.ops.arith import Binary, Cast, Neg
from trilby.model.ops.control import AndThen, Break, Continue, For, If, OrElse, Ternary, While
from trilby.model.ops.core import Call, Constant, Inlined, Return, Var, VarLoad, VarStore, Yield
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import (
    AtomicUpdate,
    CompareExchange,
    Extent,
    Load,
    LocalArray,
    Place,
    PrivateArray,
)
from trilby.model.ops.structs import Pack, Unpack
from trilby.model.value import Value, VarType, space_of

Parts: TypeAlias = tuple[Stride, ...]
Target: TypeAlias = tuple[Op | None, str]
"""What lanes leave: a loop for good or for a turn, or a function (None is the kernel)."""

IN_ROW: Mapping[str, Stride] = {"x": 1, "local_x": 1}
"""The ids that differ along a row of work items."""

IN_GROUP: Mapping[str, Stride] = {f"{p}{axis}": None for p in ("", "local_") for axis in "xyz"}
"""The ids that differ within a group."""


@dataclass(slots=True)
class Shapes:
    """What the analysis found.

    `divergent` are branches and loops on which lanes may part, `leaving` the exits that only some
    of the lanes take, `narrowing` the ops after which lanes may be gone, and `blended` the stores
    to variables that leave the content of other lanes alone.
    """

    parts: dict[Value, Parts] = field(default_factory=dict[Value, Parts])
    divergent: set[Op] = field(default_factory=set[Op])
    leaving: set[Op] = field(default_factory=set[Op])
    narrowing: set[Op] = field(default_factory=set[Op])
    blended: set[Op] = field(default_factory=set[Op])

    def of(self, value: Value) -> Parts:
        """The steps of all parts of a value; what is never set is the same for all."""
        return self.parts.get(value) or (0,) * len(part_kinds(_content(value)))


def _content(value: Value) -> Type:
    return value.type.of if isinstance(value.type, VarType) else value.type


def shapes_of(
    func: Func,
    spans: Spans,
    fields: Mapping[str, Stride] = IN_ROW,
    params: Mapping[Value, Parts] | None = None,
) -> Shapes:
    """Analyse a function; `fields` are the ids that differ.

    `params` are the steps of its parameters, which are the same for all lanes in a kernel.
    """
    analysis = _Analysis(spans, fields, params or {})
    while analysis.run(func):
        pass
    return analysis.found


_ShapeScope: TypeAlias = tuple[Op | None, int]
"""A loop or function that lanes may leave, and the context in which its body begins."""


class _Analysis:
    def __init__(
        self, spans: Spans, fields: Mapping[str, Stride], params: Mapping[Value, Parts]
    ) -> None:
        self.found = Shapes()
        self._spans = spans
        self._fields = fields
        self._params = params
        self._changed = False
        self._contexts = count()
        self._context = 0
        self._homes: dict[Value, int] = {}
        self._literals: dict[Value, object] = {}
        self._loops: list[_ShapeScope] = []
        self._frames: list[_ShapeScope] = []

    def run(self, func: Func) -> bool:
        """Look at everything once; true where something new was found."""
        self._changed = False
        self._context = next(self._contexts)
        for param in func.params:
            same = (0,) * len(part_kinds(param.type))
            self.found.parts[param] = self._params.get(param, same)
        self._frames = [(None, self._context)]
        self._block(func.body)
        return self._changed

    # -- what is found ----------------------------------------------------------------

    def _note(self, known: set[Op], op: Op) -> None:
        if op not in known:
            known.add(op)
            self._changed = True

    def _join(self, value: Value, parts: Parts) -> None:
        """Take in what a value may be as well."""
        old = self.found.parts.get(value)
        new = parts if old is None else joined(old, parts)
        if new != old:
            self.found.parts[value] = new
            self._changed = True

    def _strides(self, values: Sequence[Value]) -> list[Stride] | None:
        """The steps of some numbers; None where one of them is not yet known."""
        if any(value not in self.found.parts for value in values):
            return None
        return [stride for value in values for stride in self.found.parts[value]]

    def _differs(self, value: Value) -> bool:
        return any(stride != 0 for stride in self.found.parts.get(value, ()))

    # -- blocks and control flow ------------------------------------------------------

    def _block(self, block: Block) -> set[Target]:
        """Visit the ops of a block; gives what some of the lanes left in it."""
        left: set[Target] = set()
        for op in block.ops:
            gone = self._op(op)
            if gone:
                self._note(self.found.narrowing, op)
                self._context = next(self._contexts)
                left |= gone
        return left

    def _op(self, op: Op) -> set[Target]:
        match op:
            case If():
                return self._branches(op, op.condition, [op.then, op.otherwise])
            case For() | While():
                return self._loop(op)
            case Break() | Continue():
                return self._exit(op, self._loops[-1], op.mnemonic)
            case Return():
                return self._return(op)
            case Inlined():
                return self._inlined(op)
            case Ternary():
                return self._choice(op, op.condition, [op.then, op.otherwise])
            case AndThen() | OrElse():
                return self._choice(op, op.first, [op.rest])
            case Var():
                self._homes[op.value] = self._context
                for init in op.init:
                    if init in self.found.parts:
                        self._join(op.value, self.found.parts[init])
            case VarStore():
                self._store(op)
            case _ if op.result is not None:
                parts = self._parts(op)
                if parts is not None:
                    self._join(op.value, parts)
            case _:
                pass
        return set()

    def _branches(self, op: Op, condition: Value, blocks: list[Block]) -> set[Target]:
        outer = self._context
        if self._differs(condition):
            self._note(self.found.divergent, op)
        left: set[Target] = set()
        for block in blocks:
            self._context = next(self._contexts) if op in self.found.divergent else outer
            left |= self._block(block)
        self._context = outer
        return left

    def _choice(self, op: Op, condition: Value, blocks: list[Block]) -> set[Target]:
        """The result is what one of the blocks yields."""
        left = self._branches(op, condition, blocks)
        yielded = [b.ops[-1].yielded for b in blocks if isinstance(b.ops[-1], Yield)]
        found = [self.found.parts[value] for value in yielded if value in self.found.parts]
        if isinstance(op, AndThen | OrElse) and condition in self.found.parts:
            found.append(self.found.parts[condition])
        if self._differs(condition):
            found = [_uneven(parts) for parts in found]
        for parts in found:
            self._join(op.value, parts)
        return left

    def _loop(self, op: For | While) -> set[Target]:
        outer = self._context
        if isinstance(op, For):
            self._range(op)
        if op in self.found.divergent:
            self._context = next(self._contexts)
        self._loops.append((op, self._context))
        left: set[Target] = set()
        if isinstance(op, While):
            left |= self._block(op.test)
            last = op.test.ops[-1]
            if isinstance(last, Yield) and self._differs(last.yielded):
                self._note(self.found.divergent, op)
        left |= self._block(op.body)
        self._loops.pop()
        if any(how != Continue.mnemonic for _, how in left):
            self._note(self.found.divergent, op)
        self._context = outer
        return {target for target in left if target[0] is not op}

    def _range(self, op: For) -> None:
        """The counter grows by the same number in all lanes, wherever they begin."""
        (counter,) = op.body.params
        found = self._strides([op.start, op.stop, op.step])
        if found is None:
            return
        start, stop, step = found
        if (start, stop, step) != (0, 0, 0):
            self._note(self.found.divergent, op)
        even = step == 0 and (start == 0 or ir.has_steps(counter.type))
        self._join(counter, (start if even else None,))

    def _exit(self, op: Op, scope: _ShapeScope, how: str) -> set[Target]:
        """Leave a scope; where all lanes that are in it come by here, nobody is left behind."""
        left, context = scope
        if self._context == context and op not in self.found.leaving:
            return set()
        self._note(self.found.leaving, op)
        return {(left, how)}

    def _return(self, op: Return) -> set[Target]:
        function, _ = self._frames[-1]
        left = self._exit(op, self._frames[-1], op.mnemonic)
        if function is not None and function.result is not None and op.returned:
            (value,) = op.returned
            parts = self.found.parts.get(value)
            if parts is not None:
                self._join(function.result, _uneven(parts) if left else parts)
        return left

    def _inlined(self, op: Inlined) -> set[Target]:
        outer = self._context
        loops, self._loops = self._loops, []
        self._frames.append((op, outer))
        left = self._block(op.body)
        self._frames.pop()
        self._loops = loops
        self._context = outer
        return {target for target in left if target[0] is not op}

    # -- values -----------------------------------------------------------------------

    def _store(self, op: VarStore) -> None:
        if self._context != self._homes[op.var]:
            self._note(self.found.blended, op)
        parts = self.found.parts.get(op.stored)
        if parts is not None:
            self._join(op.var, _uneven(parts) if op in self.found.blended else parts)

    def _parts(self, op: Op) -> Parts | None:
        match op:
            case Constant():
                self._literals[op.value] = op.literal
                return (0,)
            case Grid():
                return (self._fields.get(op.field, 0),)
            case VarLoad():
                return self.found.parts.get(op.var)
            case LocalArray():
                return (0,)
            case PrivateArray():
                return (None,)
            case Call():
                return (None,) * len(part_kinds(op.value.type))
            case Extent():
                whole = self.found.parts.get(op.base)
                return whole and (whole[1 + op.axis],)
            case Pack():
                found = self._strides(op.parts)
                return None if found is None else tuple(found)
            case Unpack():
                whole = self.found.parts.get(op.whole)
                names = [leaf.name for leaf in leaves(expect(StructType, op.whole.type))]
                return whole and (whole[names.index(op.leaf)],)
            case _:
                found = self._strides(list(operands(op)))
                return None if found is None else (self._computed(op, found),)

    def _computed(self, op: Op, found: list[Stride]) -> Stride:
        match op:
            case Binary():
                known = [self._literals.get(v) for v in (op.left, op.right)]
                return ir.binary(op, op.value.type, found, known)
            case Neg() if found[0] is not None and ir.has_steps(op.value.type):
                return -found[0]
            case Cast():
                return ir.cast(op.operand, op.value.type, found[0], self._spans)
            case AtomicUpdate() | CompareExchange():
                return None
            case Load() | Place() if space_of(op.base.type) == "private":
                return None
            case _:
                return ir.alike(found)


def joined(left: Parts, right: Parts) -> Parts:
    """The steps of what may be either of two values."""
    return tuple(one if one == other else None for one, other in zip(left, right, strict=True))


def _uneven(parts: Parts) -> Parts:
    return (None,) * len(parts)
