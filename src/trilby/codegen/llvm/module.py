"""A kernel graph as one module of LLVM IR."""

from trilby.analysis.reach import KernelGraph, short_name
from trilby.analysis.spans import Spans
from trilby.codegen.llvm import tallies
from trilby.codegen.llvm.entry import read_arguments, read_launch, write_groups, write_rows
from trilby.codegen.llvm.forwarding import forward
from trilby.codegen.llvm.generated import LlvmModule
from trilby.codegen.llvm.inlining import inline
from trilby.codegen.llvm.neighbours import neighbours_of
from trilby.codegen.llvm.rules import OP_RULES
from trilby.codegen.llvm.shapes import IN_GROUP, shapes_of
from trilby.codegen.llvm.source_lines import SourceLines
from trilby.codegen.llvm.target import LlvmTarget
from trilby.codegen.llvm.widths import lanes_for
from trilby.codegen.llvm.writer import Analysed, KernelWriter
from trilby.codegen.names import own_name
from trilby.model.op import Func, Op, walk
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.ops.memory import LocalArray


def generate(graph: KernelGraph, target: LlvmTarget, *, lines: bool = False) -> LlvmModule:
    """Write a kernel and all that it reaches; `lines` tells which Python each part comes from."""
    *called, func = map(forward, inline(graph))
    spans = Spans(func)
    analysed = Analysed(func, shapes_of(func, spans), spans, neighbours_of(func))
    lanes = target.width_bits // 32 if called else lanes_for(analysed, target)
    writer = KernelWriter(analysed, target, lanes, OP_RULES)
    writer.waits = any(isinstance(op, Barrier) for op in walk(func.body))
    if lines:
        writer.source_lines = SourceLines(graph.entry)
    functions = _called_functions(writer, called, analysed)
    launch = read_launch(writer)
    read_arguments(writer)
    writer.end_prelude()
    if writer.waits:
        from trilby.codegen.llvm.waiting import write_waiting_groups  # noqa: PLC0415 -- few wait

        write_waiting_groups(writer, launch, shapes_of(func, spans, IN_GROUP))
    else:
        copies = tallies.begin(writer, launch)
        write_groups(writer, launch, lambda starts, ends: write_rows(writer, starts, ends))
        tallies.end(writer, copies)
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


def _called_functions(writer: KernelWriter, called: list[Func], entry: Analysed) -> list[str]:
    """The texts of the functions that a kernel calls; most kernels call none."""
    if not called:
        return []
    from trilby.codegen.llvm.calls import analysed_callees, write_callees  # noqa: PLC0415 -- few

    return write_callees(writer, analysed_callees(called, entry))


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
