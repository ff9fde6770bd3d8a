"""What some work items of a launch do with memory, access by access.

The program that the interpreter makes of a kernel reaches memory through functions that it finds
by name. Here they take down what they are asked for.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from typing import Any

from trilby.backend.interpreter.execute import WorkItem, explained, groups, work_items
from trilby.backend.interpreter.numbers import TRAPS
from trilby.backend.interpreter.translate import KernelProgram
from trilby.data.dtypes import SCALARS
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.errors import TrilbyError

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
        group = self._item.group
        groups = (group.group_x, group.group_y, group.group_z)
        memory, stop = id(content), start + size
        self.accesses.append(Recorded(who, groups, waited, memory, start, stop, writes))

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
                recording.run(program, item, partial(program.run, item, *arguments))
    return recording


def _run_in_step(
    program: KernelProgram,
    recording: ItemRecording,
    items: list[WorkItem],
    arguments: Sequence[object],
) -> None:
    """From barrier to barrier; items that come to other barriers than most go on all the same."""
    running = [(item, program.run(item, *arguments)) for item in items]
    while running:
        places = [
            recording.run(program, item, partial(next, steps, None)) for item, steps in running
        ]
        stopped = [
            (one, place) for one, place in zip(running, places, strict=True) if place is not None
        ]
        for (item, _), place in stopped:
            recording.stops.setdefault(ids(item), []).append(place)
        running = [one for one, _ in stopped]


@contextmanager
def _listening(names: dict[str, Any], recording: ItemRecording) -> Generator[None]:
    """Within, loads and stores of a program are recorded, and it prints nothing."""
    before = dict(names)
    names["say"] = _silent
    for type_ in SCALARS.values():
        for verb in ("load", "store"):
            name = f"{verb}_{type_}"
            names[name] = _heard(before[name], type_.size, recording, writes=verb == "store")
    try:
        yield
    finally:
        names.update(before)


def _silent(*_said: object) -> None:
    """Say nothing."""


def _heard(
    access: Callable[..., Any], size: int, recording: ItemRecording, *, writes: bool
) -> Callable[..., Any]:
    """A load or a store that is recorded."""

    def heard(content: bytearray, offset: int, *value: object) -> Any:
        recording.hear(content, offset, size, writes=writes)
        return access(content, offset, *value)

    return heard
