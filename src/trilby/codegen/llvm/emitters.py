"""How each op is written: the table of all ops that a kernel may have."""

from trilby.codegen.checked_types import scalar
from trilby.codegen.llvm import (
    arithmetic,
    atomics,
    calls,
    control_flow,
    debugging,
    loads_and_stores,
    mathematics,
)
from trilby.codegen.llvm.addresses import pointer_of, size
from trilby.codegen.llvm.ir import constant
from trilby.codegen.llvm.writer import Rules
from trilby.model.ops import arith, control, core, debug, grid, memory, structs

OP_RULES: Rules = {
    core.Constant: lambda writer, op: writer.give(op, constant(op.literal, scalar(op.value.type))),
    grid.Grid: lambda writer, op: writer.give(op, writer.grid[op.field]),
    **dict.fromkeys(arith.BINARIES, arithmetic.binary),
    arith.Pow: mathematics.power,
    **dict.fromkeys(arith.COMPARES, arithmetic.compare),
    **dict.fromkeys(arith.UNARIES, arithmetic.unary),
    arith.Cast: arithmetic.cast,
    arith.Math: mathematics.math,
    memory.Load: loads_and_stores.load,
    memory.Store: loads_and_stores.store,
    memory.Place: lambda writer, op: writer.give(op, pointer_of(writer, op)),
    memory.Extent: lambda writer, op: writer.give(op, size(writer, op.base, f"shape{op.axis}")),
    memory.AtomicUpdate: atomics.atomic,
    memory.CompareExchange: atomics.compare_exchange,
    memory.LocalArray: loads_and_stores.array,
    memory.PrivateArray: loads_and_stores.array,
    # A struct as a value is its numbers.
    structs.Pack: lambda writer, op: writer.give(op, *map(writer.take, op.parts)),
    structs.Unpack: loads_and_stores.unpack,
    debug.Assert: debugging.assertion,
    debug.Print: debugging.print_line,
    core.Var: control_flow.var,
    core.VarLoad: lambda writer, op: writer.give(op, *writer.read(writer.variables[op.var])),
    core.VarStore: control_flow.var_store,
    core.Inlined: control_flow.inlined,
    core.Call: calls.call,
    core.Return: control_flow.return_,
    control.Break: control_flow.leave_loop,
    control.Continue: control_flow.leave_loop,
    control.If: control_flow.if_,
    control.Ternary: control_flow.ternary,
    control.AndThen: control_flow.short_circuit,
    control.OrElse: control_flow.short_circuit,
    control.For: control_flow.for_,
    control.While: control_flow.while_,
}
