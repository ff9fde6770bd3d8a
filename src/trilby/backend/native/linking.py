"""Object code into memory, where it is simple: what LLVM makes of kernels on x86-64.

LLVM can do this for everything, but takes longer to load than all else that a kernel needs which
was compiled before. Code is taken here only if all of it is understood: sections that nobody
writes to, places that are relative, and functions of the process. Anything else is LLVM's.
"""

import ctypes
import mmap
import os
import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import cache
from struct import Struct, error, pack_into
from typing import Any

from trilby.dataclass import dataclass
from trilby.messages import tell

# ---------------------------------------------------------------------------------------------- elf
# Object files as LLVM makes them for x86-64: what they consist of, as far as it is understood.
#
# Whatever is read here is checked against the rest of the file first: a section lies inside of
# the file, a symbol and a relocation inside of their sections, and every index names something.

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
        text = names[name : names.index(b"\0", name)].decode(errors="replace")
        found.append(Symbol(text, section, value))
    return found


def relocations_of(
    code: bytes, sections: Sequence[Section], wanted: Container[int]
) -> Iterator[tuple[int, int, int, int, int]]:
    """Each place in some sections that has to be filled in.

    A relocation is a section, a place in it, a kind, the number of a symbol, and an addend.
    """
    for one in sections:
        _check(one.kind != OTHER_RELOCATIONS)
        if one.kind == RELOCATIONS and one.info in wanted:
            _check(one.info < len(sections))
            size = sections[one.info].size
            symbols = _section(sections, one.link, SYMBOLS).size // _SYMBOL.size
            for place, kind, symbol, addend in one.table(code, _RELOCATION):
                _check(symbol < symbols)
                _check(place + (8 if kind in _WIDE else 4) <= size)
                yield one.info, place, kind, symbol, addend


def _section(sections: Sequence[Section], number: int, kind: int) -> Section:
    """The section with a number, which has to be of a kind."""
    _check(number < len(sections))
    _check(sections[number].kind == kind)
    return sections[number]


def _check(holds: bool) -> None:  # noqa: FBT001 -- a condition
    if not holds:
        raise UnknownError


# ------------------------------------------------------------------------------------------ linking

_RELATIVE, _CALL = 2, 4

_JUMP = b"\xff\x25\x00\x00\x00\x00"
"""`jmp [rip]`: to the address that follows."""
_STUB = len(_JUMP) + 8


class LinkedCode:
    """Code in memory of its own, as long as this lives."""

    __slots__ = ("_addresses", "_begin", "_size")

    def __init__(self, begin: int, size: int, places: Mapping[str, int]) -> None:
        self._begin, self._size = begin, size
        self._addresses = {name: begin + place for name, place in places.items()}

    def __getitem__(self, symbol: str, /) -> int:
        """The address of a function."""
        return self._addresses[symbol]

    def __del__(self) -> None:
        if not sys.is_finalizing():  # threads may be in it to the very end of the process
            _process().munmap(self._begin, self._size)


def can_link() -> bool:
    """Whether code for this machine is understood at all."""
    return os.uname().machine == "x86_64"


def linked(code: bytes, symbols: Sequence[str], shown_in: str | None = None) -> LinkedCode | None:
    """The functions of an object file by name, or None where it is not understood.

    Debuggers and profilers find what they need in the folder `shown_in`, if there is one.
    """
    if not can_link():
        return None
    try:
        image = _Image(code)
        places = {name: image.place_of_function(name) for name in symbols}
        begin = _shown(code, image, shown_in, symbols[0]) if shown_in else None
    except (UnknownError, error):  # `error`: a place that is too far from another
        return None
    begin = begin or _executable(bytes(image.content))
    return None if begin is None else LinkedCode(begin, len(image.content), places)


