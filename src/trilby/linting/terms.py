"""Terms: what the numbers of a kernel are, for lints.

The expressions of `analysis.touching.kernel_expressions`, with more leaves. All of them are one
number for each work item, or the same for all:

| op         | what                | meaning                                             |
|------------|---------------------|-----------------------------------------------------|
| `turn`     | a loop              | how many turns of it are behind                     |
| `turns`    | a loop              | how many turns it took in all                       |
| `data`     | memory and path     | what read-only memory holds at the indices `args`   |
| `fn`       | the name of an op   | a function that no solver knows, of `args`          |
| `literal`  | a float             | a constant that is no integer                       |
| `opaque`   | its own number      | see `Unknown`                                       |
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from trilby.analysis.touching.kernel_expressions import Expr, Expressions
from trilby.data.dtypes import BOOL, I64, ScalarType
from trilby.dataclass import dataclass

DEEPEST = 300
"""Conditions that are nested deeper than this are unknown."""

Level: TypeAlias = Literal["item", "group", "launch"]
"""How far a number is the same: for one work item, for all of a group, or of a launch."""

Ticket: TypeAlias = tuple[str, int, str, tuple[object, ...]]
"""An atomic counter: the kind and number of its memory, its path, and its indices."""

Kind: TypeAlias = Literal["data", "loop", "ticket", "unmodelled"]


@dataclass(frozen=True, slots=True, eq=False)
class LoopMark:
    """A loop of a kernel, as it is met on one way through the helpers; `outer` are around it."""

    number: int
    outer: "tuple[LoopMark, ...]"

    @property
    def all(self) -> "tuple[LoopMark, ...]":
        """The loop and those around it, outermost first."""
        return (*self.outer, self)


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why a number is not known.

    `data` comes out of memory, `loop` changes from turn to turn in a way that is not understood,
    a `ticket` is what an atomic counter gave (no two are equal), and `unmodelled` is the rest.
    `level` says how far it is the same, in the same turns of `loops`.
    """

    kind: Kind
    reason: str
    level: Level = "item"
    loops: tuple[LoopMark, ...] = ()
    ticket: "Ticket | None" = None


@dataclass
class Terms(Expressions):
    """Makes terms, and remembers what is known of those that nobody knows.

    `facts` are conditions that hold wherever the leaf of that number is used.
    """

    unknowns: dict[int, Unknown] = field(default_factory=dict[int, Unknown])
    facts: dict[int, list[Expr]] = field(default_factory=dict[int, list[Expr]])
    levels: dict[int, Level] = field(default_factory=dict[int, Level])
    """How far the number of turns of a loop is the same, by the number of its term."""

    def __post_init__(self) -> None:
        Expressions.__init__(self)

    def unknown(self, type_: ScalarType, why: Unknown) -> Expr:
        """A number that is not known, for a reason."""
        made = super().opaque(type_)
        self.unknowns[made.number] = why
        return made

    def opaque(self, type_: ScalarType) -> Expr:
        """What an operation gives that has no term."""
        return self.unknown(type_, Unknown("unmodelled", "an operation that is not modelled"))

    def fact(self, leaf: Expr, condition: Expr) -> None:
        """Something that holds of a leaf."""
        if condition is not self.true:
            self.facts.setdefault(leaf.number, []).append(condition)

    def _shallow(self, op: str, left: Expr, right: Expr) -> Expr:
        if max(left.depth, right.depth) >= DEEPEST:
            return self.opaque(BOOL)
        return self.make(op, (left, right), None, BOOL)

    # -- shorthands

    def number(self, value: int) -> Expr:
        """A constant, of the type in which indices are compared."""
        return self.constant(value, I64)

    def all_of(self, conditions: Iterable[Expr]) -> Expr:
        """The conjunction."""
        found = self.true
        for condition in conditions:
            found = self.both(found, condition)
        return found

    def implies(self, left: Expr, right: Expr) -> Expr:
        """`right or not left`."""
        return self.either(self.negated(left), right)

    def compare(self, op: str, left: Expr, right: Expr) -> Expr:
        """`lt`, `le`, `eq` or `ne`; numbers are compared at once."""
        if left.op == right.op == "constant":
            return self.true if _MEANING[op](_int(left), _int(right)) else self.false
        return self.make(op, (left, right), None, BOOL)

    def plus(self, left: Expr, right: Expr) -> Expr:
        """A sum; zeros are left out."""
        return self._folded("add", left, right, 0)

    def times(self, left: Expr, right: Expr) -> Expr:
        """A product; ones are left out."""
        return self._folded("mul", left, right, 1)

    def _folded(self, op: str, left: Expr, right: Expr, neutral: int) -> Expr:
        for one, other in ((left, right), (right, left)):
            if one.op == "constant" and one.what == neutral:
                return other
        if left.op == right.op == "constant":
            return self.constant(_MEANING[op](_int(left), _int(right)), left.type)
        return self.make(op, (left, right), None, left.type)

    def turn(self, loop: LoopMark) -> Expr:
        """How many turns of a loop are behind."""
        return self.make("turn", (), loop)

    def turns(self, loop: LoopMark) -> Expr:
        """How many turns a loop took."""
        return self.make("turns", (), loop)

    # -- looking at terms

    def put_in(self, term: Expr, replaced: Mapping[int, Expr], since: int) -> Expr:
        """A term with some leaves replaced; what is unknown and younger than `since` is anew."""
        known = dict(replaced)

        def of(part: Expr) -> Expr:
            if part.number not in known:
                known[part.number] = made(part)
            return known[part.number]

        def made(part: Expr) -> Expr:
            if part.op == "opaque":
                return anew(part) if part.number >= since else part
            args = tuple(of(arg) for arg in part.args)
            if all(new is old for new, old in zip(args, part.args, strict=True)):
                return part
            return rebuilt(self, part, args)

        def anew(part: Expr) -> Expr:
            new = known[part.number] = self.unknown(part.type, self.unknowns[part.number])
            for fact in self.facts.get(part.number, []):
                self.fact(new, of(fact))
            return new

        return of(term)


