"""Changing a model: the counterpart of Babylon's `transformInvokes`.

`rewrite` copies a function op by op and asks at each what to put in its place. The
original stays as it is; what was not changed is shared with the copy. Nothing here knows
a single op.

```
def visit(op: Op, out: Rewriter) -> None:
    if isinstance(op, Load):
        call = HostCode("{0}.pre_access({1})", 2)
        out.run(HostValue, (context, op.base), call, ())
    out.emit(op)

tracked = rewrite(func, visit)
```
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from trilby.arguments import choice
from trilby.dataclass import dataclass
from trilby.errors import ModelError
from trilby.model.build import Builder
from trilby.model.op import Block, Func, Op, block_fields, operands, roles, walk
from trilby.model.value import Value
from trilby.source import NOWHERE, Location

Visit: TypeAlias = "Callable[[Op, Rewriter], object]"
"""Emits what takes the place of an op; what it returns does not matter."""


class Rewriter(Builder):
    """Takes what shall stand in the place of an op: all that `visit` emits.

    Emitting the op itself keeps it, emitting nothing deletes it. New ops get the place of
    the visited one in the source unless they name another.
    """

    __slots__ = ("_replaced",)

    def __init__(self, location: Location, replaced: dict[Value, Value]) -> None:
        super().__init__(location)
        self._replaced = replaced

    def replace(self, old: Value, new: Value) -> None:
        """Let every later use of `old` be a use of `new`."""
        self._replaced[old] = new


def rewrite(func: Func, visit: Visit) -> Func:
    """A function in which each op is replaced by what `visit(op, out)` emits.

    Ops are visited in the order of the text, but an op that holds blocks comes after the
    ops within: when `visit` sees an op, its operands are replaced and its blocks are
    rewritten already. A result that is used later must be kept, or replaced.
    """
    replaced: dict[Value, Value] = {}
    deleted: set[Value] = set()

    def rewritten(block: Block) -> Block:
        made: list[Op] = []
        for old in block.ops:
            op = mapped(old, lambda value: replaced.get(value, value), rewritten)
            out = Rewriter(op.location, replaced)
            visit(op, out)
            new = out.block().ops
            made += new
            kept = op.result in replaced or any(one.result is op.result for one in new)
            if op.result and not kept:
                deleted.add(op.result)
        return block if tuple(made) == block.ops else Block(tuple(made), block.params)

    body = rewritten(func.body)
    for op in walk(body) if deleted else ():
        if not deleted.isdisjoint(operands(op)):
            raise ModelError(
                f"the rewrite deleted an op whose result is used by `{op.mnemonic}`",
                advice="keep the op with out.emit(op), or name another value for its result "
                "with out.replace(op.value, other)",
                location=None if op.location == NOWHERE else op.location,
            )
    return func if body is func.body else replace(func, body=body)


def clone_block(block: Block, mapping: Mapping[Value, Value]) -> Block:
    """A copy with fresh values, in which uses of the values in `mapping` are replaced.

    To inline a call, clone the callee's body with its parameters mapped to the arguments.
    """
    known = dict(mapping)

    def fresh(value: Value) -> Value:
        known[value] = Value(value.type, value.hint)
        return known[value]

    def clone(inner: Block) -> Block:
        params = tuple(map(fresh, inner.params))
        return Block(tuple(map(clone_op, inner.ops)), params)

    def clone_op(op: Op) -> Op:
        copy = mapped(op, lambda value: known.get(value, value), clone)
        return replace(copy, result=fresh(op.result)) if op.result else copy

    return clone(block)


def with_blocks(op: Op, block: Callable[[Block], Block]) -> Op:
    """The op with other blocks; the same op where nothing changes."""
    changed: dict[str, Any] = {}
    for name in block_fields(type(op)):
        old: Block = getattr(op, name)
        new = block(old)
        if new is not old:
            changed[name] = new
    return replace(op, **changed) if changed else op


def mapped(op: Op, value: Callable[[Value], Value], block: Callable[[Block], Block]) -> Op:
    """The op with other operands and blocks; the same op where nothing changes."""
    changed: dict[str, Any] = {}
    for name, role in roles(type(op)):
        if role == "attribute":
            continue
        old = getattr(op, name)
        if role == "operands":
            new = tuple(map(value, old))
        else:
            new = block(old) if role == "block" else value(old)
        if new != old:
            changed[name] = new
    return replace(op, **changed) if changed else op


# --------------------------------------------------------------------------------------- transforms

FuncKind: TypeAlias = Literal["kernel", "func", "compute"]
"""Kernels, device functions, compute functions: what `Func.kind` can be."""

FUNC_KINDS: tuple[FuncKind, ...] = ("kernel", "func", "compute")


@dataclass(frozen=True, slots=True)
class Transform:
    """A named pure function from model to model, for functions of some kinds.

    `Transform("fold_constants", fold, ("kernel", "func"))` changes kernels and device functions.
    The result has the same name and the same parameters, and for the same model it is the same
    each time.
    """

    name: str
    change: Callable[[Func], Func]
    kinds: tuple[FuncKind, ...]

    def __call__(self, func: Func) -> Func:
        """The changed function; one of another kind as it is."""
        return self.change(func) if func.kind in self.kinds else func


def transform(
    kind: FuncKind, /, *others: FuncKind
) -> Callable[[Callable[[Func], Func]], Transform]:
    """Make a transform of a function, which gives it its name; it is for functions of these kinds.

    >>> @transform("kernel", "func")
    ... def without_prints(func: Func) -> Func:
    ...     return rewrite(func, lambda op, out: isinstance(op, Print) or out.emit(op))

    `Accelerator(transforms=[without_prints])` applies it.
    """
    kinds = (kind, *others)
    for one in kinds:
        choice("kind", one, FUNC_KINDS)

    def made(change: Callable[[Func], Func]) -> Transform:
        return Transform(change.__name__, change, kinds)

    return made
