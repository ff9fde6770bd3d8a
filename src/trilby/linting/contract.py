"""What a kernel that stands alone counts on: launches that it is plainly not meant for are no bugs.

A kernel says nothing of how large its buffers are for a range. Without a launch we take it that

- the range has the dimensions whose ids the kernel uses,
- an array that is indexed by an id alone, without a guard against its end, is as long as the
  range (`a.array[kc.x]`),
- a pitch is as long as a row (`out.array[kc.y * width + kc.x]`),
- groups have the size for which the local arrays are made.

Where the dispatch is seen, what it says goes before. What it leaves open of the range is told as an
assumption of the report.
"""

from collections.abc import Iterator
from typing import TypeAlias

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import I32
from trilby.dataclass import dataclass
from trilby.linting.accesses import MemoryAccess
from trilby.linting.dispatches import AXES, LaunchFacts, extents_of, in_kernel, lengths_in
from trilby.linting.frame import KernelWalk
from trilby.linting.terms import Terms, leaves_of, wraps


@dataclass(frozen=True, slots=True)
class Contract:
    """Conditions on launches: those that races may count on, and those that bounds may."""

    races: tuple[Expr, ...] = ()
    bounds: tuple[Expr, ...] = ()
    told: tuple[str, ...] = ()
    """What a dispatch that is seen leaves open, and is taken to be right."""


def used_axes(walked: KernelWalk) -> tuple[str, ...]:
    """The axes up to the last whose ids the kernel looks at; at least x."""
    last = max((AXES.index(name[-1]) for name in walked.fields if name != "pass_id"), default=0)
    return AXES[: last + 1]


# -- groups


def local_sizes(walked: KernelWalk) -> dict[str, int]:
    """The size of groups for which the local arrays are made: a power of two that fits them.

    Read off the writes at `local_x` and a number that no condition on the id guards; off the
    reads where nobody writes.
    """
    found = _most_items(walked, reads=True) | _most_items(walked, reads=False)
    return {axis: 1 << (room.bit_length() - 1) for axis, room in found.items() if room >= 1}


def _most_items(walked: KernelWalk, *, reads: bool) -> dict[str, int]:
    most: dict[str, int] = {}
    for access in walked.accesses:
        if access.memory.kind != "local" or (access.does == "read") is not reads:
            continue
        extents = extents_of(walked.terms, access.memory, access.path)
        for index, extent in zip(access.indices, extents, strict=True):
            for axis, room in _rooms(access, index, extent):
                most[axis] = min(most.get(axis, room), room)
    return most


