"""The texts that a function becomes on its way to a device."""

from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from typing import Protocol, runtime_checkable

from trilby.analysis.reach import KernelGraph
from trilby.backend.registry import open_backend
from trilby.codegen.opencl_c import generate
from trilby.data.schema import NDArrayType
from trilby.errors import ArgumentValueError
from trilby.model.text import to_text
from trilby.reflect.functions import Kernel, Reflectable, is_compute, is_kernel
from trilby.reflect.signature import kernel_signature
from trilby.runtime.compile import AnalysedKernel, ContextOf, analyse_compute, analyse_kernel


def emit(function: Reflectable, target: str, *, ranks: tuple[int, ...] | None, lines: bool) -> str:
    """The text of a kernel, or of all kernels of a compute function, for a target."""
    if target not in TARGETS:
        raise ArgumentValueError(
            f"there is no target `{target}`", advice=f"use one of {', '.join(TARGETS)}"
        )
    if is_kernel(function):
        _check_ranks(function, ranks)
        return TARGETS[target](analyse_kernel(function, ranks), lines)
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
    return _all_kernels(analyse_compute(function), target, lines=lines)


def _all_kernels(context: ContextOf, target: str, *, lines: bool) -> str:
    host = [to_text(f, locations=lines) + "\n" for f in context.graph.functions]
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
    return "\n".join(to_text(f, locations=lines) for f in kernel.graph.functions)


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
