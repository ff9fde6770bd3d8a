"""Identifiers for generated code: readable, unique, and no keywords."""

import re

C_WORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while bool true false NULL".split()
)


class Names:
    """Hands out identifiers; a name that is taken gets a number."""

    def __init__(self, reserved: frozenset[str] = C_WORDS) -> None:
        self._taken = set(reserved)

    def fresh(self, wanted: str) -> str:
        """The wanted name made fit for C, or with a number behind it if it is taken."""
        base = re.sub(r"\W", "_", wanted, flags=re.ASCII).strip("_") or "value"
        if base[0].isdigit():
            base = f"v{base}"
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def child(self) -> "Names":
        """An inner scope: it may not shadow what is taken here."""
        return Names(frozenset(self._taken))
