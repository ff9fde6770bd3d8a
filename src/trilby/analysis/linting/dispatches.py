"""What is known of the launches that a compute function makes, for linting their kernels."""

from collections.abc import Iterator, Mapping

from trilby.analysis.linting.host_numbers import HostNumber, HostNumbers
from trilby.analysis.linting.launch import AXES, Launch, Relation
from trilby.analysis.reach import ComputeGraph
from trilby.data.dtypes import ScalarType
from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.model.op import Func, walk
from trilby.model.ops.host import Dispatch


@dataclass(frozen=True, slots=True)
class SeenDispatch:
    """A dispatch, the function in which it stands, and what is known of its launches."""

    op: Dispatch
    func: Func
    launch: Launch


def seen_dispatches(graph: ComputeGraph, constants: Mapping[str, int]) -> Iterator[SeenDispatch]:
    """Every dispatch of a compute function and of those that it calls."""
    for func in graph.functions:
        numbers = HostNumbers(func, constants)
        for op in walk(func.body):
            if isinstance(op, Dispatch) and op.kernel in graph.kernels:
                yield SeenDispatch(op, func, _launch(graph, numbers, op))


def _launch(graph: ComputeGraph, numbers: HostNumbers, op: Dispatch) -> Launch:
    params = graph.kernels[op.kernel].entry.params
    sizes, groups = numbers.sizes(op.range)
    axes = AXES[: len(sizes)]
    parameters: dict[object, int] = {}
    same: dict[int, int] = {}
    scalars: dict[int, int] = {}
    relations: list[Relation] = []
    for number, (value, param) in enumerate(zip(op.args, params[1:], strict=False), 1):
        if isinstance(param.type, BufferType | NDArrayType):
            first = parameters.setdefault(numbers.buffer(value), number)
            if first != number:
                same[number] = first
        elif isinstance(param.type, ScalarType) and param.type.is_integer:
            found = numbers.number(value)
            if isinstance(found.what, int) and found.op == "constant":
                scalars[number] = found.what
            elif _is_read(found):
                relations.append(Relation("scalar", number, found))
    known = {a: s.what for a, s in zip(axes, sizes, strict=True) if s.op == "constant"}
    for axis, size in zip(axes, sizes, strict=True):
        if _is_read(size):
            relations.append(Relation("grid", f"max_{axis}", size))
    local = {a: g.what for a, g in zip(axes, groups, strict=False) if g.op == "constant"}
    return Launch(
        axes,
        {axis: n for axis, n in known.items() if isinstance(n, int)},
        {axis: n for axis, n in local.items() if isinstance(n, int)},
        scalars=scalars,
        same=same,
        relations=tuple(relations),
        parameters=parameters,
        is_given=True,
    )


def _is_read(number: HostNumber) -> bool:
    """Whether all of a number is known to be made of lengths, constants and names."""
    return number.op != "constant" and any(leaf.op == "length" for leaf in number.leaves())
