"""How loops are followed for lints: one turn is tried first, then the body is for any turn."""

from trilby.analysis.linting.accesses import ANYWHERE, AROUND, Phase, Phases
from trilby.analysis.linting.frame import ORDERED, Frame, Known, LoopExits, Rule, joined_phases
from trilby.analysis.linting.loop_contents import (
    FollowedLoop,
    LoopContents,
    TriedTurn,
    lowest_level,
    stored_variables,
    tried_turn,
)
from trilby.analysis.linting.terms import LoopMark, Unknown
from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import BOOL
from trilby.model.op import Op
from trilby.model.ops.control import Break, Continue, For, While
from trilby.model.value import Value


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
