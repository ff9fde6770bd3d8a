"""Random programs: compute functions and the driver that calls them, as the text of a module.

A program is text, so that it can be read, kept and made smaller. The same text runs on an
accelerator and on the simulated machine, where it has its plain meaning.
"""

import re
from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st
from tests.property.program_flow import arguments, block, call, result
from tests.property.program_meaning import meaning
from tests.property.program_names import new_buffer
from tests.property.program_palette import ANNOTATIONS, KINDS, WIDE
from tests.property.program_simulation import UnfitError
from tests.property.program_writer import Draft, Function, Writer

HEAD = """\
import warnings
from collections import deque, namedtuple
from types import SimpleNamespace

import numpy as np

import trilby as tb
from tests.property.program_kernels import *
from trilby import (
    ComputeContext, F32Array, NDArray, NDRange, S32Array, S32Array2D, U8Array, i32
)

"""
"""What stands above each program where it runs on an accelerator."""

CALLBACKS = """\
log = []
held = []

def look(value):
    log.append(np.asarray(value).tolist())

def peek(thing):
    look(np.sum(np.asarray(thing)))

def nudge(view):
    view[(0,) * view.ndim] += 5

def wipe(view):
    view[...] = 3

def keep(view):
    held.append(view)

def stir():
    for view in held:
        nudge(view)

def pick(one, other, first):
    return one if first else other

def make_tick(view):
    def tick():
        nudge(view)
        look(np.sum(view))
    return tick

def make_wipe(view):
    return lambda: wipe(view)

def zeros(*shape):
    return np.zeros(shape, np.int32)

def counted(start, *shape):
    return np.arange(start, start + np.prod(shape), dtype=np.int32).reshape(shape)

def choosy(number):
    if number % 3 == 1:
        raise KeyError(number)
    return number + 1

fussy = np.frompyfunc(choosy, 1, 1)

def strictly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call()
"""
"""Plain functions that every program has: what happens in them, the model cannot see."""

OBJECTS = """\
Both = namedtuple("Both", "first second")

class Numbered:
    def __init__(self, *things):
        self.things = things

    def __len__(self):
        return len(self.things)

    def __getitem__(self, place):
        return self.things[place]

class Source(Numbered):
    looks = 0

    def __getitem__(self, place):
        self.looks += 1
        log.append(1000 + self.looks)
        return self.things[(place + self.looks) % 2]

class Lending:
    def __init__(self, thing):
        self.thing = thing

    @property
    def array(self):
        log.append(2000)
        return self.thing.array

    def __enter__(self):
        log.append(2001)
        return self.thing

    def __exit__(self, *_):
        log.append(2002)

class Truth:
    def __init__(self, truth):
        self.truth = truth

    def __bool__(self):
        log.append(2000)
        return self.truth

class Odd:
    def __init__(self, value):
        self.value = value

    def noted(self, sign):
        self.value = (self.value + 1) % 7
        log.append(3000 + sign)
        return self.value

    def __index__(self):
        return self.noted(1) % 2

    def __add__(self, other):
        return self.noted(2) + other

    def __mod__(self, other):
        return self.noted(3) % other

    def __lt__(self, other):
        return Truth(self.noted(4) < other)

    def __gt__(self, other):
        return self.noted(5) > other

    def __eq__(self, other):
        return Truth(self.noted(6) == other)

    def __bool__(self):
        return self.noted(7) > 2

    def __hash__(self):
        return self.noted(8)
"""
"""Objects whose operators leave a trace: each use shows in the log, and changes the next one."""


@dataclass(frozen=True)
class Program:
    """The text of a module; what makes it comes from its seed."""

    seed: str
    text: str = field(repr=False)


def programs(part: str = "", *, calm: bool = False) -> st.SearchStrategy[Program]:
    """Any program; each part of a search has others.

    One number makes a whole program, instead of a choice for each part of it: those would be
    mostly small and much alike. What fails is made smaller afterwards, as text.
    """
    return st.integers(0, 2**64 - 1).map(lambda number: program(f"{part} {number}", calm=calm))


def program(seed: str, *, calm: bool = False) -> Program:
    """The program of a seed: the first one that has a meaning."""
    randoms = (Random(f"{seed}/{attempt}") for attempt in range(100))  # noqa: S311 -- nothing secret
    attempts = (Program(seed, _text(random, calm=calm)) for random in randoms)
    return next(one for one in attempts if _is_fit(one))


def _is_fit(program: Program) -> bool:
    try:
        meaning(program.text)
    except (UnfitError, NameError, AttributeError, IndexError):
        # races, too long, a callback wants a name that is gone, or a launch leaves its arrays
        return False
    return True


# ------------------------------------------------------------------------------- writing


def _text(random: Random, *, calm: bool) -> str:
    rare = {"wide"} if random.randrange(4) else set[str]()
    others = [kind for kind in KINDS if kind not in {"line", *rare}]
    kinds = ("line", *random.sample(others, k=random.choice([0, 1, 1, 2, 3])))
    draft = Draft(
        random, random.choice([5, 8, 13]), random.choice([3, 4]), random.choice([3, 4, 6]), kinds
    )
    draft.calm = calm
    sizes = f"N, H, W, WIDE = {draft.n}, {draft.height}, {draft.width}, {WIDE}\n"
    functions = [_function(draft) for _ in range(random.choice([1, 2, 2, 3]))]
    return "\n\n".join([sizes, CALLBACKS, OBJECTS, *functions, _driver(draft)])


