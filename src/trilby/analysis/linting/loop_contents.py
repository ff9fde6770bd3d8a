"""What the variables of a loop are in any turn, and behind it.

A variable is a term in the number of the turn where it can be: one that grows by the same
amount, one whose numbers can be counted out beforehand, one that only shrinks. Others are
unknown, and the same for all work items of a group where everything that they are made of is.
"""

from dataclasses import field

from trilby.analysis.linting.evaluate import evaluated
from trilby.analysis.linting.frame import Known
from trilby.analysis.linting.growth import (
    amount_of_growth,
    below,
    bounds_of_growth,
    depends_on,
    multiplies,
    picked_leaves,
    shrinks,
)
from trilby.analysis.linting.loop_turn import FollowedLoop, TriedTurn, scalar_of
from trilby.analysis.linting.terms import Level, Terms, Unknown, level_of
from trilby.analysis.touching.expressions import Expr
from trilby.data.dtypes import I64
from trilby.dataclass import dataclass
from trilby.model.value import Value

MOST_COUNTED = 256
"""Loops of more turns than this are not counted out."""


@dataclass(slots=True)
class LoopContents:
    """The variables of a loop as terms: `inside` in any turn, `behind` after the last."""

    loop: FollowedLoop
    tried: TriedTurn
    inside: dict[Value, Known] = field(default_factory=dict[Value, Known])
    behind: dict[Value, Known] = field(default_factory=dict[Value, Known])
    levels: dict[Value, Level] = field(default_factory=dict[Value, Level])
    counted: int | None = None
    """How many turns there are, where that can be counted out."""

    def find(self) -> None:
        """Look at every variable."""
        self.levels = self._levels()
        tables = self._counted_out()
        turns = self.loop.terms.turns(self.loop.mark)
        for var in self.loop.stored:
            start, after = self.loop.start[var], self.tried.after[var]
            if isinstance(start, tuple) and after is start:
                self.inside[var] = self.behind[var] = start
            elif var not in self.tried.before:
                self.inside[var] = self.behind[var] = None
            elif var in tables:
                self._from_table(var, tables[var])
            else:
                self.inside[var] = self._at(var, self.loop.turn)
                self.behind[var] = self._at(var, turns)

    def _at(self, var: Value, turn: Expr) -> Expr:
        """A variable after some turns."""
        terms, before = self.loop.terms, self.tried.before[var]
        start, after = self.loop.start[var], self.tried.after[var]
        if not isinstance(start, Expr):
            start = self._unknown(var, turn)
        if not isinstance(after, Expr):
            return self._unknown(var, turn)
        probes = frozenset(term.number for term in self.tried.before.values())
        by = amount_of_growth(terms, before, after)
        if by is not None and self._is_fixed(by):
            return terms.plus(start, terms.times(turn, by))
        if after is before:
            return start
        if not depends_on(after, probes):
            ended = terms.plus(turn, terms.number(-1))
            last = terms.put_in(after, {self.loop.turn.number: ended}, self.tried.since)
            is_first = terms.compare("eq", turn, terms.number(0))
            return terms.select(is_first, start, last)
        return self._bounded(var, start, before, after, turn)

    def _bounded(self, var: Value, start: Expr, before: Expr, after: Expr, turn: Expr) -> Expr:
        """A number that is not known, and what can be said of it."""
        terms, found = self.loop.terms, self._unknown(var, turn)
        zero = terms.number(0)
        is_first = terms.compare("eq", turn, zero)
        terms.fact(found, terms.implies(is_first, terms.compare("eq", found, start)))
        growth = bounds_of_growth(before, after)
        if growth is not None:
            low, high = (terms.times(turn, terms.number(by)) for by in growth)
            terms.fact(found, terms.compare("le", terms.plus(start, low), found))
            terms.fact(found, terms.compare("le", found, terms.plus(start, high)))
        if shrinks(before, after):
            within = terms.both(terms.compare("le", zero, found), terms.compare("le", found, start))
            terms.fact(found, terms.implies(terms.compare("le", zero, start), within))
        most = below(after)
        if most is not None:
            within = terms.both(
                terms.compare("le", zero, found), terms.compare("lt", found, terms.number(most))
            )
            terms.fact(found, terms.either(is_first, within))
        picked = picked_leaves(before, after)
        if picked is not None:
            terms.fact(found, self._picked(found, start, picked, turn))
        if multiplies(before, after):
            grown = terms.compare("le", start, found)
            terms.fact(found, terms.implies(terms.compare("le", zero, start), grown))
        return found

    def _picked(self, found: Expr, start: Expr, picked: list[Expr], turn: Expr) -> Expr:
        """The variable is what it was at first, or was set to one of these in an earlier turn."""
        terms, tried = self.loop.terms, self.tried
        either = terms.compare("eq", found, start)
        probes = frozenset(term.number for term in tried.before.values())
        for leaf in picked:
            if depends_on(leaf, probes) or depends_on(tried.goes_on, probes):
                return terms.true
            why = Unknown("loop", "the turn in which a variable was set", "item", ())
            earlier = terms.unknown(I64, why)
            at = {self.loop.turn.number: earlier}
            then = terms.all_of(
                (
                    terms.compare("le", terms.number(0), earlier),
                    terms.compare("lt", earlier, turn),
                    terms.put_in(tried.goes_on, at, tried.since),
                    terms.compare("eq", found, terms.put_in(leaf, at, tried.since)),
                )
            )
            either = terms.either(either, then)
        return either

    def _unknown(self, var: Value, turn: Expr) -> Expr:
        type_ = scalar_of(var) or I64
        level = self.levels.get(var, "item")
        reason = f"how `{var.hint or 'a variable'}` changes in a loop"
        mark = self.loop.mark
        loops = mark.all if turn is self.loop.turn else mark.outer
        return self.loop.terms.unknown(type_, Unknown("loop", reason, level, loops))

    def _is_fixed(self, term: Expr) -> bool:
        """Whether a term is the same in every turn."""
        changing = {self.loop.turn.number, *(t.number for t in self.tried.before.values())}
        is_old = not any(
            part.op == "opaque" and part.number >= self.tried.since for part in _leaves(term)
        )
        return is_old and not depends_on(term, frozenset(changing))

    # -- who shares a variable

    def _levels(self) -> dict[Value, Level]:
        """How far each variable is the same: as far as all that it is made of."""
        terms, unknowns = self.loop.terms, self.loop.terms.unknowns
        levels: dict[Value, Level] = dict.fromkeys(self.tried.before, "launch")
        changed = True
        while changed:
            changed = False
            for var, term in self.tried.before.items():
                made_of = [self.loop.start[var], self.tried.after[var], self.tried.goes_on]
                level = lowest_level(terms, made_of)
                if level != levels[var] and levels[var] != "item":
                    levels[var] = level
                    old = unknowns[term.number]
                    unknowns[term.number] = Unknown(old.kind, old.reason, level, old.loops)
                    changed = True
        return levels

    # -- counting out

    def _counted_out(self) -> dict[Value, list[int]]:
        """The numbers of variables that depend on nothing but each other and the turn."""
        loop, tried = self.loop, self.tried
        starts = {v: s.what for v, s in loop.start.items() if isinstance(s, Expr) and _is_int(s)}
        closed = {v for v in starts if v in tried.before and isinstance(tried.after[v], Expr)}
        if tried.exits.breaks or tried.exits.returns:
            return {}
        numbers = {v: [n] for v, n in starts.items() if v in closed and isinstance(n, int)}
        for turn in range(MOST_COUNTED + 1):
            leaves = {tried.before[v].number: row[-1] for v, row in numbers.items()}
            leaves[loop.turn.number] = turn
            goes_on = evaluated(tried.goes_on, leaves)
            if goes_on is None:
                return {}
            if not goes_on:
                self.counted = turn
                return numbers
            nexts = {v: evaluated(_expr(tried.after[v]), leaves) for v in numbers}
            numbers = {v: [*row, n] for v, row in numbers.items() if (n := nexts[v]) is not None}
        return {}

    def _from_table(self, var: Value, numbers: list[int]) -> None:
        terms, turn = self.loop.terms, self.loop.turn
        type_ = scalar_of(var) or I64
        self.behind[var] = terms.constant(numbers[-1], type_)
        after, before = self.tried.after[var], self.tried.before[var]
        by = amount_of_growth(terms, before, after) if isinstance(after, Expr) else None
        if by is not None and by.op == "constant":
            start = terms.constant(numbers[0], type_)
            self.inside[var] = terms.plus(start, terms.times(turn, by))
            return
        found = self._unknown(var, turn)
        rows = [
            terms.both(
                terms.compare("eq", turn, terms.number(k)),
                terms.compare("eq", found, terms.constant(n, type_)),
            )
            for k, n in enumerate(numbers[:-1])
        ]
        either = terms.false
        for row in rows:
            either = terms.either(either, row)
        terms.fact(found, either)
        self.inside[var] = found


def _expr(known: Known) -> Expr:
    if not isinstance(known, Expr):
        raise TypeError(known)
    return known


def _is_int(term: Expr) -> bool:
    return term.op == "constant"


def _leaves(term: Expr) -> list[Expr]:
    waiting, found, seen = [term], list[Expr](), set[int]()
    while waiting:
        part = waiting.pop()
        if part.number not in seen:
            seen.add(part.number)
            waiting.extend(part.args)
            found.append(part)
    return found


def lowest_level(terms: Terms, made_of: list[Known]) -> Level:
    """How far something is the same that is made of all of these."""
    lowest: Level = "launch"
    for term in made_of:
        level = level_of(terms, term) if isinstance(term, Expr) else "item"
        if level == "item":
            return "item"
        if level == "group":
            lowest = "group"
    return lowest
