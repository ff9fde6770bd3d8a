"""What is known of the launches for which a kernel is looked at."""

from collections.abc import Mapping
from dataclasses import field
from typing import Protocol

from trilby.analysis.linting.accesses import AccessedMemory, MemoryAccess
from trilby.analysis.linting.terms import Terms
from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange
from trilby.data.schema import ArrayType, NDArrayType, StructType, path_steps, step_into
from trilby.dataclass import dataclass

AXES: tuple[str, ...] = ("x", "y", "z")


class ComputedNumber(Protocol):
    """A number that host code computes, which has a term."""

    def term(self, terms: Terms, parameters: Mapping[object, int]) -> Expr:
        """The term of the number, where buffers are parameters of a kernel."""
        ...

    def keys(self, parameters: Mapping[object, int]) -> set[tuple[int, object]]:
        """The lengths of parameters that it is made of."""
        ...


@dataclass(frozen=True, slots=True)
class Relation:
    """A field of the kernel context (`grid`) or an argument (`scalar`) is a number of the host."""

    kind: str
    what: object
    number: ComputedNumber


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """What is given of a launch; what is not may be anything.

    `size` and `local` have an entry for each axis, None where it is free. `lengths` are those of
    buffers: by parameter, and name or axis. `scalars` are numbers of parameters. `same` are the
    parameters that are the same buffer as an earlier one.
    """

    axes: tuple[str, ...]
    size: Mapping[str, int] = field(default_factory=dict[str, int])
    local: Mapping[str, int] = field(default_factory=dict[str, int])
    lengths: Mapping[tuple[int, object], int] = field(default_factory=dict[tuple[int, object], int])
    scalars: Mapping[int, int] = field(default_factory=dict[int, int])
    same: Mapping[int, int] = field(default_factory=dict[int, int])
    relations: tuple[Relation, ...] = ()
    parameters: Mapping[object, int] = field(default_factory=dict[object, int])
    """The parameters by what the host calls their buffers."""
    whole_groups: bool = False
    has_groups: bool = False
    """True where the groups matter: barriers, local arrays, or ids of groups."""
    is_given: bool = False
    """True where the range comes from a user, not from what the kernel looks like."""

    @property
    def known(self) -> dict[str, int]:
        """The fields of the kernel context that are numbers."""
        found: dict[str, int] = {}
        for axis in AXES:
            if axis not in self.axes:
                found |= {axis: 0, f"local_{axis}": 0, f"group_{axis}": 0}
                found |= {f"max_{axis}": 1, f"local_max_{axis}": 1, f"group_max_{axis}": 1}
            size, local = self.size.get(axis), self.local.get(axis)
            if size is not None:
                found[f"max_{axis}"] = size
            if local is not None:
                found[f"local_max_{axis}"] = local
            if size is not None and local is not None:
                found[f"group_max_{axis}"] = -(-size // local)
        return found


def launch_of(ndrange: NDRange) -> LaunchFacts:
    """The launch over a range that is given."""
    axes = AXES[: len(ndrange.size)]
    local = dict(zip(axes, ndrange.local, strict=True)) if ndrange.local else {}
    return LaunchFacts(axes, dict(zip(axes, ndrange.size, strict=True)), local, is_given=True)


def extents_of(terms: Terms, memory: AccessedMemory, path: str) -> list[Expr]:
    """How many elements there are for each index of a place."""
    found: list[Expr] = []
    here = memory.type
    for step in path_steps(path):
        if step == "[]":
            found += _dims(terms, memory, here)
        below = step_into(here, step)
        if below is None:
            break
        here = below
    return found


def _dims(terms: Terms, memory: AccessedMemory, array: object) -> list[Expr]:
    if isinstance(array, NDArrayType):
        return [terms.make("extent", (), (memory.number, n), I32) for n in range(array.rank)]
    if isinstance(array, ArrayType):
        return [
            terms.make("length", (), (memory.number, dim), I32)
            if isinstance(dim, str)
            else terms.number(dim)
            for dim in array.dims
        ]
    return []


def inside_of(terms: Terms, access: MemoryAccess) -> Expr:
    """The condition that all indices of an access are inside of its array."""
    zero = terms.number(0)
    extents = extents_of(terms, access.memory, access.path)
    return terms.all_of(
        terms.both(terms.compare("le", zero, index), terms.compare("lt", index, extent))
        for index, extent in zip(access.indices, extents, strict=True)
    )


def common_indices(left: MemoryAccess, right: MemoryAccess) -> int | None:
    """How many indices two accesses have in common up to where their places part.

    None where they are apart whatever the indices are. Members of a union lie on each other.
    """
    if left.memory is not right.memory:
        return None
    if left.path == right.path:
        return len(left.indices)
    here, count = left.memory.type, 0
    for one, other in zip(path_steps(left.path), path_steps(right.path), strict=False):
        if one != other:
            return count if isinstance(here, StructType) and here.is_union else None
        below = step_into(here, one)
        if below is None:
            return None
        if one == "[]":
            count += _rank(here)
        here = below
    return count  # one is a part of the other


def _rank(array: object) -> int:
    if isinstance(array, NDArrayType):
        return array.rank
    return len(array.dims) if isinstance(array, ArrayType) else 0
