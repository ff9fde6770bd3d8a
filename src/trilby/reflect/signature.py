"""The declared types of a function: its annotations, resolved."""

import ast
import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import get_args, get_origin

import numpy as np

from trilby.data.annotations import is_constant, type_of
from trilby.data.dtypes import SCALARS, ScalarType, Type
from trilby.data.kernel_context import KernelContext
from trilby.data.ndarray import NDArray
from trilby.data.schema import NDArrayType, StructType
from trilby.dataclass import dataclass
from trilby.errors import KernelNameError, KernelTypeError, TrilbyError, UnsupportedSyntaxError
from trilby.model.value import KERNEL_CONTEXT, NONE
from trilby.reflect.capture import Captured, capture
from trilby.reflect.functions import Helper, Kernel, Reflectable, is_helper
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
            location=capture(kernel.function).head,
        )
    for parameter in signature.params[1:]:
        if parameter.type == KERNEL_CONTEXT:
            raise KernelTypeError(
                f"`{parameter.name}` is a second kernel context",
                advice="a launch gives one: take the others out",
                location=parameter.location,
            )
    if signature.result != NONE:
        raise KernelTypeError(
            f"the kernel `{kernel.name}` returns nothing, and is declared to return "
            f"`{signature.result}`",
            advice="write `-> None` and put results into a buffer",
            location=capture(kernel.function).head,
        )
    return with_ranks(signature, ranks)


def with_ranks(signature: Signature, ranks: tuple[int, ...]) -> Signature:
    """Fill in the ranks of the n-d array parameters, first to last; missing ones are 1."""
    remaining = list(ranks)
    params = tuple(
        replace(p, type=replace(p.type, rank=remaining.pop(0) if remaining else 1))
        if isinstance(p.type, NDArrayType)
        else p
        for p in signature.params
    )
    return Signature(params, signature.result)


def ranks_from_use(function: Reflectable) -> tuple[int, ...]:
    """The ranks that subscripts suggest, for showing code without a launch.

    They are looked for in the function, and then in the helpers that get its arrays.
    """
    return tuple(rank or 1 for rank in _ranks(function, {}))


def _ranks(function: Reflectable, known: dict[Reflectable, tuple[int, ...]]) -> tuple[int, ...]:
    """A rank for each n-d array parameter; 0 where nothing tells."""
    arrays = _arrays(function)
    if function in known or not arrays:
        return known.get(function, ())
    known[function] = (0,) * len(arrays)
    captured = capture(function.function)
    found: dict[str, int] = {}
    in_helpers: dict[str, int] = {}
    for node in ast.walk(captured.node):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            rank = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
            found.setdefault(node.value.id, rank)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            helper = captured.lookup(node.func.id)
            # What is wrong with a helper is told when its call is lowered.
            with suppress(TrilbyError):
                in_helpers |= _given_ranks(helper, node, known) if is_helper(helper) else {}
    found = in_helpers | found
    known[function] = tuple(found.get(array.name, 0) for array in arrays)
    return known[function]


def _arrays(function: Reflectable) -> tuple[Parameter, ...]:
    return tuple(p for p in _declared(function).params if isinstance(p.type, NDArrayType))


def _given_ranks(
    helper: Reflectable, call: ast.Call, known: dict[Reflectable, tuple[int, ...]]
) -> dict[str, int]:
    """The ranks of the names that a call gives to a helper's n-d arrays."""
    names = [p.name for p in _declared(helper).params]
    given = {**dict(zip(names, call.args, strict=False)), **{k.arg: k.value for k in call.keywords}}
    ranks = zip(_arrays(helper), _ranks(helper, known), strict=True)
    arguments = ((given.get(p.name), rank) for p, rank in ranks)
    return {a.id: rank for a, rank in arguments if isinstance(a, ast.Name) and rank}


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
    arguments = node.args
    odd = [arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.defaults]
    for part in filter(None, odd):
        raise UnsupportedSyntaxError(
            "kernels and their functions take plain parameters only",
            advice="leave out `*`, `**`, keyword-only parameters and default values",
            location=captured.location(part),
        )
    annotations = {
        name: _resolved(function, captured, name, annotation)
        for name, annotation in function.function.__annotations__.items()
    }
    params = tuple(
        Parameter(
            argument.arg,
            _parameter_type(function, captured, argument, annotations),
            captured.location(argument),
        )
        for argument in (*arguments.posonlyargs, *arguments.args)
    )
    return Signature(params, _result_type(function, captured, node, annotations))


