"""Deciding questions with z3.

Numbers are integers without bounds: that the index arithmetic of a kernel does not wrap around
at 32 bits is assumed of signed ones; subtractions of unsigned ones and narrow types do wrap.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from trilby.analysis.linting.accesses import ANYWHERE
from trilby.analysis.linting.covers import CountedCovers
from trilby.analysis.linting.encoding.fitting import Fitting
from trilby.analysis.linting.encoding.session import Session
from trilby.analysis.linting.encoding.terms import Encoding, ItemTerms
from trilby.analysis.linting.evaluate import evaluated
from trilby.analysis.linting.launch import Launch
from trilby.analysis.linting.plain_decider import is_plain
from trilby.analysis.linting.question import Cover, Question
from trilby.analysis.linting.terms import LoopMark, Terms, leaves_of
from trilby.analysis.linting.witness import Example, Outcome, Proved, Undecided
from trilby.analysis.touching.expressions import Expr
from trilby.data.ndrange import NDRange

EFFORT = 2_000_000
SECONDS = 20.0

SIZES = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024)
"""How large a launch is tried for a witness, the smallest first."""

MOST_IN_GROUP = 1024
MOST_TURNS = 64
"""Loops of more turns than this are not looked at turn by turn."""


class Z3Decider:
    """Asks z3, each time for so much effort, and never for longer than some seconds.

    Effort is counted in z3's own steps, so that a busy machine gives the same answers.
    """

    name = "z3"

    def __init__(self, effort: int = EFFORT, seconds: float = SECONDS) -> None:
        self._effort = effort
        self._seconds = seconds

    def decide(self, question: Question) -> Outcome:
        """Proved where there is no such launch, an example where there is."""
        if is_plain(question):
            return Proved()
        first = self._asked(question, abstract=True)
        if not isinstance(first, Undecided) or not question.wants_example:
            return first
        quick = self._asked(question, abstract=False, effort=self._effort // 20)
        if not isinstance(quick, Undecided):
            return quick
        for small in _small_launches(question.launch):
            found = self._asked(replace(question, launch=small), abstract=False)
            if isinstance(found, Example):
                return found
        return self._asked(question, abstract=False)

    def _asked(self, question: Question, *, abstract: bool, effort: int = 0) -> Outcome:
        z3 = Session()
        asked = _Asked(z3, question, abstract=abstract)
        solver = z3.solver(effort or self._effort, self._seconds)
        solver.add(*asked.conditions())
        found = solver.check()
        if found == z3.unsat:
            return Proved()
        if found == z3.sat and not question.wants_example:
            return Undecided("it may be")
        if found == z3.sat and (not abstract or asked.is_exact):
            return asked.smallest(solver)
        return Undecided("z3 gave up: the index arithmetic is too hard for it")

    def fits(self, question: Question) -> bool | None:
        """Whether there is a launch in which no work item does what is asked."""
        for positive in (True, False):
            z3 = Session()
            fitting = Fitting(z3, question, positive=positive)
            if self._checked(z3, fitting.someone()) != z3.unsat:
                if self._fits_usual(z3, question, positive=positive):
                    return True
                found = self._checked(z3, fitting.conditions())
                return None if found == z3.unknown else found == z3.sat
        return False

    def _fits_usual(self, z3: Session, question: Question, *, positive: bool) -> bool:
        """Whether all goes well where buffers are as long as the range, or somewhat longer."""
        size = max(question.launch.size.values(), default=4)
        fitting = Fitting(z3, question, positive=positive)
        violation, well = (
            fitting.violation(),
            [
                *fitting.someone(),
                *fitting.exercised(),
                *fitting.assumed(),
            ],
        )
        scalars = (1, size) if fitting.encoding.integer_scalars() else (1,)
        for length, scalar in product((4 * size, size, size + 1, size + 2), scalars):
            fixed = fitting.fixed(length, scalar)
            is_well = self._checked(z3, [*violation, *fixed]) == z3.unsat
            if is_well and self._checked(z3, [*well, *fixed]) == z3.sat:
                return True
        return False

    def _checked(self, z3: Session, conditions: list[Any]) -> Any:
        solver = z3.solver(self._effort, self._seconds)
        solver.add(*conditions)
        return solver.check()


def _small_launches(launch: Launch) -> Iterator[Launch]:
    """The launch with small numbers for what is left open: z3 is quicker to find those."""
    open_groups = launch.has_groups and len(launch.local) < len(launch.axes)
    if len(launch.size) == len(launch.axes) and not open_groups:
        return
    for local, counts in ((2, (1, 2, 3)), (4, (1, 2, 3)), (16, (1, 2)), (64, (1,))):
        groups = {**dict.fromkeys(launch.axes, local), **launch.local}
        for count in counts:
            size = {axis: count * groups[axis] for axis in launch.axes}
            kept = groups if launch.has_groups else launch.local
            yield replace(launch, local=kept, size={**size, **launch.size})


def _short_loop(terms: Terms, loop: LoopMark, conditions: tuple[Expr, ...]) -> int | None:
    """How many turns a loop has, where a condition on nothing but the turn says so."""
    turn = terms.turn(loop)
    own = [c for c in conditions if all(_is_of(leaf, turn) for leaf in leaves_of((c,)))]
    own = [c for c in own if any(leaf is turn for leaf in leaves_of((c,)))]
    for count in range(MOST_TURNS + 1):
        if any(evaluated(condition, {turn.number: count}) == 0 for condition in own):
            return count
    return None


def _is_of(leaf: Expr, turn: Expr) -> bool:
    return leaf is turn or leaf.op == "constant"


class _Asked:
    """A question while it is put to z3."""

    def __init__(self, z3: Session, question: Question, *, abstract: bool) -> None:
        self.z3 = z3
        self.question = question
        self.encoding = Encoding(z3, question.terms, question.launch, abstract=abstract)
        self.items = [ItemTerms(self.encoding, n) for n in range(len(question.items))]

    def conditions(self) -> list[Any]:
        """Everything that has to hold."""
        z3, question = self.z3, self.question
        found: list[Any] = []
        for part, item in zip(question.items, self.items, strict=True):
            found += [item.truth(condition) for condition in part.conditions]
            if part.fails is not None:
                found.append(z3.Not(item.truth(part.fails)))
        found += [self.items[0].truth(condition) for condition in question.assumed]
        if len(self.items) == 2:
            found += self._of_two()
        if question.uncovered is not None:
            found += self._uncovered(question.uncovered)
        for item in self.items:
            found += item.facts()
        if len(self.items) == 2:
            found += self._shared()
        return [*found, *self.encoding.facts, *self.encoding.products.laws()]

    @property
    def is_exact(self) -> bool:
        """Whether no product stands for more than it is."""
        return not self.encoding.products.laws()

    def _of_two(self) -> list[Any]:
        z3, question = self.z3, self.question
        one, other = self.items
        first, second = question.items
        found = [z3.Or(*[a != b for a, b in zip(one.place(), other.place(), strict=True)])]
        if question.meets:
            pairs = zip(first.indices, second.indices, strict=True)
            found += [one.number(a) == other.number(b) for a, b in pairs]
        in_group = self._in_one_group()
        if question.same_group:
            found.append(in_group)
        if question.unordered:
            found.append(z3.Or(z3.Not(in_group), self._same_phase()))
        for loop in question.same_turns:
            turn = question.terms.turn(loop)
            found.append(one.number(turn) == other.number(turn))
        return found

    def _uncovered(self, covers: tuple[Cover, ...]) -> list[Any]:
        """No item of the group of the first one fills the indices at which that one is."""
        z3, terms, reader = self.z3, self.question.terms, self.items[0]
        axes = self.question.launch.axes
        here = dict(zip((f"group_{a}" for a in axes), reader.groups(), strict=True))
        counted = CountedCovers(self.question)
        found: list[Any] = []
        for place, cover in product(self._local_places(), covers):
            for turns in self._turns(cover):
                known = {terms.turn(m).number: n for m, n in turns.items() if isinstance(n, int)}
                if not counted.add(cover, place, known):
                    writer = ItemTerms(self.encoding, 100 + len(found), {**here, **place})
                    found.append(self._never(writer, cover, turns))
        at = [reader.number(index) for index in self.question.items[0].indices]
        for box in counted.boxes():
            sides = zip(at, box, strict=True)
            found.append(z3.Or(*[z3.Or(one < low, one > high) for one, (low, high) in sides]))
        return found

    def _never(self, writer: ItemTerms, cover: Cover, turns: dict[LoopMark, Any]) -> Any:
        z3, terms = self.z3, self.question.terms
        for loop, turn in turns.items():
            writer.fix(terms.turn(loop), turn)
        filled = [writer.truth(condition) for condition in cover.conditions]
        reader = self.items[0]
        at = [reader.number(index) for index in self.question.items[0].indices]
        pairs = zip(cover.indices, at, strict=True)
        filled += [writer.number(index) == one for index, one in pairs]
        never = z3.Not(z3.And(*filled, *writer.facts()))
        return z3.ForAll(writer.variables, never) if writer.variables else never

    def _turns(self, cover: Cover) -> list[dict[LoopMark, Any]]:
        """The turns in which a cover is looked at: that of the item, and every one of short loops.

        A loop of which neither is known is left open.
        """
        terms, reader = self.question.terms, self.items[0]
        shared = {loop: reader.number(terms.turn(loop)) for loop in cover.same_turns}
        listed: list[dict[LoopMark, Any]] = [shared]
        for loop in cover.loops:
            count = None if loop in shared else _short_loop(terms, loop, cover.conditions)
            if count is not None and len(listed) * count <= MOST_TURNS:
                listed = [{**turns, loop: n} for turns in listed for n in range(count)]
        return listed

    def _local_places(self) -> list[dict[str, Any]]:
        """The ids of every item of a group, where its size is known."""
        launch = self.question.launch
        local = [launch.local.get(axis) for axis in launch.axes]
        known = [size for size in local if size is not None]
        if len(known) < len(local) or prod(known) > MOST_IN_GROUP:
            return [{}]
        names = [f"local_{axis}" for axis in launch.axes]
        return [dict(zip(names, ids, strict=True)) for ids in product(*(range(n) for n in known))]

    def _in_one_group(self) -> Any:
        one, other = self.items
        if not self.question.launch.has_groups:
            return self.z3.BoolVal(value=True)
        return self.z3.And(*[a == b for a, b in zip(one.groups(), other.groups(), strict=True)])

    def _same_phase(self) -> Any:
        """Both items are behind the same barrier, in the same turns."""
        z3, (one, other) = self.z3, self.items
        found: list[Any] = []
        for left in self.question.items[0].phases:
            for right in self.question.items[1].phases:
                guards = [one.truth(left.guard), other.truth(right.guard)]
                if ANYWHERE in {left.site, right.site}:
                    found.append(z3.And(*guards))
                elif left.site == right.site:
                    pairs = zip(left.turns, right.turns, strict=True)
                    turns = [one.number(a) == other.number(b) for a, b in pairs]
                    found.append(z3.And(*guards, *turns))
        return z3.Or(*found)

    def _shared(self) -> list[Any]:
        """Unknown numbers that both items have in common, and tickets, which differ."""
        z3, terms = self.z3, self.question.terms
        one, other = self.items
        found: list[Any] = []
        for leaf in one.leaves():
            if leaf.op not in {"opaque", "turns", "fn"} or not other.has(leaf):
                continue
            level, loops = one.sharing(leaf)
            if level == "item":
                continue
            turns = [one.number(terms.turn(m)) == other.number(terms.turn(m)) for m in loops]
            place = [] if level == "launch" else [self._in_one_group()]
            found.append(z3.Implies(z3.And(*turns, *place), one.value(leaf) == other.value(leaf)))
        mine, others = one.tickets(self.question.tickets), other.tickets(self.question.tickets)
        found += [
            one.value(a) != other.value(b) for a, key in mine for b, same in others if key == same
        ]
        return found

    # -- the smallest launch

    def smallest(self, solver: Any) -> Example:
        """The numbers of a small launch in which the conditions hold."""
        z3, encoding = self.z3, self.encoding
        best = solver.model()
        sizes = [encoding.size(axis) for axis in self.question.launch.axes]
        free = [size for size in sizes if not isinstance(size, int)]
        if free:
            total = z3.Sum(*free)
            for most in SIZES:
                solver.push()
                solver.add(total <= most + len(free) - 1)
                if solver.check() == z3.sat:
                    best = solver.model()
                    break
                solver.pop()
        for wish in (*self._first_items(), *encoding.wishes()):
            solver.push()
            solver.add(wish)
            if solver.check() == z3.sat:
                best = solver.model()
            else:
                solver.pop()
        return self._example(best)

    def _first_items(self) -> list[Any]:
        """That the items are those that one would look at first, axis by axis."""
        found: list[Any] = []
        for number, item in enumerate(self.items):
            for axis, place in zip(self.question.launch.axes, item.ids(), strict=True):
                found.append(place <= (number if axis == "x" else 0))
        return found

    def _example(self, model: Any) -> Example:
        encoding, axes = self.encoding, self.question.launch.axes
        size = tuple(encoding.read(model, encoding.size(axis)) for axis in axes)
        local = None
        if self.question.launch.has_groups:
            local = tuple(encoding.read(model, encoding.local(axis)) for axis in axes)
        indices = [self.items[0].number(index) for index in self.question.items[0].indices]
        return Example(
            NDRange(size, local),
            tuple(item.id_in(model) for item in self.items),
            tuple(encoding.read(model, index) for index in indices),
            {key: encoding.read(model, term) for key, term in encoding.lengths.items()},
            {key: encoding.read(model, term) for key, term in encoding.scalars.items()},
        )
