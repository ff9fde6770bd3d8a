"""Random compute functions: Python without much sense, but all of it has a meaning."""

import re
from collections.abc import Sequence

from hypothesis import strategies as st

NAMES = st.sampled_from(["v0", "v1", "v2", "n"])
BUFFERS = st.sampled_from(["a", "b"])
SMALL = st.integers(-3, 9).map(str)
SIGNS = st.sampled_from(["+", "-", "*", "//", "%", "|", "<<"])

EXPRESSIONS = (
    "note($e)",
    "($e $s $e)",
    "(-$e)",
    "($e if $e else $e)",
    "($e and $e)",
    "($e or $e)",
    "($e < $e <= $e)",
    "max($e, $e)",
    "[$e, $e][$e % 2]",
    "len(($e, *[$e], $e))",
    "{$e: $e}.get($e, $e)",
    "len(f'{ $e }-{ $b.array[$e % 4]:>{ $e % 5 }}{{0}}')",
    "$b.array[$e % 4]",
    "$b.array[$e % 4]",
    "$b.array[$i]",
    "$b.length",
    "$b.array[$e % 3:$e % 8].sum()",
    "g.array[$e % 3, $e % 4]",
    "(a if $e else b).array[$e % 4]",
    "box.item",
    "helper(cc, $b, $e)",
    "helper(cc, by=$e, s32=$b)",
    "cc.dispatch($e % 5, square, $b)",
    "cc.dispatch($e % 5, lambda kc: scale(kc, $b, $e))",
    "cc.dispatch($e % 5, scale, by=$e, s32=$b)",
    "($n := $e)",
    "sum($b.array[k] + $e for k in range($e % 4))",
    "(lambda q: q + $e)($e)",
)

SIMPLE = (
    "$n = $e",
    "$n = $e",
    "$n = $n = $e",
    "$n $s= $e",
    "$n, $n = $e, $e",
    "$n, $n = $n, $n",
    "$n, *$n = $e, $e, $e",
    "$n, $n = divmod($e, $b.array[$e % 4])",
    "$b.array[$e % 4] = $e",
    "$b.array[$e % 4] $s= $e",
    "$b.array[$i:$e % 8] += $e",
    "$b.array[$e % 4], $n = $e, $e",
    "$n = $b.array[$e % 4] = $e",
    "g.array[$e % 3, $e % 4] $s= $e",
    "g.array[$e % 3] = $e",
    "a, b = b, a",
    "b = a",
    "b = S32Array.of([1, 2, 3, 4, $e % 100, 6, 7, 8])",
    "a = a if $e else b",
    "box.item = $e",
    "box.item $s= $e",
    "items[$e % 3], $n = $e, $e",
    "items[$e % 3] $s= $e",
    "$e",
    "cc.dispatch($b.length, lambda kc: square(kc, $b))",
    "cc.dispatch($b.length, life, $b, $b)",
    "del $n",
    "assert $e, $e",
    "return $e",
    "$n: int = $e",
    "pass",
)

COMPOUND = (
    ("if $e:", "elif $e:", "else:"),
    ("if $e:", "else:"),
    ("if $e:",),
    ("for $n in range($e % 4):", "else:"),
    ("for $n in $b.array[$i:3]:",),
    ("while again($e):", "else:"),
    ("while again(0) and $b.array[$e % 4]:",),
    ("with managed($e) as $n:",),
    ("with managed($e), managed($e) as $n:",),
    ("try:", "except (ValueError, TypeError) as error:", "else:", "finally:"),
    ("try:", "except ArithmeticError:"),
    ("match $e:\n    case 0 | 1 as $n:\n        note($e)\n    case _:",),
    ("def inner(p=$e):\n    nonlocal $n\n    $n = $e\nif inner() is None:",),
    ("def inner($n=$e):\n    return $n + v0\nif inner():",),
)

HEADER = """
turns = 0
def again(value):
    global turns
    turns += 1
    return turns < 12 and turns % 4 and value
@contextlib.contextmanager
def managed(value):
    note(("enter", value))
    try:
        yield value
    except ValueError:
        note("swallowed")
    finally:
        note("exit")
"""

HEAD = """
def f(cc, a: S32Array, g: S32Array2D, box, items, n):
    b = S32Array.of(a.array[::-1])
    v0, v1 = 1, 2
    if n > 99:
        v2 = 0
"""

FOOTER = """
args = lambda: (numbers(), grid(), Box(item=3), [1, 2, 3], 2)
"""


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The text of a program with a compute function `f`."""
    body = _block(draw, 3, in_loop=False)
    return HEADER + HEAD + _indented(body) + FOOTER


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def _filled(draw: st.DrawFn, template: str, depth: int) -> str:
    """A template with its fields drawn from left to right."""

    def field(found: re.Match[str]) -> str:
        kinds = {"n": NAMES, "b": BUFFERS, "i": SMALL, "s": SIGNS}
        return _expression(draw, depth) if found[1] == "e" else draw(kinds[found[1]])

    return re.sub(r"\$([enbis])", field, template)


def _expression(draw: st.DrawFn, depth: int) -> str:
    if depth <= 0:
        return draw(st.one_of(SMALL, NAMES))
    return _filled(draw, draw(st.sampled_from(EXPRESSIONS)), depth - 1)


def _block(draw: st.DrawFn, depth: int, *, in_loop: bool) -> str:
    count = draw(st.integers(1, 4))
    return "".join(_statement(draw, depth, in_loop=in_loop) for _ in range(count))


def _statement(draw: st.DrawFn, depth: int, *, in_loop: bool) -> str:
    kind = draw(st.sampled_from(["simple", "simple", "compound"]))
    if depth > 0 and kind == "compound":
        return _compound(draw, draw(st.sampled_from(COMPOUND)), depth, in_loop=in_loop)
    jumps = ["break", "continue"] if in_loop else []
    return _filled(draw, draw(st.sampled_from([*SIMPLE, *jumps])), 2) + "\n"


def _compound(draw: st.DrawFn, clauses: Sequence[str], depth: int, *, in_loop: bool) -> str:
    is_loop = clauses[0].startswith(("for", "while"))
    parts: list[str] = []
    for number, clause in enumerate(clauses):
        head = _filled(draw, clause, 1)
        inside = in_loop or (is_loop and number == 0)
        body = _indented(_block(draw, depth - 1, in_loop=inside))
        parts.append(f"{head}\n{_indented(body) if clause.startswith('match') else body}")
    return "".join(parts)
