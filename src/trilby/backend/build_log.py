"""What a device's compiler complained about, and where in the user's Python that is.

Generated code names the Python lines it came from in `#line` directives, so a compiler
reports its errors there. This module reads the report. It knows the manners of several
compilers and calls none.
"""

import re

from trilby.dataclass import dataclass
from trilby.source import Location

# Patterns are compiled when something failed, and not when this is imported.
_DIRECTIVE = r'(?m)^\s*#line\s+\d+\s+"(?P<file>.*)"\s*$'
_MANNERS = (
    # PoCL: the severity comes first.
    r"^\s*error: (?P<file>.+?):(?P<line>\d+):\d+: (?P<message>.+)$",
    # Clang, Intel, Mesa, Oclgrind.
    r"^\s*(?P<file>.+?):(?P<line>\d+):\d+: (?:fatal )?error: (?P<message>.+)$",
    # NVIDIA.
    r"^\s*(?P<file>.+?)\((?P<line>\d+)\): error(?: \S+)?: (?P<message>.+)$",
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error of a compiler, and the place in the user's Python if it has one."""

    message: str
    location: Location | None


def first_complaint(log: str, text: str) -> Complaint:
    """The first error of a log that has a place in Python, or else the first error.

    `text` is the generated code: its `#line` directives tell which files are Python's.
    """
    python_files = {_unescaped(match["file"]) for match in re.finditer(_DIRECTIVE, text)}
    found = [_complaint(match, python_files) for match in _errors(log)]
    located = (complaint for complaint in found if complaint.location is not None)
    silent = Complaint("the compiler gave no reason", None)
    return next(located, found[0] if found else silent)


def _errors(log: str) -> list[re.Match[str]]:
    matches = (re.match(manner, line) for line in log.splitlines() for manner in _MANNERS)
    return [match for match in matches if match is not None]


def _unescaped(literal: str) -> str:
    """The text of a string of C, in which bytes may be given as octal numbers."""
    content = re.sub(
        rb"\\([0-7]{3}|.)",
        lambda match: bytes([int(match[1], 8)]) if len(match[1]) > 1 else match[1],
        literal.encode(),
    )
    return content.decode(errors="replace")


def _complaint(match: re.Match[str], python_files: set[str]) -> Complaint:
    file = match["file"]
    # The column counts in the generated line, which is not the Python line: it is left out.
    location = Location(file, int(match["line"])) if file in python_files else None
    return Complaint(match["message"].strip(), location)
