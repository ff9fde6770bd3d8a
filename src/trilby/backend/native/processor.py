"""What code is made for, and code that is loaded, without a word of LLVM."""

from typing import Protocol

from trilby.dataclass import dataclass


class RefusedTextError(Exception):
    """LLVM does not take a text; the message is its own."""


class Code(Protocol):
    """Code that is loaded; it can be called as long as this lives."""

    def __getitem__(self, symbol: str, /) -> int:
        """The address of a function."""
        ...


@dataclass(frozen=True, slots=True)
class Processor:
    """What code is made for, in LLVM's words: `Processor("x86_64-…", "znver3", "+avx2,…")`."""

    triple: str
    cpu: str
    features: str


@dataclass(frozen=True, slots=True)
class Detected:
    """The triple, the name and the features of a machine's processor, and the LLVM that said so."""

    triple: str
    cpu: str
    features: tuple[tuple[str, bool], ...]
    llvm: str
