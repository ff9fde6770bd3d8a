"""Symbolic execution of a kernel: from its IR to its memory accesses and barriers.

Numbers are terms; the rules here follow variables, arithmetic, memory, barriers and calls.
"""

from collections.abc import Mapping

from trilby.analysis.access import AccessMode, access_table, is_length
from trilby.analysis.reach import KernelGraph
from trilby.analysis.touching.integers import computed, counted_type
from trilby.analysis.touching.kernel_expressions import Expr
from trilby.data.dtypes import BOOL, I64, ScalarType
from trilby.data.schema import BufferType, NDArrayType, StructType, join_path, leaves
from trilby.linting.accesses import (
    BEGINNING,
    AccessedMemory,
    AccessedPlace,
    Does,
    Lost,
    MemoryAccess,
    Phase,
    Stop,
)
from trilby.linting.frame import (
    BRANCH_RULES,
    ORDERED,
    Frame,
    KernelWalk,
    Known,
    Rule,
)
from trilby.linting.terms import Terms, Ticket, Unknown, folded
from trilby.linting.walk_loops import LOOP_RULES
from trilby.model.op import Op, Operands, operands
from trilby.model.ops.arith import ARITH_OPS, BitAnd, BitOr, BitXor, Math
from trilby.model.ops.core import Call, Constant, Return, Var, VarLoad, VarStore
from trilby.model.ops.grid import Barrier, Grid
from trilby.model.ops.memory import (
    AtomicUpdate,
    CompareExchange,
    Extent,
    Load,
    LocalArray,
    PrivateArray,
    Store,
)
from trilby.model.ops.memory import (
    Place as PlaceOp,
)
from trilby.model.ops.structs import Pack, Unpack
from trilby.model.value import RefType, Value

# --------------------------------------------------------------------------------------------- bits
# Bits of a number that are set, kept or turned, as arithmetic that a solver understands.

MOST_BITS = 4
"""More bits than this make terms that no solver is quick with."""


def bitwise(terms: Terms, op: Op, args: tuple[Expr, ...], type_: ScalarType) -> Expr | None:
    """`|`, `&` and `^` with a number of few bits; None where nothing can be said."""
    if type_ is BOOL or not isinstance(op, BitOr | BitAnd | BitXor):
        return None
    left, right = args if args[1].op == "constant" else reversed(args)
    bits = right.what if right.op == "constant" else None
    if not isinstance(bits, int) or bits < 0 or bits.bit_count() > MOST_BITS:
        return None
    one, two = terms.constant(1, type_), terms.constant(2, type_)
    found = terms.constant(0, type_) if isinstance(op, BitAnd) else left
    for place in range(bits.bit_length()):
        if not bits >> place & 1:
            continue
        size = terms.constant(1 << place, type_)
        shifted = terms.make("floordiv", (left, size), None, type_) if place else left
        added = bit = terms.make("mod", (shifted, two), None, type_)
        if not isinstance(op, BitAnd):
            lost = bit if isinstance(op, BitOr) else terms.times(bit, two)
            added = terms.make("sub", (one, lost), None, type_)
        found = terms.plus(found, terms.times(added, size))
    return found


# -------------------------------------------------------------------------------------- walk memory

# -- numbers


def _constant(frame: Frame, op: Constant) -> None:
    type_ = counted_type(op.value)
    terms = frame.terms
    if type_:
        frame.values[op.value] = terms.constant(int(op.literal), type_)
    elif isinstance(op.value.type, ScalarType):
        frame.values[op.value] = terms.make("literal", (), op.literal, op.value.type)


def _grid(frame: Frame, op: Grid) -> None:
    type_ = counted_type(op.value) or I64
    frame.walk.fields.add(op.field)
    given = frame.walk.known.get(op.field)
    terms = frame.terms
    frame.values[op.value] = (
        terms.make("grid", (), op.field, type_) if given is None else terms.constant(given, type_)
    )


def _arithmetic(frame: Frame, op: Op) -> None:
    """An integer that is understood, or a function of its operands that nobody looks into."""
    type_, terms = op.value.type, frame.terms
    if not isinstance(type_, ScalarType):
        return
    args = tuple(frame.term(operand) for operand in operands(op))
    found = None
    if all(not arg.type.is_float for arg in args) and counted_type(op.value):
        before = terms.count
        found = computed(terms, op, dict(zip(operands(op), args, strict=True)).get)
        if found is None or _is_new_unknown(found, before):
            found = bitwise(terms, op, args, type_)
        if found is not None and _is_new_unknown(found, before):
            found = None
    name = f"math.{op.function}" if isinstance(op, Math) else op.mnemonic
    frame.values[op.value] = (
        _folded(frame, found) if found is not None else terms.make("fn", args, name, type_)
    )


