"""Kernels with barriers: each region is run for all vectors of a group before the next begins.

Control flow around barriers is the same for all work items of a group, so it is run once, by the
numbers of any of them. What a work item keeps from one region to the next lies in memory of its
vector.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from trilby.codegen.checked_types import scalar
from trilby.codegen.llvm import entry
from trilby.codegen.llvm.control_flow import trips
from trilby.codegen.llvm.ir import ALL, BIT, Lanes, of_kind, part_kinds, size_of_kind
from trilby.codegen.llvm.regions import Region, RegionPlan, leaves_outwards, values_of
from trilby.codegen.llvm.shapes import Shapes
from trilby.codegen.llvm.writer import ALIGN, KernelWriter, Scope, VariableSlot
from trilby.data.dtypes import Type
from trilby.model.op import Block, Op, operands, walk
from trilby.model.ops.control import AndThen, Break, Continue, For, If, OrElse, Ternary, While
from trilby.model.ops.core import Inlined, Return, Var, VarStore, Yield, yielded
from trilby.model.ops.grid import Barrier
from trilby.model.value import Value, VarType

Action: TypeAlias = Callable[[str, str], None]


class GroupVectors:
    """What the vectors of a group keep, and how they are run."""

    def __init__(self, writer: KernelWriter, launch: dict[str, str], same: Shapes) -> None:
        self.writer = writer
        self.scopes: list[Scope] = []
        self._same = same
        self.plan = RegionPlan(writer.func, self._is_shared)
        self.memory: dict[Value, list[VariableSlot]] = {}
        """Where each vector keeps a value that is used in several regions."""
        self._shared: dict[Value, list[VariableSlot]] = {}
        self.starts: list[str] = []
        """The first ids of the group at hand."""
        self.ends: list[str] = []
        """How many work items it has along each axis."""
        # How many vectors a group has.
        raised = writer.let(f"add i64 {launch['local_x']}, {writer.lanes - 1}")
        self._per_row = writer.let(f"udiv i64 {raised}, {writer.lanes}")
        rows = writer.let(f"mul i64 {launch['local_y']}, {launch['local_z']}")
        writer.scratch.chunks = writer.let(f"mul i64 {self._per_row}, {rows}")
        writer.end_prelude()

    # -- what is kept -----------------------------------------------------------------

    def keep(self, kind: str, stride: int | None) -> VariableSlot:
        """Memory for a number in every vector."""
        lanes = self.writer.lanes if stride is None else 1
        size = max(1, lanes // 8) if kind == BIT else lanes * size_of_kind(kind)
        base, distance = self.writer.scratch.each(self.writer, size)
        return VariableSlot(base, kind, stride, distance)

    def mask(self, masks: str, chunk: str) -> str:
        """The memory of the mask of one vector."""
        return self.slot(VariableSlot(masks, BIT, None, ALIGN), chunk).pointer

    def results(self, type_: Type) -> list[VariableSlot]:
        """Memory for a result, in which all lanes may differ."""
        return [self.keep(kind, None) for kind in part_kinds(type_)]

    def kept(self, value: Value) -> list[VariableSlot]:
        """The memory of a value that is used in several regions."""
        if value not in self.memory:
            type_ = value.type.of if isinstance(value.type, VarType) else value.type
            kinds = zip(part_kinds(type_), self.writer.shapes.of(value), strict=True)
            self.memory[value] = [self.keep(kind, stride) for kind, stride in kinds]
        return self.memory[value]

    def slot(self, kept: VariableSlot, chunk: str) -> VariableSlot:
        """The memory of one vector."""
        writer = self.writer
        distance = writer.let(f"mul i64 {chunk}, {kept.apart}")
        pointer = writer.let(f"getelementptr i8, ptr {kept.pointer}, i64 {distance}", "k")
        return VariableSlot(pointer, kept.kind, kept.stride)

    def _is_shared(self, value: Value) -> bool:
        """Whether a value is the same for the whole group."""
        return all(stride == 0 for stride in self._same.of(value))

    def _shared_slots(self, value: Value) -> list[VariableSlot]:
        if value not in self._shared:
            self._shared[value] = self.writer.slots(value.type, (0,) * len(part_kinds(value.type)))
        return self._shared[value]

    # -- running all vectors ----------------------------------------------------------

    def each(
        self,
        used: Collection[Value],
        action: Action,
        *,
        changed: Collection[Value] = (),
        also_idle: bool = False,
    ) -> None:
        """Do something in every vector in which a lane runs, or in all of them.

        The action is given the number of the vector and its end; `used` are the values it needs,
        and `changed` the variables that it sets.
        """
        writer = self.writer

        def run(now: str, mask: str | None) -> None:
            across = writer.let(f"udiv i64 {now}, {writer.lanes}")
            chunk = writer.let(f"add i64 {first}, {across}")
            with writer.masked(mask):
                self._vector(chunk, used, action, changed, also_idle=also_idle)

        with entry.all_rows(writer, self.starts, self.ends) as (plane, row):
            above = writer.let(f"mul i64 {plane}, {self.ends[1]}")
            number = writer.let(f"add i64 {above}, {row}")
            first = writer.let(f"mul i64 {number}, {self._per_row}")
            entry.write_row(writer, self.starts[0], self.ends[0], run)

    def _vector(
        self,
        chunk: str,
        used: Collection[Value],
        action: Action,
        changed: Collection[Value],
        *,
        also_idle: bool,
    ) -> None:
        writer = self.writer
        end, done = writer.fresh("vector_end"), writer.fresh("vector_done")
        writer.chunk = chunk
        writer.scopes = [self._scope(scope, chunk, end) for scope in self.scopes]
        running = "" if also_idle else self.running()
        if running:
            memory = self.mask(running, chunk)
            writer.mask = writer.both(writer.lanes_on, writer.load(writer.vector(BIT), memory))
            some = writer.fresh("some")
            writer.branch(writer.any(writer.mask), some, done)
            writer.label(some)
        self._fetch(used, chunk)
        action(chunk, end)
        writer.label(end)
        for variable in changed:
            slots = [self.slot(kept, chunk) for kept in self.kept(variable)]
            writer.fill(slots, writer.read(writer.variables[variable]))
        writer.label(done)
        writer.scopes = []

    def _scope(self, scope: Scope, chunk: str, end: str) -> Scope:
        made = Scope(end, end, is_loop=scope.is_loop, of_group=True)
        if scope.alive:
            made.alive = self.mask(scope.alive, chunk)
        if scope.turn:
            made.turn = self.mask(scope.turn, chunk)
        made.results = [self.slot(result, chunk) for result in scope.results]
        return made

    def running(self) -> str:
        """The masks of the innermost scope that has some."""
        return next((scope.running for scope in reversed(self.scopes) if scope.running), "")

    def _fetch(self, used: Collection[Value], chunk: str) -> None:
        """Make the values of other regions, and the variables, those of this vector."""
        writer = self.writer
        writer.spilled = {}
        for value in used:
            if isinstance(value.type, VarType):
                # A variable has memory of the function, which LLVM turns into registers.
                if value in self.plan.crossing:
                    slots = writer.slots(value.type.of, writer.shapes.of(value))
                    own = [self.slot(kept, chunk) for kept in self.kept(value)]
                    writer.fill(slots, writer.read(own))
                    writer.variables[value] = slots
            elif value in self.plan.crossing or value in self.memory:
                self._fetch_value(value, chunk)

    def _fetch_value(self, value: Value, chunk: str) -> None:
        writer = self.writer
        if value in self.plan.made and self.plan.is_repeatable(value):
            op = self.plan.made[value]
            for operand in operands(op):
                if operand in self.plan.made or operand in self.memory:
                    self._fetch_value(operand, chunk)
            writer.rules[type(op)](writer, op)
        elif value not in self.memory and self._is_shared(value):
            writer.values[value] = writer.read(self._shared_slots(value))
        else:
            writer.values[value] = writer.read([self.slot(k, chunk) for k in self.kept(value)])

    def region(self, region: Region) -> None:
        """Run a region in every vector, but for what a group need run only once."""
        self.writer.block(Block(region.once), "", says_lines=not region.ops)
        if not region.ops:
            return
        made = {op.result for op in region.ops if op.result is not None}
        used = [value for value in values_of(region) if value not in made]
        used += [op.value for op in region.ops if isinstance(op, Var)]
        spilled = [
            value
            for value in (op.result for op in region.ops)
            if value is not None
            and value in self.plan.crossing
            and not isinstance(value.type, VarType)
            and not self.plan.is_repeatable(value)
        ]

        def run(chunk: str, end: str) -> None:
            writer = self.writer
            for value in spilled:
                if self._is_shared(value):
                    writer.spilled[value] = self._shared_slots(value)
                else:
                    writer.spilled[value] = [self.slot(k, chunk) for k in self.kept(value)]
            writer.block(Block(region.ops), end)

        self.each(used, run, changed=self._changed(region))
        self.writer.spilled = {}

    def _changed(self, region: Region) -> list[Value]:
        """The variables that a region sets, and another one may read."""
        found: dict[Value, None] = {}
        for op in walk(Block(region.ops)):
            if isinstance(op, VarStore) and op.var in self.plan.crossing:
                found[op.var] = None
            elif isinstance(op, Var) and op.value in self.plan.crossing:
                found[op.value] = None
        return list(found)

    # -- numbers of the group ---------------------------------------------------------

    def number(self, value: Value) -> Lanes:
        """A number that all work items agree on, taken from any of them."""
        writer = self.writer
        if value not in self.plan.crossing and value not in self.memory:
            return writer.values[value][0]
        if self._is_shared(value):
            self._fetch_value(value, "0")
            return writer.values[value][0]
        kind = part_kinds(value.type)[0]
        found = writer.alloca(kind)

        def look(_chunk: str, _end: str) -> None:
            vector = writer.spread(writer.values[value][0])
            lane = writer.first_lane(writer.bits(writer.lanes_on))
            writer.store(kind, writer.in_lane(kind, vector, lane), found)

        self.each([value], look)
        return Lanes(kind, writer.load(kind, found))

    def decide(self, value: Value) -> str:
        """Whether a condition holds for any of the work items that are here."""
        writer = self.writer
        if value not in self.memory and self._is_shared(value):
            return self.number(value).text
        found = writer.alloca(BIT)
        writer.store(BIT, "false", found)

        def look(_chunk: str, _end: str) -> None:
            (condition,) = writer.values[value]
            holds = writer.any(writer.both(writer.lanes_on, writer.spread(condition)))
            so_far = writer.load(BIT, found)
            writer.store(BIT, writer.let(f"or i1 {so_far}, {holds}"), found)

        self.each([value], look)
        return writer.load(BIT, found)

    def some_left(self) -> str:
        """Whether a work item runs in the innermost scope."""
        writer = self.writer
        found = writer.alloca(BIT)
        writer.store(BIT, "false", found)

        def look(_chunk: str, _end: str) -> None:
            writer.store(BIT, "true", found)  # a vector without lanes does not come here

        self.each([], look)
        return writer.load(BIT, found)

    def copy_mask(self, target: str, source: str) -> None:
        """Let a mask be what another is, or all lanes."""
        writer = self.writer

        def copy(chunk: str, _end: str) -> None:
            text = ALL
            if source:
                text = writer.load(writer.vector(BIT), self.mask(source, chunk))
            writer.store(writer.vector(BIT), text, self.mask(target, chunk))

        self.each([], copy, also_idle=True)


# ------------------------------------------------------------------------------------ control flow
# Control flow around barriers, run once for a whole group.


def write_waiting_groups(writer: KernelWriter, launch: dict[str, str], same: Shapes) -> None:
    """Run all groups of a kernel with barriers; `same` is what is the same for a whole group."""
    writer.next_group = launch["local_x"]
    group = GroupVectors(writer, launch, same)
    with entry.all_groups(writer, launch) as (group.starts, group.ends):
        scope = Scope(writer.fresh("group_done"))
        _begin_masks(group, scope, writer.func.body)
        group.scopes.append(scope)
        _block(group, writer.func.body, scope.end)
        group.scopes.pop()
        writer.label(scope.end)


def _block(group: GroupVectors, block: Block, end: str) -> None:
    for item in group.plan.items(block):
        match item:
            case Region():
                group.region(item)
            case Barrier():
                continue
            case Yield():
                return
            case Break() | Continue() | Return():
                _exit(group, item)
                return
            case _:
                _RULES[type(item)](group, item)
        if leaves_outwards(item) and group.running():
            writer = group.writer
            go_on = writer.fresh("go_on")
            writer.branch(group.some_left(), go_on, end)
            writer.label(go_on)


def _begin_masks(group: GroupVectors, scope: Scope, *blocks: Block) -> None:
    """Masks for a scope, if work items may leave it one by one."""
    if any(leaves_outwards(item) for block in blocks for item in group.plan.items(block)):
        scope.alive = group.keep(BIT, None).pointer
        group.copy_mask(scope.alive, group.running())
        scope.turn = group.keep(BIT, None).pointer if scope.is_loop else ""


def _exit(group: GroupVectors, op: Break | Continue | Return) -> None:
    """All work items that are here leave at once."""
    writer = group.writer
    if isinstance(op, Break):
        writer.jump(group.scopes[-1].exit)
    elif isinstance(op, Continue):
        writer.jump(group.scopes[-1].end)
    else:
        frame = next(scope for scope in reversed(group.scopes) if not scope.is_loop)
        if frame.results and op.returned:
            _keep(group, op.returned[0], frame.results)
        writer.jump(frame.end)


def _keep(group: GroupVectors, value: Value, results: list[VariableSlot]) -> None:
    """Put a value in memory of every vector."""
    writer = group.writer

    def keep(chunk: str, _end: str) -> None:
        slots = [group.slot(result, chunk) for result in results]
        writer.fill(slots, writer.values[value], blend=True)

    group.each([value], keep)


def _branches(group: GroupVectors, op: If | Ternary) -> None:
    writer = group.writer
    results = group.results(op.value.type) if isinstance(op, Ternary) else []
    then, otherwise, end = (writer.fresh(word) for word in ("then", "else", "end"))
    writer.branch(group.decide(op.condition), then, otherwise)
    for label, block in ((then, op.then), (otherwise, op.otherwise)):
        writer.label(label)
        _block(group, block, end)
        if isinstance(op, Ternary):
            _keep(group, yielded(block), results)
        writer.jump(end)
    writer.label(end)
    if isinstance(op, Ternary):
        group.memory[op.value] = results


def _short_circuit(group: GroupVectors, op: AndThen | OrElse) -> None:
    writer = group.writer
    results = group.results(op.value.type)
    rest, end = writer.fresh("rest"), writer.fresh("end")
    _keep(group, op.first, results)
    first = group.decide(op.first)
    labels = (rest, end) if isinstance(op, AndThen) else (end, rest)
    writer.branch(first, *labels)
    writer.label(rest)
    _block(group, op.rest, end)
    _keep(group, yielded(op.rest), results)
    writer.label(end)
    group.memory[op.value] = results


def _inlined(group: GroupVectors, op: Inlined) -> None:
    writer = group.writer
    scope = Scope(writer.fresh("returned"))
    if op.result is not None:
        scope.results = group.results(op.result.type)
    _begin_masks(group, scope, op.body)
    group.scopes.append(scope)
    _block(group, op.body, scope.end)
    group.scopes.pop()
    writer.label(scope.end)
    if op.result is not None:
        group.memory[op.result] = scope.results


def _while(group: GroupVectors, op: While) -> None:
    def test() -> str:
        _block(group, op.test, "")
        return group.decide(yielded(op.test))

    _loop(group, [op.test, op.body], test, lambda: None)


def _for(group: GroupVectors, op: For) -> None:
    writer = group.writer
    start, stop, step = (group.number(value) for value in (op.start, op.stop, op.step))
    type_ = scalar(op.start.type)
    counter = [VariableSlot(writer.alloca(start.kind), start.kind, 0)]
    writer.fill(counter, [start])
    turns = [VariableSlot(writer.alloca(start.kind), start.kind, 0)]
    writer.fill(turns, [of_kind(0, start.kind)])
    total = trips(writer, type_, start, stop, step)

    def test() -> str:
        writer.values[op.body.params[0]] = writer.read(counter)
        (turn,) = writer.read(turns)
        return writer.apply("icmp ult", [turn, total], BIT).text

    def advance() -> None:
        for slots, distance in ((counter, step), (turns, of_kind(1, start.kind))):
            (now,) = writer.read(slots)
            writer.fill(slots, [writer.add(now, distance)])

    _loop(group, [op.body], test, advance)


def _loop(
    group: GroupVectors, blocks: list[Block], test: Callable[[], str], advance: Callable[[], None]
) -> None:
    writer = group.writer
    head, body = writer.fresh("loop"), writer.fresh("body")
    scope = Scope(writer.fresh("next"), writer.fresh("exit"), is_loop=True)
    _begin_masks(group, scope, *blocks)
    writer.label(head)
    group.scopes.append(scope)
    if scope.turn:
        group.copy_mask(scope.turn, scope.alive)
    writer.branch(test(), body, scope.exit)
    writer.label(body)
    _block(group, blocks[-1], scope.end)
    writer.label(scope.end)
    advance()
    if scope.turn:
        group.copy_mask(scope.turn, scope.alive)
        writer.branch(group.some_left(), head, scope.exit)
    else:
        writer.jump(head)
    group.scopes.pop()
    writer.label(scope.exit)


_RULES: Mapping[type[Op], Callable[[GroupVectors, Any], None]] = {
    If: _branches,
    Ternary: _branches,
    AndThen: _short_circuit,
    OrElse: _short_circuit,
    Inlined: _inlined,
    While: _while,
    For: _for,
}
"""What may hold a barrier."""