def _resolved(function: Reflectable, captured: Captured, name: str, annotation: object) -> object:
    """Evaluate an annotation that is text, with the names that the function sees."""
    if not isinstance(annotation, str):
        return annotation
    python = function.function
    names = {**function.scope, **inspect.getclosurevars(python).nonlocals}
    try:
        found: object = eval(annotation, python.__globals__, names)  # noqa: S307 -- the user's own annotation
        return _resolved(function, captured, name, found)
    except (NameError, AttributeError, SyntaxError, TypeError) as error:
        what = "the result" if name == "return" else f"`{name}`"
        raise KernelNameError(
            f"the annotation `{annotation}` of {what} cannot be resolved: {error}",
            advice="import the name at the top of the module"
            if isinstance(error, NameError | AttributeError)
            else _GENERAL_ADVICE,
            location=captured.head,
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
            advice="kernels and their functions are no methods: use @staticmethod, or module level"
            if argument.arg in {"self", "cls"}
            else f"annotate it: `{argument.arg}: i32`, `{argument.arg}: S32Array`",
            location=location,
        )
    annotation = annotations[argument.arg]
    if annotation is KernelContext:
        return KERNEL_CONTEXT
    found = type_of(annotation)
    if found is None or (isinstance(found, StructType) and found.is_union):
        raise KernelTypeError(
            f"parameter `{argument.arg}` of `{function.name}` is "
            f"`{_name_of(annotation)}`, which a kernel cannot take",
            advice=_parameter_advice(annotation),
            location=location,
        )
    return found


def _name_of(annotation: object) -> str:
    if is_constant(annotation):
        return f"tb.Constant[{_name_of(get_args(annotation)[0])}]"
    is_plain = isinstance(annotation, type) and not get_args(annotation)
    return str(getattr(annotation, "__name__", annotation)) if is_plain else str(annotation)


def scalar_named(thing: object) -> ScalarType | None:
    """The scalar type that a NumPy class such as `np.float32` stands for."""
    if not isinstance(thing, type):
        return None
    return next((t for t in SCALARS.values() if t.numpy.type is thing), None)


_GENERAL_ADVICE = (
    "kernels take numbers (`i32`, `f32`, …), buffers (`S32Array`, …) and `NDArray[f32]`"
)
_ADVICE: Mapping[object, str] = {
    int: "say the width: `i32`, `i64`, `u8`, …",
    float: "say the width: `f32`, `f64` or `f16`",
    list: "take a buffer (`S32Array`, …) or `NDArray[i32]`",
    tuple: "take its items as parameters of their own",
    NDArray: "say what it holds: `NDArray[f32]`",
    np.ndarray: "take `NDArray[f32]` and pass `accelerator.array(x)`",
}


def _parameter_advice(annotation: object) -> str:
    if is_constant(annotation):
        return "constant memory holds buffers and n-d arrays; other values need no memory"
    for known, advice in _ADVICE.items():
        if annotation is known or get_origin(annotation) is known:
            return advice
    if numpy_scalar := scalar_named(annotation):
        return f"write `{numpy_scalar}`"
    if isinstance(type_of(annotation), StructType):
        return "take the buffer that holds it, and an index"
    return _GENERAL_ADVICE


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
            location=captured.head,
        )
    annotation = annotations["return"]
    if annotation is None or annotation is type(None):
        return NONE
    found = type_of(annotation)
    is_struct = type(found) is StructType and not found.is_union
    if found is not None and (isinstance(found, ScalarType) or is_struct):
        return found
    raise KernelTypeError(
        f"`{function.name}` returns `{_name_of(annotation)}`, which a kernel's function cannot",
        advice="return a number (`i32`, `f32`, …), a struct, a vector, or None",
        location=captured.location(node.returns) if node.returns else captured.head,
    )
