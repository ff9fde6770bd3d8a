"""Statements that give buffers other names: swaps, ternaries, lists, attributes, new buffers."""

from tests.property.program_expressions import condition, integer
from tests.property.program_palette import ANNOTATIONS, Kind
from tests.property.program_writer import Rule, Writer


def some_buffer(w: Writer, kind: Kind) -> tuple[str, list[str]]:
    """An expression that gives a buffer, and the texts of those that it may be."""
    known = w.buffers(kind)
    one, other = w.draft.pick(known), w.draft.pick(known)
    ways = [
        (one, [one]),
        (f"{one} if {condition(w)} else {other}", [one, other]),
        (f"({one}, {other})[{integer(w, reading=9)} % 2]", [one, other]),
        (f"pick({one}, {other}, {condition(w)})", [one, other]),
        (f"[{one}, {other}][-1]", [one, other]),
        (f"Both({one}, {other}).second", [other]),
    ]
    sources = [name for name, own in w.reach.sources.items() if own == kind]
    if sources:
        ways += [(f"{w.draft.pick(sources)}[{w.draft.number(0, 1)}]", known)] * 3
    if w.reach.odds:
        odd = w.draft.pick(w.reach.odds)
        ways.append((f"({one}, {other})[{odd}]", [one, other]))
        ways.append((f"{one} if {odd} < 3 else {other}", [one, other]))
    lists = [name for name, own in w.reach.lists.items() if own == kind]
    if lists:
        name = w.draft.pick(lists)
        both = [f"{name}[0]", f"{name}[1]"]
        ways += [(f"{name}[{integer(w, reading=9)} % 2]", both), (f"next(iter({name}))", both)]
    worlds = [name for name, own in w.reach.worlds.items() if own == kind]
    if worlds:
        name = w.draft.pick(worlds)
        ways.append((f'getattr({name}, "main")', [f"{name}.main"]))
    return w.draft.pick(ways)


def rename(w: Writer) -> bool:
    """`x = a`, where the name is a new one or one that is in use."""
    if not w.reach.buffers:
        return False
    kind = w.draft.pick([*w.reach.buffers.values()])
    text, among = some_buffer(w, kind)
    names = [name for name in w.buffers(kind) if name.isidentifier() or ".main" in name]
    name = w.draft.pick(names) if names and w.draft.chance(2) else w.draft.name(kind)
    w.line(f"{name} = {text}")
    w.bind(name, kind, among)
    return True


def swap(w: Writer) -> bool:
    """Two places change what they hold."""
    kinds = [kind for kind in w.draft.kinds if len(w.buffers(kind)) > 1]
    if not kinds:
        return False
    one, other = w.draft.random.sample(w.buffers(w.draft.pick(kinds)), 2)
    w.line(f"{one}, {other} = {other}, {one}")
    swapped(w, one, other)
    return True


def swapped(w: Writer, one: str, other: str) -> None:
    """Both are apart from what both were apart from, and from each other as before."""
    kept: set[frozenset[str]] = set()
    for pair in w.reach.apart:
        rest = pair - {one, other}
        if len(rest) == 1:
            third = next(iter(rest))
            if not (w.are_apart(one, third) and w.are_apart(other, third)):
                continue
        kept.add(pair)
    w.reach.apart = frozenset(kept)


def take_a_pair(w: Writer) -> bool:
    """`source, to = …` with two that are different, in an order that changes."""
    known = w.reach.buffers
    pairs = [tuple(sorted(pair)) for pair in w.reach.apart if pair <= known.keys()]
    pairs = sorted((x, y) for x, y in pairs if known[x] == known[y])
    if not pairs:
        return False
    one, other = w.draft.pick(pairs)
    kind = w.reach.buffers[one]
    x, y = w.draft.name("source"), w.draft.name("to")
    number = integer(w, reading=12)
    ways = [
        f"({one}, {other}) if {condition(w)} else ({other}, {one})",
        f"({one}, {other})[:: 1 if {number} % 2 == 0 else -1]",
        f"({one}, {other})",
    ]
    lists = [n for n in w.reach.lists if {one, other} == {f"{n}[0]", f"{n}[1]"}]
    ways += [f"{n}[({number}) % 2], {n}[({number} + 1) % 2]" for n in lists]
    ways += lists
    ways += [text for n in lists for text in (f"[*{n}]", f"(*{n},)", f"[*{n}, {one}][:2]")]
    ways += [f"({{**{{'a': {one}}}}}['a'], {other})"]
    w.line(f"{x}, {y} = {w.draft.pick(ways)}")
    for name in (x, y):
        w.bind(name, kind, [one, other])
    w.keep_apart([x, y])
    return True


