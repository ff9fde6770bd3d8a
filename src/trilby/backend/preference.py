"""Which devices a user would take: texts such as `"gpu nvidia f64"`, and what they fit.

A preference is words with spaces between them, and a device fits if every word does. A word is
a backend (`opencl`, `opencl:1`), a kind (`gpu`), something that a device can (`f64`), `any`,
or else a part of the name or the vendor. This module opens nothing.
"""

from collections.abc import Iterable, Sequence
from typing import cast, get_args

from trilby.arguments import brief
from trilby.backend.base import DeviceInfo, Kind
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, ArgumentValueError

KINDS: tuple[Kind, ...] = get_args(Kind)
CAPABILITIES = ("f64", "f16", "i64_atomics", "shared_memory")
"""What devices may have or lack: the names in `DeviceInfo.features`."""


def is_word(text: str) -> bool:
    """Whether a word of a preference has a meaning of its own: `gpu`, `f64`, `any`."""
    return text == "any" or text in KINDS or text in CAPABILITIES


@dataclass(frozen=True, slots=True)
class Preference:
    """One entry of a list of preferences, and the backends that there are.

    `Preference("gpu f64", ("opencl", "interpreter")).misfit(device)` says what does not fit.
    """

    text: str
    backends: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The words, each of which has to fit."""
        return self.text.split()

    @property
    def is_plain(self) -> bool:
        """Whether each word is known: the others are parts of names, or plug-ins."""
        firsts = (word.lower().partition(":")[0] for word in self.words)
        return all(is_word(first) or first in self.backends for first in firsts)

    def names(self, backend: str) -> bool:
        """Whether a backend is asked for by its name."""
        return any(word.lower().partition(":")[0] == backend for word in self.words)

    def misfit(self, device: DeviceInfo) -> str:
        """Why a device is not what is asked for; empty where it is."""
        return next(filter(None, (self._misfit(word.lower(), device) for word in self.words)), "")

    def _misfit(self, word: str, device: DeviceInfo) -> str:
        if word.partition(":")[0] in self.backends:
            wanted = device.spec if ":" in word else device.backend
            return "" if wanted == word else f"it is {device.spec}, not {word}"
        if word in KINDS:
            return "" if device.kind == word else f"its kind is {device.kind}, not {word}"
        if word in CAPABILITIES:
            return "" if word in device.features else f"it has no {word}"
        is_named = word == "any" or word in f"{device.name}\n{device.vendor}".lower()
        return "" if is_named else f"`{word}` is in neither its name nor its vendor's"


def preferences(given: object, argument: str, backends: Iterable[str]) -> tuple[Preference, ...]:
    """Read what a user gave: a list of texts, or one text alone."""
    entries = [given] if isinstance(given, str) else given
    if not isinstance(entries, list | tuple):
        raise _no_list(given, argument)
    known = tuple(backends)
    listed = cast("Sequence[object]", entries)
    return tuple(_preference(entry, argument, known) for entry in listed)


def _preference(entry: object, argument: str, backends: tuple[str, ...]) -> Preference:
    if not isinstance(entry, str):
        raise _no_list(entry, argument)
    if not entry.split():
        raise ArgumentValueError(
            f"`{argument}` has an entry without a word", advice='write what is wanted, or "any"'
        )
    for word in entry.split():
        name, colon, number = word.lower().partition(":")
        if colon and name in backends and not (number.isascii() and number.isdigit()):
            raise ArgumentValueError(
                f"`{word}` names no device: after the colon comes its number",
                advice=f"write `{name}:0`; `trilby devices` lists them all",
            )
    return Preference(entry, backends)


def _no_list(given: object, argument: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"`{argument}` is a list of texts, and {brief(given)} is {type(given).__name__}",
        advice=f'write `{argument}=["gpu", "cpu"]`, or entries of several words: "gpu f64"',
    )
