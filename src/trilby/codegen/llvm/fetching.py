"""Memory that the next group will need, asked for while this one computes.

Processors see for themselves what a loop reads next, up to the end of a page. A group that waits at
barriers reads little, computes, and leaves memory idle meanwhile: so what it reads or writes once,
in order, is asked for on behalf of the group behind it. Asking for what is not there does no harm.
"""

from trilby.codegen.llvm.lanes import Lanes
from trilby.codegen.llvm.writer import KernelWriter
from trilby.model.ops.memory import Load, Store
from trilby.model.value import space_of

LINE = 64
"""The bytes of a line of the cache, on most processors."""

MOST_LINES = 8
"""The lines that the lanes of one access may lie in."""


def fetch_ahead(writer: KernelWriter, op: Load | Store, pointer: Lanes) -> None:
    """Ask for the place of an access in the next group, if this one comes by here once."""
    lines = (pointer.stride or 0) * writer.lanes // LINE
    if not writer.next_group or not 0 < lines <= MOST_LINES or writer.mask is not None:
        return
    if space_of(op.base.type) != "global" or any(scope.is_loop for scope in writer.scopes):
        return
    writer.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    distance = writer.let(f"mul i64 {writer.next_group}, {pointer.stride}")
    there = writer.let(f"getelementptr i8, ptr {pointer.text}, i64 {distance}", "p")
    kind = 1 if isinstance(op, Store) else 0
    for line in range(lines):
        place = writer.moved(there, line * LINE)
        writer.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 {kind}, i32 3, i32 1)")