def _is_new_unknown(found: Expr, before: int) -> bool:
    return found.number >= before and any(
        part.op == "opaque" and part.number >= before for part in (found, *found.args)
    )


def _folded(frame: Frame, term: Expr) -> Expr:
    """Constants are computed at once, so that sizes that are given are numbers everywhere."""
    if not term.args or any(arg.op != "constant" for arg in term.args):
        return term
    numbers = [arg.what for arg in term.args if isinstance(arg.what, int)]
    value = folded(term.op, numbers, term.type)
    return term if value is None else frame.terms.constant(value, term.type)


# -- variables


def _var(frame: Frame, op: Var) -> None:
    frame.set(op.value, frame.values.get(op.init[0]) if op.init else None)


def _var_load(frame: Frame, op: VarLoad) -> None:
    known = frame.variables.get(op.var)
    frame.values[op.value] = frame.anything(op.var) if known is None else known


def _var_store(frame: Frame, op: VarStore) -> None:
    frame.set(op.var, frame.values.get(op.stored))


# -- memory


def _places(frame: Frame, base: Value, indices: Operands, path: str) -> list[AccessedPlace]:
    numbers = tuple(frame.term(index) for index in indices)
    return [
        AccessedPlace(p.memory, join_path(p.path, path), (*p.indices, *numbers), p.condition)
        for p in frame.places(base)
    ]


def _touch(
    frame: Frame, op: Load | Store | AtomicUpdate | CompareExchange, does: Does
) -> list[AccessedPlace]:
    """Take an access down, at each place that it may be; lengths are no data."""
    found = _places(frame, op.base, op.indices, op.path)
    given = op.stored if isinstance(op, Store) else getattr(op, "operand", None)
    stored = frame.values.get(given) if isinstance(given, Value) else None
    if not found and not frame.walk.trying:
        frame.walk.lost.append(Lost(does, op.location, "it may be to one of many arrays"))
    for place in found:
        if place.memory.kind == "global" and is_length(place.memory.type, place.path):
            continue
        scope = "local" if place.memory.kind == "local" else "global"
        guards = (*frame.here, *((place.condition,) * (place.condition is not frame.terms.true)))
        frame.walk.accesses.append(
            MemoryAccess(
                len(frame.walk.accesses),
                place.memory,
                place.path,
                place.indices,
                does,
                guards,
                frame.loops,
                frame.phases[scope],
                op.location,
                stored if isinstance(stored, Expr) else None,
                op.change if isinstance(op, AtomicUpdate) else "",
            )
        )
    return found


def _load(frame: Frame, op: Load) -> None:
    found = _touch(frame, op, "read")
    if not isinstance(op.value.type, ScalarType):
        return
    length = measure(frame, op.base, "length", op.path, op.value)
    frame.values[op.value] = length or _content(frame, found, op.value.type)


def _content(frame: Frame, places: list[AccessedPlace], type_: ScalarType) -> Expr:
    """What memory holds: a function of the place where nobody writes, else nobody knows."""
    if len(places) == 1:
        (place,) = places
        if place.memory.kind == "global" and place.memory.number not in frame.walk.written:
            what = (place.memory.number, place.path)
            return frame.terms.make("data", place.indices, what, type_)
    names = ", ".join(sorted({f"`{place.memory.name}`" for place in places}))
    private = bool(places) and all(place.memory.kind == "private" for place in places)
    kind = "unmodelled" if private else "data"
    why = Unknown(kind, f"the content of {names or 'memory'}", loops=frame.loops)
    return frame.terms.unknown(type_, why)


def _extent(frame: Frame, op: Extent) -> None:
    found = measure(frame, op.base, "extent", op.axis, op.value)
    frame.values[op.value] = found or frame.unknown(I64, "the extent of an array")


