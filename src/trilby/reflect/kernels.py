"""From a decorated function to its code model."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace

from trilby.arguments import closest
from trilby.data.dtypes import ScalarType, is_numpy_scalar
from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.errors import KernelTypeError, TrilbyError, UnsupportedSyntaxError
from trilby.model.build import Builder
from trilby.model.op import Func, Raw, RawBody
from trilby.model.ops.core import Return
from trilby.model.value import NONE, Value, space_of
from trilby.reflect.aggregates import assign_struct, is_struct
from trilby.reflect.capture import MISSING, Captured, capture
from trilby.reflect.expressions import expression
from trilby.reflect.functions import Helper, Kernel
from trilby.reflect.lowering import Callee, Level, Lowering, Origin, local_names
from trilby.reflect.raw import RawHelper
from trilby.reflect.signature import Signature, helper_signature, kernel_signature
from trilby.reflect.statements import block
from trilby.source import Location


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
    raw = _raw_code(helper, signature, reflected.captured)
    return replace(reflected, func=replace(reflected.func, raw=raw))


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
    with lw.inside(level):
        for name, value in lw.params.items():
            if name in lw.stored and is_struct(value):
                assign_struct(lw, name, value, node.args)
            elif name in lw.stored:
                lw.declare(name, value.type, node.args, value)
                lw.mark_assigned(name)
    body = block(lw, node.body, level)
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


# -- raw code -----------------------------------------------------------------------------


def _raw_code(helper: RawHelper[..., object], signature: Signature, captured: Captured) -> Raw:
    """The code that `@tb.raw` gives, checked against the parameters."""
    decorator = _decorator(captured)
    where = captured.location(decorator)
    _check_declared(helper, signature, where)
    bodies = (
        RawBody(language, text, captured.location(_written(decorator, language)))
        for language, text in helper.texts.items()
    )
    names = tuple(param.name for param in signature.params)
    return Raw(names, tuple(bodies), helper.reads, helper.writes)


def _decorator(captured: Captured) -> ast.AST:
    """The call of `tb.raw` above the function; the function where it stands elsewhere."""
    node = captured.node
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    calls = (decorator for decorator in decorators[-1:] if isinstance(decorator, ast.Call))
    return next(calls, node)


def _written(decorator: ast.AST, language: str) -> ast.AST:
    """The literal that holds the text, so that its lines have a place in the source."""
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    values = (keyword.value for keyword in keywords if keyword.arg == language)
    return next((v for v in values if isinstance(v, ast.Constant)), decorator)


def _check_declared(helper: RawHelper[..., object], signature: Signature, where: Location) -> None:
    buffers = {
        param.name: param
        for param in signature.params
        if isinstance(param.type, BufferType | NDArrayType)
    }
    for name in (*helper.reads, *helper.writes):
        if name not in buffers:
            raise KernelTypeError(
                f"@tb.raw names `{name}`, which is no buffer parameter of `{helper.name}`",
                advice=_known_advice(name, tuple(buffers)),
                location=where,
            )
    for name, param in buffers.items():
        if name not in (*helper.reads, *helper.writes):
            raise KernelTypeError(
                f"nothing says what the device code of `{helper.name}` does with `{name}`",
                advice=f'add `reads=("{name}",)` or `writes=("{name}",)`, or both, to @tb.raw',
                location=where,
            )
        if name in helper.writes and space_of(param.type) == "constant":
            raise KernelTypeError(
                f"`{name}` lies in constant memory, and @tb.raw says that it is written",
                advice="declare the parameter without `tb.Constant`, or only read it",
                location=where,
            )


def _known_advice(name: str, buffers: tuple[str, ...]) -> str:
    if not buffers:
        return "it has none: leave `reads` and `writes` out"
    close = closest(name, buffers)
    hint = f"did you mean `{close}`? " if close else ""
    return f"{hint}its buffers are {', '.join(f'`{buffer}`' for buffer in buffers)}"
