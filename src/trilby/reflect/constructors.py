"""Making structs, vectors and matrices in kernels by calling their classes."""

import ast
from typing import TypeGuard

from trilby.data.record import Record
from trilby.data.schema import ArrayType, Field, PadType, StructType, leaves
from trilby.data.vector_types import matrix_of, vector_of
from trilby.errors import FieldError, UnsupportedSyntaxError
from trilby.model.value import Value
from trilby.reflect.aggregates import parts, settled, struct_of
from trilby.reflect.arithmetic import constant, convert_for, describe
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import Aggregate, Operand


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
        if not isinstance(field.type, PadType):
            values.extend(_member(lw, node, struct, field, lowered.get(field.name), given))
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
    names = ", ".join(f"`{f.name}`" for f in struct.fields if not isinstance(f.type, PadType))
    raise lw.error(
        FieldError, keyword, f"`{struct}` has no field `{keyword.arg}`", f"it has {names}"
    )


def _member(
    lw: Lowering,
    node: ast.Call,
    struct: StructType,
    field: Field,
    operand: Operand | None,
    given: dict[str, ast.expr],
) -> tuple[Value, ...]:
    if isinstance(field.type, ArrayType) and operand is None:
        inner = StructType("", (field,))
        return tuple(constant(lw, 0, leaf.type, node) for leaf in leaves(inner))
    if operand is None:
        raise lw.clash(
            node, f"`{struct}` lacks a value for `{field.name}`", f"write `{field.name}=…`"
        )
    where = given[field.name]
    if isinstance(field.type, StructType):
        if struct_of(operand) != field.type:
            raise lw.clash(
                where, f"`{field.name}` is `{field.type}`, and this is {describe(operand)}"
            )
        return parts(lw, operand, where)
    if isinstance(field.type, ArrayType):
        raise lw.clash(
            where,
            f"the array `{field.name}` cannot be given here",
            "leave it out: it begins with zeros",
        )
    return (convert_for(lw, operand, field.type, where, f"`{field.name}`"),)
