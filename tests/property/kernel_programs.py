"""Random kernels: whole modules of Python, well typed and free of races.

Each work item writes its own elements only, and what it reads of others does not change
during the launch, or lies in local memory between two barriers. Indices are brought below
the size by `%`, divisors are odd, loops are short. A program is text, so that it can be
read, kept and minimised.
"""

import re
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st
from tests.property.kernel_expressions import RULES
from tests.property.kernel_groups import shared_phase
from tests.property.kernel_names import renamed
from tests.property.kernel_operands import given_to
from tests.property.kernel_statements import block, statement
from tests.property.kernel_types import (
    CONSTANTS,
    DTYPES,
    NUMBERS,
    SCALARS,
    TYPED_CONSTANTS,
    VECTORS,
    spelt,
)
from tests.property.kernel_writer import RECORD, Draft, Helper, Writer

FREE = 0.4
"""How many of the programs use what NumPy cannot judge."""

INPUTS = 16
"""How many elements each array has that is only read."""

PLACES = 3
"""How many elements each array has that atomics change."""

HEAD = """\
import math

import numpy as np

import trilby as tb
from trilby import ComputeContext, KernelContext, NDArray, NDRange, S64Array
from trilby import bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
"""

BUMP = """
@tb.func
def bump_{0}(memory: NDArray[{0}], at: i32, by: {0}) -> {0}:
    memory[at] = memory[at] + by
    return memory[at]


@tb.func
def put_{0}(memory: NDArray[{0}], at: i32, by: {0}) -> None:
    if memory[at] == by:
        return
    memory[at] = by
"""

WITH_CONTEXT = """
@tb.func
def spread(kc: KernelContext, by: i32) -> i32:
    return kc.x * by + kc.max_x


@tb.func
def wait(kc: KernelContext) -> None:
    kc.barrier()
"""


@dataclass(frozen=True)
class Program:
    """A module with a kernel `kernel` and a compute function `run`, and how to launch it.

    `params` are the kernel's parameters behind the context, with their annotations; their
    names say what they are for. `judged` is true where NumPy's scalars can run it as well.
    """

    text: str
    params: tuple[tuple[str, str], ...]
    members: tuple[tuple[str, str], ...]
    size: tuple[int, ...]
    local: tuple[int, ...] | None
    seed: int
    judged: bool

    @property
    def items(self) -> int:
        """The number of work items."""
        product = 1
        for n in self.size:
            product *= n
        return product


@dataclass(frozen=True)
class Launch:
    """The range of a program; `tile` are the sizes of its local arrays, if it has any."""

    size: tuple[int, ...]
    local: tuple[int, ...] | None
    tile: tuple[int, ...] = ()


PLAIN = (
    Launch((11,), None),
    Launch((1,), None),
    Launch((9,), (4,)),
    Launch((12,), (3,)),
    Launch((4, 3), None),
    Launch((5, 3), (2, 2)),
    Launch((2, 3, 2), None),
    Launch((3, 2, 3), (2, 1, 2)),
)
GROUPED = (
    Launch((8,), (4,), (4,)),
    Launch((16,), (8,), (8,)),
    Launch((4, 4), (4, 2), (2, 4)),
    Launch((6, 2), (3, 2), (2, 3)),
)
ITEM = {
    1: "kc.x",
    2: "kc.y * kc.max_x + kc.x",
    3: "(kc.z * kc.max_y + kc.y) * kc.max_x + kc.x",
}
"""The number of a work item, by the dimensions of the range."""


def programs() -> st.SearchStrategy[Program]:
    """Any program.

    One number makes a whole program, instead of a choice for each part of it: those would be
    mostly small and much alike. What fails is made smaller afterwards, as text.
    """
    return st.integers(0, 2**64 - 1).map(program)


def program(seed: int) -> Program:
    """The program of a number."""
    random = Random(seed)  # noqa: S311 -- nothing secret
    scalars = ["bool", "i32", *random.sample(NUMBERS, k=random.randint(1, 4))]
    vectors = random.sample(list(VECTORS), k=2)
    types = random.choices([*scalars, *scalars, *vectors], k=random.randint(2, 4))
    members = {f"m{number}_{type_}": type_ for number, type_ in enumerate(types)}
    favoured = frozenset({*scalars, *vectors, RECORD})
    draft = Draft(random, random.random() < FREE, favoured, members, RULES)
    launch = random.choice(PLAIN + GROUPED)
    helpers = [_helper(draft, number) for number in range(random.randint(1, 3))]
    body = _kernel_body(draft, launch)
    params = _params("\n".join(body), draft)
    bumps = [BUMP.format(type_) for type_ in sorted(draft.changed)]
    parts = [HEAD, _constants(), _structs(draft), WITH_CONTEXT, *bumps, *helpers]
    parts += [_kernel(params, body), _compute(params)]
    return Program(
        text=renamed("\n".join(parts), seed, judged=not draft.free),
        params=params,
        members=tuple(members.items()),
        size=launch.size,
        local=launch.local,
        seed=seed,
        judged=not draft.free,
    )


def _constants() -> str:
    plain = [f"{name} = {number!r}" for name, number in CONSTANTS.items()]
    typed = [
        f"{name} = np.{DTYPES[type_].name}({number!r})"
        for name, (type_, number) in TYPED_CONSTANTS.items()
    ]
    return "\n".join([*plain, *typed, ""])


