"""Loops in the symbolic execution of a kernel: their variables in any turn, and behind the loop.

A variable is a term in the number of the turn where it can be: one that grows by the same
amount, one whose numbers can be counted out beforehand, one that only shrinks. Others are
unknown, and the same for all work items of a group where everything that they are made of is.
"""

from collections.abc import Iterable, Mapping

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import BOOL, I64
from trilby.linting.accesses import ANYWHERE, AROUND, Phase, Phases
from trilby.linting.frame import (
    ORDERED,
    Frame,
    Known,
    LoopExits,
    Rule,
    joined,
    joined_phases,
    scalar_of,
)
from trilby.linting.terms import (
    Level,
    LoopMark,
    Terms,
    Unknown,
    evaluated,
    leaves_of,
    level_of,
    lowest_level,
)
from trilby.model.op import Op, blocks, walk
from trilby.model.ops.control import Break, Continue, For, While
from trilby.model.ops.core import VarStore, Yield
from trilby.model.value import Value

# ------------------------------------------------------------------------------------------- growth
# How a variable changes from turn to turn of a loop, read off one turn that was tried.
#
# `before` is the variable at the beginning of a turn, `after` the term that the turn leaves.

MOST_PICKED = 4


def amount_of_growth(terms: Terms, before: Expr, after: Expr) -> Expr | None:
    """`d` where a turn adds `d` to the variable, and `d` does not depend on it."""
    match after.op, after.args:
        case "add", (left, right) if left is before or right is before:
            return right if left is before else left
        case "add", (left, right):
            inner = amount_of_growth(terms, before, left)
            return terms.plus(inner, right) if inner is not None else None
        case "sub", (left, right) if left is before:
            if right.op == "constant" and isinstance(right.what, int):
                return terms.constant(-right.what, right.type)
            return terms.make("sub", (terms.constant(0, right.type), right), None, right.type)
        case _:
            return None


def bounds_of_growth(before: Expr, after: Expr) -> tuple[int, int] | None:
    """The least and the most that a turn adds; None where that is not known."""
    if after is before:
        return 0, 0
    match after.op, after.args:
        case "select", (_, then, otherwise):
            arms = bounds_of_growth(before, then), bounds_of_growth(before, otherwise)
            if arms[0] is None or arms[1] is None:
                return None
            return min(arms[0][0], arms[1][0]), max(arms[0][1], arms[1][1])
        case (("add" | "sub"), (left, right)):
            is_first = after.op == "add" and left.op == "constant" and right.op != "constant"
            part, constant = (right, left) if is_first else (left, right)
            inner = bounds_of_growth(before, part) if constant.op == "constant" else None
            by = constant.what if isinstance(constant.what, int) else 0
            by = by if after.op == "add" else -by
            return None if inner is None else (inner[0] + by, inner[1] + by)
        case _:
            return None


def picked_leaves(before: Expr, after: Expr) -> list[Expr] | None:
    """What a turn may set the variable to, where it keeps it otherwise: `if …: best = k`."""
    if after is before:
        return []
    if after.op != "select":
        return [after]
    found: list[Expr] = []
    for arm in after.args[1:]:
        inner = picked_leaves(before, arm)
        if inner is None:
            return None
        found += inner
    return found if len(found) <= MOST_PICKED else None


def _count(term: Expr) -> int:
    """A constant of 1 or more; 0 for any other term."""
    return max(term.what, 0) if term.op == "constant" and isinstance(term.what, int) else 0


def depends_on(term: Expr, leaves: frozenset[int]) -> bool:
    """Whether a term is made of one of some leaves."""
    return any(leaf.number in leaves for leaf in leaves_of((term,)))


# -------------------------------------------------------------------------------------------- loops

MOST_COUNTED = 256
"""Loops of more turns than this are not counted out."""


