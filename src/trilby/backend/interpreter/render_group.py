"""What structs as values, barriers, `assert` and `print` mean, as Python statements.

A struct value is the tuple of its leaves. A function that waits at a barrier is a generator:
it yields the number of the barrier, and goes on when all work items of its group are there.
"""

from trilby.backend.interpreter.writer import FunctionWriter, Renderer, no_meaning
from trilby.data.dtypes import BOOL
from trilby.data.schema import StructType, leaves
from trilby.model.op import Op
from trilby.model.ops.debug import Assert, Print
from trilby.model.ops.grid import Barrier
from trilby.model.ops.structs import Pack, Unpack


def _pack(writer: FunctionWriter, op: Pack) -> None:
    parts = "".join(f"{writer.name(part)}, " for part in op.parts)
    writer.assign(op, f"({parts})")


def _unpack(writer: FunctionWriter, op: Unpack) -> None:
    whole = op.whole.type
    if not isinstance(whole, StructType):
        raise no_meaning(op, whole)
    number = [leaf.name for leaf in leaves(whole)].index(op.leaf)
    writer.assign(op, f"{writer.name(op.whole)}[{number}]")


def _barrier(writer: FunctionWriter, op: Barrier) -> None:
    """What is yielded tells the barriers of a kernel apart."""
    writer.line(f"yield {(writer.function.name, len(writer.lines))!r}", op)


def _assert(writer: FunctionWriter, op: Assert) -> None:
    condition = writer.name(op.condition)
    writer.line(f"if not {condition}: raise AssertionFailedError({op.message!r})", op)


def _print(writer: FunctionWriter, op: Print) -> None:
    args = "".join(
        f", bool({name})" if arg.type is BOOL else f", {name}"
        for arg, name in zip(op.args, map(writer.name, op.args), strict=True)
    )
    writer.line(f"say({op.form!r}{args})", op)


GROUP_RENDERERS: dict[type[Op], Renderer] = {
    Pack: _pack,
    Unpack: _unpack,
    Barrier: _barrier,
    Assert: _assert,
    Print: _print,
}
"""How each op of the struct and debug families, and `barrier`, is written."""
