"""Object code into memory, where it is simple: what LLVM makes of kernels on x86-64.

LLVM can do this for everything, but takes longer to load than all else that a kernel needs which
was compiled before. Code is taken here only if all of it is understood: sections that nobody
writes to, places that are relative, and functions of the process. Anything else is LLVM's.
"""

import ctypes
import mmap
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from struct import Struct, error, pack_into
from typing import Any

from trilby.dataclass import dataclass

_MAGIC = b"\x7fELF\x02\x01\x01"
_RELOCATABLE, _X86_64 = 1, 62
_WRITABLE, _ALLOCATED, _OF_A_THREAD = 1, 2, 0x400
_SYMBOLS, _RELOCATIONS, _ZEROS, _OTHER_RELOCATIONS, _UNWINDING = 2, 4, 8, 9, 0x7000_0001
_UNDEFINED = 0
_RELATIVE, _CALL = 2, 4

_HEADER = Struct("<16sHHIQQQIHHHHHH")
_SECTION = Struct("<4xIQ8xQQIIQ8x")
_SYMBOL = Struct("<I2xHQ8x")
_RELOCATION = Struct("<QIIq")

_JUMP = b"\xff\x25\x00\x00\x00\x00"
"""`jmp [rip]`: to the address that follows."""
_STUB = len(_JUMP) + 8


class _UnknownError(Exception):
    """Something that is not understood here."""


@dataclass(frozen=True, slots=True)
class _Section:
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    def content(self, code: bytes) -> bytes:
        found = code[self.offset : self.offset + self.size]
        if len(found) != self.size:
            raise _UnknownError
        return found


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    section: int
    value: int


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


def linked(code: bytes, symbols: Sequence[str]) -> LinkedCode | None:
    """The functions of an object file by name, or None where it is not understood."""
    try:
        image, places = _image(code, symbols)
    except (_UnknownError, error, IndexError, OverflowError, ValueError):
        return None
    begin = _executable(image)
    return None if begin is None else LinkedCode(begin, len(image), places)


def _image(code: bytes, wanted: Sequence[str]) -> tuple[bytearray, dict[str, int]]:
    """What is to stand in memory, wherever it is, and where in it some functions begin."""
    sections = _sections(code)
    symbols = _symbols(code, sections)
    places, size = _layout(sections)
    contents = {number: sections[number].content(code) for number in places}
    outside = [one.name for one in symbols if one.section == _UNDEFINED and one.name]
    stubs = {name: size + _STUB * number for number, name in enumerate(outside)}
    image = bytearray(size + _STUB * len(stubs))
    for number, place in places.items():
        image[place : place + len(contents[number])] = contents[number]
    for name, place in stubs.items():
        image[place : place + _STUB] = _JUMP + _address_of(name).to_bytes(8, "little")

    def place_of(one: _Symbol) -> int:
        if one.section == _UNDEFINED and one.name:
            return stubs[one.name]
        if one.section not in places:
            raise _UnknownError
        return places[one.section] + one.value

    for place, kind, number, addend in _relocations(code, sections, places):
        one = symbols[number]
        # A stub can be called, and no more: data of the process is not there.
        if kind != _CALL and (kind != _RELATIVE or one.section == _UNDEFINED):
            raise _UnknownError
        pack_into("<i", image, place, place_of(one) + addend - place)
    found = {one.name: place_of(one) for one in symbols if one.name in wanted}
    if len(found) != len(wanted):
        raise _UnknownError
    return image, found


def _sections(code: bytes) -> list[_Section]:
    header = _HEADER.unpack_from(code)
    kind, machine, place, size, count = header[1], header[2], header[6], header[11], header[12]
    if (kind, machine, size) != (_RELOCATABLE, _X86_64, _SECTION.size):
        raise _UnknownError
    if not header[0].startswith(_MAGIC) or os.uname().machine != "x86_64":
        raise _UnknownError
    return [_Section(*_SECTION.unpack_from(code, place + n * size)) for n in range(count)]


def _layout(sections: Sequence[_Section]) -> tuple[dict[int, int], int]:
    """Where the sections begin that are needed in memory, and how much they take."""
    places: dict[int, int] = {}
    end = 0
    for number, one in enumerate(sections):
        # Nobody throws exceptions through kernels: how to unwind their stack is not needed.
        if one.flags & _ALLOCATED and one.kind != _UNWINDING and one.size:
            if one.flags & (_WRITABLE | _OF_A_THREAD) or one.kind == _ZEROS:
                raise _UnknownError
            if not 1 <= one.alignment <= mmap.PAGESIZE:  # memory begins with a page
                raise _UnknownError
            places[number] = -(-end // one.alignment) * one.alignment
            end = places[number] + one.size
    return places, -(-end // 16) * 16


def _symbols(code: bytes, sections: Sequence[_Section]) -> list[_Symbol]:
    tables = [one for one in sections if one.kind == _SYMBOLS]
    if len(tables) != 1:
        raise _UnknownError
    names = sections[tables[0].link].content(code)

    def name_at(begin: int) -> str:
        return names[begin : names.index(b"\0", begin)].decode() if begin else ""

    found = _SYMBOL.iter_unpack(tables[0].content(code))
    return [_Symbol(name_at(name), section, value) for name, section, value in found]


def _relocations(
    code: bytes, sections: Sequence[_Section], places: Mapping[int, int]
) -> Iterator[tuple[int, int, int, int]]:
    """Each place that has to be filled in: with what kind, for which symbol, and how far on."""
    for one in sections:
        if one.kind == _OTHER_RELOCATIONS:
            raise _UnknownError
        if one.kind == _RELOCATIONS and one.info in places:
            for place, kind, symbol, addend in _RELOCATION.iter_unpack(one.content(code)):
                yield places[one.info] + place, kind, symbol, addend


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
        raise _UnknownError from None
    return int(ctypes.cast(found, ctypes.c_void_p).value or 0)


def _executable(image: bytearray) -> int | None:
    """The address of memory with that content, or None where the system forbids it."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    begin = _process().mmap(None, len(image), mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if begin in {None, ctypes.c_void_p(-1).value}:
        return None
    ctypes.memmove(begin, bytes(image), len(image))
    if _process().mprotect(begin, len(image), mmap.PROT_READ | mmap.PROT_EXEC):
        _process().munmap(begin, len(image))
        return None
    return int(begin)
