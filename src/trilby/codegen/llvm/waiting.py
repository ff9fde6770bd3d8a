"""Control flow around barriers, run once for a whole group."""

from collections.abc import Callable, Mapping
from typing import Any

from trilby.codegen.llvm.control_flow import yielded
from trilby.codegen.llvm.conversions import scalar
from trilby.codegen.llvm.entry import LaunchSizes, write_groups
from trilby.codegen.llvm.groups import GroupScope, GroupVectors, KeptValue
from trilby.codegen.llvm.lane_values import BIT, of_kind
from trilby.codegen.llvm.regions import Region, RegionPlan, leaves_outwards
from trilby.codegen.llvm.shapes import Shapes
from trilby.codegen.llvm.trips import trips
from trilby.codegen.llvm.writer import KernelWriter, VariableSlot
from trilby.model.op import Block, Op
from trilby.model.ops.control import AndThen, Break, Continue, For, If, OrElse, Ternary, While
from trilby.model.ops.core import Inlined, Return, Yield
from trilby.model.ops.grid import Barrier
from trilby.model.value import Value


def write_waiting_groups(writer: KernelWriter, launch: LaunchSizes, same: Shapes) -> None:
    """Run all groups of a kernel with barriers; `same` is what is the same for a whole group."""
    writer.next_group = launch["local_x"]
    group = GroupVectors(writer, RegionPlan(writer.func, lambda value: _is_same(same, value)), same)
    group.begin(launch)

    def body(starts: list[str], ends: list[str]) -> None:
        group.place(starts, ends)
        scope = GroupScope(writer.fresh("group_done"))
        _begin_masks(group, scope, writer.func.body)
        group.scopes.append(scope)
        _block(group, writer.func.body, scope.end)
        group.scopes.pop()
        writer.label(scope.end)

    write_groups(writer, launch, body)


def _is_same(same: Shapes, value: Value) -> bool:
    return all(stride == 0 for stride in same.of(value))


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
        if leaves_outwards(item) and group.running() is not None:
            writer = group.writer
            go_on = writer.fresh("go_on")
            writer.branch(group.some_left(), go_on, end)
            writer.label(go_on)


def _leaves_one_by_one(group: GroupVectors, *blocks: Block) -> bool:
    return any(leaves_outwards(item) for block in blocks for item in group.plan.items(block))


def _begin_masks(group: GroupVectors, scope: GroupScope, *blocks: Block) -> None:
    """Masks for a scope, if work items may leave it one by one."""
    if _leaves_one_by_one(group, *blocks):
        scope.alive = group.keep(BIT, None)
        group.copy_mask(scope.alive, group.running())
        scope.turn = group.keep(BIT, None) if scope.is_loop else None


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


def _keep(group: GroupVectors, value: Value, results: list[KeptValue]) -> None:
    """Put a value in memory of every vector."""
    writer = group.writer

    def keep(chunk: str, _end: str) -> None:
        slots = [group.slot(result, chunk) for result in results]
        writer.fill(slots, writer.values[value], blend=True)

    group.each([value], keep)


def _if(group: GroupVectors, op: If) -> None:
    writer = group.writer
    then, otherwise, end = (writer.fresh(word) for word in ("then", "else", "end"))
    writer.branch(group.decide(op.condition), then, otherwise)
    for label, block in ((then, op.then), (otherwise, op.otherwise)):
        writer.label(label)
        _block(group, block, end)
        writer.jump(end)
    writer.label(end)


def _ternary(group: GroupVectors, op: Ternary) -> None:
    writer = group.writer
    results = group.results(op.value.type)
    then, otherwise, end = (writer.fresh(word) for word in ("then", "else", "end"))
    writer.branch(group.decide(op.condition), then, otherwise)
    for label, block in ((then, op.then), (otherwise, op.otherwise)):
        writer.label(label)
        _block(group, block, end)
        _keep(group, yielded(block), results)
        writer.jump(end)
    writer.label(end)
    group.name_results(op.value, results)


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
    group.name_results(op.value, results)


def _inlined(group: GroupVectors, op: Inlined) -> None:
    writer = group.writer
    scope = GroupScope(writer.fresh("returned"))
    if op.result is not None:
        scope.results = group.results(op.result.type)
    _begin_masks(group, scope, op.body)
    group.scopes.append(scope)
    _block(group, op.body, scope.end)
    group.scopes.pop()
    writer.label(scope.end)
    if op.result is not None:
        group.name_results(op.result, scope.results)


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
        return writer.apply("icmp ult {t} {0}, {1}", [turn, total], BIT).text

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
    scope = GroupScope(writer.fresh("next"), writer.fresh("exit"), is_loop=True)
    _begin_masks(group, scope, *blocks)
    writer.label(head)
    group.scopes.append(scope)
    if scope.alive and scope.turn:
        group.copy_mask(scope.turn, scope.alive)
    writer.branch(test(), body, scope.exit)
    writer.label(body)
    _block(group, blocks[-1], scope.end)
    writer.label(scope.end)
    advance()
    if scope.alive and scope.turn:
        group.copy_mask(scope.turn, scope.alive)
        writer.branch(group.some_left(), head, scope.exit)
    else:
        writer.jump(head)
    group.scopes.pop()
    writer.label(scope.exit)


_RULES: Mapping[type[Op], Callable[[GroupVectors, Any], None]] = {
    If: _if,
    Ternary: _ternary,
    AndThen: _short_circuit,
    OrElse: _short_circuit,
    Inlined: _inlined,
    While: _while,
    For: _for,
}
"""What may hold a barrier."""
