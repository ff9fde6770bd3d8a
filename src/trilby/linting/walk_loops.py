"""What the variables of a loop are in any turn, and behind it.

A variable is a term in the number of the turn where it can be: one that grows by the same
amount, one whose numbers can be counted out beforehand, one that only shrinks. Others are
unknown, and the same for all work items of a group where everything that they are made of is.
"""

from collections.abc import Mapping
from dataclasses import field

from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import BOOL, I64, ScalarType
from trilby.dataclass import dataclass
from trilby.linting.accesses import ANYWHERE, AROUND, Phase, Phases
from trilby.linting.frame import (
    ORDERED,
    Frame,
    Known,
    LoopExits,
    Rule,
    joined_phases,
    phases_of_ways,
)
from trilby.linting.terms import Level, LoopMark, Terms, Unknown, evaluated, leaves_of, level_of
from trilby.model.op import Op, blocks, walk
from trilby.model.ops.control import Break, Continue, For, While
from trilby.model.ops.core import VarStore, Yield
from trilby.model.value import Value, VarType

# ---------------------------------------------------------------------------------------- loop turn
# One turn of a loop that is tried, to see how its variables change.


@dataclass(slots=True)
class TriedTurn:
    """One turn that was tried: the variables before and after, and what ends the turn."""

    since: int
    before: dict[Value, Expr]
    after: dict[Value, Known]
    goes_on: Expr
    exits: LoopExits
    phases: Mapping[str, Phases]


@dataclass(slots=True)
class FollowedLoop:
    """A loop while it is followed: its mark, its variable and what is known of its turns."""

    frame: Frame
    op: For | While
    mark: LoopMark
    stored: tuple[Value, ...]
    start: dict[Value, Known] = field(default_factory=dict[Value, Known])
    bounds: tuple[Expr, Expr, Expr] | None = None

    @property
    def terms(self) -> Terms:
        """Makes terms."""
        return self.frame.terms

    @property
    def turn(self) -> Expr:
        """How many turns are behind."""
        return self.terms.turn(self.mark)

    def begin_turn(self) -> Expr:
        """Set the variable that counts, run the test; gives when the body runs."""
        if isinstance(self.op, While):
            self.frame.block(self.op.test)
            last = self.op.test.ops[-1]
            return (
                self.frame.condition(last.yielded) if isinstance(last, Yield) else self.terms.true
            )
        if self.bounds is None:
            return self.terms.true
        start, stop, step = self.bounds
        index = self.terms.plus(start, self.terms.times(self.turn, step))
        self.frame.values[self.op.body.params[0]] = index
        return _in_range(self.terms, index, stop, step)


def _in_range(terms: Terms, index: Expr, stop: Expr, step: Expr) -> Expr:
    rises, falls = terms.compare("lt", index, stop), terms.compare("lt", stop, index)
    zero = terms.number(0)
    return terms.either(
        terms.both(terms.compare("lt", zero, step), rises),
        terms.both(terms.compare("lt", step, zero), falls),
    )


def stored_variables(frame: Frame, op: For | While) -> tuple[Value, ...]:
    """The variables from outside that the loop sets."""
    found = (
        inner.var for block in blocks(op) for inner in walk(block) if isinstance(inner, VarStore)
    )
    return tuple(dict.fromkeys(var for var in found if var in frame.variables))


def scalar_of(var: Value) -> ScalarType | None:
    """The type of a variable that holds a number."""
    of = var.type.of if isinstance(var.type, VarType) else var.type
    return of if isinstance(of, ScalarType) else None


