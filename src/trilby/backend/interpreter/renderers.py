"""What each op of a kernel means, as Python: arithmetic, control flow, access to memory.

A number of an integer type is a Python `int` within the type's range, one of a float type
a `float` that the type can hold, a bool a `bool`. Integers wrap at their width. Floats are
computed as doubles and rounded to the type after every op, which is exact for
`+ - * /` and `sqrt`. Shift counts are taken modulo the width, as devices do.
"""

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

from trilby.backend.interpreter.kernel_arguments import POISON
from trilby.backend.interpreter.python_writer import PythonFunctionWriter, Renderer
from trilby.codegen.checked_types import expect, scalar
from trilby.data.dtypes import BF16, BOOL, F32, F64, Number, ScalarType, Type, convert
from trilby.data.layout import fixed_offsets, member_offset, size_of, stride_of
from trilby.data.schema import (
    INDEX,
    ArrayType,
    BufferType,
    NDArrayType,
    StructType,
    join_path,
    leaves,
    sizes_of,
    walk_path,
)
from trilby.model.intrinsics import INTRINSICS
from trilby.model.op import Op, operands
from trilby.model.ops import arith
from trilby.model.ops.control import AndThen, Break, Continue, For, If, OrElse, Ternary, While
from trilby.model.ops.core import Call, Constant, Return, Var, VarLoad, VarStore, Yield
from trilby.model.ops.debug import Assert, Print
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.ops.memory import (
    AtomicUpdate,
    CompareExchange,
    Extent,
    Load,
    LocalArray,
    Place,
    PrivateArray,
    Store,
)
from trilby.model.ops.structs import Pack, Unpack
from trilby.model.value import RefType, pointee

Form: TypeAlias = tuple[str, bool]
"""An expression with `{}` for each operand, and whether it is fitted to its type afterwards."""


def literal_text(value: Number, of: ScalarType) -> str:
    """A number as Python writes it: `3`, `(-3)`, `0.5`, `inf`."""
    number = convert(value, of)
    negative = not isinstance(number, bool) and math.copysign(1.0, number) < 0
    return f"({number!r})" if negative else repr(number)


def wrapped(expression: str, of: ScalarType) -> str:
    """An integer expression of any size, brought into the range of its type."""
    mask = (1 << of.bits) - 1
    if of.kind == "uint":
        return f"({expression}) & {mask:#x}"
    half = 1 << (of.bits - 1)
    return f"(({expression}) + {half:#x} & {mask:#x}) - {half:#x}"


def fitted(expression: str, of: ScalarType) -> str:
    """An expression, wrapped or rounded to its type."""
    if of.is_integer:
        return wrapped(expression, of)
    if of is BOOL:
        return f"bool({expression})"
    return expression if of.name == "f64" else f"to_{of}({expression})"


def cast_text(operand: str, source: ScalarType, target: ScalarType) -> str:
    """The operand as another type: `dtypes.convert`, with the types known beforehand."""
    if source is target:
        return operand
    if target is BOOL:
        return f"{operand} != 0"
    if source.is_float:
        if target.is_integer:
            return f"cut_{target}({operand})"
        return operand if source.bits < target.bits else fitted(operand, target)
    if target.is_float:
        wide = source.bits == F64.bits and target in {F32, BF16}
        return f"whole_{target}({operand})" if wide else fitted(f"float({operand})", target)
    if source is BOOL:
        return f"int({operand})"
    contains = target.lowest <= source.lowest and source.highest <= target.highest
    return operand if contains else wrapped(operand, target)


def _arithmetic(form: Form, floats: Form | None = None) -> Renderer:
    """A renderer for an op of numbers; `floats` is the form for floats."""

    def render(writer: PythonFunctionWriter, op: Op) -> None:
        values = list(operands(op))
        of = scalar(values[0].type)
        spelling, fits = (floats or form) if of.is_float else form
        own = {"last": of.bits - 1, "bits": of.bits, "f32": "" if of is F64 else "_f32"}
        text = spelling.format(*map(writer.name, values), **own)
        writer.assign(op, fitted(text, of) if fits else text)

    return render


def _plain(spelling: str) -> Form:
    """An expression that needs no fitting."""
    return spelling, False


def _fitting(spelling: str) -> Form:
    """An expression that is wrapped or rounded afterwards."""
    return spelling, True


def _cast(writer: PythonFunctionWriter, op: arith.Cast) -> None:
    source, target = scalar(op.operand.type), scalar(op.value.type)
    writer.assign(op, cast_text(writer.name(op.operand), source, target))


def _math(writer: PythonFunctionWriter, op: arith.Math) -> None:
    """The meaning of the intrinsics' table on doubles or integers, then fitted."""
    of = scalar(op.args[0].type)
    row = INTRINSICS[op.function]
    args = [writer.name(arg) for arg in op.args]
    if row.knows_width:
        args.append(str(of.bits))
    writer.assign(op, fitted(f"math_{row.name}({', '.join(args)})", BOOL if row.tests else of))


