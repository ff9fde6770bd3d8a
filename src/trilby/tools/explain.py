"""What becomes of a compute function: its model before and after, what its kernels touch."""

from collections.abc import Iterator, Sequence

from trilby.codegen.python import to_python
from trilby.errors import ArgumentValueError
from trilby.options import Transfers
from trilby.reflect.functions import Reflectable, is_compute, is_kernel
from trilby.runtime.compile import AnalysedKernel, ContextOf, analyse_compute, analyse_kernel
from trilby.transform.listing import listing
from trilby.transform.passes import Passed, run_passes


def explain(function: Reflectable, transfers: Transfers, *, kernel: str | None = None) -> str:
    """The text of `trilby explain`.

    For a compute function: its model and those of the compute functions that it calls, before
    and behind the passes of a strategy, the Python that runs, and the tables of its kernels, or
    of the one that is named. For a kernel its tables alone.
    """
    if is_kernel(function):
        return "\n\n".join(_tables([analyse_kernel(function)], kernel)) + "\n"
    if not is_compute(function):
        raise ArgumentValueError(
            f"`{function.name}` is a @tb.func, and only compute functions and kernels move data",
            advice="name a kernel that calls it, or a compute function",
        )
    context = analyse_compute(function)
    sections = [*_functions(context, transfers), *_tables(context.kernels, kernel)]
    return "\n\n".join(sections) + "\n"


def _functions(context: ContextOf, transfers: Transfers) -> Iterator[str]:
    passes = context.passes(transfers)
    for func in reversed(context.graph.functions):  # the entry point first
        yield f'compute @"{func.name}" under {transfers}'
        yield compute_section(run_passes(func, passes))


def compute_section(passed: Passed) -> str:
    """A compute function before and after, and as Python."""
    return f"{listing(passed)}\n\nPYTHON\n{to_python(passed.func)}"


def _tables(kernels: Sequence[AnalysedKernel], wanted: str | None) -> Iterator[str]:
    names = [analysed.kernel.name for analysed in kernels]
    if wanted is not None and wanted not in names:
        raise ArgumentValueError(
            f"no kernel called `{wanted}` is dispatched here",
            advice=f"there is {', '.join(names) or 'none'}",
        )
    for analysed in kernels:
        if wanted in {None, analysed.kernel.name}:
            yield str(analysed.access)
            yield str(analysed.footprint)
