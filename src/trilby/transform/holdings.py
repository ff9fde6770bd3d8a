"""Which values and variables of a compute function may be buffers, or lead to some.

A type says so where there is one. What is only known as `object` is followed from where it
comes: a view, an element of a list of buffers, the result of a call that was given one. What is
handed to a kernel as a buffer is one. Sets only grow, so a few rounds over the ops are enough.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from trilby.data.dtypes import Type
from trilby.data.schema import INDEX, ArrayType, BufferType, NDArrayType, type_at
from trilby.dataclass import dataclass
from trilby.model.op import Func, Op, walk
from trilby.model.ops.core import Var, VarLoad, VarStore
from trilby.model.ops.host import Dispatch, HostFor, HostRun, HostValue, HostView, HostWith
from trilby.model.value import OBJECT, RefType, Value, VarType
from trilby.transform.host_effects import (
    NOTHING,
    HeldObject,
    ObjectKind,
    Root,
    TextEffects,
    Tree,
    element_of,
    text_effects,
    tree_of,
)

Kernels = Mapping[str, Func]
"""The models of kernels by their symbols."""


@dataclass(slots=True)
class Holdings:
    """What is known of the values of one function."""

    variables: Mapping[str, Value]
    """The variables by their names."""
    held: dict[Value, HeldObject] = field(default_factory=dict[Value, HeldObject])
    trees: dict[Op, Tree] = field(default_factory=dict[Op, Tree])

    def of(self, value: Value) -> HeldObject:
        """What a value, or a variable, may stand for."""
        type_ = value.type.of if isinstance(value.type, VarType) else value.type
        if isinstance(type_, BufferType | NDArrayType | RefType):
            return HeldObject(ObjectKind.DATA, type_)
        return self.held.get(value, NOTHING) if type_ == OBJECT else NOTHING

    def named(self, name: str) -> HeldObject:
        """What a variable may stand for."""
        return self.of(self.variables[name])

    def effects(self, op: HostValue | HostRun) -> TextEffects:
        """What the text of an op does with the variables and operands that it uses."""
        known: dict[Root, HeldObject] = {n: self.of(value) for n, value in enumerate(op.inputs)}
        for name in op.uses:
            if name in self.variables:
                known[name] = self.named(name)
        if not any(held.kind for held in known.values()):
            return TextEffects()
        if op not in self.trees:
            self.trees[op] = tree_of(op)
        return text_effects(self.trees[op], known)

    def widen(self, value: Value, more: HeldObject) -> bool:
        """Let a value stand for more; true where that was news."""
        before = self.held.get(value, NOTHING)
        after = replace(before.joined(more), roots=()) if more.kind else before
        self.held[value] = after
        return after != before


def holdings_of(func: Func, kernels: Kernels) -> Holdings:
    """Follow the buffers of a compute function through its variables."""
    ops = tuple(walk(func.body))
    holdings = Holdings({op.name: op.value for op in ops if isinstance(op, Var)})
    loaded = {op.value: op.var for op in ops if isinstance(op, VarLoad)}
    for op in ops:
        for value in _buffer_arguments(op, kernels):
            holdings.widen(loaded.get(value, value), HeldObject(ObjectKind.OBJECT))
    while sum(_flows(holdings, op) for op in ops):
        pass
    return holdings


def _buffer_arguments(op: Op, kernels: Kernels) -> Iterator[Value]:
    """What a kernel takes as buffers."""
    if isinstance(op, Dispatch) and op.kernel in kernels:
        for param, value in zip(kernels[op.kernel].params[1:], op.args, strict=False):
            if _is_buffer(param.type):
                yield value


def _is_buffer(type_: Type) -> bool:
    return isinstance(type_, BufferType | NDArrayType)


def _flows(holdings: Holdings, op: Op) -> bool:
    """Pass on what one op passes on; true where that was news."""
    match op:
        case Var(init=(content,)):
            return holdings.widen(op.value, holdings.of(content))
        case VarLoad(var):
            return holdings.widen(op.value, holdings.of(var))
        case VarStore(var, stored):
            return holdings.widen(var, holdings.of(stored))
        case HostView(base, _, path):
            return holdings.widen(op.value, HeldObject(ObjectKind.VIEW, _row_type(base.type, path)))
        case HostValue() | HostRun():
            effects = holdings.effects(op)
            is_news = holdings.widen(op.result, effects.gives) if op.result else False
            return _binds(holdings, effects) or is_news
        case HostFor(iterable=source) | HostWith(manager=source):
            found = element_of(holdings.of(source))
            return sum(_bind(holdings, name, found) for name in op.sets) > 0
        case _:
            return False


def _row_type(base: Type, path: str) -> Type | None:
    """The type of an array with one dimension: all its views are rows of its elements."""
    held = base.to if isinstance(base, RefType) else base
    found = type_at(held, path.removesuffix(INDEX))
    return found if isinstance(found, ArrayType) and found.rank == 1 else None


def _binds(holdings: Holdings, effects: TextEffects) -> bool:
    return sum(_bind(holdings, name, held) for name, held in effects.sets.items()) > 0


def _bind(holdings: Holdings, name: str, found: HeldObject) -> bool:
    variable = holdings.variables.get(name)
    return holdings.widen(variable, found) if variable else False
