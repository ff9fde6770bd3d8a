"""Object files as LLVM makes them for x86-64: what they consist of, as far as it is understood."""

import os
from collections.abc import Container, Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from trilby.dataclass import dataclass

_MAGIC = b"\x7fELF\x02\x01\x01"
_RELOCATABLE, _X86_64 = 1, 62
WRITABLE, ALLOCATED, OF_A_THREAD = 1, 2, 0x400
SYMBOLS, RELOCATIONS, ZEROS, OTHER_RELOCATIONS, UNWINDING = 2, 4, 8, 9, 0x7000_0001
UNDEFINED = 0

HEADER = Struct("<16sHHIQQQIHHHHHH")
SECTION = Struct("<IIQQQQIIQQ")
_SYMBOL = Struct("<I2xHQ8x")
_RELOCATION = Struct("<QIIq")


class UnknownError(Exception):
    """Something that is not understood here."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an object file, with the numbers of its header."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    def content(self, code: bytes) -> bytes:
        """Its bytes."""
        found = code[self.offset : self.offset + self.size]
        if len(found) != self.size:
            raise UnknownError
        return found


@dataclass(frozen=True, slots=True)
class Symbol:
    """The name of a place in a section."""

    name: str
    section: int
    value: int


class Relocation(NamedTuple):
    """A place in a section that has to be filled in."""

    section: int
    place: int
    kind: int
    symbol: int
    addend: int


def sections_of(code: bytes) -> list[Section]:
    """All parts of an object file for this machine."""
    header = HEADER.unpack_from(code)
    kind, machine, place, size, count = header[1], header[2], header[6], header[11], header[12]
    if (kind, machine, size) != (_RELOCATABLE, _X86_64, SECTION.size):
        raise UnknownError
    if not header[0].startswith(_MAGIC) or os.uname().machine != "x86_64":
        raise UnknownError
    return [Section(*SECTION.unpack_from(code, place + n * size)) for n in range(count)]


def symbols_of(code: bytes, sections: Sequence[Section]) -> list[Symbol]:
    """All its symbols, in their order."""
    tables = [one for one in sections if one.kind == SYMBOLS]
    if len(tables) != 1:
        raise UnknownError
    names = sections[tables[0].link].content(code)

    def name_at(begin: int) -> str:
        return names[begin : names.index(b"\0", begin)].decode() if begin else ""

    found = _SYMBOL.iter_unpack(tables[0].content(code))
    return [Symbol(name_at(name), section, value) for name, section, value in found]


def relocations_of(
    code: bytes, sections: Sequence[Section], wanted: Container[int]
) -> Iterator[Relocation]:
    """Each place in some sections that has to be filled in."""
    for one in sections:
        if one.kind == OTHER_RELOCATIONS:
            raise UnknownError
        if one.kind == RELOCATIONS and one.info in wanted:
            for place, kind, symbol, addend in _RELOCATION.iter_unpack(one.content(code)):
                yield Relocation(one.info, place, kind, symbol, addend)
