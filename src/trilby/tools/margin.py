"""What stands in the margin of a compute function: which copies are made where, and why."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from trilby.model.op import Func, walk
from trilby.model.ops.host import Dispatch
from trilby.model.ops.transfer import ToDevice, ToHost, Tracking
from trilby.options import Transfers
from trilby.runtime.compile import AnalysedKernel
from trilby.runtime.tracing import TracedRun
from trilby.tools.movements import name_of_copy
from trilby.tools.named_launches import NamedLaunch, launch_of, value_names

if TYPE_CHECKING:
    from trilby.runtime.ledger import Copy

NoteKind: TypeAlias = Literal["up", "down", "track", "launch", "ran-up", "ran-down"]

SIGNS: Mapping[NoteKind, str] = {
    "up": "→",
    "down": "←",
    "track": "?",
    "launch": "▶",
    "ran-up": "⇒",
    "ran-down": "⇐",
}
"""What each kind of note begins with."""


class Note(NamedTuple):
    """A remark about a line."""

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return f"{SIGNS[self.kind]} {self.text}"


def planned_notes(
    func: Func, kernels: Mapping[str, AnalysedKernel], transfers: Transfers
) -> Iterator[tuple[int, Note]]:
    """What is known of a function before it runs, by line."""
    name_of = value_names(func)
    for op in walk(func.body):
        line = op.location.line
        if isinstance(op, Dispatch):
            launch = launch_of(op, name_of, kernels)
            notes = _launch(launch, transfers) if launch is not None else ()
            yield from ((line, note) for note in notes)
        elif isinstance(op, ToDevice):
            why = "a launch surely needs it" if op.certain else "a launch may need it"
            name = name_of(op.buffer)
            yield line, Note("up", f"{name} goes to the device unless it is there: {why}")
        elif isinstance(op, ToHost):
            part = f"{name_of(op.buffer)}.{op.path}".rstrip(".")
            why = "the host surely looks" if op.certain else "the host may look"
            yield line, Note("down", f"{part} comes to the host unless it is there: {why}")
        elif isinstance(op, Tracking):
            call = op.mnemonic.rpartition(".")[2]
            yield line, Note("track", f"{call}({name_of(op.buffer)})")


def _launch(launch: NamedLaunch, transfers: Transfers) -> Iterator[Note]:
    """What a launch does with its buffers, and what it copies around itself."""
    kernel, given, reads, writes = launch
    does = [f"reads {_listed(reads)}"] if reads else []
    does += [f"writes {_listed(writes)}"] if writes else []
    yield Note("launch", f"{kernel} {' and '.join(does) or 'touches no buffer'}")
    if transfers is Transfers.ALWAYS and given:
        yield Note("up", f"{_listed(given)} before it, needed or not")
        yield Note("down", f"{_listed(given)} after it, needed or not")
    elif transfers is Transfers.BY_ACCESS:
        if reads:
            yield Note("up", f"{_listed(reads)} before it, because it reads")
        if writes:
            yield Note("down", f"{_listed(writes)} after it, because it writes")


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


# ---------------------------------------------------------------------------- a run of its own


def copies_made(runs: Sequence[TracedRun], file: str) -> Iterator[tuple[int, Note]]:
    """What really moved because of the lines of a file."""
    groups: dict[tuple[int, str, str, str], list[Copy]] = {}
    for run in runs:
        for copy in run.ledger.copies:
            if copy.location is not None and copy.location.file == file:
                key = copy.location.line, copy.direction, name_of_copy(copy), copy.cause
                groups.setdefault(key, []).append(copy)
    for (line, direction, name, cause), group in groups.items():
        times = "once" if len(group) == 1 else f"{len(group):,} times"
        total = sum(copy.nbytes for copy in group)
        kind: NoteKind = "ran-up" if direction == "up" else "ran-down"
        yield line, Note(kind, f"{name}, {times}, {total:,} bytes: {cause}")
