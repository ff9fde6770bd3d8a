"""Identifiers for generated code: readable, unique, and no keywords."""

import re
from collections.abc import Callable, Iterable

C_WORDS = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float for goto if "
        "inline int long register restrict return short signed sizeof static struct switch "
        "typedef union unsigned void volatile while bool true false NULL",
    )
)

OWN = "tb_"
"""How every function begins that is made of one of the user's.

Libraries have functions of any name, more than a list could hold, and compilers know what many of
them do. None begins so.
"""


def plain(name: str) -> str:
    """A name in the letters that every language takes: `größe` becomes `gr__e`."""
    return re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "value"


def own_name(name: str) -> str:
    """The name of a generated function that stands for the user's: `tb_square`."""
    return f"{OWN}{plain(name)}"


class Identifiers:
    """Hands out identifiers; a name that is taken gets a number.

    `reserved` says which words of the language nobody may have in this scope.
    """

    def __init__(self, reserved: Callable[[str], bool], taken: Iterable[str] = ()) -> None:
        self._reserved = reserved
        self._taken = set(taken)
        self._last: dict[tuple[str, tuple[str, ...]], int] = {}

    def fresh(self, wanted: str) -> str:
        """The wanted name made fit for C, or with a number behind it if it is taken."""
        return self.stem(wanted, ("",))

    def stem(self, wanted: str, endings: tuple[str, ...]) -> str:
        """A name that is free with each of these endings; all of them are taken then.

        `stem("Result", ("_s", "_t"))` is `Result`, and `Result_s` and `Result_t` are gone.
        """
        base = plain(wanted)
        if base[0].isdigit():
            base = f"v{base}"
        if any(map(self._reserved, map(f"{base}_2".__add__, endings))):
            base = f"v_{base}"  # words such as `get_x` are reserved with any end
        return self.numbered(base, endings)

    def numbered(self, base: str, endings: tuple[str, ...] = ("",)) -> str:
        """A name as it is, or with the first number behind it with which it is free."""
        name, number = base, self._last.get((base, endings), 1)
        while not all(map(self.is_free, map(name.__add__, endings))):
            number += 1
            name = f"{base}_{number}"
        self._last[base, endings] = number
        self._taken.update(map(name.__add__, endings))
        return name

    def is_free(self, name: str) -> bool:
        """Whether nobody has a name."""
        return name not in self._taken and not self._reserved(name)

    def inner_scope(self) -> "Identifiers":
        """A scope with names of its own, none of which hides one that is taken here."""
        return Identifiers(self._reserved, self._taken)