def _structs(draft: Draft) -> str:
    members = "\n".join(f"    {name}: {spelt(type_)}" for name, type_ in draft.members.items())
    return (
        f"\nclass {RECORD}(tb.Struct):\n{members}\n\n\n"
        f'class Table(tb.Buffer):\n    n: i32\n    row: tb.Array[{RECORD}] = tb.array("n")\n'
    )


def _helper(draft: Draft, number: int) -> str:
    """A function of numbers, vectors and structs, that may call those before it."""
    kinds = (*SCALARS, *SCALARS, *VECTORS, RECORD)
    params = [draft.pick_type(kinds) for _ in range(draft.number(1, 3))]
    result = draft.pick_type(kinds)
    names = [f"p{place}_{type_}" for place, type_ in enumerate(params)]
    w = Writer(draft, result=result, statements=draft.number(2, 10))
    draft.nodes = 60
    for name, type_ in zip(names, params, strict=True):
        w.declare(name, type_, fixed=type_ not in SCALARS)
    for _ in range(draft.number(1, 4)):
        statement(w)
    w.line(f"return {given_to(w, result, 3)}")
    text = "\n".join(w.lines)
    loops = re.search(r"\b(for|while)\b", text) is not None
    loops |= any(called.loops and f"{called.name}(" in text for called in draft.helpers)
    helper = Helper(f"helper{number}", tuple(params), result, loops)
    draft.helpers.append(helper)
    declared = ", ".join(f"{n}: {spelt(t)}" for n, t in zip(names, params, strict=True))
    head = f"\n@tb.func\ndef {helper.name}({declared}) -> {spelt(result)}:"
    return "\n".join([head, *w.lines, ""])


def _kernel_body(draft: Draft, launch: Launch) -> list[str]:
    w = Writer(draft, in_kernel=True, can_return=not launch.tile)
    w.statements = draft.number(12, 30)
    draft.nodes = 300
    _offer(w, launch)
    w.line(f"i = {ITEM[len(launch.size)]}")
    w.line("row = table.row[i]")
    w.declare("row", RECORD)
    del w.places["row"]
    own = "kc.local_x" if len(launch.tile) == 1 else "kc.local_y, kc.local_x"
    for _ in range(draft.number(3, 8)):
        block(w, 4)
        if launch.tile:
            shared_phase(w, launch.tile, own)
    return w.lines


def _offer(w: Writer, launch: Launch) -> None:
    """Everything that a kernel finds when it begins."""
    scalars = [type_ for type_ in SCALARS if type_ in w.draft.types]
    for type_ in scalars:
        w.values[f"in_{type_}[${INPUTS}]"] = type_
        w.values[f"given_{type_}"] = type_
        w.declare(f"mem_{type_}[i]", type_)
    w.declare("whole", RECORD, fixed=True)
    w.declare("table.row[i]", RECORD)
    w.declare("shelf.array[i]", "i64")
    for type_ in scalars if len(launch.size) == 2 else ():
        w.declare(f"grid_{type_}[kc.y, kc.x]", type_)
    w.values |= {name: type_ for name, (type_, _) in TYPED_CONSTANTS.items()}
    w.values |= {"shelf.length": "i32", "spread(kc, $9)": "i32"}
    words = ["", "max_", "local_", "local_max_", "group_", "group_max_"]
    for word in words if launch.local else words[:2]:
        w.values[f"kc.{word}x"] = "i32"
    w.values["i"] = "i32"


_ELEMENT = r"(?P<{}>bf16|[iuf]\d+|bool)"
_ARRAYS = r"in|mem|alt|grid|exact|(?:near|around)\d+|add|min|max|and|or|xor"
_PARAMETER = re.compile(
    rf"\b(?:(?:{_ARRAYS})_{_ELEMENT.format('array')}(?=[\[,]| if | *$)"
    rf"|given_{_ELEMENT.format('scalar')}\b|whole\b|table\b|shelf\b)",
    re.MULTILINE,
)


def _params(body: str, draft: Draft) -> tuple[tuple[str, str], ...]:
    """The parameters that the body names, each once, in order."""
    found: dict[str, str] = {}
    for match in _PARAMETER.finditer(body):
        if match["array"]:
            found[match[0]] = f"NDArray[{match['array']}]"
        elif match["scalar"]:
            found[match[0]] = match["scalar"]
        else:
            found[match[0]] = {"whole": RECORD, "table": "Table"}.get(match[0], "S64Array")
    found |= {f"mem_{type_}": f"NDArray[{type_}]" for type_ in draft.changed}
    return tuple(found.items())


def _kernel(params: tuple[tuple[str, str], ...], body: list[str]) -> str:
    declared = "".join(f", {name}: {annotation}" for name, annotation in params)
    return "\n".join(["", "@tb.kernel", f"def kernel(kc: KernelContext{declared}) -> None:", *body])


def _compute(params: tuple[tuple[str, str], ...]) -> str:
    declared = "".join(f", {name}: {annotation}" for name, annotation in params)
    passed = "".join(f", {name}" for name, _ in params)
    return (
        f"\n\n@tb.compute\ndef run(cc: ComputeContext, size: NDRange{declared}) -> None:\n"
        f"    cc.dispatch(size, kernel{passed})\n"
    )
