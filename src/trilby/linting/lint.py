"""`tb.lint`: what can be proved of a kernel or a compute function without running it."""

import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, cast, get_args

from trilby.analysis.reach import KernelGraph, short_name, works_in_groups
from trilby.arguments import brief
from trilby.data.ndrange import NDRange, as_range
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, ArgumentValueError, TrilbyError
from trilby.linting.compute_facts import ComputeFacts
from trilby.linting.contract import contract_of, local_sizes, used_axes
from trilby.linting.decide.confirm import Examples
from trilby.linting.decide.plain import PlainDecider
from trilby.linting.decide.z3_decider import Z3Decider
from trilby.linting.decide.z3_terms import z3_module
from trilby.linting.dispatches import LaunchFacts, SeenDispatch, launch_of
from trilby.linting.findings import Finding, Report, Severity, is_silenced
from trilby.linting.frame import KernelWalk
from trilby.linting.kernel_facts import KernelFacts
from trilby.linting.lint_registry import Lint, all_lints, lint_named
from trilby.linting.walk import walk_kernel
from trilby.model.op import Func
from trilby.reflect.functions import Compute, Kernel, Reflectable, is_compute, is_kernel
from trilby.runtime.compile import ContextOf, analyse_compute, analyse_kernel
from trilby.runtime.ledger import Ledger
from trilby.source import Location

# ------------------------------------------------------------------------------------ lint settings
# Which lints run and how much they weigh: `[tool.trilby.lint]` in `pyproject.toml`.

FILE = "pyproject.toml"
_KEYS = {"select", "ignore", "severity"}


@dataclass(frozen=True)
class LintSettings:
    """What a project, or the command line, says: an empty `select` means all."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict[str, Severity])

    def __post_init__(self) -> None:
        for name in (*self.select, *self.ignore, *self.severity):
            lint_named(name)

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
    return _settings_in(Path(file).absolute().parent)


@lru_cache(maxsize=256)
def _settings_in(folder: Path) -> LintSettings:
    places = (parent / FILE for parent in (folder, *folder.parents))
    place = next((place for place in places if place.is_file()), None)
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
        chosen = settings or LintSettings()
        found = [finding for one in chosen.lints("ledger") for finding in one(function)]
        return _report("a recorded run", found, {}, (), chosen, None)
    if is_compute(function):
        if range is not None:
            raise ArgumentTypeError(
                f"`{function.name}` is a compute function, and a range belongs to a kernel",
                advice="leave the range out: what it dispatches is seen",
            )
        chosen = settings or settings_for(function.location.file)
        constants = {
            name: value
            for name, value in function.function.__globals__.items()
            if isinstance(value, int) and not isinstance(value, bool)
        }
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
    facts = kernel_facts(graph, launch)
    found = [finding for one in settings.lints("kernel") for finding in one(facts)]
    name = short_name(graph.entry.name)
    return _report(name, found, facts.assumptions, graph.functions, settings, location)


def lint_compute(
    context: ContextOf, constants: Mapping[str, int], settings: LintSettings, location: Location
) -> Report:
    """Run the lints of compute functions, and those of kernels for every dispatch."""
    facts = ComputeFacts(context.closure, constants, context.says_what_moves)
    found = [finding for one in settings.lints("compute") for finding in one(facts)]
    assumptions: dict[str, None] = {}
    functions: list[Func] = list(context.graph.functions)
    done: list[object] = []
    for seen in facts.dispatches():
        launch = (seen.op.kernel, seen.launch, seen.if_same)
        if launch in done:
            continue
        done.append(launch)
        graph = context.graph.kernels[seen.op.kernel]
        kernel = kernel_facts(graph, seen.launch)
        for one in settings.lints("kernel"):
            found += _dispatched(one(kernel), seen)
        assumptions |= kernel.assumptions
        functions += graph.functions
    name = short_name(context.entry.func.name)
    return _report(name, found, assumptions, functions, settings, location)


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


def _report(
    name: str,
    found: Iterable[Finding],
    assumptions: Iterable[str],
    functions: Iterable[Func],
    settings: LintSettings,
    location: Location | None,
) -> Report:
    functions = tuple(functions)
    spoken: dict[object, Finding] = {}  # each once, also where several dispatches show it
    for finding in found:
        level = settings.severity.get(finding.lint, finding.severity)
        spoken.setdefault(finding.key, replace(finding, severity=level))
    kept = [one for one in spoken.values() if not is_silenced(one, functions)]
    return Report(name, tuple(kept), tuple(assumptions), len(spoken) - len(kept), location)


def decider() -> PlainDecider:
    """The solver that is installed, or what does without."""
    return PlainDecider() if z3_module() is None else Z3Decider()


def kernel_facts(graph: KernelGraph, launch: LaunchFacts | None) -> KernelFacts:
    """What lints are told of a kernel; what is not given of its launch is read off it."""
    first = walk_kernel(graph)
    launch = _completed(graph, first, launch)
    walked = walk_kernel(graph, launch.known, launch.same, launch.scalars)
    contract = contract_of(walked, launch)
    facts = KernelFacts(graph, walked, launch, decider(), Examples(graph, launch), contract)
    facts.assumptions |= dict.fromkeys(contract.told)
    return facts


def _completed(graph: KernelGraph, walked: KernelWalk, launch: LaunchFacts | None) -> LaunchFacts:
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


# ------------------------------------------------------------------------- warnings and assertions

Lintable: TypeAlias = Kernel[...] | Compute[..., Any]


class LintWarning(UserWarning):
    """A lint found something in a kernel, or in a compute function, that is about to run."""


def warn_of(function: Compute[..., Any]) -> None:
    """Warn of what is wrong or unknown; hints are left to `trilby lint`."""
    for finding in lint(function).findings:
        if finding.severity != "hint":
            told = f"{finding.location}: {finding.lint}: {finding.message}"
            warnings.warn(told, LintWarning, stacklevel=2)


def assert_clean(
    function: Kernel[...] | Compute[..., Any],
    *,
    range: int | tuple[int, ...] | NDRange | None = None,  # noqa: A002 -- as in `tb.lint`
    allow: Sequence[str] = (),
) -> Report:
    """Fail with the report where a lint finds anything but hints; `allow` are ids to pass over."""
    __tracebackhide__ = True
    report = lint(function, range=range)
    left = [f for f in report.findings if f.severity != "hint" and f.lint not in allow]
    if left:
        raise AssertionError(f"{report}\n({len(left)} findings that are not allowed)")
    return report


def functions_of(module: ModuleType) -> list[Lintable]:
    """The compute functions of a module, and the kernels that none of them dispatches."""
    own = [thing for thing in _functions(module) if thing.function.__module__ == module.__name__]
    computes = [thing for thing in own if is_compute(thing)]
    dispatched: set[object] = set()
    for compute in computes:
        with suppress(TrilbyError):  # where it is refused, linting it tells so
            dispatched.update(kernel.kernel for kernel in analyse_compute(compute).kernels)
    return [*computes, *(thing for thing in own if is_kernel(thing) and thing not in dispatched)]


def _functions(module: ModuleType) -> Iterator[Reflectable]:
    for thing in vars(module).values():
        if isinstance(thing, Reflectable):
            yield thing
        elif isinstance(thing, type) and thing.__module__ == module.__name__:
            yield from (inner for inner in vars(thing).values() if isinstance(inner, Reflectable))
