"""Statements that run others: dispatches, loops, branches, calls; and blocks of all kinds."""

from typing import TYPE_CHECKING

from tests.property.program_accesses import ACCESSES, take_raw, use_raw
from tests.property.program_callbacks import hold, make_tick, stir, tick
from tests.property.program_calls import CALLS
from tests.property.program_expressions import condition, integer
from tests.property.program_names import NAMINGS, some_buffer, swap, turn_list
from tests.property.program_palette import PALETTE, SIZES, Palette
from tests.property.program_writer import Function, Rule, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

# ----------------------------------------------------------------------------- dispatches


def dispatch(w: Writer) -> bool:
    """One kernel, in one of the two spellings."""
    if not w.in_compute:
        return False
    usable = [k for k in PALETTE if all(w.buffers(kind) for kind in k.buffers)]
    if not usable:
        return False
    kernel = w.draft.pick(usable)
    buffers = [w.draft.pick(w.buffers(kind)) for kind in kernel.buffers]
    if not all(w.are_apart(buffers[one], buffers[other]) for one, other in kernel.apart):
        return False
    args = [*buffers, *_numbers(w, kernel)]
    size = w.draft.pick(kernel.sizes).format(*args)
    if "{1}" in kernel.sizes[0] and any(odd in args[1] for odd in w.reach.odds):
        return False  # it stands there twice, and is another number each time
    if not kernel.apart and w.draft.chance(3):
        place = w.draft.number(0, len(buffers) - 1)
        args[place] = some_buffer(w, kernel.buffers[place])[0]
    may_be_empty = kernel.sizes == SIZES and w.draft.chance(8)
    if may_be_empty:  # where nothing is launched, no simulated machine evaluates a lambda
        size = _any_size(w)
    given = ", ".join(args)
    if may_be_empty or w.draft.chance(2):
        w.line(f"cc.dispatch({size}, {kernel.name}, {given})")
    else:
        w.line(f"cc.dispatch({size}, lambda kc: {kernel.name}(kc, {given}))")
    return True


def _any_size(w: Writer) -> str:
    """A range that may have no work items."""
    size = f"{integer(w)} % {w.draft.pick(['2', '3', 'N'])}"
    if w.draft.chance(3):
        return size
    name = w.draft.name("size")
    w.line(f"{name} = {size}")
    return name


def _numbers(w: Writer, kernel: Palette) -> list[str]:
    draft = w.draft
    low = draft.number(0, draft.n)
    high = draft.number(low, draft.n)
    texts: dict[str, Callable[[], str]] = {
        "v": lambda: integer(w),
        "f": lambda: draft.pick(["0.5", "3.0", f"{draft.number(0, 9)} / 4"]),
        "bool": lambda: draft.pick(["True", "False", f"bool({condition(w)})"]),
        "i": lambda: draft.pick([str(draft.number(0, draft.n - 1)), f"({integer(w)}) % N"]),
        "low": lambda: draft.pick([str(low), str(low), f"({integer(w)}) % N"]),
        "high": lambda: str(high),
        "y": lambda: draft.pick([str(draft.number(0, draft.height - 1)), f"({integer(w)}) % H"]),
        "x": lambda: draft.pick([str(draft.number(0, draft.width - 1)), f"({integer(w)}) % W"]),
    }
    return [texts[number]() for number in kernel.numbers]


# --------------------------------------------------------------------------------- loops


def count_loop(w: Writer) -> bool:
    if w.loops > 1:
        return False
    name = w.draft.name("g")
    counts = ["2", "3", "4", "N % 3", "0", "5"]
    if w.reach.odds:
        odd = w.draft.pick(w.reach.odds)
        counts += [f"{odd}", f"{odd} + 1", f"{odd}, 3"]
    w.line(f"for {name} in range({w.draft.pick(counts)}):")
    with w.block(loop=True):
        w.reach.ints.append(name)
        block(w, w.draft.number(1, 5))
        leave(w)
    if w.draft.chance(10):
        w.line("else:")
        with w.block():
            block(w, 1)
    return True


def repeat(w: Writer) -> bool:
    """The very same dispatch or call again and again, and the host comes between, or does not.

    What was decided for the first must not be taken for the next where it is no longer true.
    """
    if w.loops > 1:
        return False
    if w.draft.chance(3):
        _ = any(take_raw(w) for _ in range(9))
    name = w.draft.name("g")
    w.line(f"for {name} in range({w.draft.pick([3, 5, 8, 12])}):")
    with w.block(loop=True):
        w.reach.ints.append(name)
        again = dispatch if w.in_compute else call
        for _ in range(w.draft.number(1, 3)):
            _ = any(again(w) for _ in range(10))
            if w.draft.chance(3):
                _between(w, name)
        _between(w, name)
    return True