def turn_list(w: Writer) -> bool:
    if not w.reach.lists:
        return False
    name = w.draft.pick([*w.reach.lists])
    one, other = f"{name}[0]", f"{name}[1]"
    ways = [f"{name}.reverse()", f"{one}, {other} = {other}, {one}", f"{name}[:] = {name}[::-1]"]
    w.line(w.draft.pick([*ways, f"{name}.append({name}.pop(0))"]))
    swapped(w, one, other)
    return True


def make_list(w: Writer) -> bool:
    kinds = [kind for kind in w.draft.kinds if len(w.buffers(kind)) > 1]
    if not kinds:
        return False
    kind = w.draft.pick(kinds)
    one, other = w.draft.random.sample(w.buffers(kind), 2)
    if w.draft.chance(3):
        name = w.draft.name("world")
        w.line(f"{name} = SimpleNamespace(main={one}, spare={other})")
        w.reach.worlds[name] = kind
        places = f"{name}.main", f"{name}.spare"
    else:
        name = w.draft.name("pair")
        w.line(f"{name} = [{one}, {other}]")
        w.reach.lists[name] = kind
        places = f"{name}[0]", f"{name}[1]"
    were_apart = w.are_apart(one, other)
    w.bind(places[0], kind, [one])
    w.bind(places[1], kind, [other])
    if were_apart:
        w.keep_apart(places)
    return True


def new_buffer(w: Writer, kind: Kind) -> str:
    """An expression that makes a buffer, with zeros or with numbers."""
    draft = w.draft
    where = "cc.accelerator" if w.in_compute else draft.pick([*w.accelerators])
    start = draft.number(0, 20)
    cls = ANNOTATIONS[kind]
    if kind == "flat":
        content = draft.pick([f"np.arange({start}, {start} + N, dtype=np.int32)", "zeros(N)"])
        return f"{where}.array({content})"
    if kind == "grid":
        return f"{where}.array({draft.pick(['zeros(H, W)', f'counted({start}, H, W)'])})"
    if kind == "plane":
        return draft.pick([f"{cls}.create(width=W, height=H)", f"{cls}.of(counted({start}, H, W))"])
    length = {"flag": "1", "wide": "WIDE"}.get(kind, "N")
    if cls == "Table" or draft.chance(2):
        return f"{cls}.create({draft.pick(['', f'{where}, '])}length={length})"
    ways = [f"range({start}, {start} + {length})", f"[{start}] * {length}"]
    ways += [f"{text}.array" for text in w.buffers(kind)]
    return f"{cls}.of({draft.pick(ways)})"


def make_buffer(w: Writer) -> bool:
    kind = w.draft.pick(w.draft.kinds)
    known = [name for name in w.buffers(kind) if name.isidentifier()]
    name = w.draft.pick(known) if known and w.draft.chance(4) else w.draft.name(kind)
    w.line(f"{name} = {new_buffer(w, kind)}")
    w.bind(name, kind, [])
    return True


def forget(w: Writer) -> bool:
    """A buffer loses a name, maybe its last."""
    known = [name for name in w.reach.buffers if name.isidentifier()]
    if w.depth > 1 or len(known) < 4:
        return False
    name = w.draft.pick(known)
    w.line(w.draft.pick([f"del {name}", f"{name} = None"]))
    del w.reach.buffers[name]
    return True


NAMINGS: tuple[Rule, ...] = (
    rename,
    rename,
    rename,
    swap,
    swap,
    take_a_pair,
    take_a_pair,
    turn_list,
    turn_list,
    make_list,
    make_buffer,
    forget,
)