def _int(term: Expr) -> int:
    return term.what if isinstance(term.what, int) else 0


def rebuilt(terms: Terms, term: Expr, args: tuple[Expr, ...]) -> Expr:
    """The same operation on other operands."""
    match term.op:
        case "and":
            return terms.both(*args)
        case "or":
            return terms.either(*args)
        case "not":
            return terms.negated(*args)
        case "select":
            return terms.select(*args)
        case "lt" | "le" | "eq" | "ne":
            return terms.compare(term.op, *args)
        case "add":
            return terms.plus(*args)
        case _:
            return terms.make(term.op, args, term.what, term.type)


def wraps(type_: ScalarType) -> bool:
    """Whether kernels count on numbers of a type to wrap: of signed 32 and 64 bits they do not."""
    return type_ is not BOOL and not type_.is_float and (type_.kind == "uint" or type_.bits < 32)


def leaves_of(roots: Iterable[Expr]) -> Iterator[Expr]:
    """Every term that has no operands or is a leaf for solvers, each once."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        term = waiting.pop()
        if term.number in seen:
            continue
        seen.add(term.number)
        waiting.extend(term.args)
        if not term.args or term.op in {"data", "fn"}:
            yield term


def level_of(terms: Terms, term: Expr) -> Level:
    """How far a term is the same, for work items in the same turns of the same loops."""
    return lowest_level(_leaf_level(terms, leaf) for leaf in leaves_of((term,)))


def lowest_level(levels: Iterable[Level]) -> Level:
    """How far something is the same that is made of parts of these levels."""
    found = set(levels)
    if "item" in found:
        return "item"
    return "group" if "group" in found else "launch"


def _leaf_level(terms: Terms, leaf: Expr) -> Level:
    if leaf.op == "grid":
        name = str(leaf.what)
        if "max" in name or name == "pass_id":
            return "launch"
        return "group" if name.startswith("group") else "item"
    if leaf.op == "group_start":
        return "group"
    if leaf.op == "opaque":
        why = terms.unknowns.get(leaf.number)
        return why.level if why else "item"
    if leaf.op == "turns":
        return terms.levels.get(leaf.number, "item")
    return "launch"


# ------------------------------------------------------------------------------------------- values
# The number of a term, where the numbers of its leaves are known.

_MEANING: Mapping[str, Callable[..., int]] = {
    "add": int.__add__,
    "sub": int.__sub__,
    "mul": int.__mul__,
    "floordiv": int.__floordiv__,
    "mod": int.__mod__,
    "min": min,
    "max": max,
    "abs": int.__abs__,
    "cast": int,
    "lt": int.__lt__,
    "le": int.__le__,
    "eq": int.__eq__,
    "ne": int.__ne__,
}


def folded(op: str, numbers: list[int], type_: ScalarType) -> int | None:
    """An operation on numbers; None where it has no meaning."""
    meaning = _MEANING.get(op)
    divides_by_zero = op in {"floordiv", "mod"} and numbers[-1] == 0
    return None if meaning is None or divides_by_zero else int(type_(meaning(*numbers)))


def evaluated(term: Expr, leaves: Mapping[int, int]) -> int | None:
    """What a term comes to, by the numbers of its leaves; None where one is missing."""
    known: dict[int, int | None] = {**leaves}

    def of(part: Expr) -> int | None:
        if part.number not in known:
            known[part.number] = made(part)
        return known[part.number]

    def made(part: Expr) -> int | None:
        if part.op == "constant":
            return part.what if isinstance(part.what, int) else None
        if not part.args:
            return None
        if part.op == "select":
            condition = of(part.args[0])
            return None if condition is None else of(part.args[1 if condition else 2])
        args = [of(arg) for arg in part.args]
        if part.op in {"and", "or"}:  # known where one side is decisive
            decisive = part.op == "or"
            if any(arg is not None and bool(arg) is decisive for arg in args):
                return int(decisive)
            return None if None in args else int(not decisive)
        numbers = [arg for arg in args if arg is not None]
        if len(numbers) != len(args):
            return None
        return int(not numbers[0]) if part.op == "not" else folded(part.op, numbers, part.type)

    return of(term)
