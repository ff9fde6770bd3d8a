"""What a kernel asks of its device that not every device has: `f64`, atomics on 64 bits.

Found on the models, before anything is built, so that whoever refuses can name the line and
say how the type came about. What a device has is not known here.
"""

from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from trilby.analysis.reach import KernelGraph, as_on_device, short_name
from trilby.data.dtypes import F64, I64, U64, Type
from trilby.data.schema import ArrayType, NDArrayType, StructType
from trilby.dataclass import dataclass
from trilby.model.op import Func, Op, operands, walk
from trilby.model.ops import arith
from trilby.model.ops.core import Call, Constant
from trilby.model.ops.memory import AtomicUpdate, CompareExchange
from trilby.model.value import RefType, Value, VarType
from trilby.source import Location

Feature: TypeAlias = Literal["f64", "i64_atomics"]
FEATURES: frozenset[Feature] = frozenset({"f64", "i64_atomics"})
"""All that can be asked for, in the words of a device's description."""

_SYMBOLS: Mapping[type[Op], str] = {
    arith.Add: "+",
    arith.Sub: "-",
    arith.Mul: "*",
    arith.TrueDiv: "/",
    arith.FloorDiv: "//",
    arith.Mod: "%",
    arith.Pow: "**",
    arith.Lt: "<",
    arith.Le: "<=",
    arith.Gt: ">",
    arith.Ge: ">=",
    arith.Eq: "==",
    arith.Ne: "!=",
}


@dataclass(frozen=True, slots=True)
class FeatureNeed:
    """A feature, and the place that asks for it: an op, or the head of its function.

    For `x / 2` with an `i32` called `x` in the kernel `k` it is `FeatureNeed("f64", <k>, <truediv>,
    "`i32 / 2` is `f64`, as in NumPy", "write `f32(…)` around the integer, …")`.
    `why` is a clause, `advice` a sentence, both for the user; `calls` lead from the kernel to
    the function, innermost first.
    """

    feature: Feature
    function: Func
    op: Op | None
    why: str
    advice: str
    calls: tuple[tuple[str, Location], ...] = ()

    @property
    def location(self) -> Location:
        """The place in the Python source."""
        return self.op.location if self.op else self.function.location

    @property
    def text(self) -> str:
        """The op as the model has it; the name of the function where it is about its head."""
        from trilby.model.text import op_text  # noqa: PLC0415 -- for people

        return op_text(self.function, self.op) if self.op else self.function.name


def needs(graph: KernelGraph) -> list[FeatureNeed]:
    """All that a kernel and its helpers ask for, the kernel first, in the order of the text.

    Of raw functions only the head is looked at: what their text asks for its author knows.
    """
    graph = as_on_device(graph)
    return [need for function in reversed(graph.functions) for need in _of(function, graph)]


def _of(function: Func, graph: KernelGraph) -> Iterator[FeatureNeed]:
    calls = tuple(_way_to(function, graph))
    for why in _head(function):
        advice = f"declare `f32` in `{short_name(function.name)}` and in what it is given"
        yield FeatureNeed("f64", function, None, why, advice, calls)
    makers = {op.value: op for op in walk(function.body) if op.result}
    users: dict[Value, Op] = {}
    for op in walk(function.body):
        for value in operands(op):
            users.setdefault(value, op)
    for op in walk(function.body):
        if op.result and _holds_f64(op.result.type):
            why, advice = _reason(op, makers, users.get(op.result))
            yield FeatureNeed("f64", function, op, why, advice, calls)
        if isinstance(op, AtomicUpdate | CompareExchange) and op.operand.type in {I64, U64}:
            why = f"an `{op.operand.type}` is changed in one step"
            yield FeatureNeed("i64_atomics", function, op, why, "use `i32` or `u32`", calls)


def _way_to(function: Func, graph: KernelGraph) -> Iterator[tuple[str, Location]]:
    """The calls that lead to a function, by the first caller of each."""
    for caller in graph.functions:
        for op in walk(caller.body):
            if isinstance(op, Call) and op.callee == function.name:
                yield short_name(function.name), op.location
                yield from _way_to(caller, graph)
                return


def _head(function: Func) -> Iterator[str]:
    for param in function.params:
        if param.type is F64:
            yield f"the parameter `{param.hint}` is `f64`"
        elif _holds_f64(param.type):
            yield f"the parameter `{param.hint}` is `{param.type}`, which holds `f64`"
    if _holds_f64(function.result):
        yield f"`{short_name(function.name)}` returns `{function.result}`"


def _holds_f64(type_: Type) -> bool:
    match type_:
        case VarType(of=inner) | RefType(to=inner) | ArrayType(element=inner):
            return _holds_f64(inner)
        case NDArrayType(element=inner):
            return inner is F64
        case StructType():
            return any(_holds_f64(field.type) for field in type_.fields)
        case _:
            return type_ is F64


def _reason(op: Op, makers: Mapping[Value, Op], user: Op | None) -> tuple[str, str]:
    """Why a value is `f64`, and what to write instead.

    A number that was converted for an operator has the operator's place, one that the user
    converted has a place of its own.
    """
    if isinstance(op, arith.Cast | Constant) and user and user.location == op.location:
        origins = [_origin(value, makers, user) for value in operands(user)]
        if isinstance(user, arith.Math):
            shown = ", ".join(f"`{origin}`" for origin in origins)
            return (
                f"`{user.function}` of {shown} is `f64`, as in NumPy",
                f"write `f32(…)` around what `{user.function}` is given",
            )
        if type(user) in _SYMBOLS:
            return _meeting(user, origins)
    return "this is `f64`", "use `f32`: `f32(…)` converts"


def _origin(value: Value, makers: Mapping[Value, Op], user: Op) -> str:
    """What an operand was before it was converted for an operator."""
    maker = makers.get(value)
    if maker and maker.location == user.location:
        if isinstance(maker, arith.Cast):
            return str(maker.operand.type)
        if isinstance(maker, Constant):
            # what divides is a float here, however it was written
            is_divided = isinstance(user, arith.TrueDiv)
            return f"{maker.literal:g}" if is_divided else repr(maker.literal)
    return str(value.type)


def _meeting(user: Op, origins: list[str]) -> tuple[str, str]:
    expression = f" {_SYMBOLS[type(user)]} ".join(origins)
    word = "is compared as" if isinstance(user, arith.Compare) else "is"
    integers = [origin for origin in origins if origin.startswith(("i", "u"))]
    advice = f"write `f32(…)` around {'both' if len(integers) > 1 else 'the integer'}"
    if isinstance(user, arith.TrueDiv):
        advice += ", or divide whole numbers with `//`"
    return f"`{expression}` {word} `f64`, as in NumPy", advice
