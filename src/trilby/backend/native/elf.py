"""Object files as LLVM makes them for x86-64: what they consist of, as far as it is understood.

Whatever is read here is checked against the rest of the file first: a section lies inside of the
file, a symbol and a relocation inside of their sections, and every index names something.
"""

from collections.abc import Container, Iterator, Sequence
from struct import Struct
from typing import NamedTuple

from trilby.dataclass import dataclass

_MAGIC = b"\x7fELF\x02\x01\x01"
_RELOCATABLE, _X86_64 = 1, 62
WRITABLE, ALLOCATED, EXECUTABLE, OF_A_THREAD = 1, 2, 4, 0x400
_NOTHING, SYMBOLS, _STRINGS, RELOCATIONS = 0, 2, 3, 4
ZEROS, OTHER_RELOCATIONS, UNWINDING = 8, 9, 0x7000_0001
UNDEFINED = 0
_ABSOLUTE = 0xFFF1
"""Instead of the number of a section: the symbol is in none."""

HEADER = Struct("<16sHHIQQQIHHHHHH")
SECTION = Struct("<IIQQQQIIQQ")
_SYMBOL = Struct("<I2xHQQ")
_RELOCATION = Struct("<QIIq")

_WIDE = {1, 24}
"""The kinds of relocations that fill in 8 bytes and not 4."""


class UnknownError(Exception):
    """Something that is not understood here, or contradicts itself."""


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

    @property
    def has_content(self) -> bool:
        """Whether it takes bytes of the file."""
        return self.kind not in {_NOTHING, ZEROS}

    def content(self, code: bytes) -> bytes:
        """Its bytes."""
        return code[self.offset : self.offset + self.size]

    def table(self, code: bytes, entry: Struct) -> Iterator[tuple[int, ...]]:
        """Its entries."""
        _check(self.entry_size == entry.size and self.size % entry.size == 0)
        return entry.iter_unpack(self.content(code))


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
    """All parts of an object file."""
    _check(code.startswith(_MAGIC) and len(code) >= HEADER.size)
    header = HEADER.unpack_from(code)
    kind, machine, place, size, count = header[1], header[2], header[6], header[11], header[12]
    _check((kind, machine, size) == (_RELOCATABLE, _X86_64, SECTION.size))
    _check(place + size * count <= len(code))
    found = [Section(*SECTION.unpack_from(code, place + n * size)) for n in range(count)]
    stored = [one for one in found if one.has_content]
    _check(all(one.offset + one.size <= len(code) for one in stored))
    _check(sum(one.size for one in stored) <= len(code))  # no bytes belong to two of them
    _check(all(one.alignment & one.alignment - 1 == 0 for one in found if one.alignment))
    return found


def symbols_of(code: bytes, sections: Sequence[Section]) -> list[Symbol]:
    """All its symbols, in their order."""
    tables = [one for one in sections if one.kind == SYMBOLS]
    _check(len(tables) == 1)
    names = _section(sections, tables[0].link, _STRINGS).content(code)
    _check(names.endswith(b"\0"))
    found: list[Symbol] = []
    for name, section, value, size in tables[0].table(code, _SYMBOL):
        _check(name < len(names))
        if section not in {UNDEFINED, _ABSOLUTE}:
            _check(section < len(sections))
            _check(value + size <= sections[section].size)
        found.append(Symbol(_decoded(names[name : names.index(b"\0", name)]), section, value))
    return found


def relocations_of(
    code: bytes, sections: Sequence[Section], wanted: Container[int]
) -> Iterator[Relocation]:
    """Each place in some sections that has to be filled in."""
    for one in sections:
        _check(one.kind != OTHER_RELOCATIONS)
        if one.kind == RELOCATIONS and one.info in wanted:
            _check(one.info < len(sections))
            size = sections[one.info].size
            symbols = _section(sections, one.link, SYMBOLS).size // _SYMBOL.size
            for place, kind, symbol, addend in one.table(code, _RELOCATION):
                _check(symbol < symbols)
                _check(place + (8 if kind in _WIDE else 4) <= size)
                yield Relocation(one.info, place, kind, symbol, addend)


def _section(sections: Sequence[Section], number: int, kind: int) -> Section:
    """The section with a number, which has to be of a kind."""
    _check(number < len(sections))
    _check(sections[number].kind == kind)
    return sections[number]


def _decoded(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise UnknownError from None


def _check(holds: bool) -> None:  # noqa: FBT001 -- a condition
    if not holds:
        raise UnknownError
