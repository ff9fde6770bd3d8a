"""Where the values of a function are used, as far as it matters for writing expressions."""

from collections import Counter
from collections.abc import Iterator

from trilby.model.op import Block, Func, blocks, operands
from trilby.model.value import Value


def count_uses(func: Func) -> tuple[Counter[Value], set[Value]]:
    """How often each value is used, and which values in another block than the one they are from.

    Parameters are from no block.
    """
    count: Counter[Value] = Counter()
    elsewhere: set[Value] = set()
    home: dict[Value, Block] = {}
    for block in all_blocks(func.body):
        home |= {op.result: block for op in block.ops if op.result is not None}
    for block in all_blocks(func.body):
        for op in block.ops:
            for value in operands(op):
                count[value] += 1
                if home.get(value) is not block:
                    elsewhere.add(value)
    return count, elsewhere


def all_blocks(block: Block) -> Iterator[Block]:
    """A block and those within it."""
    yield block
    for op in block.ops:
        for inner in blocks(op):
            yield from all_blocks(inner)