def tried_turn(loop: FollowedLoop) -> TriedTurn:
    """Follow one turn with variables of which nothing is known, and forget what it touched."""
    frame, terms = loop.frame, loop.terms
    walk_ = frame.walk
    marks = len(walk_.accesses), len(walk_.stops)
    phases, loops, since = dict(frame.phases), frame.loops, terms.count
    why = Unknown("loop", "a variable of a loop", "launch", loop.mark.all)
    before: dict[Value, Expr] = {}
    frame.loops = loop.mark.all
    frame.phases = {scope: (Phase(terms.true, AROUND),) for scope in ORDERED}
    exits = LoopExits(len(frame.here))
    frame.exits.append(exits)
    walk_.trying += 1
    with frame.changes():
        for var in loop.stored:
            type_ = scalar_of(var)
            if type_:
                before[var] = terms.unknown(type_, why)
            frame.set(var, before.get(var, loop.start[var]))
        goes_on = loop.begin_turn()
        exits.depth = len(frame.here)
        falls = frame.block(loop.op.body)
        after = {var: frame.variables.get(var) for var in loop.stored}
        for condition, variables in exits.continues:
            after = {
                var: _either(terms, condition, variables.get(var), after[var]) for var in after
            }
        if falls is terms.false and not exits.continues:
            after = dict.fromkeys(after)
    out = _phases_at_the_end(frame, exits, falls)
    walk_.trying -= 1
    frame.exits.pop()
    frame.phases, frame.loops = phases, loops
    del walk_.accesses[marks[0] :]
    del walk_.stops[marks[1] :]
    return TriedTurn(since, before, after, goes_on, exits, out)


def _phases_at_the_end(frame: Frame, exits: LoopExits, falls: Expr) -> dict[str, Phases]:
    """The barriers that may have been passed last when a turn ends, also by `continue`."""
    if not exits.continued:
        return frame.phases
    ways = [*exits.continued, *([(falls, frame.phases)] if falls is not frame.terms.false else [])]
    return {
        scope: phases_of_ways(frame.terms, [(when, phases[scope]) for when, phases in ways])
        for scope in ORDERED
    }


def _either(terms: Terms, condition: Expr, then: Known, otherwise: Known) -> Known:
    if isinstance(then, Expr) and isinstance(otherwise, Expr):
        return terms.select(condition, then, otherwise)
    return then if then is otherwise else None


# ------------------------------------------------------------------------------------------- growth
# How a variable changes from turn to turn of a loop, read off one turn that was tried.
#
# `before` is the variable at the beginning of a turn, `after` the term that the turn leaves.

MOST_PICKED = 4


def amount_of_growth(terms: Terms, before: Expr, after: Expr) -> Expr | None:
    """`d` where a turn adds `d` to the variable, and `d` does not depend on it."""
    match after.op, after.args:
        case "add", (left, right) if left is before:
            found = right
        case "add", (left, right) if right is before:
            found = left
        case "sub", (left, right) if left is before:
            found = terms.make("sub", (terms.constant(0, right.type), right), None, right.type)
            if right.op == "constant" and isinstance(right.what, int):
                found = terms.constant(-right.what, right.type)
        case "add", (left, right):
            inner = amount_of_growth(terms, before, left)
            found = terms.plus(inner, right) if inner is not None else None
        case _:
            return None
    return found


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
        case (("add" | "sub"), (left, right)) if right.op == "constant":
            inner = bounds_of_growth(before, left)
            number = right.what if isinstance(right.what, int) else 0
            by = number if after.op == "add" else -number
            return None if inner is None else (inner[0] + by, inner[1] + by)
        case "add", (left, right) if left.op == "constant":
            inner = bounds_of_growth(before, right)
            by = left.what if isinstance(left.what, int) else 0
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


def shrinks(before: Expr, after: Expr) -> bool:
    """True for `v // c` with a number c of 1 or more: between 0 and what it was."""
    match after.op, after.args:
        case "floordiv", (left, right) if left is before and right.op == "constant":
            return isinstance(right.what, int) and right.what >= 1
        case _:
            return False


def below(after: Expr) -> int | None:
    """`c` for `… % c`: a turn leaves a number from 0 to below it."""
    match after.op, after.args:
        case "mod", (_, right) if right.op == "constant" and isinstance(right.what, int):
            return right.what if right.what > 0 else None
        case _:
            return None


