"""Calls about the work group and for debugging: arrays, barriers, `print`."""

import ast

from trilby.data.annotations import type_of
from trilby.data.dtypes import ScalarType
from trilby.data.schema import ArrayType, BufferType, StructType
from trilby.errors import FieldError, UnsupportedSyntaxError
from trilby.model.ops.debug import Print
from trilby.model.ops.grid import BARRIER_SCOPES, Barrier
from trilby.model.ops.memory import LocalArray, PrivateArray
from trilby.model.value import KERNEL_CONTEXT, RefType, Value
from trilby.reflect.device_arrays import local
from trilby.reflect.kernel_arithmetic import describe, number, typed
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import KnownObject, Literal, Operand


def device_array(lw: Lowering, node: ast.Call, maker: object) -> Value:
    """`tb.local(f32, 16, 16)` and `tb.private(f32, 8)`."""
    is_local = maker is local
    word = "local" if is_local else "private"
    if is_local and (not lw.is_kernel or len(lw.levels) > 1):
        raise lw.error(
            UnsupportedSyntaxError,
            node,
            "local arrays are made at the top of a kernel",
            "make it in the kernel itself, outside of `if` and loops",
        )
    array = _array_type(lw, node, word)
    kind = LocalArray if is_local else PrivateArray
    return lw.value(kind, type=RefType(array, word), at=node, hint=lw.target)


def _array_type(lw: Lowering, node: ast.Call, word: str) -> ArrayType:
    if node.keywords or len(node.args) < 2:
        raise lw.clash(
            node, f"`tb.{word}` takes an element type and sizes", f"write `tb.{word}(f32, 16)`"
        )
    named = lw.lower(node.args[0])
    element = type_of(named.thing) if isinstance(named, KnownObject) else None
    is_struct = isinstance(element, StructType) and not isinstance(element, BufferType)
    if element is None or not (isinstance(element, ScalarType) or is_struct):
        raise lw.clash(
            node.args[0],
            f"{describe(named)} is no type for the elements of an array",
            "use a scalar type or a tb.Struct",
        )
    return ArrayType(element, tuple(_size(lw, argument, word) for argument in node.args[1:]))


def _size(lw: Lowering, node: ast.expr, word: str) -> int:
    size = lw.lower(node)
    if isinstance(size, Literal) and isinstance(size.number, int) and size.number > 0:
        return int(size.number)
    raise lw.clash(
        node,
        f"the size of a {word} array is a constant from 1 on, and this is {describe(size)}",
        "use a number, or a constant of the module",
    )


def barrier(lw: Lowering, node: ast.Call, function: ast.Attribute) -> Operand:
    """`kc.barrier()`, `kc.barrier("local")`."""
    context = lw.lower(function.value)
    if not isinstance(context, Value) or context.type != KERNEL_CONTEXT:
        raise lw.error(
            FieldError,
            function,
            f"{describe(context)} has no `barrier`",
            "barriers belong to the kernel context: `kc.barrier()`",
        )
    scope = _scope(lw, node)
    lw.run(Barrier, context, scope, at=node)
    return KnownObject(None)


def _scope(lw: Lowering, node: ast.Call) -> str:
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if not given:
        return "both"
    first = given[0]
    scope = first.value if isinstance(first, ast.Constant) else None
    if len(given) > 1 or scope not in BARRIER_SCOPES:
        listed = ", ".join(f'"{name}"' for name in BARRIER_SCOPES)
        raise lw.clash(node, "a barrier takes one scope", f"use one of {listed}")
    return scope


def print_call(lw: Lowering, node: ast.Call) -> Operand:
    """`print("x", x)`: texts are constants, numbers are computed."""
    if node.keywords:
        raise lw.error(
            UnsupportedSyntaxError,
            node,
            "`print` in a kernel takes no keywords",
            "give texts and numbers only",
        )
    values: list[Value] = []
    texts = [_printed(lw, argument, values) for argument in node.args]
    lw.run(Print, tuple(values), " ".join(texts), at=node)
    return KnownObject(None)


def _printed(lw: Lowering, node: ast.expr, values: list[Value]) -> str:
    """The text of one argument, with `{}` for the number that it adds to `values`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        _check_text(lw, node, node.value)
        return node.value.replace("{", "{{").replace("}", "}}")
    if isinstance(node, ast.JoinedStr):
        if any(_has_format(part) for part in node.values):
            raise lw.error(  # Python 3.11 does not know where in the text the part stands
                UnsupportedSyntaxError,
                node,
                "`print` in a kernel has no formats",
                "leave out what stands behind `:` or `!`",
            )
        return "".join(_printed(lw, part, values) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        node = node.value
    values.append(typed(lw, number(lw, lw.lower(node), node), node))
    return "{}"


def _has_format(part: ast.expr) -> bool:
    is_value = isinstance(part, ast.FormattedValue)
    return is_value and (part.format_spec is not None or part.conversion != -1)


def _check_text(lw: Lowering, node: ast.expr, text: str) -> None:
    """Raise for what devices cannot print: NUL ends a text there, and a surrogate has no bytes."""
    for character in text:
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise lw.error(
                UnsupportedSyntaxError,
                node,
                f"`print` in a kernel cannot write the character {character!a}",
                "leave it out of the text",
            )
