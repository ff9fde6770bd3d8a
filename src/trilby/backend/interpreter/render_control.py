"""What variables, calls, control flow and the kernel context mean, as Python statements."""

from trilby.backend.interpreter.python_writer import (
    PythonFunctionWriter,
    Renderer,
    known,
    no_meaning,
    scalar,
)
from trilby.backend.interpreter.render_arith import literal_text
from trilby.data.dtypes import BOOL
from trilby.data.kernel_context import GRID_FIELDS
from trilby.data.schema import StructType, leaves
from trilby.errors import BuildError
from trilby.model.op import Op
from trilby.model.ops.control import (
    AndThen,
    Break,
    Continue,
    For,
    If,
    OrElse,
    Ternary,
    While,
)
from trilby.model.ops.core import Call, Constant, Return, Var, VarLoad, VarStore, Yield
from trilby.model.ops.debug import Assert, Print
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.ops.structs import Pack, Unpack

# ------------------------------------------------------------------------------------- render group
# What structs as values, barriers, `assert` and `print` mean, as Python statements.
#
# A struct value is the tuple of its leaves. A function that waits at a barrier is a generator: it
# yields the number of the barrier, and goes on when all work items of its group are there.


def _pack(writer: PythonFunctionWriter, op: Pack) -> None:
    parts = "".join(f"{writer.name(part)}, " for part in op.parts)
    writer.assign(op, f"({parts})")


def _unpack(writer: PythonFunctionWriter, op: Unpack) -> None:
    whole = op.whole.type
    if not isinstance(whole, StructType):
        raise no_meaning(op, whole)
    number = [leaf.name for leaf in leaves(whole)].index(op.leaf)
    writer.assign(op, f"{writer.name(op.whole)}[{number}]")


def _barrier(writer: PythonFunctionWriter, op: Barrier) -> None:
    """What is yielded tells the barriers of a kernel apart."""
    writer.line(f"yield {(writer.function.name, len(writer.lines))!r}", op)


def _assert(writer: PythonFunctionWriter, op: Assert) -> None:
    condition = writer.name(op.condition)
    writer.line(f"if not {condition}: raise AssertionFailedError({op.message!r})", op)


def _print(writer: PythonFunctionWriter, op: Print) -> None:
    args = "".join(
        f", bool({name})" if arg.type is BOOL else f", {name}"
        for arg, name in zip(op.args, map(writer.name, op.args), strict=True)
    )
    writer.line(f"say({op.form!r}{args})", op)


# ----------------------------------------------------------------------------------- render control

ITEM_FIELDS = ("x", "y", "z", "local_x", "local_y", "local_z")
"""What differs within a group; all other fields of the context belong to the group."""


def _constant(writer: PythonFunctionWriter, op: Constant) -> None:
    writer.define(op.value, literal_text(op.literal, scalar(op, op.value.type)))


def _var(writer: PythonFunctionWriter, op: Var) -> None:
    """A variable is a Python variable; without a first content it is unbound until stored."""
    name = writer.temporary(op.name)
    writer.define(op.value, name)
    for init in op.init:
        writer.line(f"{name} = {writer.name(init)}", op)


def _var_load(writer: PythonFunctionWriter, op: VarLoad) -> None:
    writer.assign(op, writer.name(op.var))


def _var_store(writer: PythonFunctionWriter, op: VarStore) -> None:
    writer.line(f"{writer.name(op.var)} = {writer.name(op.stored)}", op)


def _call(writer: PythonFunctionWriter, op: Call) -> None:
    name = writer.functions.get(op.callee)
    if name is None:
        raise BuildError(
            f"the kernel's graph has no function `{op.callee}`", location=known(op.location)
        )
    wait = "yield from " if op.callee in writer.waiting else ""
    writer.assign(op, f"{wait}{name}({', '.join(writer.name(arg) for arg in op.args)})")


def _return(writer: PythonFunctionWriter, op: Return) -> None:
    writer.line(" ".join(["return", *(writer.name(value) for value in op.returned)]), op)


def _yield(writer: PythonFunctionWriter, op: Yield) -> None:
    writer.line(f"{writer.into} = {writer.name(op.yielded)}", op)


def _if(writer: PythonFunctionWriter, op: If) -> None:
    writer.line(f"if {writer.name(op.condition)}:", op)
    writer.block(op.then)
    if op.otherwise.ops:
        writer.line("else:")
        writer.block(op.otherwise)


def _while(writer: PythonFunctionWriter, op: While) -> None:
    """The test is a block of its own, so it stands at the top of an endless loop."""
    go_on = writer.temporary("go_on")
    writer.line("while True:", op)
    writer.block(op.test, into=go_on)
    with writer.nested():
        writer.line(f"if not {go_on}: break", op)
    writer.block(op.body)


def _for(writer: PythonFunctionWriter, op: For) -> None:
    """Python's `range`: the loop value lies between two numbers of its type, so it fits."""
    (item,) = op.body.params
    bounds = ", ".join(writer.name(value) for value in (op.start, op.stop, op.step))
    writer.line(f"for {writer.name(item)} in loop_range({bounds}):", op)
    writer.block(op.body)


def _leave(writer: PythonFunctionWriter, op: Break | Continue) -> None:
    writer.line(op.mnemonic, op)


def _ternary(writer: PythonFunctionWriter, op: Ternary) -> None:
    result = writer.name(op.value)
    writer.line(f"if {writer.name(op.condition)}:", op)
    writer.block(op.then, into=result)
    writer.line("else:")
    writer.block(op.otherwise, into=result)


def _short_circuit(writer: PythonFunctionWriter, op: AndThen | OrElse) -> None:
    result = writer.name(op.value)
    writer.line(f"{result} = {writer.name(op.first)}", op)
    writer.line(f"if {'not ' if isinstance(op, OrElse) else ''}{result}:", op)
    writer.block(op.rest, into=result)


def _grid(writer: PythonFunctionWriter, op: Grid) -> None:
    """The context of a work item never changes, so its fields are written where used."""
    if op.field not in GRID_FIELDS:
        raise BuildError(
            f"the kernel context has no field `{op.field}`", location=known(op.location)
        )
    owner = writer.name(op.context)
    if op.field not in ITEM_FIELDS:
        owner += ".group"
    writer.define(op.value, f"{owner}.{op.field}")


CONTROL_RENDERERS: dict[type[Op], Renderer] = {
    Constant: _constant,
    Var: _var,
    VarLoad: _var_load,
    VarStore: _var_store,
    Call: _call,
    Return: _return,
    Yield: _yield,
    If: _if,
    While: _while,
    For: _for,
    Break: _leave,
    Continue: _leave,
    Ternary: _ternary,
    AndThen: _short_circuit,
    OrElse: _short_circuit,
    Grid: _grid,
    Pack: _pack,
    Unpack: _unpack,
    Barrier: _barrier,
    Assert: _assert,
    Print: _print,
}
"""How each op is written but for arithmetic and memory."""
