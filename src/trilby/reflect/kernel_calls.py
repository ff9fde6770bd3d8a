"""Calls in kernels: casts, math, atomics, and functions made by `@tb.func`."""

import ast
import builtins
import inspect
import math
import types
from typing import Any, TypeGuard

import numpy as np

from trilby.data.annotations import type_of
from trilby.data.dtypes import BOOL, F32, I32, I64, U32, U64, ScalarType, float_of
from trilby.data.record import Record
from trilby.data.schema import (
    ArrayType,
    BufferType,
    NDArrayType,
    PadType,
    StructType,
    leaves,
)
from trilby.data.vector_types import matrix_of, vector_of
from trilby.errors import FieldError, KernelTypeError, TrilbyError, UnsupportedSyntaxError
from trilby.model import lane_math, math_functions
from trilby.model.composed import COMPOSED, Composed
from trilby.model.intrinsics import INTRINSICS, Intrinsic
from trilby.model.ops.arith import Cast, Math
from trilby.model.ops.core import Call
from trilby.model.ops.debug import Print
from trilby.model.ops.grid import BARRIER_SCOPES, Barrier
from trilby.model.ops.memory import AtomicUpdate, CompareExchange, LocalArray, PrivateArray
from trilby.model.value import KERNEL_CONTEXT, NONE, RefType, Value
from trilby.reflect.aggregates import (
    numbers_for,
    parts,
    settled,
    struct_of,
    unknown_field,
    value_for,
)
from trilby.reflect.functions import Compute, Helper, Kernel, is_helper
from trilby.reflect.kernel_arithmetic import constant, convert_for, describe, number, truth, typed
from trilby.reflect.kernel_builtins import COMPARE_EXCHANGE, AtomicFunction, local, private
from trilby.reflect.lowering import Callee, Lowering
from trilby.reflect.operands import Aggregate, KnownObject, Literal, Operand, PlaceOf
from trilby.reflect.places import array_place, element_of
from trilby.reflect.promotion import common_type, float_for, keep_weak, scalar_type
from trilby.reflect.signature import helper_signature, scalar_named
from trilby.reflect.vector_math import COMPOSED_LOWERINGS, is_vector, vector_math

# ------------------------------------------------------------------------------------- atomic calls
# Calls of the atomic operations.

INTEGERS = (I32, U32, I64, U64)
ON_FLOATS = frozenset({"add", "exchange"})
"""The changes that are also made on `f32`."""


def atomic(lw: Lowering, node: ast.Call, function: AtomicFunction) -> Value:
    """`tb.atomic_add(place, value)` and its kin."""
    place, operands = _place_and_operands(lw, node, function)
    _check_type(lw, node, place, function)
    lw.check_writable(place, node.args[0])
    values = [convert_for(lw, lw.lower(o), place.type, o, "the place") for o in operands]
    if function.fixed is not None:
        one = Literal(function.fixed)
        values.append(convert_for(lw, one, place.type, node, "the place"))
    fields = (place.base, place.indices, *values, place.path)
    if function.change == COMPARE_EXCHANGE:
        return lw.value(CompareExchange, *fields, type=place.type, at=node)
    return lw.value(AtomicUpdate, *fields, function.change, type=place.type, at=node)


def _place_and_operands(
    lw: Lowering, node: ast.Call, function: AtomicFunction
) -> tuple[PlaceOf, list[ast.expr]]:
    name = f"tb.{function.__name__}"
    numbers = ", ".join(["1", "2"][: function.operands])
    example = f"`{name}(table.count{numbers and ', ' + numbers})`"
    if node.keywords or not node.args:
        raise lw.clash(node, f"`{name}` takes a place first", f"write {example}")
    place: Operand = lw.lower(node.args[0])
    rest = list(node.args[1:])
    array = array_place(place)
    if array is not None:
        example = f"`{name}(a.array, i{numbers and ', ' + numbers})`"
        if not rest:
            raise lw.clash(node, f"`{name}` on an array takes an index", f"write {example}")
        place = element_of(lw, node, array, rest.pop(0))
    if not isinstance(place, PlaceOf) or not isinstance(place.type, ScalarType):
        raise lw.clash(
            node.args[0],
            f"{describe(place)} is not a place in a buffer",
            f"name a field or an element: {example}",
        )
    if len(rest) != function.operands:
        wanted = ["no value", "one value", "two values"][function.operands]
        raise lw.clash(
            node,
            f"`{name}` takes a place and {wanted}, and here it has {len(rest)}",
            f"write {example}",
        )
    return place, rest


