"""The texts that a function becomes on its way to a device."""

from collections.abc import Iterator, Sequence
from contextlib import closing

from trilby.backend.registry import open_backend
from trilby.codegen.opencl_c import generate
from trilby.data.schema import NDArrayType
from trilby.errors import ArgumentValueError
from trilby.model.op import Func
from trilby.model.rewrite import Transform
from trilby.model.text import to_text
from trilby.reflect.functions import Kernel, Reflectable, is_compute, is_kernel
from trilby.reflect.signature import kernel_signature
from trilby.runtime.compile import AnalysedKernel, ContextOf, analyse_compute, analyse_kernel
from trilby.transform.pipelines import (
    COMPUTE_TRANSFORMS,
    KERNEL_TRANSFORMS,
    Transformed,
    lower_kernel,
)

TARGETS = ("opencl", "llvm", "asm", "model", "access")
"""What a kernel can be shown as."""


def emit(
    function: Reflectable,
    target: str,
    *,
    ranks: tuple[int, ...] | None,
    lines: bool,
    transforms: Sequence[Transform] = (),
    after: str | None = None,
) -> str:
    """The text of a kernel, or of all kernels of a compute function, for a target.

    `transforms` are applied first. With `after`, a model is the one behind that transform.
    """
    if target not in TARGETS:
        raise ArgumentValueError(
            f"there is no target `{target}`", advice=f"use one of {', '.join(TARGETS)}"
        )
    if after is not None:
        _check_after(after, target, transforms)
    if is_kernel(function):
        _check_ranks(function, ranks)
        kernel = analyse_kernel(function, ranks, transforms)
        return _emitted(kernel, target, after, lines=lines)
    if not is_compute(function):
        raise ArgumentValueError(
            f"`{function.name}` is a @tb.func, and code is made for kernels",
            advice="name a kernel that calls it, or a compute function",
        )
    if ranks is not None:
        raise ArgumentValueError(
            f"`{function.name}` is a compute function, and ranks belong to kernels",
            advice="leave the ranks out, or name a kernel",
        )
    context = analyse_compute(function, transforms)
    parts = list(_parts(context, target, after, lines=lines))
    if not parts:
        raise ArgumentValueError(
            f"`{context.entry.func.name}` dispatches no kernel that is known before it runs",
            advice="name the kernel itself",
        )
    return "\n".join(parts)


def _check_after(after: str, target: str, transforms: Sequence[Transform]) -> None:
    known = [*(one.name for one in transforms), *COMPUTE_TRANSFORMS, *KERNEL_TRANSFORMS]
    if target != "model":
        raise ArgumentValueError(
            f"`{target}` is not a model, and only models are shown after a transform",
            advice="write `--target model`",
        )
    if after not in known:
        raise ArgumentValueError(
            f"there is no transform `{after}`", advice=f"use one of {', '.join(known)}"
        )


def _parts(context: ContextOf, target: str, after: str | None, *, lines: bool) -> Iterator[str]:
    """The kernels of a context, behind its compute functions where models are asked for."""
    if target == "model" and after is None:
        yield from (_text([func], lines=lines) + "\n" for func in context.graph.device_functions)
    if target == "model":
        strategy = COMPUTE_TRANSFORMS.get(after or "")
        rest = context.transforms(strategy) if strategy else ()
        for func in context.graph.functions:
            done = context.transformed[func.name].then(rest)
            shown = [func] if after is None else _functions_after(done, after)
            yield _text(shown, lines=lines) + "\n"
    yield from (_emitted(kernel, target, after, lines=lines) for kernel in context.kernels)


def _emitted(kernel: AnalysedKernel, target: str, after: str | None, *, lines: bool) -> str:
    """The text of a kernel."""
    if after is not None:
        wanted = KERNEL_TRANSFORMS if after in KERNEL_TRANSFORMS else ()
        return _text(_functions_after(lower_kernel(kernel.transformed, wanted), after), lines=lines)
    if target == "opencl":
        return generate(kernel.graph, lines=lines).text
    if target == "model":
        return _text(kernel.graph.functions, lines=lines)
    if target == "access":
        return str(kernel.access)
    with closing(open_backend("native").backend) as native:
        show = getattr(native, "assembly" if target == "asm" else "text")
        text: str = show(kernel.graph, lines=lines)
        return text


def _functions_after(done: Transformed, name: str) -> tuple[Func, ...]:
    """The functions behind the transform of that name; in their last form where it is not there."""
    return next((step.after for step in done.steps if step.name == name), done.functions)


def _text(functions: Sequence[Func], *, lines: bool) -> str:
    return "\n".join(to_text(func, locations=lines) for func in functions)


def _check_ranks(kernel: Kernel[...], ranks: tuple[int, ...] | None) -> None:
    params = kernel_signature(kernel).params
    arrays = [param.name for param in params if isinstance(param.type, NDArrayType)]
    if ranks is None or len(ranks) == len(arrays):
        return
    takes = f"{len(arrays)} n-d arrays ({', '.join(arrays)})" if arrays else "no n-d arrays"
    raise ArgumentValueError(
        f"`{kernel.name}` takes {takes}, and {len(ranks)} ranks are given",
        advice="give one rank for each, in their order, or leave the ranks out",
    )
