"""Arithmetic of vectors and matrices, lane by lane, on the ops for numbers."""

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from trilby.data.dtypes import F32
from trilby.data.schema import StructType, leaves
from trilby.data.vector_types import matrix_of, vector_of, vector_type
from trilby.model.ops.arith import Math
from trilby.model.value import Value
from trilby.reflect.aggregates import is_numeric, parts, struct_of
from trilby.reflect.kernel_arithmetic import binary, convert_for, describe, number, typed, unary
from trilby.reflect.lowering import Lowering
from trilby.reflect.operands import Aggregate, Literal, Operand

if TYPE_CHECKING:
    from trilby.model.intrinsics import Intrinsic

_ADD, _SUB, _MUL = ast.Add(), ast.Sub(), ast.Mult()


def is_vector(operand: Operand) -> bool:
    """True for a vector or matrix, wherever it is."""
    struct = struct_of(operand)
    return struct is not None and is_numeric(struct)


def computable(lw: Lowering, operand: Operand, node: ast.AST) -> Value | Literal | Aggregate:
    """A number, or a vector or matrix taken apart."""
    struct = struct_of(operand)
    if struct is not None and is_numeric(struct):
        return Aggregate(struct, parts(lw, operand, node))
    return number(lw, operand, node)


def any_binary(
    lw: Lowering, node: ast.AST, symbol: ast.operator, left: Operand, right: Operand
) -> Operand:
    """`left op right`, lane by lane where at least one is a vector or matrix."""
    struct = struct_of(left) or struct_of(right)
    if struct is None or not is_numeric(struct):
        return binary(lw, node, symbol, left, right)
    if isinstance(symbol, ast.MatMult):
        return _matrix_product(lw, node, left, right)
    element = leaves(struct)[0].type
    if isinstance(symbol, ast.Div) and not element.is_float:
        raise lw.clash(
            node,
            f"`/` of `{struct}` would leave its integer lanes",
            "use `//`, or a vector of floats",
        )
    if matrix_of(struct) is not None:
        _check_matrices(lw, node, symbol, left, right)
    pairs = zip(_lanes(lw, node, left, struct), _lanes(lw, node, right, struct), strict=True)
    return _made(lw, node, struct, [binary(lw, node, symbol, a, b) for a, b in pairs])


def _check_matrices(
    lw: Lowering, node: ast.AST, symbol: ast.operator, left: Operand, right: Operand
) -> None:
    """Matrices are added to each other, and multiplied by numbers."""
    are_both = struct_of(left) is not None and struct_of(right) is not None
    if isinstance(symbol, ast.Add | ast.Sub) and are_both:
        return
    if isinstance(symbol, ast.Mult) and not are_both:
        return
    raise lw.clash(
        node,
        f"{describe(left)} and {describe(right)} have no such operator",
        "matrices have `+` and `-` with each other, `*` with a number, and `@`",
    )


def _lanes(lw: Lowering, node: ast.AST, operand: Operand, struct: StructType) -> Sequence[Value]:
    """The numbers of an operand, one for each lane; a single number stands for all."""
    given = struct_of(operand)
    if given == struct:
        return parts(lw, operand, node)
    if given is not None:
        raise lw.clash(
            node,
            f"`{struct}` and `{given}` do not compute with each other",
            "make one of the other: a vector is made of numbers and of vectors",
        )
    element = leaves(struct)[0].type
    single = convert_for(lw, operand, element, node, f"a lane of `{struct}`")
    return [single] * len(leaves(struct))


def _made(
    lw: Lowering, node: ast.AST, struct: StructType, numbers: Sequence[Value | Literal]
) -> Aggregate:
    types = [leaf.type for leaf in leaves(struct)]
    values = (typed(lw, n, node, t) for n, t in zip(numbers, types, strict=True))
    return Aggregate(struct, tuple(values))


def any_unary(lw: Lowering, node: ast.UnaryOp, operand: Operand) -> Operand:
    """`-v`, `+v`, `~v`, lane by lane for a vector or matrix."""
    struct = struct_of(operand)
    if struct is None or not is_numeric(struct):
        return unary(lw, node, operand)
    lanes = parts(lw, operand, node)
    return _made(lw, node, struct, [unary(lw, node, lane) for lane in lanes])


def vector_math(
    lw: Lowering, node: ast.AST, operands: Sequence[Operand], row: "Intrinsic"
) -> Operand:
    """A function of the intrinsics' table, lane by lane; `min` and `max` take any number."""
    struct = next(struct for struct in map(struct_of, operands) if struct is not None)
    _check_lanes(lw, node, struct, row)
    columns = [_lanes(lw, node, operand, struct) for operand in operands]
    lanes = zip(*columns, strict=True)
    return Aggregate(struct, tuple(_lane_math(lw, node, lane, row) for lane in lanes))


def _lane_math(lw: Lowering, node: ast.AST, lane: tuple[Value, ...], row: "Intrinsic") -> Value:
    element = lane[0].type
    result = lw.value(Math, lane[: row.arity], row.name, type=element, at=node)
    for other in lane[row.arity :]:
        result = lw.value(Math, (result, other), row.name, type=element, at=node)
    return result


