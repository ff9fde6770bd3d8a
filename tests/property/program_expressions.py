"""Numbers, conditions and parts of arrays in random programs, as text."""

from tests.property.program_writer import View, Writer

# ------------------------------------------------------------------------------- numbers


def integer(w: Writer, *, reading: int = 3) -> str:
    """A small number that is not negative; once in so many times one that the host reads."""
    draft = w.draft
    if w.reach.ints and draft.chance(3):
        return draft.pick([f"{draft.pick(w.reach.ints)} % 40", f"{draft.pick(w.reach.ints)} % 3"])
    if w.reach.odds and draft.chance(4):
        return draft.pick(["({} + 1) % 40", "{} % 3"]).format(draft.pick(w.reach.odds))
    if draft.chance(reading * 3) and (found := a_number(w)):
        return f"{found} % 50"
    return str(draft.number(0, 60))


def a_number(w: Writer) -> str | None:
    """One element of one of the arrays of whole numbers, or the atomic field of a table."""
    tables = w.buffers("table")
    if tables and w.draft.chance(6):
        return f"{w.draft.pick(tables)}.total"
    views = {text: view for text, view in w.views().items() if is_whole(text, view)}
    if not views:
        return None
    text = w.draft.pick([*views])
    return element(w, text, views[text])


def is_whole(text: str, view: View) -> bool:
    """True for elements that are not floats."""
    return view.kind != "real" and not text.endswith(".value")


def index(w: Writer, extent: int) -> str:
    """A number below the extent of an axis, at times counted from its end."""
    draft = w.draft
    if w.reach.ints and draft.chance(3):
        return f"{draft.pick(w.reach.ints)} % {extent}"
    if w.reach.odds and draft.chance(2):
        return draft.pick(["{} % {}", "({} + 1) % {}"]).format(draft.pick(w.reach.odds), extent)
    if draft.chance(8):
        return str(-draft.number(1, extent))
    return str(draft.number(0, extent - 1))


def condition(w: Writer) -> str:
    """A truth value: of numbers, of what the host reads, of names."""
    draft = w.draft
    if w.reach.ints and draft.chance(2):
        name = draft.pick(w.reach.ints)
        return draft.pick([f"{name} % 2 == 0", f"{name} > 1", f"{name} % 3 != 1", f"{name} < 3"])
    if w.reach.odds and draft.chance(3):
        return draft.pick(["{} < 3", "{} > 2", "{} == 1", "{}"]).format(draft.pick(w.reach.odds))
    if len(w.reach.buffers) > 1 and draft.chance(8):
        one, other = draft.random.sample(sorted(w.reach.buffers), 2)
        return f"{one} is not {other}"
    views = {text: view for text, view in w.views().items() if is_whole(text, view)}
    if not views:
        return draft.pick(["N > 6", "W == 4", "len(log) % 2 == 0"])
    text = draft.pick([*views])
    one = element(w, text, views[text])
    return draft.pick(
        [
            f"{one} > {draft.number(0, 90)}",
            f"{one} % 2 == 0",
            f"np.sum({text}) % 2 == 0",
            f"{text}.max() > {draft.number(5, 200)}",
            f"len(log) % 2 == {draft.number(0, 1)}",
        ]
    )


def value_for(w: Writer, text: str, view: View) -> str:
    """A number that an element can hold."""
    if not is_whole(text, view):
        return f"{w.draft.number(0, 40) / 2}"
    return integer(w)


# --------------------------------------------------------------------------------- parts


def element(w: Writer, text: str, view: View) -> str:
    """The text of one element."""
    return f"{text}[{', '.join(index(w, extent) for extent in view.shape)}]"


def part(w: Writer, text: str, view: View) -> tuple[str, View]:
    """The text of a part of an array: a slice, a row, a column, a block, or all of it."""
    if w.draft.chance(5):
        return text, view
    entries: list[str] = []
    shape: list[int] = []
    for axis, extent in enumerate(view.shape):
        last = axis == len(view.shape) - 1
        if len(view.shape) > 1 and w.draft.chance(4) and (shape or not last):
            entries.append(index(w, extent))
            continue
        entry, count = a_slice(w, extent)
        entries.append(entry)
        shape.append(count)
    return f"{text}[{', '.join(entries)}]", View(tuple(shape), view.kind)


def a_slice(w: Writer, extent: int) -> tuple[str, int]:
    """A slice of an axis that is not empty, and how many it selects."""
    draft = w.draft
    low = draft.number(0, extent - 1)
    high = draft.number(low + 1, extent)
    text = draft.pick(
        [":", f"{low}:{high}", f"{low}:{high}", f"{low}:", f":{high}", "::2", f"{low}::2", "::-1"]
    )
    numbers = [int(entry) if entry else None for entry in text.split(":")]
    return text, len(range(extent)[slice(*numbers)])


def part_of_shape(w: Writer, text: str, view: View, shape: tuple[int, ...]) -> str | None:
    """The text of a part that has a given shape, or None where there is none."""
    if len(view.shape) != len(shape):
        return None
    entries: list[str] = []
    for extent, count in zip(view.shape, shape, strict=True):
        if count > extent:
            return None
        low = w.draft.number(0, extent - count)
        entries.append(f"{low}:{low + count}")
    return f"{text}[{', '.join(entries)}]"