def _between(w: Writer, turn: str) -> None:
    """What the host does between two launches, in all turns or in some."""
    if w.draft.chance(3):
        _anything(w)
        return
    w.line(f"if {turn} {w.draft.pick(['== 2', '== 4', '> 1', '% 2 == 1', '% 3 == 2'])}:")
    with w.block():
        _anything(w)


def _anything(w: Writer) -> None:
    """The host looks, writes, calls what nobody knows, or gives two buffers each other's name."""
    rules: tuple[Rule, ...] = ACCESSES
    if w.reach.raws and w.draft.chance(2):
        rules = (use_raw,)
    elif w.draft.chance(3):
        rules = (tick, stir, swap, turn_list)
    if not any(w.draft.pick(rules)(w) for _ in range(10)):
        w.line("look(1)")


def leave(w: Writer) -> None:
    """At times a loop is left early, or goes on early and skips what follows."""
    if w.draft.chance(5):
        w.line(f"if {condition(w)}:")
        w.line(f"    {w.draft.pick(['break', 'continue'])}")
        block(w, w.draft.number(0, 2))


def buffer_loop(w: Writer) -> bool:
    """Over the buffers of a list or of a tuple."""
    kinds = [kind for kind in w.draft.kinds if len(w.buffers(kind)) > 1]
    if w.loops > 1 or not kinds:
        return False
    kind = w.draft.pick(kinds)
    one, other = w.draft.random.sample(w.buffers(kind), 2)
    name, number = w.draft.name(kind), w.draft.name("g")
    ways = [(f"{name} in ({one}, {other})", False), (f"{name} in [{one}, {other}, {one}]", False)]
    ways.append((f"{number}, {name} in enumerate([{other}, {one}])", True))
    text, counts = w.draft.pick(ways)
    w.line(f"for {text}:")
    with w.block(loop=True):
        w.bind(name, kind, [one, other])
        w.reach.ints += [number] if counts else []
        block(w, w.draft.number(1, 3))
    return True


def while_loop(w: Writer) -> bool:
    """Until something that the host reads says so, or a number of times."""
    if w.loops > 1:
        return False
    name, most = w.draft.name("step"), w.draft.number(1, 4)
    looked = condition(w)
    w.line(f"{name} = 0")
    head = w.draft.pick(
        [f"{name} < {most}", f"{name} < {most} and {looked}", f"{looked} and {name} < {most}"]
    )
    w.line(f"while {head}:")
    with w.block(loop=True):
        w.reach.ints.append(name)
        w.line(f"{name} += 1")
        block(w, w.draft.number(1, 4))
        leave(w)
    w.reach.ints.append(name)
    return True


def flag_loop(w: Writer) -> bool:
    """`while not done`, where a kernel or the host finds out."""
    if w.loops > 1:
        return False
    done, name = w.draft.name("done"), w.draft.name("step")
    w.line(f"{done}, {name} = False, 0")
    w.line(f"while not {done}:")
    with w.block(loop=True):
        w.reach.ints.append(name)
        block(w, w.draft.number(1, 4))
        w.line(f"{name} += 1")
        w.line(f"{done} = {name} > {w.draft.number(1, 3)} or {condition(w)}")
    return True


def branch(w: Writer) -> bool:
    w.line(f"if {condition(w)}:")
    with w.block():
        block(w, w.draft.number(1, 3))
    if w.draft.chance(2):
        w.line("else:")
        with w.block():
            block(w, w.draft.number(1, 3))
    return True


def attempt(w: Writer) -> bool:
    """Something goes wrong halfway, at times, and the program goes on."""
    w.line("try:")
    with w.block():
        block(w, w.draft.number(1, 3))
        w.line(f"if {condition(w)}:")
        w.line("    raise KeyError")
        block(w, 1)
    w.line("except KeyError:")
    with w.block():
        block(w, 1)
    if w.draft.chance(3):
        w.line("finally:")
        with w.block():
            block(w, 1)
    return True


def early_return(w: Writer) -> bool:
    if not w.in_compute or not w.draft.chance(4) or (w.result and not w.buffers(w.result)):
        return False
    w.line(f"if {condition(w)}:")
    w.line(f"    return {result(w)}")
    return True


def result(w: Writer) -> str:
    """What a function gives back: a buffer, or something that is read for that."""
    if w.result is not None:
        return w.draft.pick(w.buffers(w.result))
    texts = [text for text, view in w.views().items() if view.kind != "real"]
    if not texts:
        return "None"
    text = w.draft.pick(texts)
    return w.draft.pick([f"{text}.tolist()", f"np.sum({text})", f"{text}.copy()", "None", "7"])


# --------------------------------------------------------------------------------- calls


