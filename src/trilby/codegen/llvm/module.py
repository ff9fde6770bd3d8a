"""A kernel graph as one module of LLVM IR."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypeGuard

from trilby.analysis.reach import KernelGraph, reaching, short_name
from trilby.analysis.spans import Spans
from trilby.codegen.checked_types import expect
from trilby.codegen.identifiers import own_name
from trilby.codegen.llvm.calls import analysed_callees, write_callees
from trilby.codegen.llvm.emitters import OP_RULES
from trilby.codegen.llvm.entry import (
    all_groups,
    all_rows,
    counting,
    read_arguments,
    read_launch,
    write_items,
    write_row,
)
from trilby.codegen.llvm.groups import write_waiting_groups
from trilby.codegen.llvm.ir import POINTER, Lanes
from trilby.codegen.llvm.neighbours import neighbours_of
from trilby.codegen.llvm.shapes import IN_GROUP, shapes_of
from trilby.codegen.llvm.target import LlvmModule, LlvmTarget
from trilby.codegen.llvm.writer import Analysed, KernelWriter, SourceLines
from trilby.data.dtypes import ScalarType
from trilby.data.schema import NDArrayType
from trilby.model.op import Block, Func, Op, operands, walk
from trilby.model.ops.control import For, While
from trilby.model.ops.core import VarLoad, VarStore
from trilby.model.ops.debug import Assert
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.ops.memory import AtomicUpdate, Extent, LocalArray
from trilby.model.value import KERNEL_CONTEXT, Value

# ------------------------------------------------------------------------------------------- widths
# How many work items run at once.
#
# A step of arithmetic takes several cycles, and the next one of a sum waits for it: what is
# computed for several vectors of work items in turn fills that time, as long as registers last.

LONG_KERNEL = 250
"""How many values a kernel may compute to be run in two vectors at once."""

LIGHT_LOOP = 2
"""How many vectors a loop may keep in registers to be run for four vectors of work items."""


def lanes_for(analysed: Analysed, target: LlvmTarget) -> int:
    """How many work items run at once: two vectors of 32 bits, or four for sums in light loops.

    One vector is enough where it is a wide one, where numbers have 64 bits and fill two, and where
    a kernel is so long that compiling it takes longer than it saves.
    """
    lanes = target.width_bits // 32
    ops = list(walk(analysed.func.body))
    kinds = [op.result.type for op in ops if op.result is not None]
    wide = sum(isinstance(kind, ScalarType) and kind.bits == 64 for kind in kinds)
    if target.width_bits >= 512 or wide * 3 > len(kinds) or len(kinds) > LONG_KERNEL:
        return lanes
    return lanes * 4 if _only_sums(analysed, ops) else lanes * 2


def _only_sums(analysed: Analysed, ops: list[Op]) -> bool:
    """Whether all loops are run by all lanes, and keep few numbers that differ between them.

    Groups of kernels with barriers often have short rows, which would fill no such vectors.
    """
    loops = [op for op in ops if isinstance(op, For | While)]
    if not loops or any(isinstance(op, Barrier) for op in ops):
        return False
    if any(loop in analysed.shapes.divergent for loop in loops):
        return False
    return all(_kept(analysed, loop.body) <= LIGHT_LOOP for loop in loops)


def _kept(analysed: Analysed, body: Block) -> int:
    """How many numbers of a loop differ between lanes and are kept from turn to turn."""
    inside = list(walk(body))
    made = {op.result for op in inside if op.result is not None}
    used = {value for op in inside for value in operands(op) if value not in made}
    used |= {op.var for op in inside if isinstance(op, VarLoad | VarStore)}
    return sum(None in analysed.shapes.of(value) for value in used)


# ------------------------------------------------------------------------------------------ tallies
# Small arrays that a kernel only adds to: each call adds to a copy, which is added at its end.
#
# Additions of integers give the same in any order, and nobody looks at an array while a kernel
# runs that does nothing but add to it. So threads need not fight for its places, as in a
# histogram. Whether it is worth it, and whether no other argument overlaps the array, is decided
# by each call.

MOST_BYTES = 1 << 14
"""The largest array that is copied: it lies on the stack."""

ITEMS_PER_ELEMENT = 4
"""How many work items a call has at the least for each element, to be worth a copy."""


@contextmanager
def tallied(writer: KernelWriter, launch: dict[str, str]) -> Generator[None]:
    """Within, such arrays are copies where that is worth it; at the end these are added to them."""
    params = _candidates(writer.func)
    shared = [writer.values[param][0].text for param in params]
    copies = [_copied(writer, launch, param) for param in params]
    yield
    for pointer, (own, count, is_own, kind) in zip(shared, copies, strict=True):
        add, done = writer.fresh("add_copy"), writer.fresh("copy_done")
        writer.branch(is_own, add, done)
        writer.label(add)
        with counting(writer, count) as place:
            element = f"getelementptr {kind}, ptr {{}}, i64 {place}"
            number = writer.load(kind, writer.let(element.format(own)))
            some, none = writer.fresh("some"), writer.fresh("none")
            writer.branch(writer.let(f"icmp ne {kind} {number}, 0"), some, none)
            writer.label(some)
            target = writer.let(element.format(pointer))
            writer.line(f"atomicrmw add ptr {target}, {kind} {number} monotonic")
            writer.label(none)
        writer.label(done)


def _candidates(func: Func) -> list[Value]:
    """The n-d arrays of integers that are only added to, if nothing else is in the way."""
    ops = list(walk(func.body))
    given = [param for param in func.params if param.type != KERNEL_CONTEXT]
    if any(isinstance(op, Barrier) for op in ops):
        return []
    if not all(isinstance(param.type, NDArrayType | ScalarType) for param in given):
        return []
    used = {value for op in ops for value in operands(op)}
    added = {op.base for op in ops if _only_adds(op, used)}
    others = [op for op in ops if not _only_adds(op, used) and not isinstance(op, Extent)]
    touched = {value for op in others for value in operands(op)}
    return [param for param in given if param in added and param not in touched]


def _only_adds(op: Op, used: set[Value]) -> TypeGuard[AtomicUpdate]:
    if not isinstance(op, AtomicUpdate) or not isinstance(op.operand.type, ScalarType):
        return False
    is_whole = op.operand.type.is_integer and op.operand.type.bits >= 32
    return is_whole and op.change in {"add", "sub"} and op.result not in used


def _copied(
    writer: KernelWriter, launch: dict[str, str], param: Value
) -> tuple[str, str, str, str]:
    """A cleared copy of an array, its element count, the bit that says it is used, and its kind."""
    size = expect(NDArrayType, param.type).element.size
    kind = f"i{8 * size}"
    pointer = writer.values[param][0].text
    count = _elements(writer, param)
    nbytes = writer.let(f"mul i64 {count}, {size}")
    is_own = writer.let(f"icmp ule i64 {nbytes}, {MOST_BYTES}")
    items = "%count"
    for axis in "xyz":
        items = writer.let(f"mul i64 {items}, {launch[f'local_{axis}']}")
    enough = writer.let(f"mul i64 {count}, {ITEMS_PER_ELEMENT}")
    is_enough = writer.let(f"icmp uge i64 {items}, {enough}")
    is_own = writer.let(f"and i1 {is_own}, {is_enough}")
    for other in writer.func.params:
        if other is not param and isinstance(other.type, NDArrayType):
            is_apart = _is_apart(writer, pointer, nbytes, other)
            is_own = writer.let(f"and i1 {is_own}, {is_apart}")
    own = writer.alloca(f"[{MOST_BYTES} x i8]", 64)
    clear, done = writer.fresh("clear_copy"), writer.fresh("copy_clear")
    writer.branch(is_own, clear, done)
    writer.label(clear)
    how = ("i8", "0"), ("i64", nbytes), ("i1", "false")
    writer.intrinsic("void", "memset.p0.i64", ("ptr", own), *how)
    writer.label(done)
    base = writer.let(f"select i1 {is_own}, ptr {own}, ptr {pointer}")
    writer.values[param] = (Lanes(POINTER, base), *writer.values[param][1:])
    writer.tallies[param] = is_own
    return own, count, is_own, kind


def _elements(writer: KernelWriter, param: Value) -> str:
    """How many elements an n-d array has."""
    total = "1"
    for extent in writer.values[param][1:]:
        wide = writer.let(f"zext i32 {extent.text} to i64")
        total = writer.let(f"mul i64 {total}, {wide}")
    return total


def _is_apart(writer: KernelWriter, pointer: str, size_in_bytes: str, other: Value) -> str:
    """Whether an array shares no byte with another one."""
    size = expect(NDArrayType, other.type).element.size
    nbytes = writer.let(f"mul i64 {_elements(writer, other)}, {size}")
    first = writer.let(f"ptrtoint ptr {pointer} to i64")
    second = writer.let(f"ptrtoint ptr {writer.values[other][0].text} to i64")
    is_before = writer.let(
        f"icmp ule i64 {writer.let(f'add i64 {first}, {size_in_bytes}')}, {second}"
    )
    is_behind = writer.let(f"icmp ule i64 {writer.let(f'add i64 {second}, {nbytes}')}, {first}")
    return writer.let(f"or i1 {is_before}, {is_behind}")


# ------------------------------------------------------------------------------------------- module


def generate(graph: KernelGraph, target: LlvmTarget, *, lines: bool = False) -> LlvmModule:
    """Write a kernel and all that it reaches; `lines` tells which Python each part comes from.

    The graph went through the `TRANSFORMS` of `codegen.llvm.target`.
    """
    *called, func = graph.functions
    spans = Spans(func)
    analysed = Analysed(func, shapes_of(func, spans), spans, neighbours_of(func))
    lanes = target.width_bits // 32 if called else lanes_for(analysed, target)
    writer = KernelWriter(analysed, target, lanes, OP_RULES)
    writer.waits = any(isinstance(op, Barrier) for op in walk(func.body))
    if lines:
        writer.source_lines = SourceLines(graph.entry)
    asserting = reaching(graph, Assert)
    functions = write_callees(writer, analysed_callees(called, analysed, asserting))
    launch = read_launch(writer)
    read_arguments(writer)
    writer.end_prelude()
    if writer.waits:
        write_waiting_groups(writer, launch, shapes_of(func, spans, IN_GROUP))
    else:
        with (
            tallied(writer, launch),
            all_groups(writer, launch) as (starts, ends),
            all_rows(writer, starts, ends),
        ):
            write_row(writer, starts[0], ends[0], lambda _, mask: write_items(writer, mask))
    writer.finish()
    entry = own_name(short_name(graph.entry.name))
    return LlvmModule(
        _text(writer, target, entry, functions),
        entry,
        lanes,
        writer.scratch.fixed,
        writer.scratch.in_chunks,
        not any(_sees_groups(op) for one in (*called, func) for op in walk(one.body)),
        asserts=tuple(writer.asserts),
        prints=tuple(writer.prints),
    )


def _sees_groups(op: Op) -> bool:
    is_field = isinstance(op, Grid) and op.field.startswith(("local_", "group_"))
    return is_field or isinstance(op, Barrier | LocalArray)


_ATTRIBUTES = """\
attributes #0 = {{ nounwind "prefer-vector-width"="{0}" "min-legal-vector-width"="{0}" }}
attributes #1 = {{ nounwind willreturn memory(none) }}
attributes #2 = {{ nounwind noinline "prefer-vector-width"="{0}" "min-legal-vector-width"="{0}" }}
attributes #3 = {{ nounwind willreturn memory(none) "prefer-vector-width"="{0}" \
"min-legal-vector-width"="{0}" }}
!0 = !{{}}
!1 = distinct !{{!1, !2}}
!2 = !{{!"llvm.loop.unroll.disable"}}"""


def _text(writer: KernelWriter, target: LlvmTarget, entry: str, functions: list[str]) -> str:
    params = "ptr %args, ptr %launch, i64 %first, i64 %count"
    function = [
        f"define void @{entry}({params}) #0 {'!dbg !14 ' if writer.source_lines else ''}{{",
        "begin:",
        *writer.head,
        *writer.lines,
        "}",
    ]
    parts = [
        f'target triple = "{target.triple}"',
        "\n".join(writer.declarations),
        *writer.definitions.values(),
        *functions,
        "\n".join(function),
        _ATTRIBUTES.format(target.width_bits),
        writer.source_lines.metadata(entry) if writer.source_lines else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"