def _check_lanes(lw: Lowering, node: ast.AST, struct: StructType, row: "Intrinsic") -> None:
    """Refuse what has no meaning for such lanes."""
    element = leaves(struct)[0].type
    if not row.takes_vectors or vector_of(struct) is None:
        places = "its lanes: `v.x`" if vector_of(struct) else "its numbers: `m[0, 1]`"
        raise lw.clash(node, f"`{row.name}` takes numbers, and this is `{struct}`", f"use {places}")
    if row.takes == "float" and not element.is_float:
        raise lw.clash(
            node, f"`{row.name}` takes floats, and this is `{struct}`", "use a vector of floats"
        )
    if row.takes == "integer" and not element.is_integer:
        raise lw.clash(node, f"`{row.name}` takes integers, and this is `{struct}`")


# -- functions of whole vectors -----------------------------------------------------------


def _sum_of_products(
    lw: Lowering, node: ast.AST, left: Sequence[Value], right: Sequence[Value]
) -> Value:
    """From left to right, as the host does it."""
    total: Value | Literal = binary(lw, node, _MUL, left[0], right[0])
    for a, b in zip(left[1:], right[1:], strict=True):
        total = binary(lw, node, _ADD, total, binary(lw, node, _MUL, a, b))
    return typed(lw, total, node)


def _same_vectors(
    lw: Lowering, node: ast.AST, operands: Sequence[Operand], name: str
) -> StructType:
    structs = {struct_of(operand) for operand in operands}
    struct = next(iter(structs))
    if len(structs) != 1 or struct is None or vector_of(struct) is None:
        shown = " and ".join(describe(operand) for operand in operands)
        raise lw.clash(node, f"`{name}` takes vectors of one type, and gets {shown}")
    return struct


def _dot(lw: Lowering, node: ast.AST, operands: Sequence[Operand]) -> Operand:
    _same_vectors(lw, node, operands, "dot")
    left, right = (parts(lw, operand, node) for operand in operands)
    return _sum_of_products(lw, node, left, right)


def _cross(lw: Lowering, node: ast.AST, operands: Sequence[Operand]) -> Operand:
    struct = _same_vectors(lw, node, operands, "cross")
    if struct != vector_type(F32, 3):
        raise lw.clash(node, f"`cross` takes two `f32x3`, and gets `{struct}`")
    a, b = (parts(lw, operand, node) for operand in operands)
    turns = ((1, 2), (2, 0), (0, 1))
    lanes = [
        binary(
            lw,
            node,
            _SUB,
            binary(lw, node, _MUL, a[i], b[j]),
            binary(lw, node, _MUL, a[j], b[i]),
        )
        for i, j in turns
    ]
    return _made(lw, node, struct, lanes)


def _length(lw: Lowering, node: ast.AST, operands: Sequence[Operand]) -> Operand:
    struct = _same_vectors(lw, node, operands, "length")
    element = leaves(struct)[0].type
    if not element.is_float:
        raise lw.clash(node, f"`{struct}` has no length in whole numbers", "use floats")
    lanes = parts(lw, operands[0], node)
    squared = _sum_of_products(lw, node, lanes, lanes)
    return lw.value(Math, (squared,), "sqrt", type=element, at=node)


def _normalize(lw: Lowering, node: ast.AST, operands: Sequence[Operand]) -> Operand:
    _same_vectors(lw, node, operands, "normalize")
    whole = computable(lw, operands[0], node)
    return any_binary(lw, node, ast.Div(), whole, _length(lw, node, [whole]))


def _transpose(lw: Lowering, node: ast.AST, operands: Sequence[Operand]) -> Operand:
    struct = struct_of(operands[0])
    rows = matrix_of(struct) if struct is not None else None
    if struct is None or rows is None:
        raise lw.clash(node, f"`transpose` takes a matrix, and gets {describe(operands[0])}")
    cells = parts(lw, operands[0], node)
    order = [row * rows + column for column in range(rows) for row in range(rows)]
    return Aggregate(struct, tuple(cells[place] for place in order))


def _mix(lw: Lowering, node: ast.AST, operands: Sequence[Operand]) -> Operand:
    """`a + (b - a) * t`, for numbers and for vectors."""
    a, b, t = operands
    step = any_binary(lw, node, _MUL, any_binary(lw, node, _SUB, b, a), t)
    return any_binary(lw, node, _ADD, a, step)


def _matrix_product(lw: Lowering, node: ast.AST, left: Operand, right: Operand) -> Operand:
    """`m @ m` and `m @ v`."""
    matrix, other = struct_of(left), struct_of(right)
    rows = matrix_of(matrix) if matrix else None
    if rows is None or other is None or other not in {matrix, vector_type(F32, rows or 2)}:
        raise lw.clash(
            node,
            f"`@` takes a matrix and a matrix or vector of its size, and gets "
            f"{describe(left)} and {describe(right)}",
        )
    cells, factors = parts(lw, left, node), parts(lw, right, node)
    columns = rows if other == matrix else 1
    numbers = [
        _sum_of_products(
            lw,
            node,
            cells[row * rows : (row + 1) * rows],
            [factors[k * columns + column] for k in range(rows)],
        )
        for row in range(rows)
        for column in range(columns)
    ]
    return Aggregate(other, tuple(numbers))


COMPOSED_LOWERINGS: dict[str, Callable[[Lowering, ast.AST, Sequence[Operand]], Operand]] = {
    "cross": _cross,
    "dot": _dot,
    "length": _length,
    "mix": _mix,
    "normalize": _normalize,
    "transpose": _transpose,
}
"""The ops that each row of `model.composed` stands for, by its name."""
