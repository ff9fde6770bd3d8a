"""Numbers that lie evenly spaced but not side by side, as members of structs do.

Where all lanes run, a few whole vectors hold them all if they are near: the numbers are picked out
of those. Elsewhere each one is loaded by itself, at a known distance from the first, which is
cheaper than a vector of addresses. Nothing is read before the first number or behind the last one.
"""

from trilby.codegen.llvm.lanes import Lanes, size_of_kind
from trilby.codegen.llvm.writer import KernelWriter

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
        return Lanes(kind, _reversed(writer, kind, _vector(writer, first, kind)), None)
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
        one = f"extractelement {writer.vector(number.kind)} {vector}, i64 {lane}"
        writer.line(f"store {number.kind} {writer.let(one)}, ptr {place}, align {size}")


def _vector(writer: KernelWriter, place: str, kind: str) -> str:
    return writer.let(f"load {writer.vector(kind)}, ptr {place}, align {size_of_kind(kind)}")


def _reversed(writer: KernelWriter, kind: str, text: str) -> str:
    return writer.shuffled(kind, text, "poison", [*range(writer.lanes)][::-1])


def _picked(writer: KernelWriter, pointer: Lanes, kind: str, step: int) -> str:
    """Every `step`-th number of `step` vectors, of which the last ends with the last number."""
    lanes, size = writer.lanes, size_of_kind(kind)
    starts = [lanes * n for n in range(step - 1)] + [step * (lanes - 1) + 1 - lanes]
    found = "poison"
    for number, start in enumerate(starts):
        vector = _vector(writer, writer.moved(pointer.text, start * size), kind)
        wanted = range(lanes * number, max(lanes * (number + 1), start + lanes))
        indices = [
            lanes + step * lane - start if step * lane in wanted else lane for lane in range(lanes)
        ]
        found = writer.shuffled(kind, found, vector, indices)
    return found