def measure(frame: Frame, base: Value, op: str, which: object, value: Value) -> Expr | None:
    """A length or extent of what a value stands for; None where it is something else."""
    type_ = counted_type(value) or I64
    chosen: Expr | None = None
    for place in frame.places(base):
        memory = place.memory
        if memory.kind != "global":
            return None
        if op == "length" and not is_length(memory.type, join_path(place.path, str(which))):
            return None
        size = frame.terms.make(op, (), (memory.number, which), type_)
        chosen = size if chosen is None else frame.terms.select(place.condition, size, chosen)
    return chosen


def _store(frame: Frame, op: Store) -> None:
    _touch(frame, op, "write")


def _atomic(frame: Frame, op: AtomicUpdate | CompareExchange) -> None:
    found = _touch(frame, op, "atomic")
    if op.result is None or not isinstance(op.result.type, ScalarType):
        return
    ticket = _ticket(frame, op, found)
    reason = "what an atomic operation gave"
    why = Unknown("ticket" if ticket else "data", reason, loops=frame.loops, ticket=ticket)
    made = frame.terms.unknown(op.result.type, why)
    frame.values[op.result] = made
    if ticket:  # a counter that only grows begins at 0 or above
        frame.terms.fact(made, frame.terms.compare("le", frame.terms.number(0), made))


def _ticket(
    frame: Frame, op: AtomicUpdate | CompareExchange, places: list[AccessedPlace]
) -> Ticket | None:
    """What names the counter of which this is a number, where no two numbers are equal."""
    if not isinstance(op, AtomicUpdate) or op.change != "add" or len(places) != 1:
        return None
    amount = frame.values.get(op.operand)
    if not isinstance(amount, Expr) or amount.op != "constant" or amount.what != 1:
        return None
    (place,) = places
    if place.memory.kind != "global":
        return None  # each group has a counter of its own
    if any(index.op != "constant" for index in place.indices):
        return None
    where = tuple(index.what for index in place.indices)
    return (place.memory.kind, place.memory.number, place.path, where)


def _place(frame: Frame, op: PlaceOp) -> None:
    frame.values[op.value] = tuple(_places(frame, op.base, op.indices, op.path))


def _array(frame: Frame, op: LocalArray | PrivateArray) -> None:
    kind = "local" if isinstance(op, LocalArray) else "private"
    made = op.value.type
    type_ = made.to if isinstance(made, RefType) else made
    walk = frame.walk
    known = next((m for m in walk.memories if m.kind == kind and m.number == id(op)), None)
    memory = known or AccessedMemory(kind, id(op), op.value.hint or f"the {kind} array", type_)
    if known is None:
        walk.memories.append(memory)
    frame.values[op.value] = (AccessedPlace(memory, "", (), frame.terms.true),)


# -- structs


def _pack(frame: Frame, op: Pack) -> None:
    struct = op.value.type
    if isinstance(struct, StructType):
        names = [leaf.name for leaf in leaves(struct)]
        parts = [frame.term(part) for part in op.parts]
        frame.values[op.value] = dict(zip(names, parts, strict=True))


def _unpack(frame: Frame, op: Unpack) -> None:
    whole = frame.values.get(op.whole)
    leaf = whole.get(op.leaf) if isinstance(whole, dict) else None
    type_ = op.value.type if isinstance(op.value.type, ScalarType) else I64
    frame.values[op.value] = leaf or frame.unknown(type_, "a member of a struct")


# -- barriers and calls


def _barrier(frame: Frame, op: Barrier) -> None:
    walk = frame.walk
    walk.stops.append(Stop(op.scope, frame.here, frame.loops, op.location, frame.may_have_returned))
    site = walk.sites.setdefault((*frame.calls, id(op)), len(walk.sites) + 1)
    turns = tuple(frame.terms.turn(loop) for loop in frame.loops)
    for scope in ORDERED if op.scope == "both" else (op.scope,):
        frame.phases[scope] = (Phase(frame.terms.true, site, turns),)


def _call(frame: Frame, op: Call) -> Expr:
    walk = frame.walk
    callee = walk.functions[op.callee]
    arguments = [frame.values.get(argument) for argument in op.args]
    calls = (op.location, *frame.calls)
    inner = Frame(walk, callee, arguments, frame.here, frame.loops, frame.phases, calls)
    if callee.raw or walk.budget < 0:
        why = "raw code is not looked into" if callee.raw else "the kernel is too large"
        walk.lose(op.location, why)
        falls = frame.terms.true
    else:
        falls = inner.block(callee.body)
    frame.phases = inner.phases_where_ways_meet(inner.returns, falls)
    if op.result is not None:
        frame.values[op.result] = _result(frame, inner, op.result)
    return frame.terms.true if inner.returns else falls


