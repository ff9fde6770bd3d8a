"""Atomic changes: lane after lane, or all at once where they change one place.

What is asked of a place is its change in one step; the old number goes to the lane that made it.
"""

from collections.abc import Callable
from typing import TypeAlias

from trilby.codegen.checked_types import scalar
from trilby.codegen.llvm.addresses import pointer_of
from trilby.codegen.llvm.ir import BIT, POINTER, Lanes, of_kind, size_of_kind
from trilby.codegen.llvm.writer import KernelWriter
from trilby.data.dtypes import ScalarType
from trilby.errors import BuildError
from trilby.model.ops.memory import AtomicUpdate, CompareExchange
from trilby.model.value import space_of

Change: TypeAlias = Callable[[str, list[str]], str]
"""Writes the change of a place by one lane, with its operands; gives the old number."""

_WORDS = {"exchange": "xchg"}
_SIGNED = {"min": ("min", "umin"), "max": ("max", "umax")}
_SUMS = {"add": "add", "sub": "add", "and": "and", "or": "or", "xor": "xor"}
"""The reductions that give the same as one change after the other."""


def atomic(writer: KernelWriter, op: AtomicUpdate) -> None:
    """Change a place in one step."""
    pointer, number = _place(writer, op), writer.take(op.operand)
    type_ = scalar(op.operand.type)
    word = _word(op.change, type_)
    if op.result not in writer.used and pointer.is_uniform and _is_sum(op, type_):
        total = _reduced(writer, op.change, number, type_)
        writer.line(_changed(word, pointer.text, number.kind, total))
        return

    def change(place: str, taken: list[str]) -> str:
        return writer.let(_changed(word, place, number.kind, taken[0]))

    def change_copy(place: str, taken: list[str]) -> str:
        old = writer.load(number.kind, place)
        writer.store(number.kind, writer.let(f"{word} {number.kind} {old}, {taken[0]}"), place)
        return old

    if op.base in writer.tallies:
        own, shared, end = (writer.fresh(name) for name in ("own", "shared", "added"))
        writer.branch(writer.tallies[op.base], own, shared)
        writer.label(own)
        _all_in_turn(writer, pointer, number, change_copy)
        writer.jump(end)
        writer.label(shared)
        _one_by_one(writer, pointer, [number], change)
        writer.label(end)
        return
    writer.give(op, _one_by_one(writer, pointer, [number], change))


def _all_in_turn(writer: KernelWriter, pointer: Lanes, number: Lanes, change: Change) -> None:
    """Each lane from the first to the last, without a loop where all of them run."""
    if writer.mask is not None:
        _one_by_one(writer, pointer, [number], change)
        return
    pointers = writer.spread(pointer)
    for lane in range(writer.lanes):
        place = writer.in_lane(POINTER, pointers, f"i64 {lane}")
        taken = number.text
        if not number.is_uniform:
            taken = writer.in_lane(number.kind, writer.spread(number), f"i64 {lane}")
        change(place, [taken])


def compare_exchange(writer: KernelWriter, op: CompareExchange) -> None:
    """Exchange a number if it is what is expected."""
    pointer = _place(writer, op)
    pair = [writer.take(op.expected), writer.take(op.operand)]
    kind = pair[0].kind
    bits = f"i{size_of_kind(kind) * 8}"
    is_float = kind != bits

    def change(place: str, taken: list[str]) -> str:
        given = taken
        if is_float:
            given = [writer.let(f"bitcast {kind} {text} to {bits}") for text in taken]
        order = "monotonic monotonic"
        text = f"cmpxchg ptr {place}, {bits} {given[0]}, {bits} {given[1]} {order}"
        old = writer.let(f"extractvalue {{ {bits}, i1 }} {writer.let(text)}, 0")
        return writer.let(f"bitcast {bits} {old} to {kind}") if is_float else old

    writer.give(op, _one_by_one(writer, pointer, pair, change))


def _place(writer: KernelWriter, op: AtomicUpdate | CompareExchange) -> Lanes:
    if space_of(op.base.type) == "private":
        raise BuildError(
            "an array of one work item needs no atomics",
            advice="use `+=` and its kin on a private array",
            location=op.location,
        )
    return pointer_of(writer, op)


def _word(change: str, type_: ScalarType) -> str:
    if type_.is_float and change in {"add", "sub", "min", "max"}:
        return f"f{change}"
    if change in _SIGNED:
        return _SIGNED[change][type_.kind == "uint"]
    return _WORDS.get(change, change)


def _changed(word: str, place: str, kind: str, text: str) -> str:
    return f"atomicrmw {word} ptr {place}, {kind} {text} monotonic"


def _is_sum(op: AtomicUpdate, type_: ScalarType) -> bool:
    return type_.is_integer and (op.change in _SUMS or op.change in _SIGNED)


def _reduced(writer: KernelWriter, change: str, number: Lanes, type_: ScalarType) -> str:
    """The changes of all lanes that run as one."""
    word = _SUMS.get(change, change)
    neutral = {"and": -1, "min": type_.highest, "max": type_.lowest}.get(change, 0)
    kind, vector, bits = number.kind, writer.vector(number.kind), writer.vector(BIT)
    text = writer.spread(number)
    if writer.mask is not None:
        idle = writer.spread(of_kind(neutral, kind))
        text = writer.let(f"select {bits} {writer.mask}, {vector} {text}, {vector} {idle}")
    sign = ("u" if type_.kind == "uint" else "s") if change in _SIGNED else ""
    name = f"vector.reduce.{sign}{word}.{writer.suffix(kind)}"
    return writer.intrinsic(kind, name, (vector, text))


def _one_by_one(
    writer: KernelWriter, pointer: Lanes, numbers: list[Lanes], change: Change
) -> Lanes:
    """Each lane that runs, from the first to the last; gives what each of them found."""
    count, kind = f"i{writer.lanes}", numbers[0].kind
    vector = writer.vector(kind)
    pointers = writer.spread(pointer)
    vectors = [writer.spread(number) for number in numbers]
    left, found = writer.alloca(count), writer.alloca(vector)
    writer.store(count, writer.bits(writer.lanes_on), left)
    head, body, end = (writer.fresh(word) for word in ("lane", "change", "changed"))
    writer.label(head)
    bits = writer.load(count, left)
    writer.branch(writer.let(f"icmp ne {count} {bits}, 0"), body, end)
    writer.label(body)
    lane = writer.first_lane(bits)
    place = writer.in_lane(POINTER, pointers, lane)
    taken = [writer.in_lane(kind, text, lane) for text in vectors]
    old = change(place, taken)
    so_far = writer.load(vector, found)
    joined = f"insertelement {vector} {so_far}, {kind} {old}, {lane}"
    writer.store(vector, writer.let(joined), found)
    fewer = writer.let(f"sub {count} {bits}, 1")
    writer.store(count, writer.let(f"and {count} {bits}, {fewer}"), left)
    writer.jump(head)
    writer.label(end)
    return Lanes(kind, writer.load(vector, found), None)
