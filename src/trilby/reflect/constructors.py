"""Making structs, vectors and matrices in kernels by calling their classes."""

import ast
from typing import TypeGuard

from trilby.data.matrices import matrix_of
from trilby.data.record import Record
from trilby.data.schema import ArrayType, Field, PadType, StructType, leaves
from trilby.data.vectors import vector_of
from trilby.errors import FieldError
from trilby.model.value import Value
from trilby.reflect.aggregates import parts, struct_of
from trilby.reflect.arithmetic import convert_for, describe
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import Aggregate, Literal, Operand


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
        raise lw.clash(node, f"`{struct}` has {wanted} numbers, and {len(values)} are given")
    return Aggregate(struct, tuple(values))


def _from_fields(lw: Lowering, node: ast.Call, struct: StructType) -> Aggregate:
    """Every member by its name; arrays may be left out and are zeros."""
    if node.args:
        raise lw.clash(
            node,
            f"`{struct}` takes its members by name",
            f"write `{struct.name}({struct.fields[0].name}=…)`",
        )
    given: dict[str, ast.expr] = {}
    for keyword in node.keywords:
        if keyword.arg is None or struct.field(keyword.arg) is None:
            raise lw.error(FieldError, keyword, f"`{struct}` has no field `{keyword.arg}`")
        given[keyword.arg] = keyword.value
    lowered = {name: lw.lower(value) for name, value in given.items()}
    values: list[Value] = []
    for field in struct.fields:
        if not isinstance(field.type, PadType):
            values.extend(_member(lw, node, struct, field, lowered.get(field.name), given))
    return Aggregate(struct, tuple(values))


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
        return tuple(
            convert_for(lw, Literal(0), leaf.type, node, "a zero") for leaf in leaves(inner)
        )
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
