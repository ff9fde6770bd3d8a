"""`assert` and `print`: what a kernel says while it runs."""

from trilby.codegen.checked_types import scalar
from trilby.codegen.llvm.arithmetic import to_storage
from trilby.codegen.llvm.ir import BIT
from trilby.codegen.llvm.writer import KernelWriter
from trilby.model.ops.debug import Assert, Print


def assertion(writer: KernelWriter, op: Assert) -> None:
    """Where an assertion fails in a lane, it is reported, and the vector goes no further.

    Work items that wait for each other go on to the end, since the others wait for them.
    """
    if op not in writer.numbers:  # it may be written several times
        writer.asserts.append((op.message, op.location))
        writer.numbers[op] = len(writer.asserts)
    condition = writer.take(op.condition)
    failed = writer.both(writer.lanes_on, writer.flipped(writer.spread(condition)))
    report, go_on = writer.fresh("failed"), writer.fresh("holds")
    writer.branch(writer.any(failed), report, go_on)
    writer.label(report)
    _report(writer, writer.numbers[op], failed)
    writer.note_failure()
    writer.jump(go_on if writer.waits else writer.scopes[0].end)
    writer.label(go_on)


def _report(writer: KernelWriter, number: int, failed: str) -> None:
    """The first failure of all leaves its number, and the ids of its first lane."""
    text = f"cmpxchg ptr {writer.report}, i32 0, i32 {number} monotonic monotonic"
    is_first = writer.let(f"extractvalue {{ i32, i1 }} {writer.let(text)}, 1")
    first, told = writer.fresh("first"), writer.fresh("told")
    writer.branch(is_first, first, told)
    writer.label(first)
    lane = writer.first_lane(writer.bits(failed))
    for place, axis in enumerate("xyz", 1):
        ids = writer.spread(writer.grid[axis])
        own = writer.in_lane("i32", ids, lane)
        target = writer.let(f"getelementptr i32, ptr {writer.report}, i64 {place}")
        writer.store("i32", own, target)
    writer.label(told)


def print_line(writer: KernelWriter, op: Print) -> None:
    """Each lane that runs hands its numbers over."""
    types = tuple(scalar(arg.type) for arg in op.args)
    if op not in writer.numbers:
        writer.prints.append((op.form, types))
        writer.numbers[op] = len(writer.prints) - 1
    kept = [
        to_storage(writer, writer.take(arg), type_)
        for arg, type_ in zip(op.args, types, strict=True)
    ]
    slots = writer.alloca(f"[{max(len(kept), 1)} x i64]")
    on = writer.lanes_on
    hand_over = writer.let(f"load ptr, ptr {writer.printer}")
    for lane in range(writer.lanes):
        say, said = writer.fresh("say"), writer.fresh("said")
        bit = writer.in_lane(BIT, on, f"i64 {lane}")
        writer.branch(bit, say, said)
        writer.label(say)
        for place, number in enumerate(kept):
            target = writer.let(f"getelementptr i64, ptr {slots}, i64 {place}")
            own = writer.in_lane(number.kind, writer.spread(number), f"i64 {lane}")
            writer.store(number.kind, own, target)
        numbers = f"i64 {writer.numbers[op]}, i64 {len(kept)}, ptr {slots}"
        writer.line(f"call void {hand_over}(ptr {writer.printer}, {numbers})")
        writer.label(said)
