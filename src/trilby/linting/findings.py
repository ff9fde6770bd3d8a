"""Findings of lints, the report that holds them, and the comments that silence them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Literal, TypeAlias

from trilby.data.schema import ArrayType, NDArrayType, path_steps, step_into
from trilby.dataclass import dataclass
from trilby.linting.accesses import MemoryAccess
from trilby.linting.decide.question import Witness
from trilby.model.op import Func
from trilby.source import Location, line_text

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


# ------------------------------------------------------------------------------------------ wording
# How findings speak of elements, work items and launches.


def element_text(access: MemoryAccess, indices: Sequence[int]) -> str:
    """`grid.array[1, 2]`, `table.result[3].x`."""
    text = access.memory.name
    left = list(indices)
    here = access.memory.type
    for step in path_steps(access.path):
        if step == "[]":
            rank = here.rank if isinstance(here, ArrayType | NDArrayType) else 1
            text += f"[{', '.join(map(str, left[:rank]))}]"
            left = left[rank:]
        else:
            text += f".{step}"
        here = step_into(here, step) or here
    return text


# ------------------------------------------------------------------------------------------ silence
# Comments that silence lints: `# trilby: ignore[race-write-write]`.
#
# On a line it silences what is found there, on the line of a `def` or of a decorator above it
# what is found in that function. Several ids are separated by commas.

_COMMENT = re.compile(r"#\s*trilby:\s*ignore\[([\w\s,-]+)\]")


def is_silenced(finding: Finding, functions: Iterable[Func]) -> bool:
    """Whether a comment on its line, or on its function or a decorator of that, names the lint."""
    where = finding.location
    lines = [where.line]
    for function in functions:
        at = function.location
        if at.file == where.file and at.line <= where.line <= max(at.end_line, at.line):
            line = at.line
            lines.append(line)
            while line > 1 and line_text(Location(at.file, line - 1)).lstrip().startswith("@"):
                line -= 1
                lines.append(line)
    return any(finding.lint in _ids(where.file, line) for line in lines)


def _ids(file: str, line: int) -> set[str]:
    match = _COMMENT.search(line_text(Location(file, line)))
    return {name.strip() for name in match[1].split(",")} if match else set()
