"""Calls of NumPy's functions with arguments in all the ways that Python has, and calls that fail.

A result is put in place by position, by keyword or by an unpacked dictionary; some elements are
left out by a mask. Calls that fail do so before, in the middle of or after their writes, and the
program goes on with what they left.
"""

from tests.property.program_expressions import is_whole, part, value_for
from tests.property.program_writer import Rule, View, Writer


def _target(w: Writer) -> tuple[str, View] | None:
    """A part of an array of `i32` or `f32`, as text."""
    views = {text: view for text, view in w.views().items() if view.kind != "bits"}
    if not views:
        return None
    text = w.draft.pick([*views])
    view = views[text]
    if "raw" in text:
        return None
    found, own = part(w, text, view)
    return found, View(own.shape, own.kind if is_whole(text, view) else "real")


def _integers(w: Writer) -> tuple[str, View] | None:
    found = _target(w)
    return found if found and found[1].kind != "real" else None


def write_by_ufunc(w: Writer) -> bool:
    """A ufunc is given its result by position, in a tuple or in a dictionary."""
    if (found := _target(w)) is None:
        return False
    text, _ = found
    number = w.draft.number(1, 9)
    mask = f"np.asarray({text}) % 2 < 1"
    ways = [
        f"np.add({text}, {number}, {text})",
        f"np.subtract({text}, {number}, {text})",
        f'np.add({text}, {number}, **{{"out": {text}}})',
        f"np.add({text}, {number}, **dict(out={text}, where={mask}))",
        f"np.add({text}, {number}, out=({text},))",
        f"np.add({text}, {number}, {text}, where={mask})",
        f"np.remainder(*({text}, 50, {text}))",
        f"np.clip({text}, 0, {number}, {text})",
        f"np.negative({text}, {text})",
        f"look(np.add({text}, {number}, {text}))",
    ]
    w.line(w.draft.pick(ways))
    return True


def write_by_function(w: Writer) -> bool:
    """A function is given its result, or what selects elements, by position."""
    if (found := _target(w)) is None:
        return False
    text, view = found
    number = value_for(w, "", view)
    mask = f"np.asarray({text}) % 2 < 1"
    ways = [
        f'np.copyto({text}, {number}, "same_kind", {mask})',
        f'np.copyto({text}, {number}, "same_kind", True)',
        f"np.copyto({text}, {number}, where={mask})",
        f'np.copyto(dst={text}, src={number}, **{{"where": {mask}}})',
        f"np.putmask({text}, {mask}, {number})",
        f"np.place({text}, {mask}, [{number}])",
        f'np.put({text}, [0, 99], {number}, "wrap")',
        f'np.put(ind=[0], v={number}, a={text}, mode="clip")',
        f"np.nan_to_num({text}, False)",
    ]
    if len(view.shape) == 1:
        ways += [
            f"np.put_along_axis({text}, np.array([0]), {number}, 0)",
            f"np.put_along_axis(axis=0, values={number}, indices=np.array([-1]), arr={text})",
            f"np.cumsum({text} % 9, 0, None, {text})",
            f"np.add.at({text}, [0, 0], 2)",
        ]
    else:
        ways += [f"np.fill_diagonal({text}, {number})", f"np.cumsum({text} % 9, 0, None, {text})"]
    w.line(w.draft.pick(ways))
    return True


def fail_halfway(w: Writer) -> bool:
    """A call raises before its writes, between them or after them."""
    if (found := _integers(w)) is None:
        return False
    text, view = found
    ways = [
        (f"np.put({text}, [0, 99999, 0], {w.draft.number(1, 40)})", "IndexError"),
        (f"np.put({text}, [99999, 0], 5)", "IndexError"),
        (f"np.power({text}, {_exponents(view)}, {text})", "ValueError"),
        (f'fussy({text}, {text}, casting="unsafe")', "KeyError"),
        (f"np.add({text}, np.zeros((7, 7, 7), np.int32), {text})", "ValueError"),
        (f"np.add({text}, 0.5, {text})", "TypeError"),
        (f"strictly(lambda: np.floor_divide({text}, 0, {text}))", "RuntimeWarning"),
        (f"{text}[[0, 99999]] = 4", "IndexError"),
    ]
    if not text.endswith("]"):
        ways.append((f"np.copyto({text}, [{w.draft.number(1, 9)}] * 777)", "ValueError"))
    call, error = w.draft.pick(ways)
    w.line("try:")
    if w.draft.chance(4) and error == "ValueError":
        w.line('    with np.errstate(all="raise"):')
        w.line(f"        np.floor_divide({text}, 0, {text})")
        error = "FloatingPointError"
    else:
        w.line(f"    {call}")
    w.line(f"except {error}:")
    w.line(f"    {w.draft.pick(['log.append(-1)', 'pass', f'look({text})'])}")
    return True


def _exponents(view: View) -> str:
    """One of them is negative, which integers do not take, and NumPy finds out when it comes."""
    count = view.shape[-1]
    exponents = [-1 if place == count // 2 else place % 2 for place in range(min(count, 99))]
    return f"np.resize(np.array({exponents}, np.int32), {count})"


def join_named(w: Writer) -> bool:
    """NumPy is given several arrays in something that is no plain list or tuple."""
    views = {text: view for text, view in w.views().items() if is_whole(text, view)}
    flat = [text for text, view in views.items() if len(view.shape) == 1]
    if not flat:
        return False
    one, other = w.draft.pick(flat), w.draft.pick(flat)
    ways = [
        f"look(np.concatenate(Both({one}, {other})))",
        f"look(np.stack(Both({one}, {one})))",
        f"look(np.concatenate(deque([{one}, {other}]), 0))",
        f"look(np.concatenate(Numbered({one}, {other})))",
        f"look(np.vstack(Both(first={other}, second={other})))",
        f"look(np.sum(Both({one}, {one})))",
    ]
    w.line(w.draft.pick(ways))
    return True


CALLS: tuple[Rule, ...] = (
    write_by_ufunc,
    write_by_ufunc,
    write_by_function,
    write_by_function,
    fail_halfway,
    fail_halfway,
    join_named,
)