def _function(draft: Draft) -> str:
    name = draft.name("part")
    params = _params(draft)
    kinds = [kind for _, kind in params if kind in KINDS]
    w = Writer(draft, in_compute=True, left=draft.number(4, 14))
    w.result = draft.pick(kinds) if draft.chance(4) else None
    for text, kind in params:
        _receive(w, text, kind)
    w.keep_apart(w.buffers())
    block(w, draft.number(2, 7))
    if w.result is None or w.buffers(w.result):
        w.line(f"return {result(w)}")
    else:
        w.result = None
    typed = draft.chance(2)
    spelt = [
        f"{text}: {ANNOTATIONS[kind]}" if typed and kind in KINDS else text for text, kind in params
    ]
    head = ", ".join(["cc: ComputeContext" if typed else "cc", *spelt])
    lines = [re.sub(r"\b(?:look|peek)\(", "str(", line) if draft.calm else line for line in w.lines]
    draft.functions.append(Function(name, params, w.result))
    return "\n".join(["@tb.compute", f"def {name}({head}):", *lines]) + "\n"


def _params(draft: Draft) -> tuple[tuple[str, str], ...]:
    kinds = [draft.pick(draft.kinds) for _ in range(draft.number(1, 4))]
    kinds += ["line"] * draft.number(0, 2)
    kinds += ["int"] * draft.number(0, 1)
    if draft.calm:
        return tuple((draft.name(kind), kind) for kind in kinds)
    kinds += ["tick"] * (draft.number(0, 3) == 0)
    kinds += ["list:line"] * (draft.number(0, 3) == 0) + ["world:line"] * (draft.number(0, 3) == 0)
    kinds += ["odd"] * (draft.number(0, 1) == 0) + ["source:line"] * (draft.number(0, 2) == 0)
    return tuple((draft.name(kind.partition(":")[0]), kind) for kind in kinds)


def _receive(w: Writer, text: str, kind: str) -> None:
    """A parameter is in reach."""
    family, _, own = kind.partition(":")
    if family == "int":
        w.reach.ints.append(text)
    elif family == "tick":
        w.reach.ticks.append(text)
    elif family == "odd":
        w.reach.odds.append(text)
    elif family == "source":
        w.reach.sources[text] = own
    elif family == "list":
        w.reach.lists[text] = own
        w.reach.buffers |= {f"{text}[0]": own, f"{text}[1]": own}
    elif family == "world":
        w.reach.worlds[text] = own
        w.reach.buffers |= {f"{text}.main": own, f"{text}.spare": own}
    else:
        w.reach.buffers[text] = kind


def _driver(draft: Draft) -> str:
    w = Writer(draft, in_compute=False, left=draft.number(6, 16))
    w.accelerators = ("accelerator", "other") if draft.chance(5) else ("accelerator",)
    for kind in draft.kinds:
        for _ in range({"line": 3, "flag": 1, "wide": 1}.get(kind, 2)):
            name = draft.name(kind)
            w.line(f"{name} = {new_buffer(w, kind)}")
            w.bind(name, kind, [])
    w.line(f"everything = [{', '.join(w.buffers())}]")
    _make_holders(w)
    _ = call(w)
    block(w, draft.number(2, 9))
    _ = call(w)
    w.line("return everything")
    return "\n".join(["def drive(accelerator, other):", *w.lines]) + "\n"


def _tick(w: Writer) -> str:
    """A callback: it touches a buffer, or runs a compute function in the middle of another."""
    fit = [f for f in w.draft.functions if "tick" not in dict(f.params).values()]
    if fit and w.draft.chance(3):
        function = w.draft.pick(fit)
        args = arguments(w, function)
        if args is not None:
            return f"lambda: accelerator.compute({function.name}, {', '.join(args)})"
    maker = w.draft.pick(["make_tick", "make_tick", "make_wipe"])
    return f"{maker}({w.draft.pick(w.buffers('line'))}.array)"


def _make_holders(w: Writer) -> None:
    """What the compute functions want to be given beside buffers and numbers."""
    first, second = w.buffers("line")[:2]
    w.line(f"pair = [{first}, {second}]")
    w.line(f"world = SimpleNamespace(main={first}, spare={second})")
    w.line(f"odd = Odd({w.draft.number(0, 6)})")
    w.line(f"source = Source({first}, {second})")
    w.reach.odds.append("odd")
    w.reach.sources["source"] = "line"
    w.reach.lists["pair"] = w.reach.worlds["world"] = "line"
    for places in (("pair[0]", "pair[1]"), ("world.main", "world.spare")):
        w.bind(places[0], "line", [first])
        w.bind(places[1], "line", [second])
        w.keep_apart(places)
    w.line(f"tick = {_tick(w)}")
    w.reach.ticks.append("tick")
