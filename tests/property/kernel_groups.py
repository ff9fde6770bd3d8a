"""The part of a random kernel that a work group does together: local arrays and barriers."""

from tests.property.kernel_operands import filled, given_to
from tests.property.kernel_statements import block
from tests.property.kernel_types import SCALARS, VECTORS, spelt
from tests.property.kernel_writer import RECORD, Writer


def shared_phase(w: Writer, dims: tuple[int, ...], own: str) -> None:
    """Each item writes its own slot, waits, reads any, and waits again.

    `dims` are the sizes of the local array, `own` the index of the item's slot. All of this
    stands where every item of a group comes by; at times in a loop with fixed turns.
    """
    type_ = w.draft.pick_type((*SCALARS, *VECTORS, RECORD, RECORD))
    name = w.draft.name("tile", type_)
    w.lines.insert(0, f"    {name} = tb.local({spelt(type_)}, {', '.join(map(str, dims))})")
    if not w.draft.chance(2):
        _exchange(w, name, type_, dims, own)
        return
    w.line(f"for turn{w.draft.last_name} in range({w.draft.number(1, 3)}):")
    with w.block():
        _exchange(w, name, type_, dims, own)


def _exchange(w: Writer, name: str, type_: str, dims: tuple[int, ...], own: str) -> None:
    slot = ", ".join(f"${dim}" for dim in dims)
    w.line(f"{name}[{own}] = {given_to(w, type_, 3)}")
    w.line(w.draft.pick(("kc.barrier()", 'kc.barrier("local")', "wait(kc)")))
    if type_ in {"i32", "u32"} and w.draft.chance(2):
        index = filled(w, slot)
        index = f"({index})" if len(dims) > 1 else index
        w.line(f"tb.atomic_add({name}, {index}, {given_to(w, type_)})")
        w.line("kc.barrier()")
    with w.reading(f"{name}[{slot}]", type_):
        block(w)
    w.line("kc.barrier()")
