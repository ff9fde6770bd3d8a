"""What a lint finds, and the report of all of them."""

from collections.abc import Iterator
from dataclasses import field
from typing import Literal, TypeAlias

from trilby.analysis.linting.witness import Witness
from trilby.dataclass import dataclass
from trilby.source import Location

Severity: TypeAlias = Literal["error", "warning", "hint"]
Verdict: TypeAlias = Literal["bug", "clean", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a lint says.

    `verdict` is `bug` where it is proved, and `unknown` where something is missing to say so or
    the opposite: the message tells what. `witness` shows it, `others` are further places that
    have to do with it.
    """

    lint: str
    severity: Severity
    verdict: Verdict
    message: str
    location: Location
    advice: str = ""
    witness: Witness | None = None
    others: tuple[Location, ...] = ()
    function: str = ""
    about: str = ""
    """The buffer or array that it is about, where a line may have to do with several."""

    @property
    def key(self) -> object:
        """Findings of one key say the same, of different launches for instance."""
        return self.lint, self.location, self.verdict, self.about

    def __str__(self) -> str:
        return f"{self.location}: {self.lint}: {self.message}"


@dataclass(frozen=True, slots=True)
class Report:
    """What all lints say of a function.

    `verdict` is `bug` where there is an error that is proved, `unknown` where something could not
    be decided, and `clean` otherwise: what is left then are hints. `assumptions` are what the
    verdict counts on: that buffers are as long as the launch needs them, for instance.
    """

    function: str
    findings: tuple[Finding, ...] = ()
    assumptions: tuple[str, ...] = ()
    silenced: int = 0
    """How many findings a comment silences."""
    location: Location | None = field(default=None, repr=False)

    @property
    def verdict(self) -> Verdict:
        """`bug`, `clean` or `unknown`."""
        if any(f.verdict == "bug" and f.severity == "error" for f in self.findings):
            return "bug"
        return "unknown" if any(f.verdict == "unknown" for f in self.findings) else "clean"

    def of(self, lint: str) -> tuple[Finding, ...]:
        """What one lint says."""
        return tuple(finding for finding in self.findings if finding.lint == lint)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.function}: {self.verdict}"
        for finding in self.findings:
            yield f"  {finding}"
            if finding.advice:
                yield f"    help: {finding.advice}"
        for assumption in self.assumptions:
            yield f"  assuming that {assumption}"