# ------------------------------------------------------------------------------ structs and groups
# What structs as values, barriers, `assert` and `print` mean, as Python statements.
#
# A struct value is the tuple of its leaves. A function that waits at a barrier is a generator: it
# yields the number of the barrier, and goes on when all work items of its group are there.


def _pack(writer: PythonFunctionWriter, op: Pack) -> None:
    parts = "".join(f"{writer.name(part)}, " for part in op.parts)
    writer.assign(op, f"({parts})")


def _unpack(writer: PythonFunctionWriter, op: Unpack) -> None:
    whole = expect(StructType, op.whole.type)
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


# --------------------------------------------------------------------------------- control flow
# What variables, calls, control flow and the kernel context mean, as Python statements.

ITEM_FIELDS = ("x", "y", "z", "local_x", "local_y", "local_z")
"""What differs within a group; all other fields of the context belong to the group."""


def _var(writer: PythonFunctionWriter, op: Var) -> None:
    """A variable is a Python variable; without a first content it is unbound until stored."""
    name = writer.temporary(op.name)
    writer.define(op.value, name)
    for init in op.init:
        writer.line(f"{name} = {writer.name(init)}", op)


def _call(writer: PythonFunctionWriter, op: Call) -> None:
    wait = "yield from " if op.callee in writer.waiting else ""
    args = ", ".join(writer.name(arg) for arg in op.args)
    writer.assign(op, f"{wait}{writer.functions[op.callee]}({args})")


def _return(writer: PythonFunctionWriter, op: Return) -> None:
    writer.line(" ".join(["return", *(writer.name(value) for value in op.returned)]), op)


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
    owner = writer.name(op.context)
    if op.field not in ITEM_FIELDS:
        owner += ".group"
    writer.define(op.value, f"{owner}.{op.field}")


# ------------------------------------------------------------------------------------------ memory
# What access to memory means: where a place lies, and reading and writing it.
#
# A reference to a struct is the pair (bytes, offset). Buffers and n-d arrays are what
# `arguments` makes of them. Every index is checked against the size of its axis first.


Access: TypeAlias = Load | Store | Place | AtomicUpdate | CompareExchange

CHANGES: dict[str, Callable[[str, str, ScalarType], str]] = {
    "add": lambda old, new, of: fitted(f"{old} + {new}", of),
    "sub": lambda old, new, of: fitted(f"{old} - {new}", of),
    "min": lambda old, new, _: f"min({old}, {new})",
    "max": lambda old, new, _: f"max({old}, {new})",
    "and": lambda old, new, _: f"{old} & {new}",
    "or": lambda old, new, _: f"{old} | {new}",
    "xor": lambda old, new, _: f"{old} ^ {new}",
    "exchange": lambda _, new, _of: new,
}
"""The new number of an atomic op, written from the old one and the operand."""


def _spot(writer: PythonFunctionWriter, op: Access) -> tuple[str, str]:
    """The bytes in which the place of an op lies, and its offset there.

    Writes the checks of the indices. What is known of the offset beforehand is added up.
    """
    base, label = writer.name(op.base), op.base.hint
    is_reference = isinstance(op.base.type, RefType)
    terms = [f"{base}[1]"] if is_reference else []
    fixed = 0
    indices = iter([writer.name(index) for index in op.indices])
    for step, here in walk_path(pointee(op.base.type), op.path):
        if step == INDEX:
            terms += _element(writer, op, here, indices, label)
        elif isinstance(here, BufferType) and step not in fixed_offsets(here):
            terms.append(f"{base}.at_{step}")  # it lies behind a length-bound array
        elif isinstance(here, StructType):
            fixed += member_offset(here, step)
        label = join_path(label, step)
    if fixed or not terms:
        terms.append(str(fixed))
    return f"{base}[0]" if is_reference else f"{base}.bytes", " + ".join(terms)


def _element(
    writer: PythonFunctionWriter, op: Access, array: Type, indices: Iterator[str], label: str
) -> list[str]:
    """Check the indices of an element; gives its offset, row-major: `(y * width + x) * stride`."""
    base = writer.name(op.base)
    if isinstance(array, NDArrayType):
        sizes, stride = [f"{base}.n_{axis}" for axis in range(array.rank)], array.element.size
    else:
        dims, stride = expect(ArrayType, array).dims, stride_of(expect(ArrayType, array))
        sizes = [f"{base}.n_{dim}" if isinstance(dim, str) else str(dim) for dim in dims]
    flat = ""
    for axis, size in enumerate(sizes):
        index = next(indices)
        told = axis if len(sizes) > 1 else None
        fault = f"OutOfRangeError({label or 'array'!r}, {told}, {index}, {size})"
        writer.line(f"if not 0 <= {index} < {size}: raise {fault}", op)
        flat = f"({flat} * {size} + {index})" if flat else index
    return [f"{flat} * {stride}"] if flat else []


def _load(writer: PythonFunctionWriter, op: Load) -> None:
    """The number at a place. A length never changes, so it is written where it is used."""
    if op.path in sizes_of(op.base.type):
        writer.define(op.value, f"{writer.name(op.base)}.n_{op.path}")
        return
    content, offset = _spot(writer, op)
    writer.assign(op, f"load_{op.value.type}({content}, {offset})[0]")


