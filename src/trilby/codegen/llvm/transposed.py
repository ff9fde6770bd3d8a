"""Members of structs that lie side by side: whole vectors in memory, transposed in registers.

Where a work item has `step` numbers in a row, and the next one those behind, all of them are
`step` whole vectors. What is loaded as such is taken apart, one vector for each member, and what is
stored is put together. Nothing is touched that a work item has not asked for by itself, except
that members between the first and the last are read.
"""

from collections.abc import Iterable, Sequence

from trilby.codegen.llvm.addresses import pointer_of
from trilby.codegen.llvm.conversions import from_storage, scalar, to_storage
from trilby.codegen.llvm.lane_values import Lanes, size_of_kind, stored_kind
from trilby.codegen.llvm.neighbours import Neighbour
from trilby.codegen.llvm.writer import KernelWriter
from trilby.model.ops.memory import Load, Store

MOST = 4
"""How many numbers apart work items may be: all of them are in registers at once."""

MOST_BITS = 2048
"""How large they may be together."""


def join_loads(writer: KernelWriter, op: Load, pointer: Lanes) -> bool:
    """Load the members that stand in a row with the first of them, if it is worth it."""
    row = writer.neighbours[op]
    _forget(writer, row)
    kind = stored_kind(scalar(op.value.type))
    step = _step(writer, pointer, kind)
    members = _among(row, size_of_kind(kind), step)
    if len({place for place, _ in members}) < 2 or op not in {each.op for _, each in members}:
        return False
    first = writer.moved(pointer.text, min(each.distance for _, each in members))
    parts = _loaded(writer, first, kind, step, [place for place, _ in members])
    for place, each in members:
        type_ = scalar(each.op.value.type)  # others may be kept alike
        writer.give(each.op, from_storage(writer, parts[place], type_))
        writer.joined[each.op] = ()
    del writer.joined[op]
    return True


def join_stores(writer: KernelWriter, op: Store, pointer: Lanes) -> bool:
    """Whether a store waits for the others of its row; the last of them stores all."""
    row = writer.neighbours[op]
    _forget(writer, row)
    kind = stored_kind(scalar(op.stored.type))
    step = _step(writer, pointer, kind)
    members = _among(row, size_of_kind(kind), step)
    if len(row) != step or {place for place, _ in members} != {*range(step)}:
        return False
    for each in row[1:]:
        writer.joined[each.op] = ()
    writer.joined[row[-1].op] = row
    return True


def finish_stores(writer: KernelWriter, op: Store) -> None:
    """Store the members of a row, if this is the last of them."""
    row = writer.joined[op]
    if not row:
        return
    numbers: list[Lanes] = []
    for each in sorted(row, key=lambda one: one.distance):
        if isinstance(each.op, Store):
            taken = writer.take(each.op.stored)
            numbers.append(to_storage(writer, taken, scalar(each.op.stored.type)))
    behind = max(each.distance for each in row) - row[-1].distance
    before = behind - size_of_kind(numbers[0].kind) * (len(row) - 1)
    _stored(writer, writer.moved(pointer_of(writer, op).text, before), numbers)


def _forget(writer: KernelWriter, row: Sequence[Neighbour]) -> None:
    """A block may be written more than once, and not each time alike."""
    for each in row:
        writer.joined.pop(each.op, None)


def _step(writer: KernelWriter, pointer: Lanes, kind: str) -> int:
    """How many numbers work items are apart, where that many vectors can be kept; or 0."""
    size, stride = size_of_kind(kind), pointer.stride or 0
    step = stride // size if stride % size == 0 else 0
    fits = 2 <= step <= MOST and step * size * 8 * writer.lanes <= MOST_BITS
    return step if fits and writer.mask is None else 0


