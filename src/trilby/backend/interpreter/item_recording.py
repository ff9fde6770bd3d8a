"""What some work items of a launch do with memory, access by access.

The program that the interpreter makes of a kernel reaches memory through functions that it finds
by name. Here they take down what they are asked for.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from trilby.backend.interpreter.execute import WorkGroup, WorkItem, explained, groups, work_items
from trilby.backend.interpreter.numbers import TRAPS
from trilby.backend.interpreter.translate import KernelProgram
from trilby.data.dtypes import SCALARS
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.errors import TrilbyError
from trilby.model.ops.grid import Barrier

Ids = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One access: by whom, how many barriers were behind it, and to which bytes of which memory."""

    item: Ids
    group: Ids
    barriers: int
    memory: int
    start: int
    stop: int
    writes: bool


@dataclass(slots=True)
class ItemRecording:
    """The accesses of the items that were run, and how each of them ended.

    `failures` are the errors of items, `stops` the barriers at which each item waited.
    """

    accesses: list[Recorded] = field(default_factory=list[Recorded])
    failures: dict[Ids, TrilbyError] = field(default_factory=dict[Ids, TrilbyError])
    buffers: frozenset[int] = frozenset()
    """The numbers of memories that are arguments of the launch."""
    stops: dict[Ids, list[object]] = field(default_factory=dict[Ids, list[object]])
    _item: WorkItem | None = None
    _kept: dict[int, bytearray] = field(default_factory=dict[int, bytearray])

    def by(self, item: Ids) -> list[Recorded]:
        """What one item did."""
        return [access for access in self.accesses if access.item == item]

    def hear(self, content: bytearray, start: int, size: int, *, writes: bool) -> None:
        """Take an access down."""
        if self._item is None:
            return
        self._kept[id(content)] = content  # so that no other memory gets its number
        who = ids(self._item)
        waited = len(self.stops.get(who, ()))
        group = group_ids(self._item.group)
        self.accesses.append(Recorded(who, group, waited, id(content), start, start + size, writes))

    def run(self, program: KernelProgram, item: WorkItem, step: Callable[[], Any]) -> Any:
        """Let an item do something; None where it has ended or failed."""
        self._item = item
        try:
            return step()
        except TRAPS as error:
            self.failures[ids(item)] = explained(error, program, item)
            return None


def ids(item: WorkItem) -> Ids:
    """The global ids of a work item."""
    return item.x, item.y, item.z


def group_ids(group: WorkGroup) -> Ids:
    """The ids of a group."""
    return group.group_x, group.group_y, group.group_z


def record(
    program: KernelProgram,
    size: NDRange,
    local: tuple[int, ...],
    arguments: Sequence[object],
    wanted: frozenset[Ids],
) -> ItemRecording:
    """Run the groups of some work items, or these items alone where nobody waits."""
    memories = (getattr(argument, "bytes", None) for argument in arguments)
    recording = ItemRecording(buffers=frozenset(id(memory) for memory in memories))
    with _listening(program.names, recording):
        for group in groups(size, local):
            items = list(work_items(group))
            if not any(ids(item) in wanted for item in items):
                continue
            if program.waits:
                _run_in_step(program, recording, items, arguments)
                continue
            for item in items:
                if ids(item) not in wanted:
                    continue
                _run_alone(program, recording, item, arguments)
    return recording


def barrier_scope(program: KernelProgram, stop: object) -> str:
    """Which memory the barrier orders at which an item stopped."""
    text = f"yield {stop!r}"
    ops = (line.op for line in program.lines if line.text.strip() == text)
    return next((op.scope for op in ops if isinstance(op, Barrier)), "both")


def _run_alone(
    program: KernelProgram, recording: ItemRecording, item: WorkItem, arguments: Sequence[object]
) -> None:
    recording.run(program, item, lambda: program.run(item, *arguments))


def _run_in_step(
    program: KernelProgram,
    recording: ItemRecording,
    items: list[WorkItem],
    arguments: Sequence[object],
) -> None:
    """From barrier to barrier; items that come to other barriers than most go on all the same."""
    running = [(item, program.run(item, *arguments)) for item in items]
    while running:
        stopped: list[tuple[WorkItem, Any]] = []
        places: list[object] = []
        for item, steps in running:
            place = recording.run(program, item, _next(steps))
            if place is not None:
                stopped.append((item, steps))
                places.append(place)
        for (item, _), place in zip(stopped, places, strict=True):
            recording.stops.setdefault(ids(item), []).append(place)
        running = stopped


def _next(steps: Iterator[object]) -> Callable[[], object]:
    return lambda: next(steps, None)


@contextmanager
def _listening(names: dict[str, Any], recording: ItemRecording) -> Generator[None]:
    before = dict(names)
    names["say"] = _silent
    for type_ in SCALARS.values():
        names[f"load_{type_}"] = _heard_load(before[f"load_{type_}"], type_.size, recording)
        names[f"store_{type_}"] = _heard_store(before[f"store_{type_}"], type_.size, recording)
    try:
        yield
    finally:
        names.update(before)


def _silent(*_said: object) -> None:
    """Work items that are only watched print nothing."""


def _heard_load(
    load: Callable[..., Any], size: int, recording: ItemRecording
) -> Callable[..., Any]:
    def heard(content: bytearray, offset: int) -> Any:
        recording.hear(content, offset, size, writes=False)
        return load(content, offset)

    return heard


def _heard_store(
    store: Callable[..., Any], size: int, recording: ItemRecording
) -> Callable[..., Any]:
    def heard(content: bytearray, offset: int, value: Any) -> None:
        recording.hear(content, offset, size, writes=True)
        store(content, offset, value)

    return heard
