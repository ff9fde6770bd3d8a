"""Kernels made at random: indices, conditions and loops of all kinds, each access guarded."""

from random import Random

LOOPS = (
    "range(0, 3)",
    "range(3, -1, -1)",
    "range(kc.x, kc.x + 3)",
    "range(0, n)",
    "range(kc.x, 30, kc.max_x)",
    "range(0, 12, 2)",
)
HEAD = """\
import trilby as tb
from trilby import KernelContext, S32Array, i32
"""


def module_text(seed: int, count: int) -> str:
    """A module with so many kernels."""
    random = Random(seed)  # noqa: S311 -- nothing is kept secret
    return HEAD + "".join(_Writer(random, number).kernel() for number in range(count))


class _Writer:
    def __init__(self, random: Random, number: int) -> None:
        self.random = random
        self.number = number
        self.loops = random.random() < 0.4

    def kernel(self) -> str:
        """The text of one kernel."""
        random, indent, lines = self.random, "    ", list[str]()
        if self.loops:
            lines.append(f"{indent}for i in {random.choice(LOOPS)}:")
            indent += "    "
            if random.random() < 0.3:
                lines.append(f"{indent}if {self.condition(1)}:")
                lines.append(f"{indent}    {random.choice(['continue', 'break'])}")
        if random.random() < 0.5:
            lines.append(f"{indent}if {self.condition(1)}:")
            indent += "    "
        lines += [f"{indent}p = {self.number_text(0)}", f"{indent}q = {self.number_text(0)}"]
        lines.append(f"{indent}if 0 <= p < a.length and 0 <= q < a.length:")
        stored = random.choice(["kc.x + 1", "a.array[q] + 1"])
        lines.append(f"{indent}    a.array[p] = {stored}")
        name = f"kernel_{self.number}"
        head = f"\n\n@tb.kernel\ndef {name}(kc: KernelContext, a: S32Array, n: i32) -> None:\n"
        return head + "\n".join(lines) + "\n"

    def condition(self, depth: int) -> str:
        """A comparison."""
        sign = self.random.choice(["<", "<=", "==", "!=", ">"])
        return f"{self.number_text(depth + 1)} {sign} {self.number_text(depth + 1)}"

    def number_text(self, depth: int) -> str:
        """An integer, of ids, arguments and numbers."""
        random = self.random
        if depth > 2 or random.random() < 0.3:
            turn = "i" if self.loops else "kc.x"
            number = str(random.randint(0, 6))
            return random.choice(["kc.x", "kc.x", "kc.x", number, "n", "kc.max_x", turn])
        inner, other = self.number_text(depth + 1), self.number_text(depth + 1)
        small, few = random.randint(2, 6), random.randint(1, 3)
        return random.choice(
            [
                f"({inner} + {other})",
                f"({inner} - {other})",
                f"({inner} * {few})",
                f"({inner} // {small})",
                f"({inner} % {small})",
                f"min({inner}, {other})",
                f"max({inner}, {other})",
                f"abs({inner})",
                f"({inner} ^ {few})",
                f"({inner} | {few})",
                f"({inner} & {random.choice([1, 3, 6, 7])})",
                f"({inner} << {random.randint(1, 2)})",
                f"({inner} if {self.condition(depth + 1)} else {other})",
            ]
        )