def _check_type(lw: Lowering, node: ast.Call, place: PlaceOf, function: AtomicFunction) -> None:
    if isinstance(place.base.type, RefType) and place.base.type.space == "private":
        raise lw.clash(
            node.args[0],
            "a private array belongs to one work item, and nobody else can change it",
            "change it as usual: `own[i] += 1`",
        )
    allowed = (*INTEGERS, F32) if function.change in ON_FLOATS else INTEGERS
    if place.type not in allowed:
        listed = ", ".join(f"`{t}`" for t in allowed)
        raise lw.clash(
            node.args[0],
            f"`{place.type}` cannot be changed by `{function.__name__}`",
            f"it works on {listed}",
        )


# ------------------------------------------------------------------------------------- constructors
# Making structs, vectors and matrices in kernels by calling their classes.


def is_record(thing: object) -> TypeGuard[type[Record]]:
    """True for a struct, union, vector or matrix class."""
    return isinstance(thing, type) and issubclass(thing, Record) and hasattr(thing, "__schema__")


def construct(lw: Lowering, node: ast.Call, cls: type[Record]) -> Operand:
    """`f32x2(1, 2)`, `Particle(x=1.0, y=2.0)`."""
    struct = cls.__schema__
    if struct.is_union:
        raise lw.clash(
            node,
            f"`{struct}` is a union, which has no value of its own",
            "write one of its members in a buffer",
        )
    if vector_of(struct) is not None or matrix_of(struct) is not None:
        return _from_numbers(lw, node, struct)
    return _from_fields(lw, node, struct)


def _from_numbers(lw: Lowering, node: ast.Call, struct: StructType) -> Aggregate:
    """Numbers lane by lane; a vector among them gives all its lanes."""
    if node.keywords:
        raise lw.clash(node, f"`{struct}` takes its numbers in order", "leave out the names")
    values: list[Value] = []
    element = leaves(struct)[0].type
    for argument in node.args:
        operand = lw.lower(argument)
        given = struct_of(operand)
        if given is not None and vector_of(given) is not None and leaves(given)[0].type is element:
            values.extend(parts(lw, operand, argument))
        else:
            values.append(convert_for(lw, operand, element, argument, f"a lane of `{struct}`"))
    wanted = len(leaves(struct))
    if len(values) != wanted:
        given = "1 is given" if len(values) == 1 else f"{len(values)} are given"
        raise lw.clash(node, f"`{struct}` has {wanted} numbers, and {given}")
    return Aggregate(struct, tuple(values))


def _from_fields(lw: Lowering, node: ast.Call, struct: StructType) -> Aggregate:
    """Every member by its name; arrays may be left out and are zeros."""
    if node.args:
        raise lw.clash(
            node,
            f"`{struct}` takes its members by name",
            f"write `{struct.name}({struct.fields[0].name}=…)`",
        )
    given = {_name(lw, keyword, struct): keyword.value for keyword in node.keywords}
    lowered = {name: settled(lw, lw.lower(value), value) for name, value in given.items()}
    values: list[Value] = []
    for field in struct.fields:
        if field.name in given:
            where = given[field.name]
            if isinstance(field.type, ArrayType):
                raise lw.clash(
                    where,
                    f"the array `{field.name}` cannot be given here",
                    "leave it out: it begins with zeros",
                )
            operand = lowered[field.name]
            values += numbers_for(lw, operand, field.type, where, f"`{field.name}`")
        elif isinstance(field.type, ArrayType):
            zeros = leaves(StructType("", (field,)))
            values += [constant(lw, 0, leaf.type, node) for leaf in zeros]
        elif not isinstance(field.type, PadType):
            raise lw.clash(
                node, f"`{struct}` lacks a value for `{field.name}`", f"write `{field.name}=…`"
            )
    return Aggregate(struct, tuple(values))


def _name(lw: Lowering, keyword: ast.keyword, struct: StructType) -> str:
    """The member that an argument names."""
    if keyword.arg is None:
        raise lw.error(
            UnsupportedSyntaxError,
            keyword,
            "`**` in a call has no meaning in a kernel",
            "name each member",
        )
    field = struct.field(keyword.arg)
    if field is not None and not isinstance(field.type, PadType):
        return keyword.arg
    names = tuple(f.name for f in struct.fields if not isinstance(f.type, PadType))
    raise unknown_field(lw, keyword, keyword.arg, f"`{struct}`", names)


# -------------------------------------------------------------------------------------- group calls
# Calls about the work group and for debugging: arrays, barriers, `print`.


def _device_array(lw: Lowering, node: ast.Call, *, is_local: bool) -> Value:
    """`tb.local(f32, 16, 16)` and `tb.private(f32, 8)`."""
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


def _barrier(lw: Lowering, node: ast.Call, function: ast.Attribute) -> Operand:
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


def _print(lw: Lowering, node: ast.Call) -> Operand:
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
        formatted = (part for part in node.values if isinstance(part, ast.FormattedValue))
        if any(part.format_spec is not None or part.conversion != -1 for part in formatted):
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


