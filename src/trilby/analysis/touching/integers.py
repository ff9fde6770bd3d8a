"""From the arithmetic ops of a model to expressions. What has no expression is opaque."""

from collections.abc import Callable, Mapping, Sequence

from trilby.analysis.touching.kernel_expressions import Expr, Expressions
from trilby.data.dtypes import BOOL, ScalarType
from trilby.model.op import Op, operands
from trilby.model.ops import arith
from trilby.model.value import Value

_SAME_NAME: Mapping[type[Op], str] = {
    arith.Add: "add",
    arith.Sub: "sub",
    arith.Mul: "mul",
    arith.FloorDiv: "floordiv",
    arith.Mod: "mod",
}
_COMPARED: Mapping[type[Op], tuple[str, bool]] = {
    arith.Lt: ("lt", False),
    arith.Le: ("le", False),
    arith.Gt: ("lt", True),
    arith.Ge: ("le", True),
    arith.Eq: ("eq", False),
    arith.Ne: ("ne", False),
}
"""The comparison that says the same, and whether its operands change places."""


def counted_type(value: Value) -> ScalarType | None:
    """The type of an integer or bool; None for everything else."""
    if isinstance(value.type, ScalarType) and not value.type.is_float:
        return value.type
    return None


def computed(made: Expressions, op: Op, of: Callable[[Value], Expr | None]) -> Expr | None:
    """The expression of an arithmetic op; None where its result is no integer or bool."""
    if op.result is None:
        return None
    type_ = counted_type(op.result)
    if type_ is None:
        return None
    args = [of(operand) for operand in operands(op)]
    known = [arg for arg in args if arg is not None]
    found = _expression(made, op, known, type_) if len(known) == len(args) else None
    return found or made.opaque(type_)


def _expression(made: Expressions, op: Op, args: Sequence[Expr], type_: ScalarType) -> Expr | None:
    match op:
        case arith.Compare():
            name, is_swapped = _COMPARED[type(op)]
            both = tuple(reversed(args)) if is_swapped else tuple(args)
            return None if args[0].type is BOOL else made.make(name, both, None, BOOL)
        case arith.Cast():
            return cast(made, args[0], type_)
        case arith.Not():
            return made.negated(args[0])
        case arith.BitAnd() if type_ is BOOL:
            return made.both(args[0], args[1])
        case arith.BitOr() if type_ is BOOL:
            return made.either(args[0], args[1])
        case _ if type_ is BOOL:
            return None
        case arith.Math(function="clamp"):
            x, low, high = args
            above = made.make("max", (x, low), None, type_)
            return made.make("min", (above, high), None, type_)
        case arith.Math(function=name):
            is_known = name in {"min", "max", "abs"}
            return made.make(name, tuple(args), None, type_) if is_known else None
        case arith.Neg() | arith.Invert():
            start = made.constant(0 if isinstance(op, arith.Neg) else -1)
            return made.make("sub", (start, args[0]), None, type_)
        case _ if type(op) in _SAME_NAME:
            found = _group_start(made, args) if isinstance(op, arith.Mul) else None
            return found or made.make(_SAME_NAME[type(op)], tuple(args), None, type_)
        case _:
            return _bits(made, op, args, type_)


def cast(made: Expressions, arg: Expr, type_: ScalarType) -> Expr:
    """A number as another integer type, or a truth value as a number, or the reverse."""
    if arg.type is type_:
        return arg
    if type_ is BOOL:
        return made.make("ne", (arg, made.constant(0, arg.type)), None, BOOL)
    if arg.type is BOOL:
        return made.select(arg, made.constant(1, type_), made.constant(0, type_))
    return made.make("cast", (arg,), None, type_)


def _bits(made: Expressions, op: Op, args: Sequence[Expr], type_: ScalarType) -> Expr | None:
    """Shifts by a known distance, and the lowest bits, are products, quotients and remainders."""
    left, right = args
    if left.op == "constant" and isinstance(op, arith.BitAnd):
        left, right = right, left
    number = right.what if right.op == "constant" else None
    if not isinstance(number, int):
        return None
    if isinstance(op, arith.BitAnd):
        if number < 0:
            return None
        is_mask = not number & (number + 1)
        masked = left if is_mask else made.opaque(type_)  # some number, and no higher
        return made.make("mod", (masked, made.constant(number + 1)), None, type_)
    if isinstance(op, arith.Shl | arith.Shr) and 0 <= number < type_.bits:
        name = "mul" if isinstance(op, arith.Shl) else "floordiv"
        return made.make(name, (left, made.constant(1 << number)), None, type_)
    return None


def _group_start(made: Expressions, args: Sequence[Expr]) -> Expr | None:
    """`group_x * local_max_x`: where a group begins, also if its size is not known."""
    fields = sorted(str(arg.what) for arg in args if arg.op == "grid")
    for axis in "xyz":
        if fields == [f"group_{axis}", f"local_max_{axis}"]:
            return made.make("group_start", (), axis, args[0].type)
    return None
