"""The text of host ops as small trees of what may concern buffers.

A tree says which names and operands meet where: what is called, chosen, put in a list, looked
up, changed. How numbers are made of numbers matters as far as it decides between buffers
(`bufs[g % 2]`).
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """An expression of which nothing is to be known."""


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
    code: str


@dataclass(frozen=True, slots=True)
class Item(Node):
    """`owner[indices]`."""

    owner: Node
    indices: tuple[Node, ...]
    code: str


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
    code: str


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """Arithmetic, a comparison, a formatted text: it looks at its parts. `sign` is Python's."""

    sign: str
    parts: tuple[Node, ...]
    code: str


@dataclass(frozen=True, slots=True)
class OneOf(Node):
    """`a or b`, `*items`, `await x`: the value is that of a part, or comes out of it."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Capture(Node):
    """A function made on the spot: it sees some names whenever it runs, and not now."""

    names: tuple[str, ...]


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


def names_of(node: Node) -> Iterator[str]:
    """The names of a tree of names, numbers and their combinations, from left to right."""
    match node:
        case Name(name):
            yield name
        case Choice(test, then, otherwise):
            for part in (test, then, otherwise):
                yield from names_of(part)
        case Item(owner, indices):
            yield from names_of(owner)
            for index in indices:
                yield from names_of(index)
        case Operation(parts=parts) | Span(parts=parts):
            for part in parts:
                yield from names_of(part)
        case _:
            return


def is_plain(node: Node) -> bool:
    """Whether evaluating a tree once more changes nothing: names, numbers, choices, items."""
    match node:
        case Name() | Number():
            return True
        case Choice(test, then, otherwise):
            return all(map(is_plain, (test, then, otherwise)))
        case Item(owner, indices):
            return is_plain(owner) and all(map(is_plain, indices))
        case Operation(sign, parts):
            return bool(sign) and all(map(is_plain, parts))
        case Span(parts):
            return all(map(is_plain, parts))
        case _:
            return False


def code_of(node: Node) -> str:
    """The text of a plain tree."""
    match node:
        case Name(name):
            return name
        case Number(number):
            return str(number)
        case Choice(code=code) | Item(code=code) | Operation(code=code) | Span(code=code):
            return code
        case _:
            return ""
