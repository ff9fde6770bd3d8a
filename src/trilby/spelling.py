"""Names that were probably meant."""

from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like one that is not known; None where none is like it."""
    from difflib import get_close_matches  # noqa: PLC0415 -- only mistakes need it

    return next(iter(get_close_matches(name, list(known), n=1)), None)