def _store(writer: PythonFunctionWriter, op: Store) -> None:
    content, offset = _spot(writer, op)
    writer.line(f"store_{op.stored.type}({content}, {offset}, {writer.name(op.stored)})", op)


def _place(writer: PythonFunctionWriter, op: Place) -> None:
    content, offset = _spot(writer, op)
    writer.assign(op, f"({content}, {offset})")


def _atomic(writer: PythonFunctionWriter, op: AtomicUpdate | CompareExchange) -> None:
    """Work items run one after the other, so reading and writing is one step."""
    content, offset = _spot(writer, op)
    of = scalar(op.operand.type)
    old = writer.name(op.result) if op.result else writer.temporary("old")
    at = writer.temporary("at")
    writer.line(f"{at} = {offset}", op)
    writer.line(f"{old} = load_{of}({content}, {at})[0]", op)
    operand = writer.name(op.operand)
    if isinstance(op, AtomicUpdate):
        new = CHANGES[op.change](old, operand, of)
        writer.line(f"store_{of}({content}, {at}, {new})", op)
        return
    writer.line(f"if {old} == {writer.name(op.expected)}:", op)
    with writer.nested():
        writer.line(f"store_{of}({content}, {at}, {operand})", op)


def _array(writer: PythonFunctionWriter, op: LocalArray | PrivateArray) -> None:
    """The group makes the bytes of a local array when its first work item gets here."""
    nbytes = size_of(expect(RefType, op.value.type).to)
    content = f"bytearray([{POISON}]) * {nbytes}"
    if isinstance(op, LocalArray):
        key = writer.temporary("shared")
        context = writer.name(writer.function.params[0])
        content = f"{context}.group.shared({key!r}, {nbytes})"
    writer.assign(op, f"({content}, 0)")


# -------------------------------------------------------------------------------------------- table

RENDERERS: dict[type[Op], Renderer] = {
    arith.Add: _arithmetic(_fitting("{} + {}")),
    arith.Sub: _arithmetic(_fitting("{} - {}")),
    arith.Mul: _arithmetic(_fitting("{} * {}")),
    arith.TrueDiv: _arithmetic(_fitting("divide({}, {})")),
    # The lowest integer divided by -1 wraps; Python raises for a zero divisor.
    arith.FloorDiv: _arithmetic(_fitting("{} // {}"), _fitting("floor_divide{f32}({}, {})")),
    arith.Mod: _arithmetic(_plain("{} % {}"), _fitting("modulo({}, {})")),
    arith.Pow: _arithmetic(_fitting("integer_power({}, {}, {bits})"), _fitting("power({}, {})")),
    arith.Shl: _arithmetic(_fitting("{} << ({} & {last})")),
    arith.Shr: _arithmetic(_plain("{} >> ({} & {last})")),
    arith.BitAnd: _arithmetic(_plain("{} & {}")),
    arith.BitOr: _arithmetic(_plain("{} | {}")),
    arith.BitXor: _arithmetic(_plain("{} ^ {}")),
    arith.Lt: _arithmetic(_plain("{} < {}")),
    arith.Le: _arithmetic(_plain("{} <= {}")),
    arith.Gt: _arithmetic(_plain("{} > {}")),
    arith.Ge: _arithmetic(_plain("{} >= {}")),
    arith.Eq: _arithmetic(_plain("{} == {}")),
    arith.Ne: _arithmetic(_plain("{} != {}")),
    arith.Neg: _arithmetic(_fitting("-{}"), _plain("-{}")),
    arith.Invert: _arithmetic(_fitting("~{}")),
    arith.Not: _arithmetic(_plain("not {}")),
    arith.Cast: _cast,
    arith.Math: _math,
    Constant: lambda writer, op: writer.define(
        op.value, literal_text(op.literal, scalar(op.value.type))
    ),
    Var: _var,
    VarLoad: lambda writer, op: writer.assign(op, writer.name(op.var)),
    VarStore: lambda writer, op: writer.line(
        f"{writer.name(op.var)} = {writer.name(op.stored)}", op
    ),
    Call: _call,
    Return: _return,
    Yield: lambda writer, op: writer.line(f"{writer.into} = {writer.name(op.yielded)}", op),
    If: _if,
    While: _while,
    For: _for,
    Break: lambda writer, op: writer.line("break", op),
    Continue: lambda writer, op: writer.line("continue", op),
    Ternary: _ternary,
    AndThen: _short_circuit,
    OrElse: _short_circuit,
    Grid: _grid,
    Pack: _pack,
    Unpack: _unpack,
    Barrier: _barrier,
    Assert: _assert,
    Print: _print,
    Load: _load,
    Store: _store,
    Place: _place,
    AtomicUpdate: _atomic,
    CompareExchange: _atomic,
    LocalArray: _array,
    PrivateArray: _array,
    # The shape never changes, so it is written where it is used.
    Extent: lambda writer, op: writer.define(op.value, f"{writer.name(op.base)}.n_{op.axis}"),
}
"""The meaning of every op that a kernel may hold."""