def _among(row: Sequence[Neighbour], size: int, step: int) -> list[tuple[int, Neighbour]]:
    """The accesses of a row that lie among so many numbers from the foremost on, and where."""
    foremost = min(each.distance for each in row)
    places = [(each.distance - foremost, each) for each in row]
    return [(at // size, each) for at, each in places if at % size == 0 and at // size < step]


# -- memory -------------------------------------------------------------------------------


def _block(writer: KernelWriter, kind: str) -> int:
    """How many numbers of a kind there are in 16 bytes, within which shuffles are cheap."""
    return min(16 // size_of_kind(kind), writer.lanes)


def _loaded(
    writer: KernelWriter, pointer: str, kind: str, step: int, wanted: Sequence[int]
) -> dict[int, Lanes]:
    """The members `wanted` of the structs that begin at a pointer, each in all lanes."""
    pieces = _pieces(writer, pointer, kind, step, max(wanted))
    block = _block(writer, kind)
    if step == 3 or step > block:
        per_vector = writer.lanes // block
        ends = range(per_vector, len(pieces) + 1, per_vector)
        rows = [writer.concatenated(kind, pieces[end - per_vector : end], block) for end in ends]
        return {n: Lanes(kind, _every(writer, kind, rows, n), None) for n in wanted}
    parts = [writer.concatenated(kind, pieces[n::step], block) for n in range(step)]
    parts = _parted(writer, kind, parts)
    return {n: Lanes(kind, parts[n], None) for n in wanted}


def _pieces(writer: KernelWriter, pointer: str, kind: str, step: int, last: int) -> list[str]:
    """All numbers of all structs up to member `last`, 16 bytes by 16 bytes."""
    block, size = _block(writer, kind), size_of_kind(kind)
    missing = step - 1 - last
    starts = [*range(0, step * writer.lanes, block)]
    starts[-1] -= missing
    places = [writer.moved(pointer, start * size) for start in starts]
    found = [writer.let(f"load <{block} x {kind}>, ptr {p}, align {size}") for p in places]
    if missing:
        indices = [*range(missing, block), *[None] * missing]
        found[-1] = writer.shuffled(kind, found[-1], "poison", indices, block)
    return found


def _stored(writer: KernelWriter, pointer: str, numbers: Sequence[Lanes]) -> None:
    """Put all members of structs, in order, to where these begin."""
    kind, step = numbers[0].kind, len(numbers)
    block = _block(writer, kind)
    vectors = [writer.spread(number) for number in numbers]
    if step == 3:
        rows = [_mixed_row(writer, kind, vectors, row) for row in range(step)]
        _put(writer, pointer, kind, rows, writer.lanes)
        return
    together = min(step, block)
    mixed = [
        _mixed(writer, kind, vectors[first : first + together])
        for first in range(0, step, together)
    ]
    order = [vector for parts in zip(*mixed, strict=True) for vector in parts]
    pairs: list[str] = []
    for start in range(0, writer.lanes, block):
        own = [*range(start, start + block)]
        indices = [*own, *(writer.lanes + n for n in own)]
        for left, right in zip(order[::2], order[1::2], strict=True):
            pairs.append(writer.shuffled(kind, left, right, indices))
    _put(writer, pointer, kind, pairs, 2 * block)


def _put(writer: KernelWriter, pointer: str, kind: str, vectors: list[str], count: int) -> None:
    """Store vectors of so many numbers, one behind the other."""
    size = size_of_kind(kind)
    for number, vector in enumerate(vectors):
        place = writer.moved(pointer, number * count * size)
        writer.line(f"store <{count} x {kind}> {vector}, ptr {place}, align {size}")


# -- shuffles -----------------------------------------------------------------------------


def _parted(writer: KernelWriter, kind: str, vectors: Sequence[str]) -> list[str]:
    """Every n-th number of each 16 bytes of n vectors, a power of two, from each one on."""
    if len(vectors) == 1:
        return list(vectors)
    found: list[list[str]] = []
    for odd in (0, 1):
        indices = _in_blocks(writer, kind, range(odd, 2 * _block(writer, kind), 2))
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        found.append(_parted(writer, kind, [writer.shuffled(kind, *p, indices) for p in pairs]))
    return [part for pair in zip(*found, strict=True) for part in pair]


def _every(writer: KernelWriter, kind: str, vectors: Sequence[str], number: int) -> str:
    """Every n-th number of n vectors, from one on."""
    lanes, found = writer.lanes, "poison"
    wanted = [lane * len(vectors) + number for lane in range(lanes)]
    for at, vector in enumerate(vectors):
        own = [lanes + n - at * lanes if n // lanes == at else k for k, n in enumerate(wanted)]
        found = writer.shuffled(kind, found, vector, own)
    return found


def _mixed(writer: KernelWriter, kind: str, vectors: Sequence[str]) -> list[str]:
    """Of each 16 bytes of n vectors, a power of two, the first numbers, the second ones, …"""
    if len(vectors) == 1:
        return list(vectors)
    block = _block(writer, kind)
    half = [[n, block + n] for n in range(block)]
    low, high = (
        _in_blocks(writer, kind, [n for pair in part for n in pair])
        for part in (half[: block // 2], half[block // 2 :])
    )
    even, odd = (_mixed(writer, kind, vectors[first::2]) for first in (0, 1))
    return [
        writer.shuffled(kind, one, other, indices)
        for one, other in zip(even, odd, strict=True)
        for indices in (low, high)
    ]


def _mixed_row(writer: KernelWriter, kind: str, vectors: Sequence[str], row: int) -> str:
    """The first number of every vector, then the second of every one, and so on, from a row on."""
    lanes, found = writer.lanes, "poison"
    places = [row * lanes + n for n in range(lanes)]
    for at, vector in enumerate(vectors):
        own = [
            lanes + place // len(vectors) if place % len(vectors) == at else n
            for n, place in enumerate(places)
        ]
        found = writer.shuffled(kind, found, vector, own)
    return found


def _in_blocks(writer: KernelWriter, kind: str, chosen: Iterable[int]) -> list[int]:
    """The indices that choose the same from each 16 bytes of a pair of vectors."""
    lanes, block = writer.lanes, _block(writer, kind)
    numbers = [n if n < block else lanes + n - block for n in chosen]
    return [start + n for start in range(0, lanes, block) for n in numbers]
