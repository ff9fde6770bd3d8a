"""What is known of the launches that a compute function makes, for linting their kernels."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from trilby.analysis.linting.host_buffers import HostBuffers
from trilby.analysis.linting.host_numbers import HostNumber, HostNumbers
from trilby.analysis.linting.launch import AXES, Launch, Relation
from trilby.analysis.reach import ComputeGraph
from trilby.data.dtypes import ScalarType
from trilby.data.schema import BufferType, NDArrayType
from trilby.dataclass import dataclass
from trilby.model.op import Func, walk
from trilby.model.ops.host import Dispatch, HostCall


@dataclass(frozen=True, slots=True)
class SeenDispatch:
    """A dispatch, the function in which it stands, and what is known of its launches.

    `if_same` are two arguments that are taken for one buffer here, and may be two.
    """

    op: Dispatch
    func: Func
    launch: Launch
    if_same: tuple[str, str] | None = None


def seen_dispatches(graph: ComputeGraph, constants: Mapping[str, int]) -> Iterator[SeenDispatch]:
    """Every dispatch of a compute function and of those that it calls."""
    for func in graph.functions:
        for same in _callers(graph, func):
            buffers = HostBuffers(func, same)
            for op in walk(func.body):
                if isinstance(op, Dispatch) and op.kernel in graph.kernels:
                    yield from _seen(graph, HostNumbers(buffers, constants), func, op)


def _callers(graph: ComputeGraph, func: Func) -> list[dict[str, str]]:
    """The ways in which a function is called: which of its parameters are one buffer."""
    found: list[dict[str, str]] = [{}]
    for caller in graph.functions:
        buffers = HostBuffers(caller)
        for op in walk(caller.body):
            if isinstance(op, HostCall) and op.callee == func.name:
                same: dict[str, str] = {}
                first: dict[object, str] = {}
                for value, param in zip(op.args, func.params, strict=False):
                    known = first.setdefault(buffers.key(value), param.hint)
                    if known != param.hint and isinstance(param.type, BufferType | NDArrayType):
                        same[param.hint] = known
                found += [same] if same not in found else []
    return found


def _seen(
    graph: ComputeGraph, numbers: HostNumbers, func: Func, op: Dispatch
) -> Iterator[SeenDispatch]:
    launch = _launch(graph, numbers, op)
    yield SeenDispatch(op, func, launch)
    params = graph.kernels[op.kernel].entry.params
    given = {
        number: value
        for number, (value, param) in enumerate(zip(op.args, params[1:], strict=False), 1)
        if isinstance(param.type, BufferType | NDArrayType)
    }
    for first, second in numbers.buffers.may_be_one(given):
        names = (params[first].hint, params[second].hint)
        yield SeenDispatch(op, func, replace(launch, same={**launch.same, second: first}), names)


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
            first = parameters.setdefault(numbers.buffers.key(value), number)
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