def multiplies(before: Expr, after: Expr) -> bool:
    """True for `v * c` with a number c of 1 or more: never less than it was, if positive."""
    match after.op, after.args:
        case "mul", (left, right):
            other = right if left is before else left if right is before else None
            what = other.what if other is not None and other.op == "constant" else None
            return isinstance(what, int) and what >= 1
        case _:
            return False


def depends_on(term: Expr, leaves: frozenset[int]) -> bool:
    """Whether a term is made of one of some leaves."""
    return any(leaf.number in leaves for leaf in leaves_of((term,)))


# ------------------------------------------------------------------------------------ loop contents

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
            part.op == "opaque" and part.number >= self.tried.since for part in leaves_of((term,))
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
        after = {v: term for v, term in tried.after.items() if isinstance(term, Expr)}
        if tried.exits.breaks or tried.exits.returns:
            return {}
        numbers = {
            v: [start.what]
            for v, start in loop.start.items()
            if isinstance(start, Expr) and start.op == "constant" and isinstance(start.what, int)
            if v in tried.before and v in after
        }
        for turn in range(MOST_COUNTED + 1):
            leaves = {tried.before[v].number: row[-1] for v, row in numbers.items()}
            leaves[loop.turn.number] = turn
            goes_on = evaluated(tried.goes_on, leaves)
            if goes_on is None:
                return {}
            if not goes_on:
                self.counted = turn
                return numbers
            nexts = {v: evaluated(after[v], leaves) for v in numbers}
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


def _loop(frame: Frame, op: For | While) -> Expr:
    walk_ = frame.walk
    walk_.loops += 1
    name = op.body.params[0].hint if isinstance(op, For) else ""
    mark = LoopMark(walk_.loops, name, frame.loops, op.location)
    loop = FollowedLoop(frame, op, mark, stored_variables(frame, op))
    loop.start = {var: frame.variables.get(var) for var in loop.stored}
    if isinstance(op, For):
        start, stop, step = (frame.term(value) for value in (op.start, op.stop, op.step))
        loop.bounds = (start, stop, step)
    tried = tried_turn(loop)
    contents = LoopContents(loop, tried)
    contents.find()
    return _run(loop, tried, contents)


def _run(loop: FollowedLoop, tried: TriedTurn, contents: LoopContents) -> Expr:
    frame, terms = loop.frame, loop.terms
    here, loops, before = frame.here, frame.loops, dict(frame.phases)
    turns = terms.turns(loop.mark)
    level = lowest_level(terms, [tried.goes_on, *(c for c, _ in tried.exits.breaks)])
    terms.levels[turns.number] = level
    frame.loops = loop.mark.all
    frame.phases = _phases_in(loop, tried, before)
    exits = LoopExits(len(here))
    frame.exits.append(exits)
    with frame.changes():
        for var in loop.stored:
            frame.set(var, contents.inside[var])
        goes_on = loop.begin_turn()
        frame.here = (*here, goes_on)
        exits.depth = len(frame.here)
        frame.block(loop.op.body)
    frame.exits.pop()
    frame.here, frame.loops = here, loops
    frame.phases = _phases_behind(loop, tried, before)
    _count(loop, tried, contents, goes_on, exits)
    for var in loop.stored:
        frame.set(var, _behind(loop, contents, exits, var))
    return _left(frame, loop, exits)


def _left(frame: Frame, loop: FollowedLoop, exits: LoopExits) -> Expr:
    """When control comes behind a loop that may return."""
    if not exits.returns:
        return frame.terms.true
    why = Unknown("loop", "whether a loop returns", loops=loop.mark.outer)
    return frame.terms.unknown(BOOL, why)


