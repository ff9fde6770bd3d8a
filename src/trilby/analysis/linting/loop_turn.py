"""One turn of a loop that is tried, to see how its variables change."""

from collections.abc import Mapping
from dataclasses import field

from trilby.analysis.linting.accesses import AROUND, Phase, Phases
from trilby.analysis.linting.frame import ORDERED, Frame, Known, LoopExits
from trilby.analysis.linting.terms import LoopMark, Terms, Unknown
from trilby.analysis.linting.walk_branches import phases_of_ways
from trilby.analysis.touching.expressions import Expr
from trilby.data.dtypes import ScalarType
from trilby.dataclass import dataclass
from trilby.model.op import blocks, walk
from trilby.model.ops.control import For, While
from trilby.model.ops.core import VarStore, Yield
from trilby.model.value import Value, VarType


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
