"""Tell the compute context about every access of the host, before it happens and after.

`pre_access` and `post_access` stand around what reads a buffer, `pre_mutate` and `post_mutate`
around what may write one, as in HAT's `injectBufferTracking`. Dispatches need none: what a
kernel does is known from its model. Reading a length or making a view is no access. A text in
which kernels are launched gets none either: its accesses and launches happen in an order that
calls around it cannot show.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from trilby.analysis.access import is_length
from trilby.analysis.alias import HostHeap, Seen
from trilby.analysis.bound import bound_before
from trilby.analysis.host.host_ops import HostOps
from trilby.analysis.host.reader import Effects, HostTouch
from trilby.data.dtypes import Type
from trilby.data.schema import BufferType, NDArrayType
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops.core import Constant, Var, VarLoad, Yield
from trilby.model.ops.host import Dispatch, HostFor, HostIf, HostRun, HostValue, HostView
from trilby.model.ops.memory import Extent, Load, Place, Store
from trilby.model.ops.transfer import PostAccess, PostMutate, PreAccess, PreMutate
from trilby.model.rewrite import with_blocks
from trilby.model.value import COMPUTE_CONTEXT, OBJECT, Value, VarType

Kernels: TypeAlias = Mapping[str, Func]
"""The models of kernels by their symbols."""

Root: TypeAlias = Value | str
"""How an op names a buffer: a value, or a variable that its code uses."""

RootTouch: TypeAlias = tuple[Root, bool]
"""One buffer that an op touches, and whether it writes."""


def inject_tracking(func: Func, kernels: Kernels | None = None) -> Func:
    """A compute function that announces its accesses.

    `kernels` gives the models of the kernels it dispatches: what they take as buffers is known
    to be some, also where the function itself does not say so.
    """
    if func.kind != "compute" or not func.params:
        return func
    body = _Injector(func, kernels or {}).block(func.body)
    return func if body is func.body else replace(func, body=body)


class _Injector:
    def __init__(self, func: Func, kernels: Kernels) -> None:
        self.context = func.params[0]
        self.bound = bound_before(func)
        self.variables = {op.name: op.value for op in walk(func.body) if isinstance(op, Var)}
        self.ops = HostOps.of(func)
        self.memory, self.effects = self._followed(kernels)

    def _followed(self, kernels: Kernels) -> tuple[HostHeap, dict[Op, Effects]]:
        """Follow buffers through the function; what a kernel takes as one is known to be one."""
        memory, effects = self.ops.anywhere()
        dispatches = [op for op in effects if isinstance(op, Dispatch) and op.kernel in kernels]
        before = len(self.ops.things.types)
        for op in dispatches:
            for param, value in zip(kernels[op.kernel].params[1:], op.args, strict=False):
                for thing in self.ops.seen(value).things if _is_buffer(param.type) else ():
                    self.ops.things.is_buffer(thing, param.type)
        return (memory, effects) if before == len(self.ops.things.types) else self.ops.anywhere()

    # ------------------------------------------------------------------------------- ops

    def block(self, block: Block) -> Block:
        """The block with calls around its accesses; the same one where there are none."""
        made: list[Op] = []
        at = 0
        while at < len(block.ops):
            end = self.end_of_change(block.ops, at)
            made += self.tracked(block.ops[at : end + 1])
            at = end + 1
        return block if tuple(made) == block.ops else Block(tuple(made), block.params)

    def tracked(self, ops: Sequence[Op]) -> Iterator[Op]:
        """One op, or the ops of one augmented assignment, and the calls around."""
        last = ops[-1]
        if isinstance(last, Yield | HostIf):
            yield from self.tested(last)
            return
        before, after = self.calls(ops[0], list(self.touches(last)))
        yield from before
        yield from (with_blocks(op, self.block) for op in ops)
        yield from after

    def tested(self, op: Yield | HostIf) -> Iterator[Op]:
        """A condition that is a view is read once, before what depends on it."""
        value = op.yielded if isinstance(op, Yield) else op.condition
        if not self.is_read_as_truth(value):
            yield with_blocks(op, self.block)
            return
        code = HostCode("not not {0}", 1)
        truth = HostValue((value,), code, (), result=Value(OBJECT), location=op.location)
        before, after = self.calls(op, [(one, False) for one in self.origins(value)])
        yield from (*before, truth, *after)
        name = "yielded" if isinstance(op, Yield) else "condition"
        yield with_blocks(replace(op, **{name: truth.value}), self.block)

    def is_read_as_truth(self, value: Value) -> bool:
        return self.is_data(value) and not isinstance(value.type, BufferType)

    def is_data(self, value: Value) -> bool:
        """Whether a value surely is a buffer or a part of one."""
        return self.ops.things.are_buffers(self.ops.seen(value).things)

    # --------------------------------------------------------------------------- touches

    def touches(self, op: Op) -> Iterator[RootTouch]:
        """What an op itself reads and writes, without the ops in its blocks."""
        match op:
            case Load(base, indices, path):
                if not is_length(base.type, path):
                    yield from self.given(base)
                yield from self.given(*indices)
            case Store(base, indices, stored, _):
                yield from self.given(stored)
                yield from self.given(base, writes=True)
                yield from self.given(*indices)
            case HostView(_, indices, _) | Place(_, indices, _):
                yield from self.given(*indices)
            case HostFor(iterable):
                yield from self.given(iterable)
            case HostValue() | HostRun() if not self.launches(op):
                touches = sorted(self.effects[op].touches, key=lambda touch: touch.writes)
                for touch in touches:  # reads come first
                    yield from self.rooted(op, touch)
            case _:
                return

    def rooted(self, op: HostValue | HostRun, touch: HostTouch) -> Iterator[RootTouch]:
        """The operands and names through which code touches something."""
        for root in self.roots(op, touch.seen):
            if isinstance(root, Value):
                yield from self.given(root, writes=touch.writes)
            elif root in self.bound[op]:  # one without a value could not be asked for it
                yield root, touch.writes

    def roots(self, op: HostValue | HostRun, seen: Seen) -> Iterator[Root]:
        """The operands and names of some code that may stand for the same things."""
        for value in op.inputs:
            if not seen.things.isdisjoint(self.ops.seen(value).things):
                yield value
        for name in op.uses:
            held = self.memory.held.get(self.variables[name]) if name in self.variables else None
            if held is not None and not seen.things.isdisjoint(held.things):
                yield name

    def given(self, *values: Value, writes: bool = False) -> Iterator[RootTouch]:
        """Operands that are buffers or parts of some, or that may be."""
        for value in values:
            may_be = writes and self.ops.things.buffers(self.ops.seen(value).things)
            if self.is_data(value) or may_be:
                yield from ((one, writes) for one in self.origins(value))

    def origins(self, value: Value) -> tuple[Value, ...]:
        """The buffers behind views and iterators that were made here."""
        maker = self.ops.makers.get(value)
        if isinstance(maker, HostView):
            return self.origins(maker.base)
        if isinstance(maker, HostValue) and not _is_buffer(value.type):
            roots = list(self.roots(maker, self.ops.seen(value)))
            inputs = [root for root in roots if isinstance(root, Value)]
            if roots and len(inputs) == len(roots):
                return tuple(origin for one in inputs for origin in self.origins(one))
        return (value,)

    def launches(self, op: HostValue | HostRun) -> bool:
        """Whether some code is given the context, and so may launch kernels."""
        used = (self.variables[name] for name in op.uses if name in self.variables)
        return any(_is_context(value) for value in (*op.inputs, *used))

    # ----------------------------------------------------------------------------- calls

    def calls(self, op: Op, touches: Iterable[RootTouch]) -> tuple[list[Op], list[Op]]:
        """The calls before and after an op, one pair for each buffer."""
        before: list[Op] = []
        after: list[Op] = []
        for what, writes in self.joined(touches):
            loads, buffer = self.asked(what, op)
            pre, post = (PreMutate, PostMutate) if writes else (PreAccess, PostAccess)
            before += [*loads, pre(self.context, buffer, location=op.location)]
            after.insert(0, post(self.context, buffer, location=op.location))
        return before, after

    def joined(self, touches: Iterable[RootTouch]) -> Iterable[RootTouch]:
        """One touch for each variable or value: a write includes a read."""
        found: dict[Value, RootTouch] = {}
        for what, writes in touches:
            maker = self.ops.makers.get(what) if isinstance(what, Value) else None
            variable = maker.var if isinstance(maker, VarLoad) else what
            key = self.variables[variable] if isinstance(variable, str) else variable
            first, wrote = found.get(key, (what, writes))
            found[key] = first, wrote or writes
        return found.values()

    def asked(self, what: Root, op: Op) -> tuple[list[Op], Value]:
        """The value of a buffer, and the op that takes it out of its variable."""
        if isinstance(what, Value):
            return [], what
        variable = self.variables[what]
        held = variable.type.of if isinstance(variable.type, VarType) else variable.type
        load = VarLoad(variable, result=Value(held, what), location=op.location)
        return [load], load.value

    # -------------------------------------------------------------- augmented assignments

    def end_of_change(self, ops: Sequence[Op], at: int) -> int:
        """The number of the store of `a.array[i] += n` that begins at an op; else that op's own.

        What is added must not touch a buffer or run code: then old and new are one access.
        """
        old = ops[at]
        if not isinstance(old, Load | HostView):
            return at
        for number in range(at + 1, len(ops) - 1):
            op = ops[number]
            if isinstance(op, HostValue) and op.code.sign and op.inputs[0] is old.value:
                return number + 1 if _is_stored_back(old, op.value, ops[number + 1]) else at
            if not self.is_quiet(op):
                return at
        return at

    def is_quiet(self, op: Op) -> bool:
        is_simple = isinstance(op, Constant | VarLoad | Extent | Load)
        runs_nothing = isinstance(op, HostValue) and not any(op.code.calls())
        return (is_simple or runs_nothing) and not any(self.touches(op))


def _is_stored_back(old: Load | HostView, new: Value, store: Op) -> bool:
    return (
        isinstance(store, Store)
        and store.stored is new
        and (store.base, store.indices, store.path) == (old.base, old.indices, old.path)
    )


def _is_buffer(type_: Type) -> bool:
    return isinstance(type_, BufferType | NDArrayType)


def _is_context(value: Value) -> bool:
    held = value.type.of if isinstance(value.type, VarType) else value.type
    return held == COMPUTE_CONTEXT
