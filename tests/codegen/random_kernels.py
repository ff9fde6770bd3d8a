"""Kernels made at random, to find expressions that are put together in the wrong order.

Everything in them has an effect or depends on one: loads and stores of the same few elements,
calls that change memory, atomics, tuples, choices, loops whose bounds change. All numbers are
`i32` and every index is masked, so any program that can be made can be run.
"""

import importlib.util
import random
from functools import partial
from pathlib import Path
from types import ModuleType

HEAD = """\
import trilby as tb
from trilby import KernelContext, NDArray, S32Array, i32


@tb.func
def take(a: S32Array, place: i32, by: i32) -> i32:
    old = a.array[place & 7]
    a.array[place & 7] = old + by
    return old


@tb.func
def mixed(v: i32, w: i32) -> i32:
    return v * 3 - w if v > w else w - v


@tb.func
def loud(a: S32Array, n: NDArray[i32], v: i32) -> bool:
    n[v & 1, v & 3] += a.array[v & 7]
    return n[v & 1, 0] > v


"""


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 -- no secrets here
        self.lines: list[str] = []
        self.names = ["x", "y", "z"]
        self.counters: list[str] = []
        self.loops = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def buffer(self) -> str:
        return self.pick("a", "a", "b", "s")

    def index(self, depth: int) -> str:
        return f"({self.number(depth)}) & 7"

    def number(self, depth: int) -> str:
        """An expression of type i32."""
        if depth <= 0:
            return self.pick(
                *self.names, *self.counters, "kc.x", "3", "-2", "i32(1000000007)", "a.array[1]"
            )
        one, two = depth - 1, depth - 2
        operation = partial(self.operation, depth)
        make = self.random.choice(
            [
                *(operation, operation, operation),
                lambda: f"{self.buffer()}.array[{self.index(two)}]",
                lambda: f"{self.buffer()}.array[{self.index(one)}]",
                lambda: f"n[({self.number(two)}) & 1, ({self.number(two)}) & 3]",
                lambda: f"take({self.buffer()}, {self.number(two)}, {self.number(two)})",
                lambda: (
                    f"tb.atomic_add({self.buffer()}.array, {self.index(two)}, {self.number(0)})"
                ),
                lambda: f"mixed({self.number(one)}, {self.number(two)})",
                lambda: f"({self.number(one)} if {self.condition(two)} else {self.number(two)})",
                lambda: f"({self.number(two)} if {self.condition(one)} else {self.number(one)})",
                lambda: f"-({self.number(one)})",
                lambda: f"min({self.number(two)}, {self.number(two)})",
            ]
        )
        return make()

    def operation(self, depth: int) -> str:
        sign = self.pick("+", "-", "*", "^", "&", "|", "//", "%")
        left, right = self.number(depth - 1), self.number(depth - 2)
        # Dividing by zero is an error on the interpreter; odd numbers are not zero.
        return f"({left} {sign} (({right}){' | 1' if sign in {'//', '%'} else ''}))"

    def condition(self, depth: int) -> str:
        sign = self.pick("<", "<=", "==", "!=")
        plain = f"{self.number(depth)} {sign} {self.number(depth)}"
        kind = self.random.randrange(7)
        if depth <= 0 or kind < 2:
            return f"({plain})"
        inner = depth - 1
        return {
            2: f"({self.condition(inner)} and {self.condition(inner)})",
            3: f"({self.condition(inner)} or {self.condition(inner)})",
            4: f"(not {self.condition(inner)})",
            5: f"({self.number(inner)} < {self.number(inner)} <= {self.number(inner)})",
            6: f"loud({self.buffer()}, n, {self.number(inner)})",
        }[kind]

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def place(self) -> str:
        kind = self.random.randrange(6)
        if kind < 3:
            return self.pick(*self.names)
        if kind < 5:
            return f"{self.buffer()}.array[{self.index(1)}]"
        return f"n[({self.number(1)}) & 1, ({self.number(0)}) & 3]"

    def statement(self, depth: int) -> None:
        kind = self.random.randrange(14 if depth < 4 else 10)
        if kind < 4:
            self.line(depth, f"{self.place()} = {self.number(3)}")
        elif kind < 6:
            self.line(depth, f"{self.place()} {self.pick('+=', '-=', '*=', '^=')} {self.number(2)}")
        elif kind < 8:
            targets = f"{self.place()}, {self.place()}"
            self.line(depth, f"{targets} = {self.number(2)}, {self.number(2)}")
        elif kind == 8:
            self.line(depth, self.pick("s = b if x > y else a", "s = a", "s, t = t, s"))
        elif kind == 9:
            self.line(depth, f"take({self.buffer()}, {self.number(1)}, {self.number(2)})")
        elif kind < 12 or self.loops > 5:
            self.branch(depth)
        else:
            self.loop(depth)

    def branch(self, depth: int) -> None:
        self.line(depth, f"if {self.condition(2)}:")
        self.block(depth + 1)
        if self.random.random() < 0.5:
            self.line(depth, f"elif {self.condition(1)}:")
            self.block(depth + 1)
        if self.random.random() < 0.5:
            self.line(depth, "else:")
            self.block(depth + 1)

    def loop(self, depth: int) -> None:
        self.loops += 1
        counter = f"i{self.loops}"
        if self.random.random() < 0.5:
            bounds = self.pick(
                "3",
                "({0}) & 3",
                "0, ({0}) & 7, 2",
                "4, ({0}) & 3, -1",
                "({0}) & 3, 9, (({0}) & 3) + 1",
            )
            self.line(depth, f"for {counter} in range({bounds.format(self.number(1))}):")
        else:
            self.line(depth, f"{counter} = 0")
            self.line(depth, f"while {counter} < 4 and {self.condition(1)}:")
            self.line(depth + 1, f"{counter} += 1")
        self.counters.append(counter)
        self.block(depth + 1)
        if self.random.random() < 0.4:
            self.line(depth + 1, f"if {self.condition(1)}:")
            self.line(depth + 2, self.pick("break", "continue"))
            self.block(depth + 1)
        self.counters.pop()

    def block(self, depth: int) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth)

    def program(self) -> str:
        for _ in range(self.random.randrange(5, 10)):
            self.statement(1)
        body = "\n".join(self.lines)
        return (
            f"{HEAD}@tb.kernel\n"
            "def program(kc: KernelContext, a: S32Array, b: S32Array, n: NDArray[i32]) -> None:\n"
            "    x = a.array[0]\n    y = b.array[2] - 5\n    z = kc.x\n    s = a\n    t = b\n"
            f"{body}\n"
            "    a.array[6] ^= x\n    b.array[7] ^= y + z\n    t.array[5] -= 1\n"
        )


def program(seed: int, folder: Path) -> ModuleType:
    """A module with the kernel `program`, written to a file: reflection reads source."""
    path = folder / f"random_kernel_{seed}.py"
    path.write_text(Writer(seed).program())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