def _count(
    loop: FollowedLoop, tried: TriedTurn, contents: LoopContents, goes_on: Expr, exits: LoopExits
) -> None:
    """What holds of the number of turns: the last went on, the next would not."""
    terms, turn, turns = loop.terms, loop.turn, loop.terms.turns(loop.mark)
    since = tried.since
    if contents.counted is not None:
        terms.fact(turns, terms.compare("eq", turns, terms.number(contents.counted)))
        return
    last = terms.plus(turns, terms.number(-1))
    ran = terms.put_in(goes_on, {turn.number: last}, since)
    terms.fact(turns, terms.implies(terms.compare("lt", terms.number(0), turns), ran))
    if not exits.breaks and not exits.returns:
        ends = terms.put_in(goes_on, {turn.number: turns}, since)
        terms.fact(turns, terms.negated(ends))


def _behind(loop: FollowedLoop, contents: LoopContents, exits: LoopExits, var: Value) -> Known:
    """A variable behind the loop: also as it was where the loop was broken off."""
    terms, found = loop.terms, contents.behind[var]
    if not exits.breaks:
        return found
    broken = {id(variables.get(var)): variables.get(var) for _, variables in exits.breaks}
    (known, *others) = broken.values()
    if others or not isinstance(known, Expr) or not isinstance(found, Expr):
        return loop.frame.anything(var)
    turns = terms.turns(loop.mark)
    there = terms.put_in(known, {loop.turn.number: turns}, terms.count)
    if there is found:
        return found
    why = Unknown("loop", "whether a loop is broken off", loops=loop.mark.outer)
    return terms.select(terms.unknown(BOOL, why), there, found)


def _phases_in(
    loop: FollowedLoop, tried: TriedTurn, before: dict[str, Phases]
) -> dict[str, Phases]:
    """The barriers that may have been passed last when a turn begins."""
    turn = loop.turn
    return {scope: _phases_after(loop, tried, before[scope], scope, turn) for scope in ORDERED}


def _phases_behind(
    loop: FollowedLoop, tried: TriedTurn, before: dict[str, Phases]
) -> dict[str, Phases]:
    turns = loop.terms.turns(loop.mark)
    found = {scope: _phases_after(loop, tried, before[scope], scope, turns) for scope in ORDERED}
    if not tried.exits.breaks:
        return found
    anywhere = Phase(loop.terms.true, ANYWHERE)
    return {
        scope: phases if phases is before[scope] else (anywhere,) for scope, phases in found.items()
    }


def _phases_after(
    loop: FollowedLoop, tried: TriedTurn, before: Phases, scope: str, turns: Expr
) -> Phases:
    """What was passed last after some turns: something in the last of them, or before all."""
    terms, out = loop.terms, tried.phases[scope]
    if all(phase.site == AROUND for phase in out):
        return before
    if any(phase.site == AROUND for phase in out):
        return (Phase(terms.true, ANYWHERE),)
    ended = {loop.turn.number: terms.plus(turns, terms.number(-1))}
    moved = tuple(
        Phase(
            terms.put_in(phase.guard, ended, tried.since),
            phase.site,
            tuple(terms.put_in(turn, ended, tried.since) for turn in phase.turns),
        )
        for phase in out
    )
    is_first = terms.compare("eq", turns, terms.number(0))
    return joined_phases(terms, (is_first, before), (terms.negated(is_first), moved))


def _break(frame: Frame, _op: Break) -> Expr:
    exits = frame.exits[-1]
    condition = frame.terms.all_of(frame.here[exits.depth :])
    exits.breaks.append((condition, dict(frame.variables)))
    return frame.terms.false


def _continue(frame: Frame, _op: Continue) -> Expr:
    exits = frame.exits[-1]
    condition = frame.terms.all_of(frame.here[exits.depth :])
    exits.continues.append((condition, dict(frame.variables)))
    exits.continued.append((condition, dict(frame.phases)))
    return frame.terms.false


LOOP_RULES: dict[type[Op], Rule] = {
    For: _loop,
    While: _loop,
    Break: _break,
    Continue: _continue,
}
