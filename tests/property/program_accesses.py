"""Statements in which the host looks at data or changes it."""

from tests.property.program_expressions import (
    a_number,
    element,
    index,
    integer,
    is_whole,
    part,
    part_of_shape,
    value_for,
)
from tests.property.program_writer import Rule, View, Writer


def _any_view(w: Writer) -> tuple[str, View] | None:
    views = w.views()
    if not views:
        return None
    text = w.draft.pick([*views])
    return text, views[text]


# --------------------------------------------------------------------------------- reads


def look_at_element(w: Writer) -> bool:
    if (found := _any_view(w)) is None:
        return False
    w.line(w.draft.pick(["look({})", "log.append({})", "look(3 * {})"]).format(element(w, *found)))
    return True


def look_at_part(w: Writer) -> bool:
    if (found := _any_view(w)) is None:
        return False
    text, _ = part(w, *found)
    ways = ["look({})", "look(np.sum({}))", "look({}.tolist())", "look({}.max())", "peek({})"]
    ways += ["look(np.asarray({}))", "look({}.copy())", "look(np.sort({}, axis=None))"]
    w.line(w.draft.pick(ways).format(text))
    return True


def look_at_buffer(w: Writer) -> bool:
    whole = [text for text, kind in w.reach.buffers.items() if kind != "table"]
    if not whole:
        return False
    text = w.draft.pick(whole)
    w.line(w.draft.pick([f"look({text})", f"peek({text})", f"look(np.asarray({text}) + 1)"]))
    return True


def take_a_number(w: Writer) -> bool:
    if (text := a_number(w)) is None:
        return False
    fresh = w.draft.name("s")
    known = [name for name in w.reach.ints if name.startswith("s")]
    name = w.draft.pick([fresh, *known])
    w.line(f"{name} = abs(int({text}))")
    if name is fresh:
        w.reach.ints.append(fresh)
    return True


def add_up(w: Writer) -> bool:
    views = {text: view for text, view in w.views().items() if is_whole(text, view)}
    flat = [text for text, view in views.items() if len(view.shape) == 1]
    if not flat:
        return False
    text, name = w.draft.pick(flat), w.draft.name("s")
    one_line = [f"{name} = sum(abs(int(cell)) for cell in {text})", f"{name} = int(sum({text}))"]
    if w.draft.chance(2):
        w.line(w.draft.pick(one_line))
    else:
        w.line(f"{name} = 0")
        w.line(f"for cell in {text}:")
        w.line(f"    {name} += int(cell)")
    w.line(f"look({name})")
    return True


def look_at_row(w: Writer) -> bool:
    tables = w.buffers("table")
    if w.reach.rows and w.draft.chance(2):
        row = w.draft.pick(w.reach.rows)
    elif tables:
        row = f"{w.draft.pick(tables)}.row[{w.draft.number(0, w.draft.n - 1)}]"
    else:
        return False
    ways = [f"look({row}.key)", f"look([{row}.key, {row}.value])", f"{row}.key += 3"]
    ways += [f"{row}.value = 2.5", f"{row}.key = {integer(w)}"]
    w.line(w.draft.pick(ways))
    return True


def change_total(w: Writer) -> bool:
    tables = w.buffers("table")
    if not tables:
        return False
    text = w.draft.pick(tables)
    w.line(w.draft.pick([f"{text}.total = 0", f"{text}.total += 1", f"look({text}.total)"]))
    return True


# -------------------------------------------------------------------------------- writes


def set_element(w: Writer) -> bool:
    if (found := _any_view(w)) is None:
        return False
    text = element(w, *found)
    narrow = found[1].kind == "bits"
    way = "{} = {}" if narrow else w.draft.pick(["{} = {}", "{} = {}", "{} += {}"])
    w.line(way.format(text, value_for(w, *found)))
    return True


