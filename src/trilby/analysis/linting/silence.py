"""Comments that silence lints: `# trilby: ignore[race-write-write]`.

On a line it silences what is found there, on the line of a `def` or of a decorator above it what
is found in that function. Several ids are separated by commas.
"""

import re
from collections.abc import Iterable

from trilby.analysis.linting.report import Finding
from trilby.model.op import Func
from trilby.source import Location, line_text

_COMMENT = re.compile(r"#\s*trilby:\s*ignore\[([\w\s,-]+)\]")


def is_silenced(finding: Finding, functions: Iterable[Func]) -> bool:
    """Whether a comment on its line, or on its function, names the lint."""
    where = finding.location
    if finding.lint in _ids(where.file, where.line):
        return True
    return any(finding.lint in _heading_ids(f) for f in functions if _holds(f, where))


def _holds(function: Func, where: Location) -> bool:
    at = function.location
    return at.file == where.file and at.line <= where.line <= max(at.end_line, at.line)


def _heading_ids(function: Func) -> set[str]:
    """The ids on the line of a function, and on the decorators above."""
    at = function.location
    found = _ids(at.file, at.line)
    line = at.line - 1
    while line > 0 and line_text(Location(at.file, line)).lstrip().startswith("@"):
        found |= _ids(at.file, line)
        line -= 1
    return found


def _ids(file: str, line: int) -> set[str]:
    match = _COMMENT.search(line_text(Location(file, line)))
    return {name.strip() for name in match[1].split(",")} if match else set()
