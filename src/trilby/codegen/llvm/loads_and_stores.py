"""Loads and stores: one number for all lanes, a vector of neighbours, or lane by lane.

A store in idle lanes must not happen, and a load there must not fault, so both are masked where
not all lanes run.
"""

from collections.abc import Iterable, Sequence

from trilby.codegen.checked_types import expect, scalar
from trilby.codegen.llvm.addresses import gathered, is_interleaved, pointer_of, safe_places, size
from trilby.codegen.llvm.arithmetic import from_storage, to_storage
from trilby.codegen.llvm.ir import BIT, LONG, POINTER, Lanes, size_of_kind, stored_kind
from trilby.codegen.llvm.neighbours import Neighbour
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.layout import size_of
from trilby.data.schema import StructType, leaves, sizes_of
from trilby.model.op import Op
from trilby.model.ops.memory import Load, LocalArray, PrivateArray, Store
from trilby.model.ops.structs import Unpack
from trilby.model.value import RefType, space_of

# ----------------------------------------------------------------------------------------- fetching
# Memory that the next group will need, asked for while this one computes.
#
# Processors see for themselves what a loop reads next, up to the end of a page. A group that
# waits at barriers reads little, computes, and leaves memory idle meanwhile: so what it reads or
# writes once, in order, is asked for on behalf of the group behind it. Asking for what is not
# there does no harm.

LINE = 64
"""The bytes of a line of the cache, on most processors."""

MOST_LINES = 8
"""The lines that the lanes of one access may lie in."""


def fetch_ahead(writer: KernelWriter, op: Load | Store, pointer: Lanes) -> None:
    """Ask for the place of an access in the next group, if this one comes by here once."""
    lines = (pointer.stride or 0) * writer.lanes // LINE
    if not writer.next_group or not 0 < lines <= MOST_LINES or writer.mask is not None:
        return
    if space_of(op.base.type) != "global" or any(scope.is_loop for scope in writer.scopes):
        return
    distance = writer.let(f"mul i64 {writer.next_group}, {pointer.stride}")
    there = writer.let(f"getelementptr i8, ptr {pointer.text}, i64 {distance}", "p")
    kind = "1" if isinstance(op, Store) else "0"
    for line in range(lines):
        place = writer.moved(there, line * LINE)
        hints = ("i32", kind), ("i32", "3"), ("i32", "1")
        writer.intrinsic("void", "prefetch.p0", ("ptr", place), *hints)


# ------------------------------------------------------------------------------------------ strided
# Numbers that lie evenly spaced but not side by side, as members of structs do.
#
# Where all lanes run, a few whole vectors hold them all if they are near: the numbers are picked
# out of those. Elsewhere each one is loaded by itself, at a known distance from the first, which
# is cheaper than a vector of addresses. Nothing is read before the first number or behind the
# last one.

NEAREST, FARTHEST = 2, 4
"""How many numbers apart lanes may be to be picked out of whole vectors."""


def is_by_step(writer: KernelWriter, pointer: Lanes) -> bool:
    """Whether places are a known distance apart, and all lanes use theirs.

    Wide vectors have too many lanes, and processors that have them find places fast.
    """
    return pointer.stride is not None and writer.mask is None and writer.target.width_bits < 512


