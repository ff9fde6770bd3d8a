"""Lints: what one is, and where they are found.

A lint is a function of the facts of a kernel or of a compute function that yields findings:

    @kernel_lint("unused-parameter", severity="warning")
    def unused_parameter(facts: KernelFacts) -> Iterator[Finding]:
        '''A parameter that the kernel never uses. …'''

The first line of its docstring is its summary, all of it its page. Every module of
`trilby.linting.rules` is looked into, and what other packages declare in the entry-point group
`trilby.lints`: a module, or one lint.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from itertools import chain
from typing import Any, Literal, TypeAlias

from trilby.dataclass import dataclass
from trilby.errors import ArgumentValueError
from trilby.linting.decide.question import Witness
from trilby.linting.findings import Finding, Severity
from trilby.source import Location

GROUP = "trilby.lints"
HOME = "trilby.linting.rules"

Subject: TypeAlias = Literal["kernel", "compute", "ledger"]
Check: TypeAlias = Callable[[Any], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Lint:
    """A named check of kernels, of compute functions, or of the ledger of a run."""

    id: str
    subject: Subject
    severity: Severity
    check: Check

    @property
    def page(self) -> str:
        """What there is to know about it."""
        return inspect.getdoc(self.check) or ""

    @property
    def summary(self) -> str:
        """The first line of its page."""
        return self.page.partition("\n")[0]

    def __call__(self, facts: object) -> Iterator[Finding]:
        """Run it."""
        name: str = getattr(facts, "name", "")
        for finding in self.check(facts):
            yield finding if finding.function else replace(finding, function=name)

    def bug(
        self,
        message: str,
        location: Location,
        advice: str,
        *,
        severity: Severity | None = None,
        witness: Witness | None = None,
        others: tuple[Location, ...] = (),
        about: str = "",
    ) -> Finding:
        """A finding of this lint that is proved."""
        level = severity or self.severity
        return Finding(
            self.id, level, "bug", message, location, advice, witness, others, about=about
        )

    def unknown(
        self,
        message: str,
        location: Location,
        advice: str,
        *,
        others: tuple[Location, ...] = (),
        about: str = "",
    ) -> Finding:
        """A finding of this lint that is neither proved nor refuted; the message says why."""
        return Finding(
            self.id, "warning", "unknown", message, location, advice, None, others, about=about
        )


def _decorator(name: str, subject: Subject, severity: Severity) -> Callable[[Check], Lint]:
    def decorate(check: Check) -> Lint:
        if not inspect.getdoc(check):
            raise ArgumentValueError(
                f"the lint `{name}` has no docstring",
                advice="its first line is the summary of the lint, all of it its page",
            )
        return Lint(name, subject, severity, check)

    return decorate


def kernel_lint(name: str, *, severity: Severity = "warning") -> Callable[[Check], Lint]:
    """Make a lint of a function of `KernelFacts`."""
    return _decorator(name, "kernel", severity)


def compute_lint(name: str, *, severity: Severity = "warning") -> Callable[[Check], Lint]:
    """Make a lint of a function of `ComputeFacts`."""
    return _decorator(name, "compute", severity)


def ledger_lint(name: str, *, severity: Severity = "warning") -> Callable[[Check], Lint]:
    """Make a lint of a function of a `Ledger`."""
    return _decorator(name, "ledger", severity)


@cache
def all_lints() -> tuple[Lint, ...]:
    """Every lint that is installed, by its id; two of one id are an error."""
    found: dict[str, Lint] = {}
    names = pkgutil.iter_modules(importlib.import_module(HOME).__path__, f"{HOME}.")
    modules = [importlib.import_module(module.name) for module in names]
    installed = [point.load() for point in entry_points(group=GROUP)]
    for lint in chain.from_iterable(map(_in, (*modules, *installed))):
        if found.setdefault(lint.id, lint) is not lint:
            raise ArgumentValueError(
                f"two lints are called `{lint.id}`", advice="rename the one that you installed"
            )
    return tuple(found[name] for name in sorted(found))


def lint_named(name: str) -> Lint:
    """The lint of that id."""
    known = {lint.id: lint for lint in all_lints()}
    if name not in known:
        raise ArgumentValueError(
            f"there is no lint `{name}`", advice=f"use one of {', '.join(known)}"
        )
    return known[name]


def _in(thing: object) -> list[Lint]:
    """The lints in a module, or the lint itself."""
    members = [thing] if isinstance(thing, Lint) else vars(thing).values()
    return [member for member in members if isinstance(member, Lint)]
