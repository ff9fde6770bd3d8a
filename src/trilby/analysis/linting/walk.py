"""From the models of a kernel to its accesses and barriers: runs them with terms for numbers."""

from collections.abc import Mapping

from trilby.analysis.access import AccessMode as Does
from trilby.analysis.access import access_table
from trilby.analysis.linting.accesses import AccessedMemory, AccessedPlace, Walked
from trilby.analysis.linting.frame import BRANCH_RULES, Frame, KernelWalk, Known, beginning
from trilby.analysis.linting.walk_loops import LOOP_RULES
from trilby.analysis.linting.walk_memory import MEMORY_RULES
from trilby.analysis.reach import KernelGraph
from trilby.data.dtypes import ScalarType
from trilby.data.schema import BufferType, NDArrayType, StructType, leaves
from trilby.model.value import Value

RULES = {**MEMORY_RULES, **BRANCH_RULES, **LOOP_RULES}
"""How each op is followed; those without a rule touch nothing and give nothing."""


def walk_kernel(
    graph: KernelGraph,
    known: Mapping[str, int] | None = None,
    same: Mapping[int, int] | None = None,
    scalars: Mapping[int, int] | None = None,
) -> Walked:
    """All accesses and barriers of a kernel.

    `known` are fields of the kernel context that are given (`local_max_x`), `same` the parameters
    that are the same buffer as an earlier one, `scalars` the numbers of parameters.
    """
    same = same or {}
    entry = graph.entry
    walk = KernelWalk(graph, RULES, known or {}, _written(graph, same))
    for number, param in enumerate(entry.params):
        if isinstance(param.type, BufferType | NDArrayType):
            walk.memories.append(AccessedMemory("global", number, param.hint, param.type))
    arguments = [
        _argument(walk, number, same, param, (scalars or {}).get(number))
        for number, param in enumerate(entry.params)
    ]
    frame = Frame(walk, entry, arguments, (), (), beginning(walk.terms))
    if entry.raw:
        walk.lose(entry.location, "raw code is not looked into")
    frame.block(entry.body)
    return Walked(
        walk.terms,
        tuple(walk.accesses),
        tuple(walk.stops),
        tuple(walk.memories),
        frozenset(walk.fields),
        tuple(dict.fromkeys(walk.lost)),
        walk.known,
    )


def _written(graph: KernelGraph, same: Mapping[int, int]) -> frozenset[int]:
    table = {parameter.name: parameter.whole for parameter in access_table(graph).parameters}
    return frozenset(
        same.get(number, number)
        for number, param in enumerate(graph.entry.params)
        if Does.WRITES in table.get(param.hint, Does.UNTOUCHED)
    )


def _argument(
    walk: KernelWalk, number: int, same: Mapping[int, int], param: Value, given: int | None
) -> Known:
    if isinstance(param.type, BufferType | NDArrayType):
        wanted = same.get(number, number)
        memory = next(m for m in walk.memories if m.number == wanted)
        return (AccessedPlace(memory, "", (), walk.terms.true),)
    if isinstance(param.type, ScalarType):
        if given is not None and not param.type.is_float:
            return walk.terms.constant(given, param.type)
        return walk.terms.make("scalar", (), number, param.type)
    if isinstance(param.type, StructType):
        return {
            leaf.name: walk.terms.make("scalar", (), (number, leaf.name), leaf.type)
            for leaf in leaves(param.type)
        }
    return None