class _Image:
    """What is to stand in memory, wherever that is: its content, and where its sections begin.

    Behind the sections are stubs: jumps to functions of the process, which may be far away.
    """

    def __init__(self, code: bytes) -> None:
        self._all = sections_of(code)
        self._symbols = symbols_of(code, self._all)
        self.sections, size = _layout(self._all)
        outside = dict.fromkeys(one.name for one in self._symbols if one.section == UNDEFINED)
        outside.pop("", None)
        self._stubs = {name: size + _STUB * number for number, name in enumerate(outside)}
        self.content = bytearray(size + _STUB * len(outside))
        for number, place in self.sections.items():
            part = self._all[number].content(code)
            self.content[place : place + len(part)] = part
        for name, place in self._stubs.items():
            stub = _JUMP + _address_of(name).to_bytes(8, "little")
            self.content[place : place + _STUB] = stub
        for section, offset, kind, number, addend in relocations_of(code, self._all, self.sections):
            one, place = self._symbols[number], self.sections[section] + offset
            # A stub can be called, and no more: data of the process is not there.
            is_call = kind == _CALL and (one.section == UNDEFINED or self._is_function(one))
            _check(is_call or (kind == _RELATIVE and one.section != UNDEFINED))
            pack_into("<i", self.content, place, self._place_of(one) + addend - place)

    def place_of_function(self, name: str) -> int:
        """Where in it a function begins: there has to be one of that name."""
        found = [one for one in self._symbols if one.name == name and self._is_function(one)]
        _check(len(found) == 1)
        return self._place_of(found[0])

    def _place_of(self, one: Symbol) -> int:
        if one.section == UNDEFINED and one.name:
            return self._stubs[one.name]
        _check(one.section in self.sections)
        return self.sections[one.section] + one.value

    def _is_function(self, one: Symbol) -> bool:
        """Whether instructions are at a symbol."""
        if one.section not in self.sections:
            return False
        section = self._all[one.section]
        return bool(section.flags & EXECUTABLE) and one.value < section.size


def _layout(sections: Sequence[Section]) -> tuple[dict[int, int], int]:
    """Where the sections begin that are needed in memory, and how much they take."""
    places: dict[int, int] = {}
    end = 0
    for number, one in enumerate(sections):
        # Nobody throws exceptions through kernels: how to unwind their stack is not needed.
        if one.flags & ALLOCATED and one.kind != UNWINDING and one.size:
            _check(not one.flags & (WRITABLE | OF_A_THREAD) and one.has_content)
            _check(1 <= one.alignment <= mmap.PAGESIZE)  # memory begins with a page
            places[number] = -(-end // one.alignment) * one.alignment
            end = places[number] + one.size
    return places, -(-end // 16) * 16


@cache
def _process() -> Any:
    """The functions of this process and of what it has loaded."""
    process: Any = ctypes.CDLL(None, use_errno=True)
    process.mmap.restype = ctypes.c_void_p
    size, number = ctypes.c_size_t, ctypes.c_int
    process.mmap.argtypes = (ctypes.c_void_p, size, number, number, number, ctypes.c_int64)
    process.mprotect.argtypes = (ctypes.c_void_p, size, number)
    process.munmap.argtypes = (ctypes.c_void_p, size)
    return process


def _address_of(name: str) -> int:
    try:
        found: Any = _process()[name]
    except AttributeError:
        raise UnknownError from None
    return int(ctypes.cast(found, ctypes.c_void_p).value or 0)


def _executable(content: bytes) -> int | None:
    """The address of memory with that content, or None where the system forbids it."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    begin = _mapped(len(content), mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if begin is None:
        return None
    ctypes.memmove(begin, content, len(content))
    if _process().mprotect(begin, len(content), mmap.PROT_READ | mmap.PROT_EXEC):
        _process().munmap(begin, len(content))
        return None
    return begin


def _shown(code: bytes, image: _Image, folder: str, name: str) -> int | None:
    """The address of memory with the code in a file that tells more about it, which is written."""
    from trilby.backend.native import symbol_files  # noqa: PLC0415 -- few ask for them

    content = symbol_files.shared_object(code, bytes(image.content), image.sections)
    path, file = symbol_files.new_file(folder, name, content)
    try:
        protection = mmap.PROT_READ | mmap.PROT_EXEC
        size = len(image.content)
        begin = _mapped(size, protection, mmap.MAP_PRIVATE, file, symbol_files.BEGIN)
    finally:
        os.close(file)
    if begin is None:
        tell("warning", "code may not be run from %s: gdb and perf will not know it", path)
    else:
        symbol_files.tell_gdb(path, begin)
    return begin


def _mapped(size: int, protection: int, flags: int, file: int, offset: int) -> int | None:
    begin = _process().mmap(None, size, protection, flags, file, offset)
    return None if begin in {None, ctypes.c_void_p(-1).value} else int(begin)
