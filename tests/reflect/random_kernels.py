"""Random programs of integers and control flow, the same text for Python and for a kernel.

Numbers stay small, so that Python's integers and `i32` agree; every loop ends.
"""

from random import Random

NAMES = "abcde"


def program(seed: int) -> list[str]:
    """The lines of a body that uses `n` and `r`; the names may be unset on some path."""
    random = Random(seed)  # noqa: S311 -- the same programs in every run
    first = [f"{name} = {random.randint(-3, 5)}" for name in NAMES if random.random() < 0.95]
    return first + _block(random, 0) + _block(random, 0)


def _number(random: Random, depth: int) -> str:
    if depth > 2:
        return random.choice([*NAMES, "n", str(random.randint(-3, 5)), "r[0]", "r[1]"])
    left, right = (_number(random, depth + random.randint(1, 3)) for _ in range(2))
    forms = (
        f"({left} + {right})",
        f"({left} - {right})",
        f"({left} * {right} % 101)",
        f"({left} // {random.choice((2, 3, -2))})",
        f"({left} % {random.choice((2, 3, -5))})",
        f"min({left}, {right})",
        f"(-{left})",
        f"({left} if {_condition(random, depth + 1)} else {right})",
    )
    return random.choice(forms)


def _condition(random: Random, depth: int) -> str:
    left, right = _number(random, depth + 1), _number(random, depth + 2)
    compared = f"{left} {random.choice(('<', '<=', '>', '>=', '==', '!='))} {right}"
    if depth > 2:
        return compared
    forms = (
        compared,
        f"({compared} and {_condition(random, depth + 1)})",
        f"({compared} or {_condition(random, depth + 1)})",
        f"not {left}",
        f"{left} < {right} <= 3",
        random.choice(("True", "False", "n")),
    )
    return random.choice(forms)


def _block(random: Random, depth: int, *, in_loop: bool = False) -> list[str]:
    lines: list[str] = []
    for _ in range(random.randint(1, 3)):
        lines += _statement(random, depth, in_loop=in_loop)
    return lines


def _statement(random: Random, depth: int, *, in_loop: bool) -> list[str]:
    name, value = random.choice(NAMES), _number(random, 0)
    simple = [f"{name} = {value}", f"{name} += {value}", f"r[{random.randint(0, 1)}] = {value}"]
    simple.append(f"{name}, r[0] = {value}, {_number(random, 1)}")
    if depth > 2 or random.random() < 0.5:
        return [random.choice(simple)]
    leaving = ["break", "continue"] if in_loop else []
    if random.random() < 0.15:
        return [random.choice([*leaving, "return", *simple])]
    return random.choice((_if, _for, _while))(random, depth, in_loop=in_loop)


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _if(random: Random, depth: int, *, in_loop: bool) -> list[str]:
    lines = [f"if {_condition(random, 0)}:"]
    lines += _indented(_block(random, depth + 1, in_loop=in_loop))
    return lines + _else(random, depth, in_loop=in_loop)


def _else(random: Random, depth: int, *, in_loop: bool) -> list[str]:
    if random.random() < 0.5:
        return []
    return ["else:", *_indented(_block(random, depth + 1, in_loop=in_loop))]


def _for(random: Random, depth: int, *, in_loop: bool) -> list[str]:
    bounds = random.choice(("n", "3", "1, 4", "4, 0, -1", "0"))
    lines = [f"for {random.choice([*NAMES, 'i', 'j'])} in range({bounds}):"]
    lines += _indented(_block(random, depth + 1, in_loop=True))
    return lines + _else(random, depth, in_loop=in_loop)


def _while(random: Random, depth: int, *, in_loop: bool) -> list[str]:
    counter = f"w{random.randint(0, 10**9)}"
    test = random.choice(("True", f"{counter} < {random.randint(0, 5)}"))
    turn = [f"{counter} += 1", f"if {counter} > 6:", "    break"]
    lines = [f"{counter} = 0", f"while {test}:"]
    lines += _indented(turn + _block(random, depth + 1, in_loop=True))
    return lines + _else(random, depth, in_loop=in_loop)
