"""How early a copy may start that is certain to be needed: in which place of its block.

A copy to the device starts behind the last op that may write to the buffer, a copy to the host
behind the last launch that may; both at the begin of their block if there is none. In between the
other side works, or the host does. A copy stays behind whatever may keep its use from coming, and
behind code that is not known, which may change any buffer. Two parameters may be one buffer: where
another one is written in between, the copy starts only if they are apart when the function runs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import cast

from trilby.analysis.alias import (
    NOTHING,
    Literally,
    PlainExpression,
    Points,
    Reference,
    Reload,
    Thing,
)
from trilby.analysis.host.host_ops import HostOps
from trilby.analysis.measuring.affine import Number, ends
from trilby.analysis.measuring.evaluate import Evaluation
from trilby.analysis.plan_state import Events
from trilby.analysis.touching.kernel_expressions import (
    ConditionScope,
    Does,
    Expr,
    KernelTouch,
    RangeLoop,
)
from trilby.analysis.transfer_plan import Side
from trilby.data.dtypes import BOOL, I32, Type
from trilby.data.schema import INDEX, ArrayType, type_at
from trilby.dataclass import dataclass
from trilby.model.op import Block, Op, blocks, operands, walk
from trilby.model.ops.control import Break, Continue
from trilby.model.ops.core import Return, Var, VarStore
from trilby.model.ops.host import HostFor, HostRun, HostWith
from trilby.model.value import COMPUTE_CONTEXT, Value

# --------------------------------------------------------------------------------------- sure reads
# Which buffers a kernel reads in every launch, whatever the numbers of the launch are.
#
# Asked for one work item, the first, which every launch has, and for the first turns of its
# loops. A read counts if its conditions hold there for any range, any scalar arguments and any
# lengths. A condition on data counts as true: what it decides is known to nobody before the
# launch, which then needs the buffer anyway.


def sure_reads(params: Sequence[Value], touches: Iterable[KernelTouch]) -> frozenset[int]:
    """The numbers of the parameters that every launch reads."""
    reads = (touch for touch in touches if Does.READS in touch.does)
    return frozenset(t.parameter for t in reads if _is_sure(t, params[t.parameter].type))


def _is_sure(touch: KernelTouch, type_: Type) -> bool:
    """Whether the first work item makes a read; of an array without elements there is none."""
    array = type_at(type_, touch.path.partition(INDEX)[0])
    named = array.dims if isinstance(array, ArrayType) else range(len(touch.indices))
    first = _FirstItem(frozenset((touch.parameter, name) for name in named))
    return all(first.reaches(scope) for scope in _scopes(touch.scope))


def _scopes(scope: ConditionScope | None) -> Iterator[ConditionScope]:
    while scope is not None:
        yield scope
        scope = scope.parent


class _FirstItem:
    """The first work item of any launch in which some lengths are not 0.

    `lengths` are pairs of a parameter and the name of a length, or an axis.
    """

    def __init__(self, lengths: frozenset[tuple[int, object]]) -> None:
        self._lengths = lengths
        self._at = Evaluation((1, 1, 1), (1, 1, 1), (), {})
        self._done: set[int] = set()

    def reaches(self, scope: ConditionScope) -> bool:
        """Whether it comes to what is inside of a scope, once it is in front of it."""
        if scope.loop:
            return self._enters(scope.loop)
        if scope.guard is None:
            return True
        self._evaluate(scope.guard)
        found = self._at.conditions[scope.guard.number]
        return found if isinstance(found, bool) else not _asks_numbers(scope.guard)

    def _enters(self, loop: RangeLoop) -> bool:
        bounds = loop.start, loop.stop, loop.step
        start, stop, step = map(self._number, bounds)
        if isinstance(step, int) and step:
            first, behind = (start, stop) if step > 0 else (stop, start)
            if ends(first)[1] < ends(behind)[0]:
                return True
            if ends(first)[0] >= ends(behind)[1]:
                return False
        return not any(map(_asks_numbers, bounds))

    def _number(self, expr: Expr) -> Number:
        self._evaluate(expr)
        return self._at.values[expr.number]

    def _evaluate(self, expr: Expr) -> None:
        if expr.number in self._done:
            return
        self._done.add(expr.number)
        for arg in expr.args:
            self._evaluate(arg)
        if expr.op == "scalar" and expr.type is BOOL:
            self._at.conditions[expr.number] = None
        elif (known := self._known(expr)) is not None:
            self._at.values[expr.number] = known
        else:
            self._at.run([expr])

    def _known(self, expr: Expr) -> Number | None:
        """A number that is another one here than anywhere in a launch, or None."""
        at, highest = self._at, I32.highest
        match expr.op:
            case "constant" if expr.type is not BOOL:
                return cast("int", expr.what)
            case "scalar":
                return at.unknown(expr.type.lowest, expr.type.highest)
            case "length" | "extent":
                return at.unknown(int(expr.what in self._lengths), highest)
            case "grid" | "turns" if expr.op == "turns" or _is_size(expr):
                return at.unknown(1, highest)
            case "index":
                return at.values[expr.args[0].number]
            case "turn":
                return 0
            case _:
                return None


def _is_size(expr: Expr) -> bool:
    return expr.op == "grid" and "max_" in str(expr.what)


def _asks_numbers(expr: Expr) -> bool:
    """Whether something depends on what a launch is given: its range, its arguments."""
    is_given = expr.op in {"scalar", "length", "extent"} or expr.what == "pass_id"
    return is_given or _is_size(expr) or any(map(_asks_numbers, expr.args))


# --------------------------------------------------------------------------------------- plan early

MOST_APART = 3
"""A copy does not start earlier if its buffer must be apart from more than these."""

_OF_OTHERS = {"host may write": "host writes", "device may write": "device writes"}
"""What is done to the one by whose name another is written, perhaps."""

_WRITES = frozenset({*_OF_OTHERS, *_OF_OTHERS.values(), "host overwrites"})
_STOPS: dict[Side, frozenset[str]] = {"device": _WRITES | {"device reads"}, "host": _WRITES}
"""What is done to a buffer before a copy of it to a side may start."""


@dataclass(frozen=True, slots=True)
class Start:
    """Before which op a copy starts, and from what its buffer must be apart for that."""

    op: Op
    apart: Points


@dataclass(slots=True)
class Early:
    """Answers for one function; `barriers` are ops that no copy may start before."""

    ops: HostOps
    events: Events
    barriers: set[Op]
    _places: dict[Op, tuple[Block, int]] = field(default_factory=dict[Op, tuple[Block, int]])
    _fixed: dict[Thing, str] = field(default_factory=dict[Thing, str])
    """The names of the parameters that stand for what was given, wherever they do."""
    _statements: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    """Where statements begin, by the identity of the block: worked out once for each."""

    def __post_init__(self) -> None:
        self._find(self.ops.func.body)
        changing = {name for op in self._places for name in self._changes(op)}
        lasting = self.ops.names.keys() - changing
        for op in self._places:
            if isinstance(op, Var) and self._is_parameter(op) and op.name in lasting:
                self._fixed[self.ops.things.known[op.init[0]]] = op.name

    def _find(self, block: Block) -> None:
        for number, op in enumerate(block.ops):
            self._places[op] = (block, number)
            for inner in blocks(op):
                self._find(inner)

    def _is_parameter(self, op: Op) -> bool:
        return isinstance(op, Var) and not set(self.ops.func.params).isdisjoint(op.init)

    def _changes(self, op: Op) -> Iterator[str]:
        """The names that an op binds, or deletes; to declare a parameter is neither."""
        if not self._is_parameter(op):
            yield from self._binds(op)
        if isinstance(op, HostRun):
            yield from op.code.names.deleted

    def _binds(self, op: Op) -> Iterator[str]:
        match op:
            case VarStore(var) if var in self.ops.called:
                yield self.ops.called[var]
            case Var(name=name):
                yield name
            case HostRun() | HostFor() | HostWith():
                yield from op.sets
            case _:
                pass

    # --------------------------------------------------------------------------------- places

    def starts(
        self, use: Start, side: Side, thing: Thing, uses: Iterable[Reference]
    ) -> tuple[Start, Start]:
        """Where a copy may start that is needed somewhere; `uses` are all that it names.

        First where it may start anyway, then where it may if its buffer is apart from others.
        """
        names = self._names(uses)
        if names is None:
            return use, use
        block, number = self._places[use.op]
        places = self._statements_of(block)
        surely, found, apart = use, use, use.apart
        for at in range(number - 1, -1, -1):
            met = self._met(block.ops[at], side, thing, names)
            if met is None or len(apart | met) > MOST_APART:
                break
            apart |= met
            if at in places:
                found = Start(block.ops[at], apart)
                surely = surely if apart - use.apart else found
        return surely, found

    def _statements_of(self, block: Block) -> frozenset[int]:
        found = self._statements.get(id(block))
        if found is None:
            found = self._statements[id(block)] = _statements(block)
        return found

    def _names(self, references: Iterable[Reference]) -> frozenset[str] | None:
        """The names of variables in some references; None for one that is not always the same."""
        found: set[str] = set()
        for reference in references:
            match reference:
                case Literally():
                    pass
                case Reload(var) if var in self.ops.called:
                    found.add(self.ops.called[var])
                case PlainExpression(code, uses) if (
                    "[" not in code and self.ops.names.keys() >= set(uses)
                ):
                    found.update(uses)
                case Value() if reference in self.ops.func.params:
                    pass
                case _:
                    return None
        return frozenset(found)

    def _met(self, op: Op, side: Side, thing: Thing, names: frozenset[str]) -> Points | None:
        """From what a buffer must be apart for a copy to start before an op; None: it cannot."""
        if self._is_parameter(op):
            return None
        found = NOTHING
        for one in (op, *(inner for block in blocks(op) for inner in walk(block))):
            is_barrier = one in self.barriers or isinstance(one, Return | Break | Continue)
            met = None if is_barrier else self._written(one, side, thing)
            if met is None or not names.isdisjoint(self._changes(one)):
                return None
            found |= met
        return found

    def _written(self, op: Op, side: Side, thing: Thing) -> Points | None:
        """What an op writes that may be a buffer under another name; None where it is the same."""
        done = self.events.get(op, {})
        if any(other.kind == "found" and what in _WRITES for what, other in done):
            return None  # it may be any buffer
        found = NOTHING
        for stop in [what for what, touched in done if touched is thing and what in _STOPS[side]]:
            others = frozenset(self.ops.things.others(thing))
            causes = others & {other for what, other in done if what == _OF_OTHERS.get(stop)}
            if not causes or not causes <= self._fixed.keys():
                return None
            found |= causes
        return found

    # ---------------------------------------------------------------------------------- names

    def always_named(self, thing: Thing) -> Reload | None:
        """The variable that always holds a buffer, if there is one."""
        name = self._fixed.get(thing)
        return Reload(self.ops.names[name]) if name else None

    def are_apart(self, thing: Thing, where: Reference, others: Points) -> PlainExpression | None:
        """How to ask whether a buffer is none of some others; None if nobody has to, or can."""
        contexts = [p for p in self.ops.func.params if p.type == COMPUTE_CONTEXT]
        context = self._fixed.get(self.ops.things.known[contexts[0]])
        name = self._fixed.get(thing)
        if isinstance(where, Reload):
            name = self.ops.called.get(where.var)
        if not others or not context or not name or not others <= self._fixed.keys():
            return None
        asked = [self._fixed[other] for other in sorted(others, key=lambda one: one.number)]
        code = f"{context}.apart({', '.join((name, *asked))})"
        return PlainExpression(code, tuple(dict.fromkeys((context, name, *asked))))


def _statements(block: Block) -> frozenset[int]:
    """The places of a block where a statement begins: only variables come from before.

    To declare a variable is none.
    """
    made: dict[Value, int] = {}
    inside: set[int] = set()
    for number, op in enumerate(block.ops):
        inner = (one for nested in blocks(op) for one in walk(nested))
        for used in (value for one in (op, *inner) for value in operands(one)):
            if used in made:
                inside.update(range(made[used] + 1, number + 1))
        if op.result and not isinstance(op, Var):
            made[op.result] = number
    inside |= {at for at, op in enumerate(block.ops) if isinstance(op, Var) and not op.init}
    return frozenset(range(len(block.ops))) - inside
