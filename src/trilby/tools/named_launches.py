"""What the launches of a compute function do with the buffers that its variables hold."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from trilby.analysis.access import AccessMode
from trilby.model.op import Func, Op, walk
from trilby.model.ops.core import Var, VarLoad
from trilby.model.ops.host import Dispatch
from trilby.model.value import Value
from trilby.runtime.compile import AnalysedKernel, ContextOf


class NamedLaunch(NamedTuple):
    """A dispatch: its kernel, and the caller's names of the buffers that it is given."""

    kernel: str
    given: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def value_names(func: Func) -> Callable[[Value], str]:
    """What the user calls the values of a model: a variable, or else its type."""
    makers = {op.result: op for op in walk(func.body) if op.result is not None}

    def name_of(value: Value) -> str:
        op: Op | None = makers.get(value)
        while isinstance(op, VarLoad):
            op = makers.get(op.var)
        return op.name if isinstance(op, Var) else str(value.type)

    return name_of


def kernels_of(context: ContextOf) -> Mapping[str, AnalysedKernel]:
    """The kernels behind an entry point by their symbols."""
    return dict(zip(context.graph.kernels, context.kernels, strict=True))


def launch_of(
    op: Dispatch, name_of: Callable[[Value], str], kernels: Mapping[str, AnalysedKernel]
) -> NamedLaunch | None:
    """What a dispatch does; None where its kernel is not known before it runs."""
    analysed = kernels.get(op.kernel)
    if analysed is None:
        return None
    params = [parameter.name for parameter in analysed.signature.params[1:]]
    named = {name: name_of(value) for name, value in zip(params, op.args, strict=False)}
    table = analysed.access.parameters
    given = [named.get(one.name, one.name) for one in table]
    uses = list(zip(given, table, strict=True))
    return NamedLaunch(
        analysed.kernel.name,
        _once(given),
        _once(name for name, one in uses if AccessMode.READS in one.whole),
        _once(name for name, one in uses if AccessMode.WRITES in one.whole),
    )


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
