"""The texts that a function becomes on its way to a device."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Protocol, runtime_checkable

from trilby.analysis.reach import KernelGraph
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
        return _model_after(kernel, after, lines=lines) if after else TARGETS[target](kernel, lines)
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
    if after is not None:
        return "\n".join(_models_after(context, after, lines=lines))
    return _all_kernels(context, target, lines=lines)


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


def _models_after(context: ContextOf, after: str, *, lines: bool) -> Iterator[str]:
    """The compute functions and kernels of a context behind a transform, wherever it is one."""
    strategy = COMPUTE_TRANSFORMS.get(after)
    rest = context.transforms(strategy) if strategy else ()
    for func in context.graph.functions:
        done = context.transformed[func.name].then(rest)
        yield _text(_functions_after(done, after), lines=lines) + "\n"
    for kernel in context.kernels:
        yield _model_after(kernel, after, lines=lines)


def _model_after(kernel: AnalysedKernel, after: str, *, lines: bool) -> str:
    wanted = KERNEL_TRANSFORMS if after in KERNEL_TRANSFORMS else ()
    return _text(_functions_after(lower_kernel(kernel.transformed, wanted), after), lines=lines)


def _functions_after(done: Transformed, name: str) -> tuple[Func, ...]:
    """The functions behind the transform of that name; in their last form where it is not there."""
    return next((step.after for step in done.steps if step.name == name), done.functions)


def _text(functions: Sequence[Func], *, lines: bool) -> str:
    return "\n".join(to_text(func, locations=lines) for func in functions)


def _all_kernels(context: ContextOf, target: str, *, lines: bool) -> str:
    graph = context.graph
    host = [to_text(f, locations=lines) + "\n" for f in (*graph.device_functions, *graph.functions)]
    parts = host if target == "model" else []
    parts += [TARGETS[target](kernel, lines) for kernel in context.kernels]
    if not parts:
        raise ArgumentValueError(
            f"`{context.entry.func.name}` dispatches no kernel that is known before it runs",
            advice="name the kernel itself",
        )
    return "\n".join(parts)


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


def _opencl(kernel: AnalysedKernel, lines: bool) -> str:  # noqa: FBT001 -- one shape for all targets
    return generate(kernel.graph, lines=lines).text


def _model(kernel: AnalysedKernel, lines: bool) -> str:  # noqa: FBT001 -- one shape for all targets
    return _text(kernel.graph.functions, lines=lines)


def _access(kernel: AnalysedKernel, _lines: bool) -> str:  # noqa: FBT001 -- one shape for all targets
    return str(kernel.access)


@runtime_checkable
class Showing(Protocol):
    """A backend that can show the texts on the way to its processor."""

    def text(self, graph: KernelGraph, *, lines: bool) -> str:
        """What is compiled for a kernel."""
        ...

    def assembly(self, graph: KernelGraph, *, lines: bool) -> str:
        """What a kernel becomes in the end."""
        ...


def _llvm(kernel: AnalysedKernel, lines: bool) -> str:  # noqa: FBT001 -- one shape for all targets
    with _native() as backend:
        return backend.text(kernel.graph, lines=lines)


def _asm(kernel: AnalysedKernel, lines: bool) -> str:  # noqa: FBT001 -- one shape for all targets
    with _native() as backend:
        return backend.assembly(kernel.graph, lines=lines)


@contextmanager
def _native() -> Generator[Showing]:
    with closing(open_backend("native").backend) as backend:
        if not isinstance(backend, Showing):
            raise TypeError(backend)
        yield backend


TARGETS: Mapping[str, Callable[[AnalysedKernel, bool], str]] = {
    "opencl": _opencl,
    "llvm": _llvm,
    "asm": _asm,
    "model": _model,
    "access": _access,
}
"""What a kernel can be shown as."""
