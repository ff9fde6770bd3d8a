"""Arguments as users give them: read, or rejected with an error that names them.

Numbers of every kind are taken that Python takes for an index: ints, NumPy's integers, arrays
of no dimension. This module knows no buffers, ranges or devices.
"""

import operator
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

from trilby.errors import ArgumentTypeError, ArgumentValueError

# ----------------------------------------------------------------------------------------- spelling
# Names that were probably meant.


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like one that is not known; None where none is like it."""
    from difflib import get_close_matches  # noqa: PLC0415 -- only mistakes need it

    return next(iter(get_close_matches(name, list(known), n=1)), None)


# ---------------------------------------------------------------------------------------- arguments

_LONGEST_BITS = 256
_LONGEST_TEXT = 80


def whole_number(value: object) -> int | None:
    """The integer that a value stands for; None where it stands for none, as a bool does."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:  # classes and arrays have the method, and do not mean it
        return None


def brief(value: object) -> str:
    """A value as an error shows it: in one line, and not longer than that."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_BITS:
        return f"an integer of {value.bit_length()} bits"  # Python writes no thousands of digits
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 -- whatever a user's class does, the error is another one
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


def in_ticks(name: str) -> str:
    """A name in backticks as an error shows it: shortened, and its odd characters escaped."""
    text = name if name.isprintable() else repr(name)[1:-1]
    return f"`{text}`" if len(text) <= _LONGEST_TEXT else f"`{text[:_LONGEST_TEXT]}…`"


def flag(name: str, value: object) -> bool:
    """True or False, for the argument of that name."""
    if isinstance(value, bool):
        return value
    if type(value).__module__ == "numpy" and type(value).__name__ in {"bool", "bool_"}:
        return bool(value)
    raise ArgumentTypeError(
        f"`{name}` is True or False, and {brief(value)} is {type(value).__name__}",
        advice=f"write `{name}=True`, or leave it out",
    )


def choice(name: str, value: object, choices: Sequence[str]) -> str:
    """One of some names, for the argument of that name."""
    listed = ", ".join(f'"{one}"' for one in choices)
    if not isinstance(value, str):
        raise ArgumentTypeError(
            f"`{name}` is one of some names, and {brief(value)} is {type(value).__name__}",
            advice=f"use one of {listed}",
        )
    if value not in choices:
        meant = closest(value, choices)
        advice = f'did you mean "{meant}"? ' if meant else ""
        raise ArgumentValueError(
            f"`{name}` is {brief(value)}, and there is no such choice",
            advice=f"{advice}use one of {listed}",
        )
    return value