def strided_load(writer: KernelWriter, pointer: Lanes, kind: str) -> Lanes:
    """Evenly spaced numbers, in all lanes."""
    size, stride = size_of_kind(kind), pointer.stride or 0
    if stride == -size:
        first = writer.moved(pointer.text, stride * (writer.lanes - 1))
        backwards = [*range(writer.lanes)][::-1]
        vector = _vector(writer, first, kind)
        return Lanes(kind, writer.shuffled(kind, vector, "poison", backwards), None)
    if stride % size == 0 and NEAREST <= stride // size <= FARTHEST:
        return Lanes(kind, _picked(writer, pointer, kind, stride // size), None)
    found, vector = "poison", writer.vector(kind)
    for lane in range(writer.lanes):
        place = writer.moved(pointer.text, stride * lane)
        number = writer.let(f"load {kind}, ptr {place}, align {size}")
        found = writer.let(f"insertelement {vector} {found}, {kind} {number}, i64 {lane}")
    return Lanes(kind, found, None)


def strided_store(writer: KernelWriter, pointer: Lanes, number: Lanes) -> None:
    """Put numbers at evenly spaced places, in all lanes, from the first to the last."""
    size, stride = size_of_kind(number.kind), pointer.stride or 0
    vector = writer.spread(number)
    for lane in range(writer.lanes):
        place = writer.moved(pointer.text, stride * lane)
        one = writer.in_lane(number.kind, vector, f"i64 {lane}")
        writer.line(f"store {number.kind} {one}, ptr {place}, align {size}")


def _vector(writer: KernelWriter, place: str, kind: str) -> str:
    return writer.let(f"load {writer.vector(kind)}, ptr {place}, align {size_of_kind(kind)}")


def _picked(writer: KernelWriter, pointer: Lanes, kind: str, step: int) -> str:
    """Every `step`-th number of `step` vectors, of which the last ends with the last number."""
    lanes, size = writer.lanes, size_of_kind(kind)
    starts = [lanes * n for n in range(step - 1)] + [step * (lanes - 1) + 1 - lanes]
    # Each vector is loaded when its numbers are taken.
    vectors = (_vector(writer, writer.moved(pointer.text, n * size), kind) for n in starts)
    owners = [step * lane // lanes for lane in range(lanes)]
    places = [(owner, step * lane - starts[owner]) for lane, owner in enumerate(owners)]
    return _gathered(writer, kind, vectors, places)


# ------------------------------------------------------------------------------------------- access

INVARIANT = ", !invariant.load !0"


def load(writer: KernelWriter, op: Load) -> None:
    """The number at a place."""
    if op in writer.joined:
        return
    if op.path in sizes_of(op.base.type):
        writer.give(op, size(writer, op.base, op.path))
        return
    type_ = scalar(op.value.type)
    kind = stored_kind(type_)
    pointer = pointer_of(writer, op)
    fetch_ahead(writer, op, pointer)
    if op in writer.neighbours and join_loads(writer, op, pointer):
        return
    if is_interleaved(writer, op.base):
        pointer = _in_lane(writer, pointer, kind)
    invariant = INVARIANT if space_of(op.base.type) == "constant" else ""
    found = loaded(writer, pointer, kind, invariant)
    writer.give(op, from_storage(writer, found, type_))


def _in_lane(writer: KernelWriter, pointer: Lanes, kind: str) -> Lanes:
    """A pointer into interleaved memory, with each lane at its own bytes."""
    size = size_of_kind(kind)
    if pointer.stride is not None:
        return Lanes(POINTER, pointer.text, pointer.stride + size)
    steps = Lanes(LONG, writer.steps(LONG, size), None)
    return writer.offset(pointer, steps)


def loaded(writer: KernelWriter, pointer: Lanes, kind: str, invariant: str = "") -> Lanes:
    """A number from memory, in every lane that runs."""
    size = size_of_kind(kind)
    if pointer.is_uniform:
        text = f"load {kind}, ptr {pointer.text}, align {size}{invariant}"
        return Lanes(kind, writer.let(text))
    if pointer.stride == size:
        return _vector_load(writer, pointer, kind, invariant)
    if is_by_step(writer, pointer):
        return strided_load(writer, pointer, kind)
    return gathered(writer, pointer, kind)


def _vector_load(writer: KernelWriter, pointer: Lanes, kind: str, invariant: str) -> Lanes:
    """A load of neighbours.

    LLVM makes one masked load of a choice between such a load and another number, in the place of
    the choice, which may come after a store to the same memory. It does not look through `freeze`.
    """
    vector, size = writer.vector(kind), size_of_kind(kind)
    if writer.mask is None:
        text = f"load {vector}, ptr {pointer.text}, align {size}{invariant}"
        return Lanes(kind, writer.let(text), None)
    found = writer.intrinsic(
        vector,
        f"masked.load.{writer.suffix(kind)}.p0",
        ("ptr", f"align {size} {pointer.text}"),
        (writer.vector(BIT), writer.mask),
        (vector, "zeroinitializer"),
    )
    return Lanes(kind, writer.let(f"freeze {vector} {found}"), None)


def store(writer: KernelWriter, op: Store) -> None:
    """A new number for a place."""
    if op in writer.joined:
        finish_stores(writer, op)
        return
    type_ = scalar(op.stored.type)
    number = to_storage(writer, writer.take(op.stored), type_)
    pointer = pointer_of(writer, op)
    fetch_ahead(writer, op, pointer)
    if op in writer.neighbours and join_stores(writer, op, pointer):
        return
    is_private = is_interleaved(writer, op.base)
    if is_private:
        pointer = _in_lane(writer, pointer, number.kind)
    stored(writer, pointer, number, is_private=is_private)


def stored(
    writer: KernelWriter, pointer: Lanes, number: Lanes, *, is_private: bool = False
) -> None:
    """Put a number in memory, in every lane that runs."""
    size = size_of_kind(number.kind)
    if pointer.is_uniform:
        text = number.text if number.is_uniform else _of_last_lane(writer, number)
        writer.line(f"store {number.kind} {text}, ptr {pointer.text}, align {size}")
    elif pointer.stride == size:
        _vector_store(writer, pointer, number, is_private=is_private)
    elif is_by_step(writer, pointer):
        strided_store(writer, pointer, number)
    else:
        _scatter(writer, pointer, number)


def _of_last_lane(writer: KernelWriter, number: Lanes) -> str:
    """Lanes that write to one place do so in order, so the last one stays."""
    vector = writer.spread(number)
    last = f"i32 {writer.lanes - 1}"
    if writer.mask is not None:
        bits = f"i{writer.lanes}"
        mask = writer.bits(writer.mask)
        zeros = writer.intrinsic(bits, f"ctlz.{bits}", (bits, mask), (BIT, "true"))
        last = f"{bits} {writer.let(f'sub {bits} {writer.lanes - 1}, {zeros}')}"
    return writer.in_lane(number.kind, vector, last)


def _vector_store(writer: KernelWriter, pointer: Lanes, number: Lanes, *, is_private: bool) -> None:
    vector, size = writer.vector(number.kind), size_of_kind(number.kind)
    text = writer.spread(number)
    place = f"ptr {pointer.text}, align {size}"
    bits = writer.vector(BIT)
    if writer.mask is None:
        writer.line(f"store {vector} {text}, {place}")
    elif is_private:
        old = writer.let(f"load {vector}, {place}")
        new = writer.let(f"select {bits} {writer.mask}, {vector} {text}, {vector} {old}")
        writer.line(f"store {vector} {new}, {place}")
    else:
        name = f"masked.store.{writer.suffix(number.kind)}.p0"
        place = f"align {size} {pointer.text}"
        writer.intrinsic("void", name, (vector, text), ("ptr", place), (bits, writer.mask))


def _scatter(writer: KernelWriter, pointer: Lanes, number: Lanes) -> None:
    places, mask = safe_places(writer, pointer)
    writer.intrinsic(
        "void",
        f"masked.scatter.{writer.suffix(number.kind)}.v{writer.lanes}p0",
        (writer.vector(number.kind), writer.spread(number)),
        (writer.vector(POINTER), f"align {size_of_kind(number.kind)} {places}"),
        (writer.vector(BIT), mask),
    )


def unpack(writer: KernelWriter, op: Unpack) -> None:
    """One number of a struct."""
    names = [leaf.name for leaf in leaves(expect(StructType, op.whole.type))]
    writer.give(op, writer.values[op.whole][names.index(op.leaf)])


def array(writer: KernelWriter, op: LocalArray | PrivateArray) -> None:
    """An array of a group or of a work item."""
    made = expect(RefType, op.value.type)
    is_private = made.space == "private"
    if op not in writer.arrays:
        nbytes = size_of(made.to)
        if is_private:
            writer.arrays[op] = writer.scratch.each(writer, nbytes * writer.lanes)
        else:
            writer.arrays[op] = writer.scratch.shared(writer, nbytes), 0
    pointer, size = writer.arrays[op]
    if is_private and writer.chunk:
        distance = writer.let(f"mul i64 {writer.chunk}, {size}")
        pointer = writer.let(f"getelementptr i8, ptr {pointer}, i64 {distance}", "a")
    apart = size_of(made.to) if is_private and not writer.interleaved else 0
    writer.give(op, Lanes(POINTER, pointer, apart))


# -------------------------------------------------------------------------------------- transposed
# Members of structs that lie side by side: whole vectors in memory, transposed in registers.
#
# Where a work item has `step` numbers in a row, and the next one those behind, all of them are
# `step` whole vectors. What is loaded as such is taken apart, one vector for each member, and what
# is stored is put together. Nothing is touched that a work item has not asked for by itself,
# except that members between the first and the last are read.


MOST = 4
"""How many numbers apart work items may be: all of them are in registers at once."""

MOST_BITS = 2048
"""How large they may be together."""


def join_loads(writer: KernelWriter, op: Load, pointer: Lanes) -> bool:
    """Load the members that stand in a row with the first of them, if it is worth it."""
    row = writer.neighbours[op]
    kind = stored_kind(scalar(op.value.type))
    step, members = _members(writer, row, pointer, kind)
    if len({*members.values()}) < 2 or op not in members:
        return False
    first = writer.moved(pointer.text, min(distance for _, distance in row))
    parts = _loaded(writer, first, kind, step, [*members.values()])
    for each, place in members.items():
        type_ = scalar(each.value.type)  # others may be kept alike
        writer.give(each, from_storage(writer, parts[place], type_))
        writer.joined[each] = ()
    del writer.joined[op]
    return True


def join_stores(writer: KernelWriter, op: Store, pointer: Lanes) -> bool:
    """Whether a store waits for the others of its row; the last of them stores all."""
    row = writer.neighbours[op]
    kind = stored_kind(scalar(op.stored.type))
    step, members = _members(writer, row, pointer, kind)
    if len(row) != step or {*members.values()} != {*range(step)}:
        return False
    for each, _ in row[1:]:
        writer.joined[each] = ()
    writer.joined[row[-1][0]] = row
    return True


def finish_stores(writer: KernelWriter, op: Store) -> None:
    """Store the members of a row, if this is the last of them."""
    row = writer.joined[op]
    if not row:
        return
    numbers: list[Lanes] = []
    for each, _ in sorted(row, key=lambda one: one[1]):
        number = expect(Store, each).stored
        numbers.append(to_storage(writer, writer.take(number), scalar(number.type)))
    behind = max(distance for _, distance in row) - row[-1][1]
    before = behind - size_of_kind(numbers[0].kind) * (len(row) - 1)
    _stored(writer, writer.moved(pointer_of(writer, op).text, before), numbers)


def _members(
    writer: KernelWriter, row: Sequence[Neighbour], pointer: Lanes, kind: str
) -> tuple[int, dict[Op, int]]:
    """How many numbers work items are apart, where that many vectors can be kept; or 0.

    With it come the accesses that lie among so many numbers from the foremost on, and where.
    """
    for each, _ in row:  # a block may be written more than once, and not each time alike
        writer.joined.pop(each, None)
    size, stride = size_of_kind(kind), pointer.stride or 0
    step = stride // size if stride % size == 0 else 0
    fits = 2 <= step <= MOST and step * size * 8 * writer.lanes <= MOST_BITS
    if not fits or writer.mask is not None:
        return 0, {}
    foremost = min(distance for _, distance in row)
    places = {each: distance - foremost for each, distance in row}
    return step, {
        each: at // size for each, at in places.items() if at % size == 0 and at // size < step
    }


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
        return {  # every `step`-th number, from the first of each member on
            n: Lanes(
                kind,
                _gathered(
                    writer,
                    kind,
                    rows,
                    [divmod(at, writer.lanes) for at in range(n, step * writer.lanes, step)],
                ),
                None,
            )
            for n in wanted
        }
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
        # The first number of every vector, then the second of every one, and so on.
        places = [(of, lane) for lane in range(writer.lanes) for of in range(step)]
        starts = range(0, len(places), writer.lanes)
        rows = [_gathered(writer, kind, vectors, places[n : n + writer.lanes]) for n in starts]
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


def _gathered(
    writer: KernelWriter, kind: str, vectors: Iterable[str], places: Sequence[tuple[int, int]]
) -> str:
    """A vector of the numbers at some places: which vector each is in, and where in that."""
    found = "poison"
    for at, vector in enumerate(vectors):
        own = [writer.lanes + n if of == at else lane for lane, (of, n) in enumerate(places)]
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


def _in_blocks(writer: KernelWriter, kind: str, chosen: Iterable[int]) -> list[int]:
    """The indices that choose the same from each 16 bytes of a pair of vectors."""
    lanes, block = writer.lanes, _block(writer, kind)
    numbers = [n if n < block else lanes + n - block for n in chosen]
    return [start + n for start in range(0, lanes, block) for n in numbers]
