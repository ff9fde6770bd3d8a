"""Programs that say themselves what moves, as texts, so that a test can leave things out.

The texts of one program for both ways, explicit and automatic, differ in nothing but in the
block and in `put` and `get`.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from trilby import Accelerator

MOVE = re.compile(r"\.(?:put|get)\([^()]*\)")
BLOCK = "with cc.explicit():"

HEAD = """\
import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array, i32

class Found(tb.Buffer):
    count: tb.Atomic[i32]
    length: i32
    key: tb.Array[i32] = tb.array("length")

@tb.kernel
def step(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] * 3 + 1

@tb.kernel
def halve(kc: KernelContext, a: S32Array, done: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] // 2
    if kc.x == a.length - 1 and a.array[kc.x] < 2:
        done.array[0] = 1

@tb.kernel
def smooth(kc: KernelContext, source: S32Array, to: S32Array) -> None:
    left = source.array[kc.x - 1] if kc.x > 0 else 0
    to.array[kc.x] = left + source.array[kc.x]

@tb.kernel
def add_pass(kc: KernelContext, a: S32Array, number: S32Array) -> None:
    a.array[kc.x] += number.array[0]

@tb.kernel
def add_pass_id(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] += 100 if kc.pass_id == 0 else kc.pass_id * 10

@tb.kernel
def smooth_in_turns(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if kc.pass_id % 2 == 0:
        b.array[kc.x] = a.array[kc.x] + (a.array[kc.x - 1] if kc.x > 0 else 0)
    else:
        a.array[kc.x] = b.array[kc.x] + (b.array[kc.x - 1] if kc.x > 0 else 0)

@tb.kernel
def collect(kc: KernelContext, a: S32Array, found: Found) -> None:
    if a.array[kc.x] % 4 == 0:
        found.key[tb.atomic_add(found.count, 1)] = a.array[kc.x]
"""


@dataclass(frozen=True)
class Program:
    """A compute function `run`, and what its caller gives it.

    `caught` has for every `put` and `get`, in order, a piece of the line that must be blamed
    where it is left out.
    """

    name: str
    body: str
    make: str
    caught: tuple[str, ...]
    expected: Callable[[], object]

    @property
    def text(self) -> str:
        """The whole module."""
        return f"{HEAD}\n@tb.compute\n{self.body}\n\ndef make():\n    return {self.make}\n"

    @property
    def automatic(self) -> "Program":
        """The same without a word on transfers."""
        body = MOVE.sub("", self.body).replace(BLOCK, "if True:")
        return replace(self, name=f"{self.name}_automatic", body=body)

    def without(self, number: int) -> "Program":
        """The same without one `put` or `get`."""
        found = list(MOVE.finditer(self.body))[number]
        body = self.body[: found.start()] + self.body[found.end() :]
        return replace(self, name=f"{self.name}_without_{number}", body=body)

    def line_of(self, piece: str) -> int:
        """The only line of the compute function with some text."""
        start = self.text.index(self.body)
        assert self.body.count(piece) == 1, piece
        return self.text[: start + self.body.index(piece)].count("\n") + 1

    def loaded(self, folder: Path) -> ModuleType:
        """The module, from a file of its own."""
        path = folder / f"{self.name}.py"
        path.write_text(self.text, "utf-8")
        module = ModuleType(f"explicit_{self.name}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module
        exec(compile(self.text, str(path), "exec"), vars(module))  # noqa: S102 -- our own text
        return module


def run(program: Program, accelerator: Accelerator, folder: Path) -> object:
    """Load a program and run it."""
    module: Any = program.loaded(folder)
    return accelerator.compute(module.run, *module.make())


def _loop() -> int:
    numbers = list(range(50))
    for _ in range(6):
        numbers = [3 * number + 1 for number in numbers]
    return sum(numbers)


def _flag() -> list[int]:
    numbers = list(range(100))
    while True:
        numbers = [number // 2 for number in numbers]
        if numbers[-1] < 2:
            return numbers


def _flip() -> list[int]:
    numbers = list(range(20))
    for _ in range(5):
        numbers = [left + right for left, right in zip([0, *numbers], numbers, strict=False)]
    return numbers


def _deletable() -> Iterator[Program]:
    yield Program(
        "huge_loop",
        """\
def run(cc: ComputeContext, a: S32Array) -> int:
    with cc.explicit():
        cc.put(a)
        for _ in range(6):
            cc.dispatch(a.length, step, a)
        cc.get(a)
        return int(a.array.sum())
""",
        "(S32Array.of(range(50)),)",
        ("cc.dispatch", "a.array.sum()"),
        _loop,
    )
    yield Program(
        "flag",
        """\
def run(cc: ComputeContext, a: S32Array, done: S32Array) -> list[int]:
    with cc.explicit():
        done.array[0] = 0
        cc.put(done)
        cc.put(a)
        while done.array[0] == 0:
            cc.dispatch(a.length, halve, a, done)
            cc.get(done)
        cc.get(a)
        return a.array.tolist()
""",
        "S32Array.of(range(100)), S32Array.of([7])",
        ("cc.dispatch", "cc.dispatch", "while done", "a.array.tolist()"),
        _flag,
    )
    yield Program(
        "chained",
        """\
def run(cc: ComputeContext, a: S32Array, done: S32Array) -> list[int]:
    with cc.explicit():
        done.array[0] = 0
        cc.put(done).put(a)
        while done.array[0] == 0:
            cc.dispatch(a.length, lambda kc: halve(kc, a, done)).get(done)
        return (
            cc
            .get(a) and a.array.tolist()
        )
""",
        "S32Array.of(range(100)), S32Array.of([7])",
        ("cc.dispatch", "cc.dispatch", "while done", "a.array.tolist()"),
        _flag,
    )
    yield Program(
        "flip",
        """\
def run(cc: ComputeContext, a: S32Array, b: S32Array) -> list[int]:
    with cc.explicit():
        cc.put(a)
        for _ in range(5):
            cc.dispatch(a.length, smooth, a, b)
            a, b = b, a
        cc.get(a)
        return a.array.tolist()
""",
        "S32Array.of(range(20)), S32Array.of([5] * 20)",
        ("cc.dispatch", "a.array.tolist()"),
        _flip,
    )
    yield Program(
        "pass_number",
        """\
def run(cc: ComputeContext, a: S32Array, number: S32Array) -> list[int]:
    with cc.explicit():
        cc.put(a)
        for turn in range(4):
            number.array[0] = turn * 10
            cc.put(number).dispatch(a.length, add_pass, a, number)
        cc.get(a.array[2:5])
        return a.array[2:5].tolist()
""",
        "S32Array.of(range(8)), S32Array.create(length=1)",
        (".dispatch", ".dispatch", "a.array[2:5].tolist()"),
        lambda: [number + 60 for number in (2, 3, 4)],
    )
    yield from _passes()
    yield Program(
        "fields",
        """\
def run(cc: ComputeContext, a: S32Array, found: Found) -> list[int]:
    with cc.explicit():
        found.count = 0
        cc.put(a, found.count).dispatch(a.length, collect, a, found)
        cc.get(found.count)
        count = found.count
        cc.get(found.key[:count])
        return sorted(found.key[:count].tolist())
""",
        "S32Array.of(range(1, 30)), Found.create(length=30)",
        (".dispatch", "count = found.count", "sorted(found"),
        lambda: [number for number in range(1, 30) if number % 4 == 0],
    )


def _passes() -> Iterator[Program]:
    yield Program(
        "passes",
        """\
def run(cc: ComputeContext, a: S32Array) -> int:
    with cc.explicit():
        cc.put(a)
        cc.dispatch(a.length, step, a, passes=6).get(a)
        return int(a.array.sum())
""",
        "(S32Array.of(range(50)),)",
        ("cc.dispatch", "a.array.sum()"),
        _loop,
    )
    yield Program(
        "passes_until_flag",
        """\
def run(cc: ComputeContext, a: S32Array, done: S32Array) -> list[int]:
    with cc.explicit():
        done.array[0] = 0
        cc.put(done).put(a)
        cc.dispatch(a.length, halve, a, done, passes=50, until=done.array[0])
        cc.get(a)
        return a.array.tolist()
""",
        "S32Array.of(range(100)), S32Array.of([7])",
        ("cc.dispatch", "cc.dispatch", "a.array.tolist()"),
        _flag,
    )
    yield Program(
        "pass_id",
        """\
def run(cc: ComputeContext, a: S32Array) -> list[int]:
    with cc.explicit():
        cc.put(a)
        cc.dispatch(a.length, lambda kc: add_pass_id(kc, a), passes=4)
        cc.get(a.array[2:5])
        return a.array[2:5].tolist()
""",
        "(S32Array.of(range(8)),)",
        ("cc.dispatch", "a.array[2:5].tolist()"),
        lambda: [number + 160 for number in (2, 3, 4)],
    )
    yield Program(
        "pass_id_flips",
        """\
def run(cc: ComputeContext, a: S32Array, b: S32Array) -> list[int]:
    with cc.explicit():
        cc.put(a)
        cc.dispatch(a.length, smooth_in_turns, a, b, passes=5)
        cc.get(b)
        return b.array.tolist()
""",
        "S32Array.of(range(20)), S32Array.of([5] * 20)",
        ("cc.dispatch", "b.array.tolist()"),
        _flip,
    )


PROGRAMS: Sequence[Program] = tuple(_deletable())
DELETIONS = [(program, number) for program in PROGRAMS for number in range(len(program.caught))]
