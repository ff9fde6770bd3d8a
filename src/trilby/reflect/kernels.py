"""From a decorated function to its code model."""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import CodeType, ModuleType

from trilby.data.dtypes import ScalarType, is_numpy_scalar
from trilby.dataclass import dataclass
from trilby.errors import KernelTypeError, TrilbyError, UnsupportedSyntaxError
from trilby.model.build import Builder
from trilby.model.op import Func
from trilby.model.ops.core import Return
from trilby.model.value import NONE, Value
from trilby.reflect.aggregates import assign_struct, is_struct
from trilby.reflect.capture import MISSING, Captured, capture
from trilby.reflect.expressions import expression
from trilby.reflect.functions import Helper, Kernel, is_helper
from trilby.reflect.lowering import Callee, Level, Lowering, Origin, local_names
from trilby.reflect.raw import RawHelper
from trilby.reflect.signature import Signature, helper_signature, kernel_signature
from trilby.reflect.statements import block


@dataclass(frozen=True, slots=True)
class Reflected:
    """The model of a function, the helpers it calls, and the Python values folded into it."""

    func: Func
    callees: Mapping[str, Callee]
    constants: Mapping[str, object]
    captured: Captured

    def is_current(self) -> bool:
        """False once a global or closure value that was folded in has changed."""
        return all(
            _same(_resolve(self.captured, name), value) for name, value in self.constants.items()
        )


def reflect_kernel(
    kernel: Kernel[...], ranks: tuple[int, ...], symbol_of: Callable[[Callee], str]
) -> Reflected:
    """The model of a kernel for n-d arrays of the given ranks."""
    return _reflect(kernel, kernel_signature(kernel, ranks), kernel.symbol, symbol_of)


def reflect_helper(callee: Callee, symbol: str, symbol_of: Callable[[Callee], str]) -> Reflected:
    """The model of a helper, for the argument ranks of one of its calls."""
    helper = callee.helper
    signature = helper_signature(helper, callee.ranks)
    reflected = _reflect(helper, signature, symbol, symbol_of)
    if not isinstance(helper, RawHelper):
        return reflected
    from trilby.reflect.raw_code import raw_code  # noqa: PLC0415 -- few kernels have any

    raw = raw_code(helper, signature, reflected.captured)
    return replace(reflected, func=replace(reflected.func, raw=raw))


def helpers_named_by(
    captured: Captured, resolve: Callable[[ast.expr], object]
) -> Iterator[Helper[..., object]]:
    """The device functions that host code names, as it calls them; each once."""
    outside = map(captured.lookup, _names(captured.function.__code__))
    if not any(map(_may_be_helper_or_owner, outside)):
        return
    names = (n for n in ast.walk(captured.node) if isinstance(n, ast.Name | ast.Attribute))
    yield from dict.fromkeys(helper for helper in map(resolve, names) if is_helper(helper))


def _may_be_helper_or_owner(thing: object) -> bool:
    """True for a device function, and for a module or class that may have one."""
    if isinstance(thing, type):
        return thing.__module__ != "builtins"
    return isinstance(thing, Helper | ModuleType)


def _names(code: CodeType) -> Iterator[str]:
    """The names that a piece of code looks for outside of itself."""
    yield from code.co_names
    yield from code.co_freevars
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)


def _reflect(
    function: Kernel[...] | Helper[..., object],
    signature: Signature,
    symbol: str,
    symbol_of: Callable[[Callee], str],
) -> Reflected:
    """Lower, and once more whenever a Python number turned out to need another type."""
    captured = capture(function.function)
    if not isinstance(captured.node, ast.FunctionDef):
        raise TypeError(captured.node)
    homes, assignments = local_names(captured.node.body)
    is_kernel = function.kind == "kernel"
    guesses: dict[Origin, ScalarType] = {}
    typed: set[str] = set()
    while True:
        params = {p.name: Value(p.type, p.name) for p in signature.params}
        lowering = Lowering(
            captured=captured,
            result_type=signature.result,
            expression=expression,
            symbol_of=symbol_of,
            params=params,
            homes={**homes, **dict.fromkeys(params, ())},
            stored=frozenset(assignments),
            single=frozenset(name for name, count in assignments.items() if count == 1),
            is_kernel=is_kernel,
            guesses=guesses,
            typed=typed,
        )
        try:
            func = _lower(lowering, captured.node, signature, symbol)
        except TrilbyError:
            # It may be due to a type that was found wrong only after it was used.
            if not lowering.is_stale:
                raise
        except RecursionError as error:
            raise UnsupportedSyntaxError(
                f"`{function.name}` is nested too deeply to be read",
                advice="split its longest expression, or move inner blocks to a @tb.func",
                location=captured.location(captured.node),
            ) from error
        else:
            if not lowering.is_stale:
                return Reflected(func, lowering.callees, lowering.constants, captured)


def _lower(lw: Lowering, node: ast.FunctionDef, signature: Signature, symbol: str) -> Func:
    level = Level(Builder(), ())

    def parameters_that_change() -> None:
        for name, value in lw.params.items():
            if name in lw.stored:
                if is_struct(value):
                    assign_struct(lw, name, value, node.args)
                else:
                    lw.declare(name, value.type, node.args, value)
                    lw.mark_assigned(name)

    body = block(lw, node.body, level, parameters_that_change)
    if lw.assigned is not None:
        if signature.result != NONE:
            raise KernelTypeError(
                f"`{node.name}` returns `{signature.result}`, and some path ends without a value",
                advice="end every path with `return …`",
                location=lw.where(node.body[-1]),
            )
        level.builder.run(Return, (), location=lw.where(node.body[-1]))
        body = level.builder.block()
    kind = "kernel" if lw.is_kernel else "func"
    return Func(symbol, tuple(lw.params.values()), signature.result, body, kind, lw.where(node))


def _resolve(captured: Captured, name: str) -> object:
    first, *rest = name.split(".")
    thing = captured.lookup(first)
    for part in rest:
        thing = getattr(thing, part, MISSING)
    return thing


def _same(left: object, right: object) -> bool:
    """Numbers by what they look like, which tells 0.0 from -0.0 and makes NaN equal to itself."""
    if left is right:
        return True
    is_number = isinstance(left, bool | int | float) or is_numpy_scalar(left)
    return is_number and type(left) is type(right) and repr(left) == repr(right)
