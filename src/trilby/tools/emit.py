"""The texts that a function becomes on its way to a device."""

from collections.abc import Callable, Mapping

from trilby.codegen.opencl import generate
from trilby.errors import ArgumentValueError
from trilby.model.text import to_text
from trilby.reflect.functions import Reflectable, is_compute, is_kernel
from trilby.runtime.compile import AnalysedKernel, ContextOf, analyse_compute, analyse_kernel


def emit(
    function: Reflectable, target: str, *, ranks: tuple[int, ...] | None, lines: bool
) -> str:
    """The text of a kernel, or of all kernels of a compute function, for a target."""
    if target not in TARGETS:
        raise ArgumentValueError(
            f"there is no target `{target}`", advice=f"use one of {', '.join(TARGETS)}"
        )
    if is_kernel(function):
        return TARGETS[target](analyse_kernel(function, ranks), lines)
    if not is_compute(function):
        raise ArgumentValueError(
            f"`{function.name}` is a @tb.func, and code is made for kernels",
            advice="name a kernel that calls it, or a compute function",
        )
    context = analyse_compute(function)
    kernels = [TARGETS[target](kernel, lines) for kernel in context.kernels]
    return "\n".join([*_host_part(context, target), *kernels])


def _host_part(context: ContextOf, target: str) -> list[str]:
    if target != "model":
        return []
    return [to_text(function) + "\n" for function in context.graph.functions]


def _opencl(kernel: AnalysedKernel, lines: bool) -> str:  # noqa: FBT001 -- one shape for all targets
    return generate(kernel.graph, lines=lines).text


def _model(kernel: AnalysedKernel, lines: bool) -> str:  # noqa: FBT001 -- one shape for all targets
    return "\n".join(to_text(f, locations=lines) for f in kernel.graph.functions)


def _access(kernel: AnalysedKernel, _lines: bool) -> str:  # noqa: FBT001 -- one shape for all targets
    return str(kernel.access)


TARGETS: Mapping[str, Callable[[AnalysedKernel, bool], str]] = {
    "opencl": _opencl,
    "model": _model,
    "access": _access,
}
"""What a kernel can be shown as."""
