"""Deciding questions with z3.

Numbers are integers without bounds: that the index arithmetic of a kernel does not wrap around
at 32 bits is assumed of signed ones; subtractions of unsigned ones and narrow types do wrap.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.ndrange import NDRange
from trilby.linting.accesses import ANYWHERE
from trilby.linting.decide.plain import PlainDecider, is_plain
from trilby.linting.decide.question import Cover, Example, Outcome, Question
from trilby.linting.decide.z3_terms import Encoding, ItemTerms, Session
from trilby.linting.dispatches import LaunchFacts
from trilby.linting.terms import LoopMark, Terms, evaluated, leaves_of, level_of

# ------------------------------------------------------------------------------------------ fitting
# What z3 is asked about launches that a kernel fits: all of their work items are well.

MOST_LISTED = 64
"""Launches of more items than this are not looked at item by item."""


class Fitting:
    """A launch in which every work item is well: all of a small one, or any of a large one."""

    def __init__(self, z3: Session, question: Question, *, positive: bool) -> None:
        self.z3 = z3
        self.question = question
        self.encoding = Encoding(z3, question.terms, question.launch, abstract=False)
        self.positive = positive
        self.part = question.items[0]

    def conditions(self) -> list[Any]:
        """Everything that has to hold of the launch."""
        found = [self._is_well(number, place) for number, place in enumerate(self._places())]
        return [*found, *self.exercised(), *self.assumed(), *self.someone()]

    def exercised(self) -> list[Any]:
        """Some item does not meet the guards that compare its id."""
        asked = self.question.exercised
        return [self._someone(1001, asked, fail=True)] if asked else []

    def assumed(self) -> list[Any]:
        """What is taken for granted of launches."""
        item = ItemTerms(self.encoding, 1002)
        found = [item.truth(condition) for condition in self.question.assumed]
        return [*found, *item.facts()]

    def violation(self) -> list[Any]:
        """Some item does what is asked."""
        item = ItemTerms(self.encoding, 1003)
        return [*item.does(self.part), *item.facts(), *self.assumed(), *self.encoding.facts]

    def fixed(self, length: int, scalar: int) -> list[Any]:
        """All lengths and arguments are these numbers."""
        lengths = [one == length for one in self.encoding.lengths.values()]
        return [*lengths, *(one == scalar for one in self.encoding.integer_scalars)]

    def someone(self) -> list[Any]:
        """Some item comes to where it could happen, with arguments that are usual."""
        found = [self._someone(1000, self.part.conditions, fail=False)]
        if self.positive:
            found += [scalar >= 1 for scalar in self.encoding.integer_scalars]
        return [*found, *self.encoding.facts]

    def _places(self) -> list[dict[str, int]]:
        """The ids of every item, where there are few; one that is left open otherwise."""
        launch = self.question.launch
        axes, groups = len(launch.axes), len(launch.local)
        is_open = len(launch.size) < axes or (launch.has_groups and groups < axes)
        if is_open or prod(launch.size.values()) > MOST_LISTED:
            return [{}]
        return [launch.fields_at(place) for place in launch.places()]

    def _is_well(self, number: int, place: dict[str, int]) -> Any:
        z3, item = self.z3, ItemTerms(self.encoding, number, place)
        conditions = [item.truth(condition) for condition in self.part.conditions]
        well = item.truth(self.part.fails) if self.part.fails is not None else z3.BoolVal(val=False)
        holds = z3.Implies(z3.And(*conditions, *item.facts()), well)
        return z3.ForAll(item.variables, holds) if item.variables else holds

    def _someone(self, number: int, conditions: tuple[Expr, ...], *, fail: bool) -> Any:
        item = ItemTerms(self.encoding, number)
        met = self.z3.And(*[item.truth(condition) for condition in conditions])
        return self.z3.And(self.z3.Not(met) if fail else met, *item.facts())


# ------------------------------------------------------------------------------------------- solver

EFFORT = 2_000_000

SIZES = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024)
"""How large a launch is tried for a witness, the smallest first."""

MOST_IN_GROUP = 1024
MOST_TURNS = 64
"""Loops of more turns than this are not looked at turn by turn."""


class Z3Decider(PlainDecider):
    """Asks z3, each time for so much effort, and never for longer than some seconds.

    Effort is counted in z3's own steps, so that a busy machine gives the same answers.
    """

    def decide(self, question: Question) -> Outcome:
        """None where there is no such launch, an example where there is, or why nobody knows."""
        if is_plain(question):
            return None
        first = self._asked(question, abstract=True)
        if not isinstance(first, str) or not question.wants_example:
            return first
        quick = self._asked(question, abstract=False, effort=EFFORT // 20)
        if not isinstance(quick, str):
            return quick
        for small in _small_launches(question.launch):
            found = self._asked(replace(question, launch=small), abstract=False)
            if isinstance(found, Example):
                return found
        return self._asked(question, abstract=False)

    def _asked(self, question: Question, *, abstract: bool, effort: int = EFFORT) -> Outcome:
        z3 = Session()
        asked = _Asked(z3, question, abstract=abstract)
        solver = z3.solver(effort)
        solver.add(*asked.conditions())
        found = solver.check()
        if found == z3.unsat:
            return None
        if found == z3.sat and not question.wants_example:
            return "it may be"
        if found == z3.sat and (not abstract or asked.is_exact):
            return asked.smallest(solver)
        return "z3 gave up: the index arithmetic is too hard for it"

    def fits(self, question: Question) -> bool | None:
        """Whether there is a launch in which no work item does what is asked; None: not known."""
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
        violation = fitting.violation()
        well = [*fitting.someone(), *fitting.exercised(), *fitting.assumed()]
        scalars = (1, size) if fitting.encoding.integer_scalars else (1,)
        for length, scalar in product((4 * size, size, size + 1, size + 2), scalars):
            fixed = fitting.fixed(length, scalar)
            is_well = self._checked(z3, [*violation, *fixed]) == z3.unsat
            if is_well and self._checked(z3, [*well, *fixed]) == z3.sat:
                return True
        return False

    def _checked(self, z3: Session, conditions: list[Any]) -> Any:
        solver = z3.solver(EFFORT)
        solver.add(*conditions)
        return solver.check()


def _small_launches(launch: LaunchFacts) -> Iterator[LaunchFacts]:
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
    leaves = {c: [leaf for leaf in leaves_of((c,)) if leaf.op != "constant"] for c in conditions}
    own = [c for c, found in leaves.items() if found == [turn]]
    for count in range(MOST_TURNS + 1):
        if any(evaluated(condition, {turn.number: count}) == 0 for condition in own):
            return count
    return None


class _Asked:
    """A question while it is put to z3."""

    def __init__(self, z3: Session, question: Question, *, abstract: bool) -> None:
        self.z3 = z3
        self.question = question
        self.encoding = Encoding(z3, question.terms, question.launch, abstract=abstract)
        self.items = [ItemTerms(self.encoding, n) for n in range(len(question.items))]

    def conditions(self) -> list[Any]:
        """Everything that has to hold."""
        question = self.question
        found: list[Any] = []
        for part, item in zip(question.items, self.items, strict=True):
            found += item.does(part)
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
        here = dict(zip((f"group_{a}" for a in axes), reader.ids("group_"), strict=True))
        leaves = {cover: list(leaves_of((*cover.conditions, *cover.indices))) for cover in covers}
        conditions = {cover: self._own_conditions(cover) for cover in covers}
        filled: set[tuple[int, ...]] = set()
        found: list[Any] = []
        for place, cover in product(self._local_places(), covers):
            ids = {x.number: place[str(x.what)] for x in leaves[cover] if x.what in place}
            for turns in self._turns(cover):
                known = {terms.turn(m).number: n for m, n in turns.items() if isinstance(n, int)}
                numbers = ids | known
                holds = [evaluated(condition, numbers) for condition in conditions[cover]]
                if 0 in holds:
                    continue
                at = [evaluated(index, numbers) for index in cover.indices]
                element = tuple(index for index in at if index is not None)
                if None in holds or len(element) < len(at):
                    writer = ItemTerms(self.encoding, 100 + len(found), {**here, **place})
                    found.append(self._never(writer, cover, turns))
                else:
                    filled.add(element)
        where = [reader.number(index) for index in self.question.items[0].indices]
        for element in sorted(filled):
            pairs = zip(where, element, strict=True)
            found.append(z3.Or(*[one != index for one, index in pairs]))
        return found

    def _own_conditions(self, cover: Cover) -> list[Expr]:
        """Those that do not hold already because the item is subject to them in the same turns."""
        held = self.question.items[0].conditions

        def is_shared(condition: Expr) -> bool:
            turns = (leaf.what for leaf in leaves_of((condition,)) if leaf.op == "turn")
            in_same = condition in held and all(turn in cover.same_turns for turn in turns)
            return in_same and level_of(self.question.terms, condition) != "item"

        return [condition for condition in cover.conditions if not is_shared(condition)]

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
            return self.z3.BoolVal(val=True)
        return self.z3.And(
            *[a == b for a, b in zip(one.ids("group_"), other.ids("group_"), strict=True)]
        )

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
        for number, leaf in list(one.leaves.items()):
            if leaf.op not in {"opaque", "turns", "fn"} or number not in other.leaves:
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
        sizes = [encoding.grid(f"max_{axis}") for axis in self.question.launch.axes]
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
        size = tuple(encoding.read(model, encoding.grid(f"max_{axis}")) for axis in axes)
        local = None
        if self.question.launch.has_groups:
            local = tuple(encoding.read(model, encoding.grid(f"local_max_{axis}")) for axis in axes)
        indices = [self.items[0].number(index) for index in self.question.items[0].indices]
        return Example(
            NDRange(size, local),
            tuple(item.id_in(model) for item in self.items),
            tuple(encoding.read(model, index) for index in indices),
            {key: encoding.read(model, term) for key, term in encoding.lengths.items()},
            {key: encoding.read(model, term) for key, term in encoding.scalars.items()},
        )