def argument(w: Writer, kind: str) -> str | None:
    """Something to pass for a parameter."""
    family, _, own = kind.partition(":")
    if family == "int":
        return integer(w)
    if family == "odd":
        return w.draft.pick([*w.reach.odds, f"Odd({w.draft.number(0, 6)})"])
    if family == "source":
        names = [name for name, kind_ in w.reach.sources.items() if kind_ == own]
        return w.draft.pick(names) if names else None
    if family == "tick":
        return w.draft.pick(w.reach.ticks) if w.reach.ticks else None
    if family in {"list", "world"}:
        held = w.reach.lists if family == "list" else w.reach.worlds
        names = [name for name, kind_ in held.items() if kind_ == own]
        return w.draft.pick(names) if names else None
    if not w.buffers(family):
        return None
    return some_buffer(w, family)[0] if w.draft.chance(6) else w.draft.pick(w.buffers(family))


def arguments(w: Writer, function: Function) -> list[str] | None:
    """Arguments for a call, buffers mostly different ones; None where one is not to be had."""
    chosen: list[str] = []
    for _, kind in function.params:
        options = [argument(w, kind) for _ in range(3)]
        found = next((text for text in options if text not in {None, *chosen}), options[0])
        if found is None:
            return None
        chosen.append(found)
    return chosen


def call(w: Writer) -> bool:
    """A compute function is called: by another, or by the driver."""
    functions = w.draft.functions
    if not functions or (w.in_compute and w.loops > 1):
        return False
    function = w.draft.pick(functions)
    args = arguments(w, function)
    if args is None:
        return False
    text = _call_text(w, function, args)
    if function.result is None:
        w.line(w.draft.pick([text, f"look({text})"]))
        return True
    if w.draft.chance(3):
        w.line(text)
        return True
    name = w.draft.name(function.result)
    w.line(f"{name} = {text}")
    held = [t for t, kind in w.reach.buffers.items() if kind == function.result]
    w.bind(name, function.result, held)
    return True


def _call_text(w: Writer, function: Function, args: list[str]) -> str:
    if w.draft.chance(4):
        names = [name for name, _ in function.params]
        args = [*args[:1], *(f"{n}={a}" for n, a in zip(names[1:], args[1:], strict=True))]
    given = ", ".join(args)
    if w.in_compute:
        return f"{function.name}(cc, {given})"
    accelerator = w.draft.pick([*w.accelerators])
    if w.draft.chance(2):
        return f"{accelerator}.compute({function.name}, {given})"
    return f"{accelerator}.compute(lambda cc: {function.name}(cc, {given}))"


# ------------------------------------------------------------------------------- the rest


def temporary(w: Writer) -> bool:
    """A buffer that is given up at the end of a block."""
    if "line" not in w.draft.kinds:
        return False
    name = w.draft.name("line")
    w.line(f"with S32Array.create(length=N) as {name}:")
    with w.block():
        w.bind(name, "line", [])
        known = [rule for rule in NEUTRAL for _ in range(2)]
        for _ in range(w.draft.number(1, 3)):
            _ = w.draft.pick([*known, dispatch, dispatch])(w)
        w.line(f"look({name})")
    return True


def borrow(w: Writer) -> bool:
    """A buffer that an object gives to a `with` block, which is none itself."""
    kind = w.draft.pick(w.draft.kinds)
    known = w.buffers(kind)
    if not known:
        return False
    one, name = w.draft.pick(known), w.draft.name(kind)
    w.line(f"with Lending({one}) as {name}:")
    with w.block():
        w.bind(name, kind, [one])
        for _ in range(w.draft.number(1, 3)):
            _ = w.draft.pick([*NEUTRAL, dispatch, dispatch, dispatch])(w)
        w.line("look(0)")
    return True


NEUTRAL: tuple[Rule, ...] = tuple(
    rule for rule in ACCESSES if not rule.__name__.startswith(("name_", "take_raw"))
)
"""Accesses that leave no name behind for what they touch."""

FLOWS: tuple[Rule, ...] = (
    count_loop,
    count_loop,
    repeat,
    repeat,
    buffer_loop,
    while_loop,
    flag_loop,
    branch,
    branch,
    attempt,
    early_return,
    call,
    call,
    tick,
    tick,
    make_tick,
    hold,
    temporary,
    borrow,
)


def statement(w: Writer) -> None:
    """Any statement that can be written here."""
    w.left -= 1
    for _ in range(20):
        turn = w.draft.number(1, 12)
        if w.in_compute and turn <= 4:
            rules: tuple[Rule, ...] = (dispatch,)
        elif not w.in_compute and turn <= 3:
            rules = (call,)
        elif turn <= 6:
            rules = ACCESSES
        elif turn == 7:
            rules = CALLS
        elif turn <= (10 if w.loops else 9):
            rules = NAMINGS
        else:
            rules = FLOWS if w.left > 0 and w.depth < 4 else ACCESSES
        if w.draft.pick(rules)(w):
            return
    w.line("look(0)")


def block(w: Writer, count: int) -> None:
    """Some statements; always at least one line."""
    before = len(w.lines)
    for _ in range(count if w.left > 0 else min(count, 1)):
        statement(w)
    if len(w.lines) == before:
        w.line("pass")