# -------------------------------------------------------------------------------------------- calls


def _math_functions() -> dict[object, Intrinsic]:
    rows: dict[object, Intrinsic] = {}
    for name, row in INTRINSICS.items():
        for module in (math, builtins, math_functions, lane_math):
            if hasattr(module, name):
                rows[getattr(module, name)] = row
    # Python's own `pow` gives integers for integers, as `**` does, and `math.pow` does not.
    del rows[pow]
    return rows


MATH_FUNCTIONS = _math_functions()
"""The functions of `math`, the builtins and our own that kernels may call."""


def call(lw: Lowering, node: ast.Call) -> Operand:
    """A call of something that means something on a device."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "barrier":
        return _barrier(lw, node, node.func)
    callee = lw.lower(node.func)
    if not isinstance(callee, KnownObject):
        raise lw.clash(node.func, f"{describe(callee)} cannot be called")
    thing: Any = callee.thing
    if isinstance(thing, ScalarType):
        return _cast(lw, node, thing)
    if is_helper(thing):
        return _helper(lw, node, thing)
    if isinstance(thing, AtomicFunction):
        return atomic(lw, node, thing)
    if thing is local or thing is private:
        return _device_array(lw, node, is_local=thing is local)
    if thing is print:
        return _print(lw, node)
    if thing is bool:
        return typed(lw, truth(lw, _only_argument(lw, node), node), node, BOOL)
    if is_record(thing):
        return construct(lw, node, thing)
    if is_composed(thing):
        return _composed(lw, node, COMPOSED[thing.__name__])
    if callable(thing) and thing in MATH_FUNCTIONS:
        return _math(lw, node, MATH_FUNCTIONS[thing])
    name = ast.unparse(node.func)
    problem = f"`{name}` cannot be called in a kernel"
    raise lw.error(UnsupportedSyntaxError, node, problem, _advice(thing, name))


def is_composed(thing: object) -> bool:
    """Whether a function is made of simpler ops; `COMPOSED_LOWERINGS` says of which."""
    row = COMPOSED.get(thing.__name__) if isinstance(thing, types.FunctionType) else None
    return row is not None and thing is row.function


_ADVICE: tuple[tuple[object, str], ...] = (
    (int, "say the width: `i32(…)`, `i64(…)`"),
    (float, "say the width: `f32(…)`, `f64(…)`"),
    (range, "`range` stands in `for … in range(…)` only"),
    (pow, "write `a ** b`"),
    (len, "use the buffer's length field, or `a.shape[0]` of an n-d array"),
)


def _advice(thing: object, name: str) -> str:
    for known, advice in _ADVICE:
        if thing is known:
            return advice
    if isinstance(thing, Kernel | Compute):
        return "only @tb.func functions can be called; dispatch kernels from a compute function"
    if numpy_scalar := scalar_named(thing):
        return f"write `{numpy_scalar}(…)`"
    if isinstance(thing, np.ufunc):
        return f"use `math.{thing.__name__}` or Python's operators on single numbers"
    if isinstance(thing, types.FunctionType):
        return f"decorate `{name}` with @tb.func"
    if getattr(thing, "__module__", "") == "math":
        return "this function of `math` is not part of the kernel language"
    return "kernels call @tb.func functions, scalar types, and functions of `math`"


def _only_argument(lw: Lowering, node: ast.Call) -> Operand:
    if len(node.args) != 1 or node.keywords:
        raise lw.clash(node, f"`{ast.unparse(node.func)}` takes one argument")
    return lw.lower(node.args[0])


def _cast(lw: Lowering, node: ast.Call, to: ScalarType) -> Operand:
    """`f32(n)`."""
    value = number(lw, _only_argument(lw, node), node.args[0])
    if isinstance(value, Literal):
        return constant(lw, value.number, to, node)
    if value.type is to and value not in lw.weak:
        return value
    lw.expose(value, to)
    return lw.value(Cast, value, type=to, at=node)


def _math(lw: Lowering, node: ast.Call, row: Intrinsic) -> Operand:
    name = ast.unparse(node.func)
    if node.keywords:
        raise lw.clash(node, f"`{name}` takes no keyword arguments in a kernel")
    lowered = [settled(lw, lw.lower(argument), argument) for argument in node.args]
    if len(lowered) != row.arity and not (row.takes_more and len(lowered) > row.arity):
        wanted = _counted(row.arity) + (" or more" if row.takes_more else "")
        raise lw.clash(node, f"`{name}` takes {wanted}, and here it has {len(lowered)}")
    if any(is_vector(operand) for operand in lowered):
        return vector_math(lw, node, lowered, row)
    args = [number(lw, x, argument) for x, argument in zip(lowered, node.args, strict=True)]
    if not row.takes_more:
        return _math_op(lw, node, row, args)
    result = args[0]
    for argument in args[1:]:
        result = _math_op(lw, node, row, [result, argument])
    return result


def _counted(arguments: int) -> str:
    return "1 argument" if arguments == 1 else f"{arguments} arguments"


def _math_op(
    lw: Lowering, node: ast.Call, row: Intrinsic, args: list[Value | Literal]
) -> Value | Literal:
    shared = _shared_type(lw, args)
    if shared is None:
        return _folded(lw, node, row, args)
    if row.takes == "float":
        shared = float_for(lw, node, float_of(shared), args)
    elif shared is BOOL:
        shared = I32
    if row.takes == "integer" and not shared.is_integer:
        raise lw.clash(node, f"`{row.name}` takes integers, and this is `{shared}`")
    operands = tuple(typed(lw, argument, node, shared) for argument in args)
    given = BOOL if row.tests else shared
    result = lw.value(Math, operands, row.name, type=given, at=node)
    if not row.tests:
        keep_weak(lw, node, result, args)
    return result


def _shared_type(lw: Lowering, args: list[Value | Literal]) -> ScalarType | None:
    """The type in which the arguments meet; None for literals."""
    shared = args[0]
    for argument in args[1:]:
        common = common_type(lw, shared, argument)
        if common is not None:
            shared = Value(common)
        elif isinstance(argument, Literal) and isinstance(argument.number, float):
            shared = argument
    return scalar_type(shared) if isinstance(shared, Value) else None


def _folded(lw: Lowering, node: ast.Call, row: Intrinsic, args: list[Value | Literal]) -> Literal:
    """The number that a function gives for constants, as precise as Python has it."""
    numbers = [argument.number for argument in args if isinstance(argument, Literal)]
    if row.knows_width:
        numbers.append(I32.bits)
    try:
        if row.tests:
            return Literal(bool(row.meaning(*map(float, numbers))))
        if row.takes == "float":
            return Literal(float(row.meaning(*map(float, numbers))))
        return Literal(row.meaning(*numbers))
    except OverflowError as error:
        raise lw.clash(node, "this constant is too large for any type") from error


def _composed(lw: Lowering, node: ast.Call, row: Composed) -> Operand:
    if node.keywords or len(node.args) != len(row.params):
        name, wanted = ast.unparse(node.func), _counted(len(row.params))
        raise lw.clash(node, f"`{name}` takes {wanted}, and here it has {len(node.args)}")
    operands = [settled(lw, lw.lower(argument), argument) for argument in node.args]
    return COMPOSED_LOWERINGS[row.name](lw, node, operands)


def _helper(lw: Lowering, node: ast.Call, helper: Helper[..., object]) -> Operand:
    bound = _bind(lw, node, helper)
    as_written = (*node.args, *(keyword.value for keyword in node.keywords))
    by_node = {argument: settled(lw, lw.lower(argument), argument) for argument in as_written}
    lowered = [by_node[argument] for argument in bound]
    ranks = tuple(
        o.type.rank for o in lowered if isinstance(o, Value) and isinstance(o.type, NDArrayType)
    )
    callee = Callee(helper, ranks)
    try:
        signature = helper_signature(helper, ranks)
    except TrilbyError as error:
        raise error.within(helper.name, lw.where(node)) from error.__cause__
    symbol = lw.symbol_of(callee)
    lw.callees[symbol] = callee
    args = tuple(
        value_for(lw, operand, parameter.type, argument, f"parameter `{parameter.name}`")
        for operand, parameter, argument in zip(lowered, signature.params, bound, strict=True)
    )
    if signature.result == NONE:
        lw.run(Call, args, symbol, at=node)
        return KnownObject(None)
    return lw.value(Call, args, symbol, type=signature.result, at=node)


def _bind(lw: Lowering, node: ast.Call, helper: Helper[..., object]) -> list[ast.expr]:
    """The argument expressions in the order of the parameters."""
    keywords = {k.arg: k.value for k in node.keywords if k.arg is not None}
    if any(isinstance(a, ast.Starred) for a in node.args) or len(keywords) < len(node.keywords):
        raise lw.error(
            UnsupportedSyntaxError,
            node,
            "`*` and `**` in a call have no meaning in a kernel",
            "name each argument",
        )
    try:
        bound = inspect.signature(helper.function).bind(*node.args, **keywords)
    except TypeError as error:
        raise lw.error(
            KernelTypeError,
            node,
            f"`{helper.name}`: {error}",
            f"it is defined at {helper.location} as "
            f"`{helper.name}{inspect.signature(helper.function)}`",
        ) from error
    return list(bound.arguments.values())
