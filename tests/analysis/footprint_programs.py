"""Random kernels that touch many places: what footprints are tried on.

Indices are sums of ids, loop variables and scalars, guarded, bent and taken apart in all the
ways that an analysis may get wrong. Most of them stay near the middle of arrays that are wide
enough; a launch that leaves its arrays after all is an error, and tells less.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

HEAD = """
class Cell(tb.Struct):
    x: f32
    k: u8
    pos: tb.f32x2
    m: tb.Array[i32] = tb.array(3)

class Table(tb.Buffer):
    flag: i32
    total: f64
    length: i32
    cell: tb.Array[Cell] = tb.array("length")
    spare: tb.Array[i32] = tb.array(40)

@tb.func
def at_most(i: i32, top: i32) -> i32:
    if i < top:
        return i
    return top

@tb.func
def first_above(i: i32, low: i32) -> i32:
    for j in range(i):
        if j > low:
            return j
    return i

@tb.func
def put(to: S32Array, i: i32) -> None:
    if i > 210:
        return
    to.array[i] = 1

@tb.func
def count(to: NDArray[i32], i: i32) -> i32:
    to[i] += 1
    return i + 1
"""
PARAMS = (
    "a: S32Array, b: S32Array, d: NDArray[i32], g: NDArray[f32], t: Table, "
    "n: i32, w: i32, yes: bool, small: u8"
)
LEAVES = (
    *("kc.x", "kc.x", "kc.y", "n", "w", "-2", "-1", "0", "1", "2", "3", "5", "8"),
    *("kc.max_x", "kc.local_x", "kc.group_x", "kc.local_max_x", "a.length % 7", "d.shape[0] % 5"),
)
MEMBERS = ("x", "k", "pos.x", "pos.y", "m[1]", "m[kc.x % 3]")
STORES = ("x = 1.0", "k = u8(2)", "pos = tb.f32x2(1.0, 2.0)", "m[0] = 1", "m[1] = 1", "m[2] = 1")


@dataclass
class Program:
    """A kernel in the making: its lines, and the variables that can be used here."""

    random: Random
    lines: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])
    count: int = 0
    loops: int = 0

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def likely(self, chance: float) -> bool:
        return self.random.random() < chance

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)


def kernel_text(random: Random) -> str:
    """The text of a module with a kernel `k` of the parameters `PARAMS`."""
    p = Program(random, names=["i"])
    p.line(1, "i = kc.x")
    for _ in range(random.randint(1, 5)):
        _statement(p, 1, 3)
    return f"{HEAD}\n@tb.kernel\ndef k(kc: KernelContext, {PARAMS}):\n" + "\n".join(p.lines)


# -- expressions


def number(p: Program, depth: int) -> str:
    """An integer."""
    if depth <= 0 or p.likely(0.35):
        return p.one(*LEAVES, *p.names, *p.names, *p.names)
    form = p.random.choices(list(_NUMBERS), weights=list(_NUMBERS.values()))[0]
    return form(p, depth - 1)


def _sum(p: Program, depth: int) -> str:
    return f"({number(p, depth)} {p.one('+', '+', '-')} {number(p, depth)})"


def _product(p: Program, depth: int) -> str:
    return f"({number(p, depth)} * {p.one('2', '3', 'w', 'n', '-1')})"


def _quotient(p: Program, depth: int) -> str:
    return f"({number(p, depth)} // {p.one('2', '3', 'w', '5', '-2')})"


def _rest(p: Program, depth: int) -> str:
    return f"({number(p, depth)} % {p.one('2', '3', 'w', 'w', '5', '(w * 2)')})"


def _choice(p: Program, depth: int) -> str:
    return f"({number(p, depth)} if {condition(p, 1)} else {number(p, depth)})"


def _function(p: Program, depth: int) -> str:
    name = p.one("min", "max", "at_most", "first_above", "abs", "tb.clamp")
    first = number(p, depth)
    more = {"abs": "", "tb.clamp": f", 1, {number(p, depth)}"}
    return f"{name}({first}{more.get(name, f', {number(p, depth)}')})"


def _bits(p: Program, depth: int) -> str:
    return f"({number(p, depth)} {p.one('& 3', '& 7', '& 6', '<< 1', '>> 1', '| 1')})"


def _narrow(p: Program, depth: int) -> str:
    return f"i32({p.one('u8', 'i8')}({number(p, depth)}) + {p.one('1', '2')})"


def _wrapping(p: Program, depth: int) -> str:
    return f"i32(u8({number(p, depth)}) + small)"


def _data(p: Program, _depth: int) -> str:
    return p.one("d[i % 20]", "d[kc.x]", "d[3]")


_NUMBERS: dict[Callable[[Program, int], str], int] = {
    _sum: 50,
    _product: 10,
    _quotient: 10,
    _rest: 10,
    _choice: 3,
    _function: 10,
    _bits: 3,
    _narrow: 1,
    _wrapping: 1,
    _data: 2,
}
"""The forms of a number, and how often each of them is taken."""


def condition(p: Program, depth: int) -> str:
    """A truth value."""
    if depth <= 0 or p.likely(0.6):
        if p.likely(0.8):
            sign = p.one("<", "<", "<=", ">", ">=", "==", "!=")
            return f"{number(p, 1)} {sign} {number(p, 1)}"
        return p.one("d[kc.x] < 3", "d[kc.x] > 3", "yes", "not yes")
    form = p.one("({} and {})", "({} and {})", "({} or {})", "not ({})", "0 < {} < {}")
    kind = number if form.startswith("0") else condition
    return form.format(*(kind(p, depth - 1) for _ in range(form.count("{}"))))


def _index(p: Program, depth: int) -> str:
    if p.likely(0.85):
        return f"{number(p, depth)} + 200"
    return f"({number(p, depth)}) % a.length"


def place(p: Program) -> str:
    """Something that can be read and written."""
    chance = p.random.random()
    if chance < 0.58:
        return f"{p.one('a.array', 'a.array', 'b.array', 'd')}[{_index(p, 3)}]"
    if chance < 0.75:
        return f"g[{number(p, 2)} + 12, {number(p, 2)} + 9]"
    if chance < 0.8:
        return p.one("t.flag", "t.total")
    if chance < 0.95:
        return f"t.cell[{number(p, 2)} + 60].{p.one(*MEMBERS)}"
    return f"t.spare[{number(p, 2)} % 40]"


# -- statements


def _statement(p: Program, at: int, depth: int) -> None:
    forms = _SIMPLE | _NESTED if depth else _SIMPLE
    form = p.random.choices(list(forms), weights=list(forms.values()))[0]
    form(p, at, depth - 1)


def _block(p: Program, at: int, depth: int, *, skips: bool = False) -> None:
    names = list(p.names)
    p.line(at, "pass")
    for _ in range(p.random.randint(1, 3)):
        _statement(p, at, depth)
    if skips and p.likely(0.15):
        p.line(at, f"if {condition(p, 1)}:")
        p.line(at + 1, "continue")
        _statement(p, at, 0)
    p.names = names


def _store(p: Program, at: int, _depth: int) -> None:
    p.line(at, f"{place(p)} {p.one('=', '=', '=', '+=')} 1")


def _variable(p: Program, at: int, _depth: int) -> None:
    own = [name for name in p.names if name.startswith("v")]
    if own and p.likely(0.5):
        name = p.one(*own)
        p.line(at, p.one(f"{name} = {number(p, 2)}", f"{name} += w", f"{name} -= 2"))
        return
    name = p.name("v")
    p.line(at, f"{name} = {number(p, 2)}")
    p.names.append(name)


def _call(p: Program, at: int, _depth: int) -> None:
    buffer, index = p.one("a", "b"), _index(p, 2)
    call = p.one(f"put({buffer}, {index})", f"count(d, {index})")
    p.line(at, p.one(call, call, f"tb.atomic_add({buffer}.array, {index}, 1)"))


def _alias(p: Program, at: int, _depth: int) -> None:
    name, turn = p.name("c"), p.name("j")
    p.line(at, f"{name} = {p.one(f'a if {condition(p, 1)} else b', 'a', 'b')}")
    p.line(at, f"{name}.array[{_index(p, 2)}] = 2")
    if p.likely(0.5):
        p.line(at, f"for {turn} in range(3):")
        p.line(at + 1, f"{name}.array[{_index(p, 1)} + {turn}] += 2")
        p.line(at + 1, f"{name} = {p.one('a', 'b')}")


def _reference(p: Program, at: int, _depth: int) -> None:
    name = p.name("r")
    p.line(at, f"{name} = t.cell[{number(p, 2)} + 60]")
    for store in p.random.sample(STORES, p.random.randint(1, len(STORES))):
        p.line(at, f"{name}.{store}")


def _exit(p: Program, at: int, _depth: int) -> None:
    if p.likely(0.15):
        p.line(at, f"assert {condition(p, 0)}")
        return
    p.line(at, f"if {condition(p, 1)}:")
    p.line(at + 1, "break" if p.loops and p.likely(0.5) else "return")


def _same_in_both(p: Program, at: int, _depth: int) -> None:
    target = place(p)
    p.line(at, f"if {condition(p, 1)}:")
    p.line(at + 1, f"{target} = 3")
    p.line(at, "else:")
    p.line(at + 1, f"{target} = 4")


def _branch(p: Program, at: int, depth: int) -> None:
    p.line(at, f"if {condition(p, 2)}:")
    _block(p, at + 1, depth)
    if p.likely(0.5):
        p.line(at, "else:")
        _block(p, at + 1, depth)


def _for(p: Program, at: int, depth: int) -> None:
    name, random = p.name("j"), p.random
    bounds = p.one(
        f"{number(p, 1)} % 5",
        f"{random.randint(-2, 2)}, {random.randint(-1, 4)}",
        f"{random.randint(0, 2)}, {number(p, 1)} % 6, {random.randint(1, 3)}",
        f"5, {number(p, 1)} % 4, -1",
        f"{number(p, 0)}, {number(p, 0)}",
        "kc.x, n + 4, kc.max_x",
        f"kc.{p.one('x', 'y')} + 1, w + 6, kc.max_{p.one('x', 'y')}",
    )
    p.line(at, f"for {name} in range({bounds}):")
    _turns(p, at, depth, name, skips=True)


def _while(p: Program, at: int, depth: int) -> None:
    name, is_rising = p.name("q"), p.likely(0.7)
    limit = f"{number(p, 1)} % 6" if is_rising else f"3 - {number(p, 1)} % 5"
    more = p.one("", "", "", " and d[kc.x] < 9", f" and {condition(p, 1)}")
    step = f"{name} {'+=' if is_rising else '-='} {p.one('1', '2')}"
    is_early = p.likely(0.3)
    p.line(at, f"{name} = {number(p, 0)}")
    p.line(at, f"while {name} {p.one('<', '<=') if is_rising else p.one('>', '>=')} {limit}{more}:")
    if is_early:
        p.line(at + 1, step)
    _turns(p, at, depth, name, skips=is_early)
    if not is_early:
        p.line(at + 1, step)


def _turns(p: Program, at: int, depth: int, name: str, *, skips: bool) -> None:
    names = list(p.names)
    p.names.append(name)
    p.loops += 1
    _block(p, at + 1, depth, skips=skips)
    p.loops -= 1
    p.names = names


Form = Callable[[Program, int, int], None]
_SIMPLE: dict[Form, int] = {
    _store: 42,
    _variable: 15,
    _call: 7,
    _alias: 3,
    _reference: 3,
    _exit: 5,
    _same_in_both: 3,
}
_NESTED: dict[Form, int] = {_branch: 14, _for: 10, _while: 6}
"""The forms of a statement, and how often each of them is taken."""
