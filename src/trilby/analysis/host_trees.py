"""The text of host ops as small trees of what may concern buffers.

A tree says which names and operands meet where: what is called, chosen, put in a list, looked
up, changed. How numbers are made of numbers matters as far as it decides between buffers
(`bufs[g % 2]`).
"""

from dataclasses import field

from trilby.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """An expression of which nothing is to be known.

    `names` are those in an expression of nothing but names, numbers, choices and items; they are
    None for any other. `code` is the text of such an expression. Whether it may be evaluated
    once more hangs on what its names are: `value_sorts.py`.
    """

    names: tuple[str, ...] | None = field(default=None, kw_only=True, compare=False)
    code: str = field(default="", kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name, local or not."""

    name: str


@dataclass(frozen=True, slots=True)
class Number(Node):
    """An integer or a truth value."""

    number: int


@dataclass(frozen=True, slots=True)
class Hole(Node):
    """An operand of the op."""

    number: int


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`then if test else otherwise`."""

    test: Node
    then: Node
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Item(Node):
    """`owner[indices]`."""

    owner: Node
    indices: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Member(Node):
    """`owner.name`."""

    owner: Node
    name: str


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call; keywords and starred arguments count as arguments."""

    function: Node
    args: tuple[Node, ...]
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Display(Node):
    """A list, tuple, set or dictionary; `ordered` where items can be found by their number."""

    items: tuple[Node, ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class Span(Node):
    """A slice or `...`; `whole` where it leaves nothing out."""

    parts: tuple[Node, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """Arithmetic, a comparison, a formatted text: it looks at its parts. `sign` is Python's."""

    sign: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class OneOf(Node):
    """`a or b`, `*items`, `await x`: the value is that of a part, or comes out of it."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Capture(Node):
    """A function made on the spot: it sees some names whenever it runs, and not now."""

    captured: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bind(Node):
    """`(target := value)`."""

    target: str
    value: Node


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """Loops with their targets, conditions, and what is made."""

    loops: tuple[tuple[Node, Node], ...]
    tests: tuple[Node, ...]
    made: tuple[Node, ...]


# ------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that does nothing to buffers: `import`, `global`."""


@dataclass(frozen=True, slots=True)
class Assign(Statement):
    """One value for one or more targets."""

    targets: tuple[Node, ...]
    value: Node


@dataclass(frozen=True, slots=True)
class Change(Statement):
    """`target += value` and its kin."""

    target: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Evaluate(Statement):
    """Expressions whose values go nowhere."""

    values: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Delete(Statement):
    """`del`."""

    targets: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Define(Statement):
    """`def` or `class`."""

    name: str
    captured: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inner(Statement):
    """Statements that run once, many times or never, after some values and bindings."""

    values: tuple[Node, ...]
    bindings: tuple[tuple[Node, Node], ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Leave(Statement):
    """`return`, `break`, `continue` or `raise`, with its values."""

    values: tuple[Node, ...]


def plain_names(node: Node) -> tuple[str, ...] | None:
    """The names in a plain expression; None for one that is not plain."""
    match node:
        case Name(name):
            return (name,)
        case Number():
            return ()
        case Choice(test, then, otherwise):
            parts = (test, then, otherwise)
        case Item(owner, indices):
            parts = (owner, *indices)
        case Operation(sign, inner) if sign:
            parts = inner
        case Span(inner):
            parts = inner
        case _:
            return None
    found: dict[str, None] = {}
    for part in parts:
        if part.names is None:
            return None
        found.update(dict.fromkeys(part.names))
    return tuple(found)
