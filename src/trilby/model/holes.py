"""The texts of host ops: `{0}` stands for an operand, `{0} += {1}` for a change in place.

Where an op has no operands its text is taken as it is; otherwise braces of the text itself are
doubled. This module knows no Python syntax beyond words.
"""

import re

_HOLES = re.compile(r"\{\{|\}\}|\{(\d+)\}")
_MARK = "_trilby_operand_{}_"
_MARKS = re.compile(_MARK.format(r"(\d+)"))
_IN_PLACE = re.compile(r"\{0\} (\*\*|//|<<|>>|[-+*@/%&|^])= \{1\}")


def marked(code: str, count: int) -> str:
    """A text as plain Python, with a name for each of its `count` operands."""
    if not count:
        return code
    return _HOLES.sub(lambda hole: f"({_MARK.format(hole[1])})" if hole[1] else hole[0][0], code)


def operand_number(name: str) -> int | None:
    """The number of the operand that a name in a marked text stands for."""
    found = _MARKS.fullmatch(name)
    return int(found[1]) if found else None


def in_place_sign(code: str) -> str:
    """The sign of `{0} += {1}`, or nothing for any other text."""
    found = _IN_PLACE.fullmatch(code)
    return found[1] if found else ""


def identifiers(code: str) -> set[str]:
    """Every word in a text: the names that must not be taken for something else."""
    return set(re.findall(r"[^\W\d]\w*", code))
