"""Variables whose content is known where they are read: the read becomes that value.

A variable hides what is known of its content (that it is the same for all work items, or evenly
spaced), so the fewer reads there are, the better.

```
n = kc.x * 2    # a variable of the model
b[n] = a[n]     # both reads of `n` become the product itself, and nobody needs the variable
```
"""

from dataclasses import replace

from trilby.model.op import Block, Func, Op, blocks, walk
from trilby.model.ops.control import For, While
from trilby.model.ops.core import Var, VarLoad, VarStore
from trilby.model.rewrite import mapped, with_blocks
from trilby.model.value import Value


def forward_variables(func: Func) -> Func:
    """The function with fewer reads of variables, and without variables that nobody reads."""
    if not any(isinstance(op, Var) for op in walk(func.body)):
        return func
    same: dict[Value, Value] = {}
    """The results of the reads that are left out, and what they are."""

    def forwarded(block: Block, content: dict[Value, Value]) -> Block:
        """A block; `content` is what variables hold, and is kept up to date."""
        ops = [made for op in block.ops if (made := forwarded_op(op, content)) is not None]
        return Block(tuple(ops), block.params)

    def forwarded_op(op: Op, content: dict[Value, Value]) -> Op | None:
        if isinstance(op, VarLoad) and op.var in content:
            same[op.value] = content[op.var]
            return None
        inner = (one for block in blocks(op) for one in walk(block))
        changed = {one.var for one in inner if isinstance(one, VarStore)}
        lost = changed if isinstance(op, For | While) else ()
        inside = {var: value for var, value in content.items() if var not in lost}
        made = mapped(op, lambda v: same.get(v, v), lambda block: forwarded(block, dict(inside)))
        for var in changed:
            content.pop(var, None)
        if isinstance(made, VarStore):
            content[made.var] = made.stored
        elif isinstance(made, Var) and made.init:
            content[made.value] = made.init[0]
        return made

    body = forwarded(func.body, {})
    read = {op.var for op in walk(body) if isinstance(op, VarLoad)}

    def is_read(op: Op) -> bool:
        var = op.var if isinstance(op, VarStore) else op.result
        return not isinstance(op, Var | VarStore) or var in read

    def without_unread(block: Block) -> Block:
        ops = tuple(with_blocks(op, without_unread) for op in block.ops if is_read(op))
        return Block(ops, block.params)

    return replace(func, body=without_unread(body))