def _result(frame: Frame, inner: Frame, result: Value) -> Known:
    """What a helper returns: a choice by the conditions of its returns."""
    chosen = inner.returns[-1].returned if inner.returns else None
    if inner.returns and all(way.returned is chosen for way in inner.returns):
        return chosen
    for way in reversed(inner.returns[:-1]):
        if not isinstance(way.returned, Expr) or not isinstance(chosen, Expr):
            chosen = None
            break
        chosen = frame.terms.select(way.condition, way.returned, chosen)
    if isinstance(chosen, Expr) or not isinstance(result.type, ScalarType):
        return chosen
    return frame.unknown(result.type, "what a helper returns")


def _return(frame: Frame, op: Return) -> Expr:
    known = frame.values.get(op.returned[0]) if op.returned else None
    for exits in frame.exits:
        exits.returns = True
    if frame.exits and isinstance(known, Expr):
        why = Unknown("loop", "what is returned out of a loop", loops=frame.loops)
        known = frame.terms.unknown(known.type, why)
    # Every guard since the beginning of the function is a reason to return here.
    frame.returns.append(frame.way(frame.base_guards, known))
    frame.may_have_returned = True
    return frame.terms.false


MEMORY_RULES: dict[type[Op], Rule] = {
    Constant: _constant,
    Grid: _grid,
    **dict.fromkeys(ARITH_OPS, _arithmetic),
    Var: _var,
    VarLoad: _var_load,
    VarStore: _var_store,
    Load: _load,
    Store: _store,
    AtomicUpdate: _atomic,
    CompareExchange: _atomic,
    PlaceOp: _place,
    Extent: _extent,
    LocalArray: _array,
    PrivateArray: _array,
    Pack: _pack,
    Unpack: _unpack,
    Barrier: _barrier,
    Call: _call,
    Return: _return,
}


RULES = {**MEMORY_RULES, **BRANCH_RULES, **LOOP_RULES}
"""How each op is followed; those without a rule touch nothing and give nothing."""


def walk_kernel(
    graph: KernelGraph,
    known: Mapping[str, int] | None = None,
    same: Mapping[int, int] | None = None,
    scalars: Mapping[int, int] | None = None,
) -> KernelWalk:
    """All accesses and barriers of a kernel.

    `known` are fields of the kernel context that are given (`local_max_x`), `same` the parameters
    that are the same buffer as an earlier one, `scalars` the numbers of parameters.
    """
    same = same or {}
    entry = graph.entry
    walk = KernelWalk(graph, RULES, known or {}, _written(graph, same))
    for number, param in enumerate(entry.params):
        if isinstance(param.type, BufferType | NDArrayType):
            walk.memories.append(AccessedMemory("global", number, param.hint, param.type))
    arguments = [
        _argument(walk, number, same, param, (scalars or {}).get(number))
        for number, param in enumerate(entry.params)
    ]
    begun = {scope: (Phase(walk.terms.true, BEGINNING),) for scope in ORDERED}
    frame = Frame(walk, entry, arguments, (), (), begun)
    if entry.raw:
        walk.lose(entry.location, "raw code is not looked into")
    frame.block(entry.body)
    walk.lost = list(dict.fromkeys(walk.lost))
    return walk


def _written(graph: KernelGraph, same: Mapping[int, int]) -> frozenset[int]:
    table = {parameter.name: parameter.whole for parameter in access_table(graph).parameters}
    return frozenset(
        same.get(number, number)
        for number, param in enumerate(graph.entry.params)
        if AccessMode.WRITES in table.get(param.hint, AccessMode.UNTOUCHED)
    )


def _argument(
    walk: KernelWalk, number: int, same: Mapping[int, int], param: Value, given: int | None
) -> Known:
    if isinstance(param.type, BufferType | NDArrayType):
        wanted = same.get(number, number)
        memory = next(m for m in walk.memories if m.number == wanted)
        return (AccessedPlace(memory, "", (), walk.terms.true),)
    if isinstance(param.type, ScalarType):
        if given is not None and not param.type.is_float:
            return walk.terms.constant(given, param.type)
        return walk.terms.make("scalar", (), number, param.type)
    if isinstance(param.type, StructType):
        return {
            leaf.name: walk.terms.make("scalar", (), (number, leaf.name), leaf.type)
            for leaf in leaves(param.type)
        }
    return None