def _rooms(access: MemoryAccess, index: Expr, extent: Expr) -> Iterator[tuple[str, int]]:
    """How many items fit along an axis, by an index such as `local_x + 1` or `ly * 16 + lx`."""
    size = extent.what if extent.op == "constant" else None
    if not isinstance(size, int):
        return
    terms, offset = linear(index)
    names = {str(leaf.what) if leaf.op == "grid" else "": factor for leaf, factor in terms}
    is_local = names.keys() <= {f"local_{axis}" for axis in AXES}
    if not is_local or offset < 0 or any(factor < 1 for factor in names.values()):
        return
    room = size - offset
    for name, factor in sorted(names.items(), key=lambda entry: -entry[1]):
        if not any(leaf.op == "grid" and leaf.what == name for leaf in leaves_of(access.guards)):
            yield name[-1], -(-room // factor)
        room = factor


# -- sums


def linear(term: Expr) -> tuple[list[tuple[Expr, int]], int]:
    """A sum of terms with factors, and a number."""
    found: dict[int, tuple[Expr, int]] = {}
    offset = 0
    waiting = [(term, 1)]
    while waiting:
        part, factor = waiting.pop()
        is_exact = part.op in {"constant", "cast"} or not wraps(part.type)
        match part.op if is_exact else "", part.args:
            case "constant", _ if isinstance(part.what, int):
                offset += factor * part.what
            case "add", (left, right):
                waiting += [(left, factor), (right, factor)]
            case "sub", (left, right):
                waiting += [(left, factor), (right, -factor)]
            case "mul", (left, right) if isinstance(right.what, int) and right.op == "constant":
                waiting.append((left, factor * right.what))
            case "mul", (left, right) if isinstance(left.what, int) and left.op == "constant":
                waiting.append((right, factor * left.what))
            case "cast", (inner,) if _keeps(part, inner):
                waiting.append((inner, factor))
            case _:
                before = found.get(part.number, (part, 0))[1]
                found[part.number] = (part, before + factor)
    return [entry for entry in found.values() if entry[1]], offset


def _keeps(cast: Expr, inner: Expr) -> bool:
    """Whether a number is the same in another type."""
    if cast.type.kind != "uint":
        return cast.type.bits >= min(32, inner.type.bits)
    is_small = inner.op == "grid" and cast.type.bits >= 32
    return is_small or (inner.type.kind == "uint" and cast.type.bits >= inner.type.bits)


# -- ranges and pitches


def contract_of(walked: KernelWalk, launch: LaunchFacts) -> Contract:
    """What the accesses of a kernel count on, and what the dispatch says."""
    terms = walked.terms
    told = [
        terms.compare(
            "eq",
            terms.make(relation.kind, (), relation.what, I32),
            in_kernel(relation.number, terms, launch.parameters),
        )
        for relation in launch.relations
    ]
    races = (*told, *dict.fromkeys(_pitches(walked, launch.axes)))
    ranges = {
        condition: text
        for condition, text in _ranges(walked, launch.axes)
        if not _is_told(launch, condition) and condition is not terms.true
    }
    # a range that is given does not care for what is usual
    return Contract(
        tuple(c for c in races if c is not terms.false),
        tuple(c for c in (*races, *ranges) if c is not terms.false),
        tuple(dict.fromkeys(ranges.values())) if launch.parameters else (),
    )


def _is_told(launch: LaunchFacts, condition: Expr) -> bool:
    """Whether the dispatch says how a range and a length are related."""
    size, extent = condition.args or (condition, condition)
    return any(
        relation.what == size.what and extent.what in lengths_in(relation.number, launch.parameters)
        for relation in launch.relations
    )


def size_term(terms: Terms, walked: KernelWalk, axis: str) -> Expr:
    """The size of the range along an axis."""
    given = walked.known.get(f"max_{axis}")
    return terms.make("grid", (), f"max_{axis}", I32) if given is None else terms.number(given)


def _ranges(walked: KernelWalk, axes: tuple[str, ...]) -> Iterator[tuple[Expr, str]]:
    """Arrays that are indexed by an id are as long as the range, and what it is shifted by.

    Each condition comes with its words.
    """
    terms = walked.terms
    counted = list(_counted(walked, axes))
    for access, place, axis, _, extent in counted:
        if is_guarded(access, axis):
            continue
        shift = _shift(counted, access, place, axis)
        size = terms.plus(size_term(terms, walked, axis), terms.constant(shift, I32))
        text = f"the range along {axis} is no longer than `{access.text}`"
        yield terms.compare("le", size, extent), text


Counted: TypeAlias = tuple[MemoryAccess, int, str, Expr, Expr]
"""An access whose index at a place is an id and a number: the id's axis, the index, the extent."""


def _counted(walked: KernelWalk, axes: tuple[str, ...]) -> Iterator[Counted]:
    for access in walked.accesses:
        if access.memory.kind == "global":
            extents = extents_of(walked.terms, access.memory, access.path)
            pairs = zip(access.indices, extents, strict=True)
            for place, (index, extent) in enumerate(pairs):
                axis = id_index(index, extent)
                if axis in axes:
                    yield access, place, axis, index, extent


def _shift(counted: list[Counted], access: MemoryAccess, place: int, axis: str) -> int:
    """The number by which every access to an array is shifted, where it is written so.

    An integral image has a row and a column of zeros in front: `sums.array[y + 1, x + 1]`.
    """
    same = [
        (other.does, linear(index)[1])
        for other, at, along, index, _ in counted
        if other.memory is access.memory and at == place and along == axis
    ]
    least = min(offset for _, offset in same)
    return max(least, 0) if any(does != "read" for does, _ in same) else 0


def id_index(index: Expr, extent: Expr) -> str:
    """The axis of an index that is an id and a number, or counts from the end: `n - 1 - x`.

    Empty for others.
    """
    parts, _ = linear(index)
    ids = [part for part in parts if _is_id(part[0])]
    others = [part for part in parts if part not in ids]
    if len(ids) != 1:
        return ""
    ((leaf, factor),) = ids
    is_plain = factor == 1 and not others
    is_mirrored = factor == -1 and len(others) == 1 and others[0] == (extent, 1)
    return str(leaf.what) if is_plain or is_mirrored else ""


def is_guarded(access: MemoryAccess, axis: str) -> bool:
    """Whether a condition compares the id with a length or an argument."""
    return any(compares_id(guard, axis) for guard in access.guards)


def compares_id(guard: Expr, axis: str) -> bool:
    """Whether a condition has to do with an id, and with a length or an argument."""
    leaves = list(leaves_of((guard,)))
    has_id = any(leaf.op == "grid" and leaf.what == axis for leaf in leaves)
    return has_id and any(leaf.op in {"length", "extent", "scalar"} for leaf in leaves)


def _pitches(walked: KernelWalk, axes: tuple[str, ...]) -> Iterator[Expr]:
    """`y * width + x`: no row is longer than the pitch."""
    terms = walked.terms
    for access in walked.accesses:
        if access.memory.kind != "global":
            continue
        for index in access.indices:
            for axis, pitch in _rows(terms, index):
                if axis in axes and not is_guarded(access, axis):
                    yield terms.compare("le", size_term(terms, walked, axis), pitch)


def _rows(terms: Terms, index: Expr) -> Iterator[tuple[str, Expr]]:
    """The axes that an index counts along rows of a pitch, and that pitch.

    `(z * h + y) * w + x` gives x with w, and y with h.
    """
    parts = linear(index)
    plain = [str(leaf.what) for leaf, f in parts[0] if f == 1 and _is_id(leaf)]
    for leaf, factor in parts[0]:
        pitch, inner = _product(terms, leaf, factor)
        if pitch is None or inner is None or not _has_id(inner):
            continue
        for axis in plain:
            yield axis, pitch
        yield from _rows(terms, inner)


def _is_id(leaf: Expr) -> bool:
    return leaf.op == "grid" and leaf.what in AXES


def _has_id(term: Expr) -> bool:
    return any(_is_id(leaf) for leaf in leaves_of((term,)))


def _product(terms: Terms, leaf: Expr, factor: int) -> tuple[Expr | None, Expr | None]:
    """What a part of a sum is multiplied with, and the rest: `y * w`, `16 * y`."""
    if leaf.op == "mul":
        left, right = leaf.args
        if not _has_id(right) and factor == 1:
            return right, left
        if not _has_id(left) and factor == 1:
            return left, right
        return None, None
    return (terms.number(factor), leaf) if factor > 1 and _has_id(leaf) else (None, None)
