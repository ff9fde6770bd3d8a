"""`tb.lint`: what can be proved of a kernel or a compute function without running it."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from trilby.analysis.linting.accesses import MemoryAccess, Walked
from trilby.analysis.linting.compute_facts import ComputeFacts, EmptyCall, LedgerFacts
from trilby.analysis.linting.contract import contract_of, local_sizes, used_axes
from trilby.analysis.linting.dispatches import SeenDispatch
from trilby.analysis.linting.encoding.session import z3_module
from trilby.analysis.linting.encoding.solver import Z3Decider
from trilby.analysis.linting.findings import Finding, Report, Severity, is_silenced
from trilby.analysis.linting.kernel_facts import KernelFacts
from trilby.analysis.linting.launch import LaunchFacts, launch_of
from trilby.analysis.linting.lint_registry import Lint, all_lints
from trilby.analysis.linting.plain_decider import PlainDecider
from trilby.analysis.linting.question import Decider, Example
from trilby.analysis.linting.walk import walk_kernel
from trilby.analysis.reach import KernelGraph, short_name, works_in_groups
from trilby.arguments import brief
from trilby.backend.base import Scalar, StructArgument
from trilby.backend.interpreter.item_recording import ItemRecording, Recorded, barrier_scope, record
from trilby.backend.interpreter.kernel_arguments import Given, InterpreterMemory, bind
from trilby.backend.interpreter.translate import KernelProgram, translate
from trilby.data.dtypes import ScalarType, Type
from trilby.data.layout import layout, numpy_dtype, size_of
from trilby.data.ndrange import NDRange, as_range
from trilby.data.schema import (
    ArrayType,
    BufferType,
    NDArrayType,
    StructType,
    sizes_of,
)
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, ArgumentValueError, KernelIndexError
from trilby.locks import computed_once
from trilby.model.op import Func
from trilby.reflect.functions import Compute, Kernel, is_compute, is_kernel
from trilby.runtime.compile import ContextOf, analyse_compute, analyse_kernel
from trilby.runtime.ledger import Ledger
from trilby.source import Location

# ------------------------------------------------------------------------------------ lint settings
# Which lints run and how much they weigh: `[tool.trilby.lint]` in `pyproject.toml`.
#
# [tool.trilby.lint] ignore = ["strided-access"] select = ["race-write-write", "out-of-bounds"]
#
# [tool.trilby.lint.severity] unused-parameter = "error"

FILE = "pyproject.toml"
_KEYS = {"select", "ignore", "severity"}


@dataclass(frozen=True)
class LintSettings:
    """What a project, or the command line, says: an empty `select` means all."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict[str, Severity])

    def __post_init__(self) -> None:
        known = {lint.id for lint in all_lints()}
        for name in (*self.select, *self.ignore, *self.severity):
            if name not in known:
                raise ArgumentValueError(
                    f"there is no lint `{name}`", advice=f"use one of {', '.join(sorted(known))}"
                )

    def lints(self, subject: str) -> list[Lint]:
        """Those that run."""
        return [
            lint
            for lint in all_lints()
            if lint.subject == subject
            and (not self.select or lint.id in self.select)
            and lint.id not in self.ignore
        ]


def settings_for(file: str) -> LintSettings:
    """The settings of the project in which a file lies."""
    return _read(_project(Path(file).absolute().parent))


@lru_cache(maxsize=256)
def _project(folder: Path) -> Path | None:
    places = (parent / FILE for parent in (folder, *folder.parents))
    return next((place for place in places if place.is_file()), None)


