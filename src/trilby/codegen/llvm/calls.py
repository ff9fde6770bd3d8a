"""Device functions that stay functions: how they are called, and how they are written.

Such a function is called by a whole vector of work items. It gets the launch, the memory of the
call (no function calls itself, so its arrays have one place), the ids of the vector, and pointers
to the mask, to each part of each argument and to each part of the result. It gives back whether an
`assert` failed in it.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from trilby.analysis.reach import short_name
from trilby.analysis.spans import Spans
from trilby.codegen.identifiers import own_name
from trilby.codegen.llvm.entry import AXES, read_launch
from trilby.codegen.llvm.ir import BIT, Lanes, part_kinds
from trilby.codegen.llvm.neighbours import neighbours_of
from trilby.codegen.llvm.shapes import IN_ROW, Parts, joined, shapes_of
from trilby.codegen.llvm.writer import (
    Analysed,
    KernelWriter,
    Scope,
    Scratch,
    VariableSlot,
    can_interleave,
)
from trilby.model.op import Block, Func, walk
from trilby.model.ops.core import Call, Inlined
from trilby.model.value import KERNEL_CONTEXT, NONE, Value

IDS = tuple(f"{prefix}{axis}" for prefix in ("", "local_", "group_") for axis in AXES)
"""The fields of the context that differ between the vectors of a launch."""


def analysed_callees(
    functions: Sequence[Func], entry: Analysed, asserting: Collection[str]
) -> list[Analysed]:
    """What is known of some functions, callees first, and of what they are given.

    A part of an argument has the same step from lane to lane in all calls, or any. `asserting` are
    the functions in which an `assert` may fail.
    """
    functions = [_as_one_op(function) for function in functions]
    given: dict[str, list[Parts]] = {}
    _note_calls(given, entry)
    found: list[Analysed] = []
    for number, function in reversed(list(enumerate(functions))):
        params = dict(zip(function.params, given[function.name], strict=True))
        spans = Spans(function)
        shapes = shapes_of(function, spans, params=params)
        symbol = f"{own_name(short_name(function.name))}.{number}"
        asserts = function.name in asserting
        rows = neighbours_of(function)
        found.append(Analysed(function, shapes, spans, rows, symbol, params, asserts))
        _note_calls(given, found[-1])
    return found[::-1]


def _as_one_op(function: Func) -> Func:
    """The function with its body in one `inlined` op, whose result is what it returns."""
    result = None if function.result == NONE else Value(function.result, "result")
    whole = Inlined(function.body, function.name, result=result, location=function.location)
    return replace(function, body=Block((whole,)))


def _note_calls(given: dict[str, list[Parts]], caller: Analysed) -> None:
    for op in walk(caller.func.body):
        if isinstance(op, Call):
            parts = [caller.shapes.of(value) for value in op.args]
            known = given.get(op.callee)
            given[op.callee] = parts if known is None else list(map(joined, known, parts))


# -- calls --------------------------------------------------------------------------------


def call(writer: KernelWriter, op: Call) -> None:
    """Call a function with the lanes that run."""
    callee = writer.callees[op.callee]
    passed = ["ptr %launch", f"ptr {'%scratch' if writer.scratch.fixed else 'null'}"]
    passed += [f"i32 {writer.grid[name].text}" for name in IDS]
    passed.append(f"ptr {writer.mask_memory()}")
    for param, argument in zip(callee.func.params, op.args, strict=True):
        if param.type != KERNEL_CONTEXT:
            slots = writer.slots(param.type, callee.params[param])
            writer.fill(slots, writer.values[argument])
            passed += [f"ptr {slot.pointer}" for slot in slots]
    results: list[VariableSlot] = []
    if op.result is not None:
        results = writer.slots(op.result.type, (None,) * len(part_kinds(op.result.type)))
    passed += [f"ptr {slot.pointer}" for slot in results]
    where = writer.attached
    if writer.source_lines is not None and not where:
        writer.attached = writer.source_lines.somewhere()
    failed = writer.let(f"call i1 @{callee.symbol}({', '.join(passed)})")
    writer.attached = where
    if callee.asserts and not writer.waits:  # after a failed `assert`, a vector goes no further
        stop, go_on = writer.fresh("failed"), writer.fresh("holds")
        writer.branch(failed, stop, go_on)
        writer.label(stop)
        writer.note_failure()
        writer.jump(writer.scopes[0].end)
        writer.label(go_on)
    writer.give(op, *writer.read(results))


# -- functions ----------------------------------------------------------------------------


def write_callees(kernel: KernelWriter, callees: Sequence[Analysed]) -> list[str]:
    """The text of each function that a kernel calls, itself or through others."""
    everything = [kernel.func, *(callee.func for callee in callees)]
    kernel.interleaved = all(map(can_interleave, everything))
    kernel.callees = {callee.func.name: callee for callee in callees}
    return [_function(kernel, callee) for callee in callees]


def _function(kernel: KernelWriter, callee: Analysed) -> str:
    func = callee.func
    writer = KernelWriter(callee, kernel.target, kernel.lanes, kernel.rules)
    writer.share_with(kernel)
    writer.scratch = Scratch(fixed=kernel.scratch.fixed)
    attached = ""
    if kernel.source_lines is not None:
        writer.source_lines = kernel.source_lines.of_function(func)
        attached = f" !dbg !{writer.source_lines.scope}"
    params = ["ptr %launch", "ptr %scratch", *(f"i32 %{name}" for name in IDS), "ptr %mask"]
    read_launch(writer)
    for name in IDS:
        writer.grid[name] = Lanes("i32", f"%{name}", IN_ROW.get(name, 0))
    for number, param in enumerate(func.params):
        kinds = zip(part_kinds(param.type), callee.params[param], strict=True)
        slots = [
            VariableSlot(f"%a{number}.{n}", kind, step) for n, (kind, step) in enumerate(kinds)
        ]
        writer.values[param] = writer.read(slots)
        params += [f"ptr {slot.pointer}" for slot in slots]
    if callee.asserts:
        writer.failed = writer.alloca(BIT)
        writer.store(BIT, "false", writer.failed)
    (whole,) = func.body.ops
    scope = Scope(writer.fresh("function_done"))
    with writer.masked(writer.load(writer.vector(BIT), "%mask")):
        writer.scopes.append(scope)
        writer.block(func.body, scope.end)
        writer.scopes.pop()
        if whole.result is not None:
            kinds = part_kinds(whole.result.type)
            results = [VariableSlot(f"%r{n}", kind, None) for n, kind in enumerate(kinds)]
            writer.fill(results, writer.values[whole.result])
            params += [f"ptr {slot.pointer}" for slot in results]
    writer.label(scope.end)
    failed = writer.load(BIT, writer.failed) if writer.failed else "false"
    kernel.scratch.fixed = writer.scratch.fixed
    lines = [*writer.head, *writer.scratch.lines, *writer.lines, f"  ret i1 {failed}"]
    head = f"define internal i1 @{callee.symbol}({', '.join(params)}) #2{attached} {{"
    return "\n".join([head, "begin:", *lines, "}"])
