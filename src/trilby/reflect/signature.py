"""The declared types of a function: its annotations, resolved."""

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from trilby.data.annotations import type_of
from trilby.data.dtypes import ScalarType, Type
from trilby.data.kernel_context import KernelContext
from trilby.data.schema import BufferType, NDArrayType, StructType
from trilby.errors import KernelNameError, KernelTypeError, UnsupportedSyntaxError
from trilby.model.value import KERNEL_CONTEXT, NONE
from trilby.reflect.capture import Captured, capture
from trilby.reflect.functions import Helper, Kernel, Reflectable
from trilby.source import Location


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter with its type; `rank` 0 of an n-d array means that a launch decides."""

    name: str
    type: Type
    location: Location


@dataclass(frozen=True, slots=True)
class Signature:
    """What goes in and what comes out."""

    params: tuple[Parameter, ...]
    result: Type


def helper_signature(helper: Helper[..., object], ranks: tuple[int, ...] = ()) -> Signature:
    """The signature of a helper, with the ranks of its n-d arrays in their order."""
    return with_ranks(_declared(helper), ranks)


def kernel_signature(kernel: Kernel[...], ranks: tuple[int, ...] = ()) -> Signature:
    """The signature of a kernel, the kernel context first."""
    signature = _declared(kernel)
    if not signature.params or signature.params[0].type != KERNEL_CONTEXT:
        raise KernelTypeError(
            f"the first parameter of the kernel `{kernel.name}` is the kernel context",
            advice=f"write `def {kernel.name}(kc: KernelContext, …) -> None:`",
            location=_head(capture(kernel.function)),
        )
    if signature.result != NONE:
        raise KernelTypeError(
            f"the kernel `{kernel.name}` returns nothing, and is declared to return "
            f"`{signature.result}`",
            advice="write `-> None` and put results into a buffer",
            location=_head(capture(kernel.function)),
        )
    return with_ranks(signature, ranks)


def with_ranks(signature: Signature, ranks: tuple[int, ...]) -> Signature:
    """Fill in the ranks of the n-d array parameters, first to last; missing ones are 1."""
    remaining = list(ranks)
    params = tuple(
        replace(p, type=NDArrayType(p.type.element, remaining.pop(0) if remaining else 1))
        if isinstance(p.type, NDArrayType)
        else p
        for p in signature.params
    )
    return Signature(params, signature.result)


def ranks_from_use(function: Reflectable) -> tuple[int, ...]:
    """The ranks that a function's own subscripts suggest, for showing code without a launch."""
    captured = capture(function.function)
    found: dict[str, int] = {}
    for node in ast.walk(captured.node):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            rank = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
            found.setdefault(node.value.id, rank)
    return tuple(
        found.get(p.name, 1) for p in _declared(function).params if isinstance(p.type, NDArrayType)
    )


@lru_cache(maxsize=1024)
def _declared(function: Reflectable) -> Signature:
    captured = capture(function.function)
    node = captured.node
    if not isinstance(node, ast.FunctionDef):
        raise UnsupportedSyntaxError(
            f"@tb.{function.kind} takes a plain `def`",
            advice="write a function with `def`",
            location=captured.location(node),
        )
    _check_arguments(captured, node.args)
    annotations = _annotations(function, captured)
    params = tuple(
        Parameter(
            argument.arg,
            _parameter_type(function, captured, argument, annotations),
            captured.location(argument),
        )
        for argument in (*node.args.posonlyargs, *node.args.args)
    )
    return Signature(params, _result_type(function, captured, node, annotations))


def _head(captured: Captured) -> Location:
    """The line of `def`, without the body."""
    whole = captured.location(captured.node)
    return replace(whole, end_line=whole.line, end_column=10_000)


def _check_arguments(captured: Captured, arguments: ast.arguments) -> None:
    odd = [arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.defaults]
    for node in odd:
        if node is not None:
            raise UnsupportedSyntaxError(
                "kernels and their functions take plain parameters only",
                advice="leave out `*`, `**`, keyword-only parameters and default values",
                location=captured.location(node),
            )


def _annotations(function: Reflectable, captured: Captured) -> Mapping[str, object]:
    return {
        name: _resolved(function, captured, name, annotation)
        for name, annotation in function.function.__annotations__.items()
    }


def _resolved(
    function: Reflectable, captured: Captured, name: str, annotation: object
) -> object:
    """Evaluate an annotation that is text, with the names that the function sees."""
    if not isinstance(annotation, str):
        return annotation
    python = function.function
    names = {**function.scope, **inspect.getclosurevars(python).nonlocals}
    try:
        return eval(annotation, python.__globals__, names)  # noqa: S307 -- the user's own annotation
    except NameError as error:
        raise KernelNameError(
            f"the annotation `{annotation}` of `{name}` cannot be resolved: {error}",
            advice="import the name at the top of the module",
            location=_head(captured),
        ) from error


def _parameter_type(
    function: Reflectable,
    captured: Captured,
    argument: ast.arg,
    annotations: Mapping[str, object],
) -> Type:
    location = captured.location(argument)
    if argument.arg not in annotations:
        raise KernelTypeError(
            f"parameter `{argument.arg}` of `{function.name}` has no type",
            advice=f"annotate it: `{argument.arg}: i32`, `{argument.arg}: S32Array`",
            location=location,
        )
    annotation = annotations[argument.arg]
    if annotation is KernelContext:
        return KERNEL_CONTEXT
    found = type_of(annotation)
    if found is None or (isinstance(found, StructType) and not isinstance(found, BufferType)):
        raise KernelTypeError(
            f"parameter `{argument.arg}` of `{function.name}` is "
            f"`{_name_of(annotation)}`, which a kernel cannot take",
            advice=_parameter_advice(annotation),
            location=location,
        )
    return found


def _name_of(annotation: object) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)


def _parameter_advice(annotation: object) -> str:
    if annotation is int:
        return "say the width: `i32`, `i64`, `u8`, …"
    if annotation is float:
        return "say the width: `f32`, `f64` or `f16`"
    if getattr(annotation, "__module__", "").startswith("numpy"):
        return "take `NDArray[f32]` and pass `accelerator.array(x)`"
    if annotation is list or getattr(annotation, "__origin__", None) is list:
        return "take a buffer (`S32Array`, …) or `NDArray[i32]`"
    return "kernels take numbers (`i32`, `f32`, …), buffers (`S32Array`, …) and `NDArray[f32]`"


def _result_type(
    function: Reflectable,
    captured: Captured,
    node: ast.FunctionDef,
    annotations: Mapping[str, object],
) -> Type:
    if "return" not in annotations:
        if isinstance(function, Kernel):
            return NONE
        raise KernelTypeError(
            f"`{function.name}` does not say what it returns",
            advice="annotate the result: `-> i32`, or `-> None`",
            location=_head(captured),
        )
    annotation = annotations["return"]
    if annotation is None or annotation is type(None):
        return NONE
    found = type_of(annotation)
    if isinstance(found, ScalarType):
        return found
    raise KernelTypeError(
        f"`{function.name}` returns `{_name_of(annotation)}`, which a kernel's function cannot",
        advice="return a number (`i32`, `f32`, …) or None",
        location=captured.location(node.returns) if node.returns else _head(captured),
    )