def set_part(w: Writer) -> bool:
    if (found := _any_view(w)) is None:
        return False
    text, own = part(w, *found)
    number = value_for(w, text=found[0], view=own)
    target = f"{text}[...]" if text == found[0] else text  # an array in a list is no part of it
    if own.kind == "bits":
        ways = [f"{target} = {number}", f"{target} %= 7", f"wipe({text})", f"{text}.fill({number})"]
    else:
        ways = [f"{target} = {number}", f"{target} = {number}", f"{target} += {number}"]
        ways += [f"{target} %= 50", f"nudge({text})", f"wipe({text})", f"{text}.fill({number})"]
        ways += [f"np.add({text}, 1, out={text})", *([] if "]" in text else [f"{text} += 2"])]
    if len(own.shape) == 1 and own.shape[0] < 100:
        ways.append(f"{target} = {[(3 * i + 1) % 11 for i in range(own.shape[0])]}")
    w.line(w.draft.pick(ways))
    return True


def copy_part(w: Writer) -> bool:
    """From one buffer to another, or from one place of a buffer to another."""
    views = {text: view for text, view in w.views().items() if view.kind != "bits"}
    whole = {text: view for text, view in views.items() if is_whole(text, view)}
    if not whole:
        return False
    text = w.draft.pick([*views])
    target, own = part(w, text, views[text])
    source = w.draft.pick([*whole])
    found = part_of_shape(w, source, whole[source], own.shape)
    if found is None:
        return False
    target = f"{target}[...]" if target == text else target
    w.line(f"{target} = {w.draft.pick([found, found, f'{found} + 2', f'np.flip({found})'])}")
    return True


def set_selected(w: Writer) -> bool:
    views = {text: view for text, view in w.views().items() if len(view.shape) == 1}
    views = {text: view for text, view in views.items() if is_whole(text, view)}
    if not views:
        return False
    text = w.draft.pick([*views])
    extent = views[text].shape[0]
    chosen = sorted({w.draft.number(0, extent - 1) for _ in range(2)})
    ways = [f"{text}[{chosen}] = 5", f"{text}[{text} > 30] = 4", f"look({text}[{chosen}])"]
    ways += [f"np.put({text}, {chosen}, 6)", f"look({text}[np.asarray({text}) > 9])"]
    w.line(w.draft.pick(ways))
    return True


# ------------------------------------------------------------------ views, rows, raw views


def name_a_view(w: Writer) -> bool:
    if (found := _any_view(w)) is None:
        return False
    text, own = part(w, *found)
    name = w.draft.name("value_view" if not is_whole(*found) else "view")
    w.line(f"{name} = {text}")
    w.reach.views[name] = View(own.shape, "real" if not is_whole(*found) else own.kind)
    return True


def name_a_row(w: Writer) -> bool:
    tables = w.buffers("table")
    if not tables:
        return False
    name = w.draft.name("row")
    w.line(f"{name} = {w.draft.pick(tables)}.row[{w.draft.number(0, w.draft.n - 1)}]")
    w.reach.rows.append(name)
    return True


def take_raw(w: Writer) -> bool:
    if len(w.reach.raws) > 1 or not w.draft.chance(3) or (found := _any_view(w)) is None:
        return False
    text, own = part(w, *found)
    name = w.draft.name("raw")
    w.line(f"{name} = {text}.raw()")
    w.reach.raws[name] = View(own.shape, "real" if not is_whole(*found) else own.kind)
    return True


def use_raw(w: Writer) -> bool:
    if not w.reach.raws:
        return False
    name = w.draft.pick([*w.reach.raws])
    view = w.reach.raws[name]
    place = ", ".join(index(w, extent) for extent in view.shape)
    one = f"{name}[{place}] = {w.draft.number(0, 90)}"
    ways = [one, one, one, f"look({name}[{place}])"]
    ways += [f"look({name})", f"{name}[...] = 12", f"look(int({name}.sum()))"]
    w.line(w.draft.pick(ways))
    return True


def drop_raw(w: Writer) -> bool:
    if not w.reach.raws or w.depth > 1:
        return False
    name = w.draft.pick([*w.reach.raws])
    w.line(w.draft.pick([f"{name} = None", f"del {name}"]))
    del w.reach.raws[name]
    return True


ACCESSES: tuple[Rule, ...] = (
    look_at_element,
    look_at_element,
    look_at_part,
    look_at_part,
    look_at_buffer,
    take_a_number,
    add_up,
    look_at_row,
    change_total,
    set_element,
    set_element,
    set_part,
    set_part,
    copy_part,
    set_selected,
    name_a_view,
    name_a_view,
    name_a_row,
    take_raw,
    use_raw,
    use_raw,
    drop_raw,
)