@lru_cache(maxsize=64)
def _read(place: Path | None) -> LintSettings:
    if place is None:
        return LintSettings()
    try:
        table: Any = tomllib.loads(place.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ArgumentValueError(f"{place} cannot be read: {error}") from error
    given: dict[str, Any] = table.get("tool", {}).get("trilby", {}).get("lint", {})
    unknown = sorted(set(given) - _KEYS)
    if unknown:
        raise ArgumentValueError(
            f"[tool.trilby.lint] in {place} has `{unknown[0]}`, which means nothing",
            advice=f"use {', '.join(sorted(_KEYS))}",
        )
    severity = cast("dict[str, Any]", given.get("severity", {}))
    for name, level in severity.items():
        if level not in get_args(Severity):
            raise ArgumentValueError(
                f"the severity of `{name}` in {place} is {level!r}",
                advice=f"use one of {', '.join(get_args(Severity))}",
            )
    return LintSettings(tuple(given.get("select", ())), tuple(given.get("ignore", ())), severity)


# ------------------------------------------------------------------------------------ lint examples
# Running what a solver found on the interpreter: do the work items really do that?

MOST_BYTES = 1 << 26
MOST_ITEMS = 1 << 16
FILLS = (0, 1, 3)
"""What buffers hold while an example is run: one after the other, until it shows."""


@dataclass
class Examples:
    """Runs examples of one kernel, launched as `launch` says."""

    graph: KernelGraph
    launch: LaunchFacts = field(default_factory=lambda: LaunchFacts(("x",)))

    @computed_once
    def program(self) -> KernelProgram:
        """The kernel, as the interpreter runs it."""
        return translate(self.graph)

    def confirm(self, example: Example, accesses: tuple[MemoryAccess, ...]) -> bool:
        """Whether the items meet (two accesses), or one leaves its array (one)."""
        if not self._is_small(example):
            return True  # too large to run: the solver's word stands
        return any(self._shows(example, accesses, fill) for fill in FILLS)

    def confirm_divergence(self, example: Example) -> bool:
        """Whether two items of a group part at a barrier."""
        if not self._is_small(example):
            return True
        for fill in FILLS:
            recording = self._run(example, fill)
            first, second = (recording.stops.get(item, []) for item in example.items)
            if first != second:
                return True
        return False

    def _is_small(self, example: Example) -> bool:
        sizes = (self._nbytes(example, n) for n, _ in enumerate(self.graph.entry.params) if n)
        return sum(sizes) <= MOST_BYTES and example.range.items <= MOST_ITEMS

    def _shows(self, example: Example, accesses: tuple[MemoryAccess, ...], fill: int) -> bool:
        recording = self._run(example, fill)
        if len(accesses) == 1:
            failure = recording.failures.get(example.items[0])
            return isinstance(failure, KernelIndexError)
        needs_write = any(access.does != "read" for access in accesses)
        return any(self._meets(example, recording, needs_write=needs_write))

    def _meets(
        self, example: Example, recording: ItemRecording, *, needs_write: bool
    ) -> Iterator[bool]:
        first, second = (recording.by(item) for item in example.items)
        for mine in first:
            for other in second:
                if _touch(mine, other) and (mine.writes or other.writes or not needs_write):
                    passed = {self._passed(recording, one) for one in (mine, other)}
                    yield mine.group != other.group or len(passed) == 1

    def _passed(self, recording: ItemRecording, access: Recorded) -> int:
        """How many barriers for that memory an item had behind it."""
        scope = "global" if access.memory in recording.buffers else "local"
        stops = recording.stops.get(access.item, [])[: access.barriers]
        return sum(barrier_scope(self.program, stop) in {scope, "both"} for stop in stops)

    def _run(self, example: Example, fill: int) -> ItemRecording:
        given = list(self.arguments(example, fill))
        local = example.range.local or tuple(1 for _ in example.range.size)
        bound = bind(self.graph.entry, given)
        return record(self.program, example.range, local, bound, frozenset(example.items))

    # -- arguments

    def arguments(self, example: Example, fill: int) -> Iterator[Given]:
        """Buffers and numbers as an example has them; every number in a buffer is `fill`."""
        memories: dict[int, InterpreterMemory] = {}
        for number, param in enumerate(self.graph.entry.params):
            if number:
                yield from self._argument(example, number, param.type, fill, memories)

    def _argument(
        self,
        example: Example,
        number: int,
        type_: Type,
        fill: int,
        memories: dict[int, InterpreterMemory],
    ) -> Iterator[Given]:
        if isinstance(type_, BufferType | NDArrayType):
            source = self.launch.same.get(number, number)
            lengths = self._lengths(example, source)
            if source not in memories:
                content = _content(type_, lengths, fill)
                memories[source] = InterpreterMemory(len(content), None, content)
            yield memories[source]
            sizes = zip(sizes_of(type_).values(), lengths.values(), strict=True)
            yield from (Scalar(size, length) for size, length in sizes)
        elif isinstance(type_, ScalarType):
            given = self.launch.scalars.get(number, 1)
            yield Scalar(type_, example.scalars.get(number, given))
        elif isinstance(type_, StructType):
            yield StructArgument(type_, bytes(size_of(type_)))

    def _lengths(self, example: Example, number: int) -> dict[object, int]:
        """Those of the example; others are as large as anything in it."""
        type_ = self.graph.entry.params[number].type
        names: Sequence[object] = (
            range(type_.rank) if isinstance(type_, NDArrayType) else _length_names(type_)
        )
        room = max(64, min(4096, example.range.items * 4)) if len(names) == 1 else 64
        return {name: example.lengths.get((number, name), room) for name in names}

    def _nbytes(self, example: Example, number: int) -> int:
        type_ = self.graph.entry.params[number].type
        if isinstance(type_, NDArrayType):
            return prod(self._lengths(example, number).values()) * type_.element.size
        if isinstance(type_, BufferType):
            lengths = {str(name): n for name, n in self._lengths(example, number).items()}
            return layout(type_, lengths).size
        return 0


def _length_names(type_: Type) -> Sequence[object]:
    return sorted(type_.length_names) if isinstance(type_, BufferType) else []


def _touch(one: Recorded, other: Recorded) -> bool:
    return one.memory == other.memory and one.start < other.stop and other.start < one.stop


def _content(type_: BufferType | NDArrayType, lengths: dict[object, int], fill: int) -> bytearray:
    """A buffer of these lengths in which every number is `fill`."""
    if isinstance(type_, NDArrayType):
        count = prod(lengths.values())
        return bytearray(np.full(count, fill, type_.element.numpy).tobytes())
    named = {str(name): length for name, length in lengths.items()}
    places = layout(type_, named)
    content = bytearray(places.size)
    for name, slot in places.slots.items():
        element = slot.type.element if isinstance(slot.type, ArrayType) else slot.type
        if not isinstance(element, ScalarType) or not slot.size:
            continue
        value = named.get(name, fill)
        cell = np.full(1, value, numpy_dtype(element)).tobytes()
        step = slot.cell or len(cell)
        for start in range(slot.offset, slot.offset + slot.size - len(cell) + 1, step):
            content[start : start + len(cell)] = cell
    return content


# ------------------------------------------------------------------------------------------ linting


def lint(
    function: Kernel[...] | Compute[..., Any] | Ledger,
    *,
    range: int | tuple[int, ...] | NDRange | None = None,  # noqa: A002 -- as in `cc.dispatch`
    settings: LintSettings | None = None,
) -> Report:
    """Look for races, accesses outside of arrays, parting barriers, waste, and needless copies.

    >>> report = tb.lint(square_kernel)
    >>> report.verdict
    'clean'

    With a range the verdict on a kernel holds for launches over it, without one for all launches.
    A compute function is linted with the kernels that it dispatches, as it dispatches them; the
    ledger of a recorded run for copies that were made in vain. `settings` take the place of those
    in `pyproject.toml`.
    """
    if isinstance(function, Ledger):
        return _lint_ledger(function, settings or LintSettings())
    if is_compute(function):
        if range is not None:
            raise ArgumentTypeError(
                f"`{function.name}` is a compute function, and a range belongs to a kernel",
                advice="leave the range out: what it dispatches is seen",
            )
        chosen = settings or settings_for(function.location.file)
        constants = _integers(function.function.__globals__)
        return lint_compute(analyse_compute(function), constants, chosen, function.location)
    if is_kernel(function):
        chosen = settings or settings_for(function.location.file)
        launch = None if range is None else launch_of(as_range(range))
        return lint_kernel(analyse_kernel(function).graph, launch, chosen, function.location)
    raise ArgumentTypeError(
        f"{brief(function)} cannot be linted",
        advice="give what @tb.kernel or @tb.compute made, or a ledger",
    )


def lint_kernel(
    graph: KernelGraph, launch: LaunchFacts | None, settings: LintSettings, location: Location
) -> Report:
    """Run the lints of kernels."""
    facts = kernel_facts(graph, launch, decider())
    found = [finding for one in settings.lints("kernel") for finding in one(facts)]
    name = short_name(graph.entry.name)
    return _report(name, found, facts.assumptions, graph.functions, settings, location)


def lint_compute(
    context: ContextOf, constants: Mapping[str, int], settings: LintSettings, location: Location
) -> Report:
    """Run the lints of compute functions, and those of kernels for every dispatch."""
    facts = ComputeFacts(context.graph, constants, context.says_what_moves)
    found = [finding for one in settings.lints("compute") for finding in one(facts)]
    assumptions: dict[str, None] = {}
    functions: list[Func] = list(context.graph.functions)
    for seen in _different(facts.dispatches()):
        graph = context.graph.kernels[seen.op.kernel]
        kernel = kernel_facts(graph, seen.launch, decider())
        for one in settings.lints("kernel"):
            found += _dispatched(one(kernel), seen)
        assumptions |= kernel.assumptions
        functions += graph.functions
    name = short_name(context.entry.func.name)
    return _report(name, found, assumptions, functions, settings, location)


def _different(dispatches: Iterable[SeenDispatch]) -> Iterator[SeenDispatch]:
    """The dispatches without those that launch a kernel as an earlier one does."""
    known: list[object] = []
    for seen in dispatches:
        one = (seen.op.kernel, seen.launch, seen.if_same)
        if one not in known:
            known.append(one)
            yield seen


def _integers(names: Mapping[str, object]) -> dict[str, int]:
    return {
        name: value
        for name, value in names.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }


def _dispatched(found: Iterable[Finding], seen: SeenDispatch) -> Iterator[Finding]:
    """Findings in a kernel, with the dispatch that shows them.

    Where two arguments are only perhaps one buffer, so is what follows from it.
    """
    for finding in found:
        placed = replace(finding, others=(*finding.others, seen.op.location))
        if seen.if_same is None:
            yield placed
        elif finding.verdict == "bug" and finding.severity == "error":
            first, second = seen.if_same
            told = f"if `{first}` and `{second}` are one buffer here: {finding.message}"
            yield replace(placed, verdict="unknown", severity="warning", message=told, witness=None)


def _lint_ledger(ledger: Ledger, settings: LintSettings) -> Report:
    recording = ledger.recording
    locations = [caller.line if caller else None for caller in recording.callers]
    empty = [EmptyCall(one.kind, one.buffer, one.location) for one in ledger.redundant]
    copies = tuple(recording.copies)
    facts = LedgerFacts(recording.trace, copies, locations, ledger.excess, empty)
    found = [finding for one in settings.lints("ledger") for finding in one(facts)]
    return _report("a recorded run", found, {}, (), settings, None)


def _report(
    name: str,
    found: Iterable[Finding],
    assumptions: Iterable[str],
    functions: Iterable[Func],
    settings: LintSettings,
    location: Location | None,
) -> Report:
    functions = tuple(functions)
    spoken = list(_once(_weighed(found, settings)))
    kept = [finding for finding in spoken if not is_silenced(finding, functions)]
    return Report(name, tuple(kept), tuple(assumptions), len(spoken) - len(kept), location)


def _weighed(found: Iterable[Finding], settings: LintSettings) -> Iterator[Finding]:
    for finding in found:
        level = settings.severity.get(finding.lint)
        yield finding if level is None else replace(finding, severity=level)


def _once(found: Iterable[Finding]) -> Iterator[Finding]:
    """Each finding once, also where several dispatches show it."""
    seen: set[object] = set()
    for finding in found:
        if finding.key not in seen:
            seen.add(finding.key)
            yield finding


def decider() -> Decider:
    """The solver that is installed, or what does without."""
    return PlainDecider() if z3_module() is None else Z3Decider()


def kernel_facts(graph: KernelGraph, launch: LaunchFacts | None, decides: Decider) -> KernelFacts:
    """What lints are told of a kernel; what is not given of its launch is read off it."""
    first = walk_kernel(graph)
    launch = _completed(graph, first, launch)
    walked = walk_kernel(graph, launch.known, launch.same, launch.scalars)
    examples = Examples(graph, launch)
    contract = contract_of(walked, launch)
    confirm, confirm_divergence = examples.confirm, examples.confirm_divergence
    facts = KernelFacts(graph, walked, launch, decides, confirm, confirm_divergence, contract)
    facts.assumptions |= dict.fromkeys(contract.told)
    return facts


def _completed(graph: KernelGraph, walked: Walked, launch: LaunchFacts | None) -> LaunchFacts:
    waits = works_in_groups(graph)
    names = {name for name in walked.fields if name.startswith(("local_", "group_"))}
    launch = launch or LaunchFacts(used_axes(walked))
    local = dict(launch.local)
    if not local:
        local = {axis: n for axis, n in local_sizes(walked).items() if axis in launch.axes}
        if local:  # along an axis that no local array knows, groups are one item wide
            unused = (a for a in launch.axes if f"local_{a}" not in walked.fields)
            local |= {axis: 1 for axis in unused if axis not in local}
    return replace(
        launch, local=local, whole_groups=waits, has_groups=waits or bool(names) or bool(local)
    )
