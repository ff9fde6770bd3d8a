"""Random statements of kernels and of the functions that they call."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tests.property.kernel_memory import (
    atomic,
    change_memory,
    choose_array,
    private_array,
    result,
)
from tests.property.kernel_operands import (
    condition,
    expression,
    filled,
    given_to,
    held,
    is_in_memory,
    literal,
)
from tests.property.kernel_types import (
    FLOATS,
    INTEGERS,
    LANES,
    NUMBERS,
    SCALARS,
    VECTORS,
    common,
    flowing_to,
)
from tests.property.kernel_writer import RECORD, Writer

Statement: TypeAlias = Callable[[Writer], None]

MAX_LOOPS = 2
"""How deep loops stand within each other."""


def block(w: Writer, most: int = 3) -> None:
    """Some statements, at least one."""
    if w.statements <= 0:
        w.line("pass")
    for _ in range(min(w.statements, w.draft.number(1, most))):
        statement(w)


def statement(w: Writer) -> None:
    """Any statement that may stand here."""
    w.statements -= 1
    w.draft.pick(_rules(w))(w)


def _rules(w: Writer) -> Sequence[Statement]:
    rules = [*_SIMPLE, *_COMPOUND]
    if w.in_kernel:
        rules += _IN_KERNELS
    if w.loops < (MAX_LOOPS if w.in_kernel else 1):
        rules += _LOOPS
        rules += [_untyped_total] if w.draft.free else []
    if w.loops:
        rules += [_jump, _jump, _jump]
    if w.can_return:
        rules.append(_early_return)
    return rules


# -- names --------------------------------------------------------------------------------


def _new_variable(w: Writer) -> None:
    types = w.draft.pick((SCALARS, SCALARS, tuple(VECTORS), (RECORD,)))
    _set_new(w, w.draft.pick_type(types))


def _set_new(w: Writer, type_: str) -> None:
    """`v = …`, at times under a name that was used in a block that has ended."""
    if type_ == RECORD and w.in_kernel and w.draft.chance(3):
        _refer(w)
        return
    free_names = [name for name, own in w.dead.items() if own == type_]
    reuse = free_names and w.draft.chance(2)
    name = w.draft.pick(free_names) if reuse else w.draft.name("v", type_)
    if type_ in SCALARS and not reuse and w.draft.chance(3):
        w.line(f"{name}: {type_} = {given_to(w, type_)}")
    else:
        w.line(f"{name} = {held(w, type_)}")
    w.declare(name, type_)


def _refer(w: Writer) -> None:
    """A name for a struct in memory: what is written to its members is written there."""
    w.draft.last_name += 1
    name = f"ref{w.draft.last_name}"
    known = [text for text in w.settable([RECORD]) if is_in_memory(text)]
    w.line(f"{name} = {filled(w, w.draft.pick(['row', *known]))}")
    w.declare(name, RECORD)
    del w.places[name]


def _assign(w: Writer) -> None:
    """A name gets what loses nothing in its type; an element what may be cast silently."""
    place = _place(w, [*SCALARS, *VECTORS, RECORD])
    if place is None:
        return
    text, type_ = place
    if type_ not in SCALARS:
        w.line(f"{text} = {held(w, type_)}")
    elif text.isidentifier():
        given = w.draft.pick_type([type_, *flowing_to(type_)])
        w.line(f"{text} = {expression(w, given, 3)}")
    else:
        w.line(f"{text} = {given_to(w, type_, 3)}")


def _place(w: Writer, types: Sequence[str]) -> tuple[str, str] | None:
    """Something that can be set; where there is nothing yet, a variable is made instead."""
    found = w.settable(types)
    if not found:
        _set_new(w, w.draft.pick_type(types))
        return None
    chosen = w.draft.pick(found)
    return filled(w, chosen), w.places[chosen]


def _change(w: Writer) -> None:
    """`place op= value`: the result must go back into the place."""
    place = _place(w, NUMBERS)
    if place is None:
        return
    text, type_ = place
    others = [s for s in SCALARS if common(type_, s) == type_]
    given = literal(w, type_) if w.draft.chance(3) else expression(w, w.draft.pick_type(others))
    if type_ in FLOATS:
        w.line(f"{text} {w.draft.pick(('+=', '-=', '*=', '/=', '//=', '%='))} {given}")
        return
    sign = w.draft.pick(("+=", "-=", "*=", "&=", "|=", "^=", "//=", "%=", "<<=", ">>=", "**="))
    if sign in {"//=", "%="}:
        given = f"({expression(w, type_)} | 1)"
    elif sign in {"<<=", ">>=", "**="}:
        given = f"({expression(w, type_)} & 7)"
    w.line(f"{text} {sign} {given}")


def _chain(w: Writer) -> None:
    """`a = b = value`: each gets the same number."""
    place = _place(w, SCALARS)
    if place is None:
        return
    text, type_ = place
    name = w.draft.name("v", type_)
    w.line(f"{name} = {text} = {expression(w, type_)}")
    w.declare(name, type_)


def _check(w: Writer) -> None:
    """An assertion that holds."""
    w.line(f"assert {expression(w, 'bool')} or True")


def _swap(w: Writer) -> None:
    """`a, b = b, a` of names and elements of one type."""
    place = _place(w, SCALARS)
    if place is None:
        return
    first, type_ = place
    second = filled(w, w.draft.pick(w.settable([type_])))
    w.line(f"{first}, {second} = {second}, {first}")


def _tuple(w: Writer) -> None:
    types = [w.draft.pick_type(SCALARS) for _ in range(w.draft.number(2, 3))]
    values = ", ".join(expression(w, type_) for type_ in types)
    names = [w.draft.name("v", type_) for type_ in types]
    w.line(f"{', '.join(names)} = {values}")
    for name, type_ in zip(names, types, strict=True):
        w.declare(name, type_)


def _lanes(w: Writer) -> None:
    """Write some lanes of a vector, or change all of it."""
    place = _place(w, tuple(VECTORS))
    if place is None:
        return
    text, type_ = place
    element, lanes = VECTORS[type_]
    if w.draft.chance(2):
        w.line(f"{text} {w.draft.pick(('+=', '-=', '*='))} {expression(w, type_)}")
        return
    count = w.draft.number(2, lanes)
    start = w.draft.number(0, lanes - 1)
    picked = "".join(LANES[(start + k) % lanes] for k in range(count))
    w.line(f"{text}.{picked} = {expression(w, f'{element}x{count}')}")


def _untyped_total(w: Writer) -> None:
    """A number that begins as a literal gets its type from what is added to it."""
    w.draft.last_name += 1
    name, type_ = f"z{w.draft.last_name}", w.draft.pick_type(NUMBERS)
    w.line(f"{name} = {'0.0' if type_ in FLOATS and w.draft.chance(2) else '0'}")
    w.line(f"for k{name} in range({_bound(w)}):")
    with w.block():
        w.counters.append(f"k{name}")
        w.loops += 1
        w.line(f"{name} {w.draft.pick(('+=', '-='))} {expression(w, type_)}")
        w.loops -= 1
    result = w.draft.pick_type(SCALARS)
    made = w.draft.name("v", result)
    w.line(f"{made} = {result}({name})")
    w.declare(made, result)


# -- control flow -------------------------------------------------------------------------


def _if(w: Writer) -> None:
    word = "if"
    for _ in range(w.draft.number(1, 2)):
        w.line(f"{word} {condition(w)}:")
        with w.block():
            block(w)
        word = "elif"
    if w.draft.chance(2):
        w.line("else:")
        with w.block():
            block(w)


def _set_on_both_paths(w: Writer) -> None:
    """A variable that is made in two branches lives on behind them."""
    type_ = w.draft.pick_type(SCALARS)
    name = w.draft.name("v", type_)
    if w.draft.chance(3):
        w.line(f"{name}: {type_}")
    for head in (f"if {condition(w)}:", "else:"):
        w.line(head)
        with w.block():
            if w.draft.chance(3):
                statement(w)
            w.line(f"{name} = {expression(w, type_)}")
    w.declare(name, type_)


def _bound(w: Writer) -> str:
    if w.draft.chance(2):
        return str(w.draft.number(0, 4))
    return f"{expression(w, 'i32', 1)} % {w.draft.number(1, 5)}"


EDGES = (
    "2147483640, 2147483647, 3",
    "-2147483641, -2147483648, -4",
    "9223372036854775800, 9223372036854775807, 5",
    "u64(18446744073709551610), 18446744073709551615, 3",
    "u32(4294967293), 4294967295",
    "4294967290, 4294967299, 4",
)
"""Ranges that end where their type does."""


def _turns(w: Writer) -> str:
    """The arguments of a `range` with few turns; in a free program the counter is `i32`."""
    way = w.draft.pick(("stop", "both", "step", "down", "computed", "wide", "edge"))
    if way == "edge" and not w.draft.free:
        return w.draft.pick(EDGES)
    if way == "wide" and not w.draft.free:
        type_ = w.draft.pick_type(INTEGERS)
        return f"{expression(w, type_, 1)} % {w.draft.number(1, 5)}"
    if way == "stop":
        return _bound(w)
    if way == "both":
        return f"{w.draft.number(-2, 2)}, {_bound(w)}"
    if way == "step":
        return f"{w.draft.number(-3, 3)}, {_bound(w)}, {w.draft.number(1, 3)}"
    if way == "down":
        return f"{_bound(w)}, {w.draft.number(-3, 1)}, {w.draft.number(-3, -1)}"
    return f"{_bound(w)}, {_bound(w)}, {_bound(w)} * 2 - 3"


def _for(w: Writer) -> None:
    w.draft.last_name += 1
    counter = f"k{w.draft.last_name}"
    w.line(f"for {counter} in range({_turns(w)}):")
    with w.block():
        w.counters.append(counter)
        type_ = w.draft.pick_type(SCALARS)
        name = w.draft.name("v", type_)
        w.line(f"{name} = {type_}({counter})")
        w.declare(name, type_)
        _body(w)
    _else(w)


def _while(w: Writer) -> None:
    """The turns are counted at the top of the body, so `continue` cannot make it endless."""
    counter = w.draft.name("n", "i32")
    w.line(f"{counter} = i32(0)")
    way = w.draft.pick(("count", "test", "test", "endless"))
    test = f" {w.draft.pick(('and', 'and not', 'or not'))} {expression(w, 'bool')}"
    end = f"{counter} < {w.draft.number(1, 4)}"
    w.line(f"while {end}:" if way == "count" else "while True:")
    if way == "test":
        w.lines[-1] = w.lines[-1].replace("True", end + test)
    with w.block(), w.reading(counter, "i32"):
        if way != "count":
            w.line(f"if {counter} > 4:")
            w.line("    break")
        w.line(f"{counter} += 1")
        _body(w)
    if way != "endless":
        _else(w)


def _body(w: Writer) -> None:
    w.loops += 1
    block(w)
    w.loops -= 1


def _else(w: Writer) -> None:
    if w.draft.chance(3):
        w.line("else:")
        with w.block():
            block(w, 2)


def _jump(w: Writer) -> None:
    w.line(f"if {condition(w)}:")
    with w.block():
        if w.draft.chance(3):
            _assign(w)
        w.line(w.draft.pick(("break", "continue")))


def _early_return(w: Writer) -> None:
    w.line(f"if {condition(w)}:")
    with w.block():
        if w.draft.chance(3):
            _assign(w)
        w.line(f"return {given_to(w, w.result)}" if w.result else "return")


_SIMPLE: Sequence[Statement] = (
    _new_variable,
    _new_variable,
    _assign,
    _assign,
    _change,
    _change,
    _swap,
    _tuple,
    _chain,
    _check,
    _lanes,
    private_array,
)
_COMPOUND: Sequence[Statement] = (_if, _if, _if, _set_on_both_paths)
_LOOPS: Sequence[Statement] = (_for, _for, _for, _while, _while)
_IN_KERNELS: Sequence[Statement] = (
    result,
    result,
    result,
    atomic,
    change_memory,
    choose_array,
)