class LoopWalk:
    """A loop while it is followed: one turn is tried first, then the body is followed for any turn.

    Of the turn that was tried: the variables `before` and `after`, when it begins (`goes_on`), and
    how it ends (`exits`, `phases`); `since` is the number of its first term. `inside` has the
    variables in any turn, `behind` after the last. `turn` is the term of how many turns are behind,
    `turns` of how many it takes, and `counted` that number, if known.
    """

    since: int
    after: dict[Value, Known]
    goes_on: Expr
    exits: LoopExits
    phases: Mapping[str, Phases]
    levels: dict[Value, Level]

    def __init__(self, frame: Frame, op: For | While) -> None:
        self.frame, self.op, self.terms = frame, op, frame.terms
        frame.walk.loops += 1
        self.mark = LoopMark(frame.walk.loops, frame.loops)
        self.turn, self.turns = self.terms.turn(self.mark), self.terms.turns(self.mark)
        set_inside = (
            inner.var
            for block in blocks(op)
            for inner in walk(block)
            if isinstance(inner, VarStore) and inner.var in frame.variables
        )
        self.stored = tuple(dict.fromkeys(set_inside))
        self.start = {var: frame.variables.get(var) for var in self.stored}
        self.bounds: tuple[Expr, ...] = ()
        if isinstance(op, For):
            self.bounds = tuple(frame.term(value) for value in (op.start, op.stop, op.step))
        self.before: dict[Value, Expr] = {}
        self.inside: dict[Value, Known] = {}
        self.behind: dict[Value, Known] = {}
        self.counted: int | None = None
        self._try_turn()
        self._find_contents()

    def _begin_turn(self) -> Expr:
        """Set the variable that counts, run the test; gives when the body runs."""
        if isinstance(self.op, While):
            self.frame.block(self.op.test)
            last = self.op.test.ops[-1]
            return (
                self.frame.condition(last.yielded) if isinstance(last, Yield) else self.terms.true
            )
        start, stop, step = self.bounds
        index = self.terms.plus(start, self.terms.times(self.turn, step))
        self.frame.values[self.op.body.params[0]] = index
        terms, zero = self.terms, self.terms.number(0)
        rises, falls = terms.compare("lt", index, stop), terms.compare("lt", stop, index)
        return terms.either(
            terms.both(terms.compare("lt", zero, step), rises),
            terms.both(terms.compare("lt", step, zero), falls),
        )

    def _try_turn(self) -> None:
        """Follow one turn with variables of which nothing is known, and forget what it touched."""
        frame, terms = self.frame, self.terms
        walk_ = frame.walk
        marks = len(walk_.accesses), len(walk_.stops)
        phases, loops, self.since = dict(frame.phases), frame.loops, terms.count
        why = Unknown("loop", "a variable of a loop", "launch", self.mark.all)
        frame.loops = self.mark.all
        frame.phases = {scope: (Phase(terms.true, AROUND),) for scope in ORDERED}
        self.exits = exits = LoopExits(len(frame.here))
        frame.exits.append(exits)
        walk_.trying += 1
        with frame.changes():
            for var in self.stored:
                type_ = scalar_of(var)
                if type_:
                    self.before[var] = terms.unknown(type_, why)
                frame.set(var, self.before.get(var, self.start[var]))
            self.goes_on = self._begin_turn()
            exits.depth = len(frame.here)
            falls = frame.block(self.op.body)
            after = {var: frame.variables.get(var) for var in self.stored}
            for way in exits.continues:
                after = {
                    var: joined(terms, way.condition, way.variables.get(var), after[var])
                    for var in after
                }
            if falls is terms.false and not exits.continues:
                after = dict.fromkeys(after)
        self.after = after
        self.phases = frame.phases_where_ways_meet(exits.continues, falls)
        walk_.trying -= 1
        frame.exits.pop()
        frame.phases, frame.loops = phases, loops
        del walk_.accesses[marks[0] :]
        del walk_.stops[marks[1] :]

    # -- the variables

    def _find_contents(self) -> None:
        """The variables as terms, in any turn and behind the loop."""
        self.levels = self._levels()
        tables = self._counted_out()
        turns = self.turns
        for var in self.stored:
            start, after = self.start[var], self.after[var]
            if isinstance(start, tuple) and after is start:
                self.inside[var] = self.behind[var] = start
            elif var not in self.before:
                self.inside[var] = self.behind[var] = None
            elif var in tables:
                self._from_table(var, tables[var])
            else:
                self.inside[var] = self._at(var, self.turn)
                self.behind[var] = self._at(var, turns)

    def _at(self, var: Value, turn: Expr) -> Expr:
        """A variable after some turns."""
        terms, before = self.terms, self.before[var]
        start, after = self.start[var], self.after[var]
        if not isinstance(start, Expr):
            start = self._unknown(var, turn)
        if not isinstance(after, Expr):
            return self._unknown(var, turn)
        probes = frozenset(term.number for term in self.before.values())
        by = amount_of_growth(terms, before, after)
        if by is not None and self._is_fixed(by):
            return terms.plus(start, terms.times(turn, by))
        if after is before:
            return start
        if not depends_on(after, probes):
            ended = terms.plus(turn, terms.number(-1))
            last = terms.put_in(after, {self.turn.number: ended}, self.since)
            is_first = terms.compare("eq", turn, terms.number(0))
            return terms.select(is_first, start, last)
        return self._bounded(var, start, before, after, turn)

    def _bounded(self, var: Value, start: Expr, before: Expr, after: Expr, turn: Expr) -> Expr:
        """A number that is not known, and what can be said of it."""
        terms, found = self.terms, self._unknown(var, turn)
        zero = terms.number(0)
        is_first = terms.compare("eq", turn, zero)
        terms.fact(found, terms.implies(is_first, terms.compare("eq", found, start)))
        growth = bounds_of_growth(before, after)
        if growth is not None:
            low, high = (terms.times(turn, terms.number(by)) for by in growth)
            terms.fact(found, terms.compare("le", terms.plus(start, low), found))
            terms.fact(found, terms.compare("le", found, terms.plus(start, high)))
        was_positive = terms.compare("le", zero, start)
        match after.op, after.args:
            case "floordiv", (left, by) if left is before and _count(by):
                shrunk = terms.both(
                    terms.compare("le", zero, found), terms.compare("le", found, start)
                )
                terms.fact(found, terms.implies(was_positive, shrunk))
            case "mod", (_, by) if _count(by):
                below = terms.compare("lt", found, terms.number(_count(by)))
                within = terms.both(terms.compare("le", zero, found), below)
                terms.fact(found, terms.either(is_first, within))
            case "mul", (left, right) if _count(right if left is before else left):
                if before in (left, right):
                    terms.fact(
                        found, terms.implies(was_positive, terms.compare("le", start, found))
                    )
            case _:
                pass
        picked = picked_leaves(before, after)
        if picked is not None:
            terms.fact(found, self._picked(found, start, picked, turn))
        return found

    def _picked(self, found: Expr, start: Expr, picked: list[Expr], turn: Expr) -> Expr:
        """The variable is what it was at first, or was set to one of these in an earlier turn."""
        terms = self.terms
        either = terms.compare("eq", found, start)
        probes = frozenset(term.number for term in self.before.values())
        for leaf in picked:
            if depends_on(leaf, probes) or depends_on(self.goes_on, probes):
                return terms.true
            why = Unknown("loop", "the turn in which a variable was set", "item", ())
            earlier = terms.unknown(I64, why)
            at = {self.turn.number: earlier}
            then = terms.all_of(
                (
                    terms.compare("le", terms.number(0), earlier),
                    terms.compare("lt", earlier, turn),
                    terms.put_in(self.goes_on, at, self.since),
                    terms.compare("eq", found, terms.put_in(leaf, at, self.since)),
                )
            )
            either = terms.either(either, then)
        return either

    def _unknown(self, var: Value, turn: Expr) -> Expr:
        type_ = scalar_of(var) or I64
        level = self.levels.get(var, "item")
        reason = f"how `{var.hint or 'a variable'}` changes in a loop"
        loops = self.mark.all if turn is self.turn else self.mark.outer
        return self.terms.unknown(type_, Unknown("loop", reason, level, loops))

    def _is_fixed(self, term: Expr) -> bool:
        """Whether a term is the same in every turn."""
        changing = {self.turn.number, *(t.number for t in self.before.values())}
        is_old = not any(
            part.op == "opaque" and part.number >= self.since for part in leaves_of((term,))
        )
        return is_old and not depends_on(term, frozenset(changing))

    # -- who shares a variable

    def _levels(self) -> dict[Value, Level]:
        """How far each variable is the same: as far as all that it is made of."""
        unknowns = self.terms.unknowns
        levels: dict[Value, Level] = dict.fromkeys(self.before, "launch")
        changed = True
        while changed:
            changed = False
            for var, term in self.before.items():
                level = self._level((self.start[var], self.after[var], self.goes_on))
                if level != levels[var] and levels[var] != "item":
                    levels[var] = level
                    old = unknowns[term.number]
                    unknowns[term.number] = Unknown(old.kind, old.reason, level, old.loops)
                    changed = True
        return levels

    def _level(self, made_of: Iterable[Known]) -> Level:
        """How far something is the same that is made of all of these."""
        terms = self.terms
        return lowest_level(
            level_of(terms, part) if isinstance(part, Expr) else "item" for part in made_of
        )

    # -- counting out

    def _counted_out(self) -> dict[Value, list[int]]:
        """The numbers of variables that depend on nothing but each other and the turn."""
        after = {v: term for v, term in self.after.items() if isinstance(term, Expr)}
        if self.exits.breaks or self.exits.returns:
            return {}
        numbers = {
            v: [start.what]
            for v, start in self.start.items()
            if isinstance(start, Expr) and start.op == "constant" and isinstance(start.what, int)
            if v in self.before and v in after
        }
        for turn in range(MOST_COUNTED + 1):
            leaves = {self.before[v].number: row[-1] for v, row in numbers.items()}
            leaves[self.turn.number] = turn
            goes_on = evaluated(self.goes_on, leaves)
            if goes_on is None:
                return {}
            if not goes_on:
                self.counted = turn
                return numbers
            nexts = {v: evaluated(after[v], leaves) for v in numbers}
            numbers = {v: [*row, n] for v, row in numbers.items() if (n := nexts[v]) is not None}
        return {}

    def _from_table(self, var: Value, numbers: list[int]) -> None:
        terms, turn = self.terms, self.turn
        type_ = scalar_of(var) or I64
        self.behind[var] = terms.constant(numbers[-1], type_)
        after, before = self.after[var], self.before[var]
        by = amount_of_growth(terms, before, after) if isinstance(after, Expr) else None
        if by is not None and by.op == "constant":
            start = terms.constant(numbers[0], type_)
            self.inside[var] = terms.plus(start, terms.times(turn, by))
            return
        found = self._unknown(var, turn)
        either = terms.false
        for k, n in enumerate(numbers[:-1]):
            in_turn = terms.compare("eq", turn, terms.number(k))
            is_number = terms.compare("eq", found, terms.constant(n, type_))
            either = terms.either(either, terms.both(in_turn, is_number))
        terms.fact(found, either)
        self.inside[var] = found

    # -- any turn

    def run(self) -> Expr:
        """Follow the body for any turn; gives when control comes behind the loop."""
        frame, terms = self.frame, self.terms
        here, loops, before = frame.here, frame.loops, dict(frame.phases)
        turns = self.turns
        stops = (self.goes_on, *(way.condition for way in self.exits.breaks))
        terms.levels[turns.number] = self._level(stops)
        frame.loops = self.mark.all
        turn = self.turn
        frame.phases = {scope: self._phases_after(scope, before[scope], turn) for scope in ORDERED}
        exits = LoopExits(len(here))
        frame.exits.append(exits)
        with frame.changes():
            for var in self.stored:
                frame.set(var, self.inside[var])
            goes_on = self._begin_turn()
            frame.here = (*here, goes_on)
            exits.depth = len(frame.here)
            frame.block(self.op.body)
        frame.exits.pop()
        frame.here, frame.loops = here, loops
        frame.phases = self._phases_behind(before)
        self._count(goes_on, exits)
        for var in self.stored:
            frame.set(var, self._behind(exits, var))
        if not exits.returns:
            return terms.true
        why = Unknown("loop", "whether a loop returns", loops=self.mark.outer)
        return terms.unknown(BOOL, why)

    def _count(self, goes_on: Expr, exits: LoopExits) -> None:
        """What holds of the number of turns: the last went on, the next would not."""
        terms, turn, turns = self.terms, self.turn, self.turns
        if self.counted is not None:
            terms.fact(turns, terms.compare("eq", turns, terms.number(self.counted)))
            return
        last = terms.plus(turns, terms.number(-1))
        ran = terms.put_in(goes_on, {turn.number: last}, self.since)
        terms.fact(turns, terms.implies(terms.compare("lt", terms.number(0), turns), ran))
        if not exits.breaks and not exits.returns:
            ends = terms.put_in(goes_on, {turn.number: turns}, self.since)
            terms.fact(turns, terms.negated(ends))

    def _behind(self, exits: LoopExits, var: Value) -> Known:
        """A variable behind the loop: also as it was where the loop was broken off."""
        terms, found = self.terms, self.behind[var]
        if not exits.breaks:
            return found
        broken = [way.variables.get(var) for way in exits.breaks]
        known, others = broken[0], any(one is not broken[0] for one in broken)
        if others or not isinstance(known, Expr) or not isinstance(found, Expr):
            return self.frame.anything(var)
        there = terms.put_in(known, {self.turn.number: self.turns}, terms.count)
        if there is found:
            return found
        why = Unknown("loop", "whether a loop is broken off", loops=self.mark.outer)
        return terms.select(terms.unknown(BOOL, why), there, found)

    def _phases_behind(self, before: dict[str, Phases]) -> dict[str, Phases]:
        found = {scope: self._phases_after(scope, before[scope], self.turns) for scope in ORDERED}
        for scope in ORDERED if self.exits.breaks else ():
            if found[scope] is not before[scope]:
                found[scope] = (Phase(self.terms.true, ANYWHERE),)
        return found

    def _phases_after(self, scope: str, before: Phases, turns: Expr) -> Phases:
        """What was passed last after some turns: something in the last of them, or before all."""
        terms, out = self.terms, self.phases[scope]
        if all(phase.site == AROUND for phase in out):
            return before
        if any(phase.site == AROUND for phase in out):
            return (Phase(terms.true, ANYWHERE),)
        ended = {self.turn.number: terms.plus(turns, terms.number(-1))}
        moved = tuple(
            Phase(
                terms.put_in(phase.guard, ended, self.since),
                phase.site,
                tuple(terms.put_in(turn, ended, self.since) for turn in phase.turns),
            )
            for phase in out
        )
        is_first = terms.compare("eq", turns, terms.number(0))
        return joined_phases(terms, (is_first, before), (terms.negated(is_first), moved))


def _loop(frame: Frame, op: For | While) -> Expr:
    return LoopWalk(frame, op).run()


def _leave_turn(frame: Frame, op: Break | Continue) -> Expr:
    exits = frame.exits[-1]
    ways = exits.breaks if isinstance(op, Break) else exits.continues
    ways.append(frame.way(exits.depth))
    return frame.terms.false


LOOP_RULES: dict[type[Op], Rule] = {
    For: _loop,
    While: _loop,
    Break: _leave_turn,
    Continue: _leave_turn,
}
