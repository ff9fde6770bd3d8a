"""Variables whose content is known where they are read: the read becomes that value.

A variable hides what is known of its content (that it is the same for all work items, or evenly
spaced), so the fewer reads there are, the better.
"""

from dataclasses import replace

from trilby.model.op import Block, Func, Op, block_fields, walk
from trilby.model.ops.control import For, While
from trilby.model.ops.core import Var, VarLoad, VarStore
from trilby.model.rewrite import mapped
from trilby.model.value import Value


def forward_variables(func: Func) -> Func:
    """The function with fewer reads of variables, and without variables that nobody reads."""
    if not any(isinstance(op, Var) for op in walk(func.body)):
        return func
    body = _Forwarding().block(func.body, {})
    read = {op.var for op in walk(body) if isinstance(op, VarLoad)}
    return replace(func, body=_without_unread(body, read))


class _Forwarding:
    def __init__(self) -> None:
        self._same: dict[Value, Value] = {}

    def block(self, block: Block, content: dict[Value, Value]) -> Block:
        """A block; `content` is what variables hold, and is kept up to date."""
        ops = [made for op in block.ops if (made := self._op(op, content)) is not None]
        return Block(tuple(ops), block.params)

    def _op(self, op: Op, content: dict[Value, Value]) -> Op | None:
        if isinstance(op, VarLoad) and op.var in content:
            self._same[op.value] = content[op.var]
            return None
        changed = _stored(op)
        inside = {k: v for k, v in content.items() if k not in changed or not _repeats(op)}
        made = mapped(op, self._current, lambda inner: self.block(inner, dict(inside)))
        for var in changed:
            content.pop(var, None)
        if isinstance(made, VarStore):
            content[made.var] = made.stored
        elif isinstance(made, Var) and made.init:
            content[made.value] = made.init[0]
        return made

    def _current(self, value: Value) -> Value:
        return self._same.get(value, value)


def _stored(op: Op) -> set[Value]:
    """The variables that are set within an op."""
    blocks: list[Block] = [getattr(op, name) for name in block_fields(type(op))]
    return {inner.var for b in blocks for inner in walk(b) if isinstance(inner, VarStore)}


def _repeats(op: Op) -> bool:
    return isinstance(op, For | While)


def _without_unread(block: Block, read: set[Value]) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        if isinstance(op, Var) and op.value not in read:
            continue
        if isinstance(op, VarStore) and op.var not in read:
            continue
        inner = {name: _without_unread(getattr(op, name), read) for name in block_fields(type(op))}
        ops.append(replace(op, **inner) if inner else op)
    return Block(tuple(ops), block.params)
