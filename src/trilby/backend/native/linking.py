"""Object code into memory, where it is simple: what LLVM makes of kernels on x86-64.

LLVM can do this for everything, but takes longer to load than all else that a kernel needs which
was compiled before. Code is taken here only if all of it is understood: sections that nobody
writes to, places that are relative, and functions of the process. Anything else is LLVM's.

The object files are LLVM's own, and the cache checks the digest of those that it returns. So what
is read here is not checked for damage.
"""

import ctypes
import mmap
import os
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache
from struct import Struct, pack_into
from typing import Any, NamedTuple

from trilby.messages import tell

# ---------------------------------------------------------------------------------------------- elf
# Object files as LLVM makes them for x86-64: what they consist of, as far as it is understood.

_MAGIC = b"\x7fELF\x02\x01\x01"
WRITABLE, ALLOCATED, EXECUTABLE, OF_A_THREAD = 1, 2, 4, 0x400
NOTHING, SYMBOLS, RELOCATIONS, ZEROS, UNWINDING = 0, 2, 4, 8, 0x7000_0001
UNDEFINED = 0

HEADER = Struct("<16sHHIQQQIHHHHHH")
SECTION = Struct("<IIQQQQIIQQ")
SYMBOL = Struct("<IBBHQQ")
_RELOCATION = Struct("<QIIq")


class UnknownError(Exception):
    """Something in object code that only LLVM can load."""


class Section(NamedTuple):
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
        return code[self.offset : self.offset + self.size]


class Symbol(NamedTuple):
    """The name of a place in a section."""

    name: str
    section: int
    value: int


def sections_of(code: bytes) -> list[Section]:
    """All parts of an object file."""
    if not code.startswith(_MAGIC):
        raise UnknownError
    header = HEADER.unpack_from(code)
    begin, count = header[6], header[12]
    return [Section(*SECTION.unpack_from(code, begin + n * SECTION.size)) for n in range(count)]


def symbols_of(code: bytes, sections: Sequence[Section]) -> list[Symbol]:
    """All its symbols, in their order."""
    table = next(one for one in sections if one.kind == SYMBOLS)
    names = sections[table.link].content(code)
    return [
        Symbol(names[name : names.index(b"\0", name)].decode(errors="replace"), section, value)
        for name, _, _, section, value, _ in SYMBOL.iter_unpack(table.content(code))
    ]


def relocations_of(
    code: bytes, sections: Sequence[Section], wanted: Container[int]
) -> Iterator[tuple[int, int, int, int, int]]:
    """Each place in some sections that has to be filled in.

    A relocation is a section, a place in it, a kind, the number of a symbol, and an addend.
    """
    for one in sections:
        if one.kind == RELOCATIONS and one.info in wanted:
            for place, kind, symbol, addend in _RELOCATION.iter_unpack(one.content(code)):
                yield one.info, place, kind, symbol, addend


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

    def __del__(self, is_at_end: Callable[[], bool] = sys.is_finalizing) -> None:
        if not is_at_end():  # threads may be in it to the very end of the process
            _process().munmap(self._begin, self._size)


def linked(code: bytes, names: Sequence[str], shown_in: str | None = None) -> LinkedCode | None:
    """The functions of an object file by name, or None where it is not understood.

    Debuggers and profilers find what they need in the folder `shown_in`, if there is one.
    """
    if os.uname().machine != "x86_64":
        return None
    try:
        content, sections, functions = _image(code)
        places = {name: functions[name] for name in names}
        begin = _shown(code, content, sections, shown_in, names[0]) if shown_in else None
    except (UnknownError, KeyError):  # `KeyError`: a symbol in no section that is in memory
        return None
    begin = begin or _executable(content)
    return None if begin is None else LinkedCode(begin, len(content), places)


def _image(code: bytes) -> tuple[bytes, dict[int, int], dict[str, int]]:
    """What is to stand in memory, wherever that is, and where its sections and functions begin.

    Behind the sections are stubs: jumps to functions of the process, which may be far away.
    """
    sections = sections_of(code)
    symbols = symbols_of(code, sections)
    places, size = _layout(sections)
    outside = dict.fromkeys(s.name for s in symbols if s.section == UNDEFINED and s.name)
    stubs = {name: size + _STUB * number for number, name in enumerate(outside)}
    content = bytearray(size + _STUB * len(stubs))
    for number, place in places.items():
        part = sections[number].content(code)
        content[place : place + len(part)] = part
    for name, place in stubs.items():
        content[place : place + _STUB] = _JUMP + _address_of(name).to_bytes(8, "little")
    instructions = {number for number in places if sections[number].flags & EXECUTABLE}
    for section, offset, kind, number, addend in relocations_of(code, sections, places):
        one, place = symbols[number], places[section] + offset
        # A stub can be called, and no more: data of the process is not there.
        is_call = kind == _CALL and one.section in {UNDEFINED, *instructions}
        if not (is_call or (kind == _RELATIVE and one.section != UNDEFINED)):
            raise UnknownError
        is_outside = one.section == UNDEFINED
        target = stubs[one.name] if is_outside else places[one.section] + one.value
        pack_into("<i", content, place, target + addend - place)
    functions = {s.name: places[s.section] + s.value for s in symbols if s.section in instructions}
    return bytes(content), places, functions


def _layout(sections: Sequence[Section]) -> tuple[dict[int, int], int]:
    """Where the sections begin that are needed in memory, and how much they take."""
    places: dict[int, int] = {}
    end = 0
    for number, one in enumerate(sections):
        # Nobody throws exceptions through kernels: how to unwind their stack is not needed.
        if one.flags & ALLOCATED and one.kind != UNWINDING and one.size:
            # Memory begins with a page.
            is_known = one.kind != ZEROS and one.alignment <= mmap.PAGESIZE
            if not is_known or one.flags & (WRITABLE | OF_A_THREAD):
                raise UnknownError
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


def _shown(
    code: bytes, content: bytes, sections: Mapping[int, int], folder: str, name: str
) -> int | None:
    """The address of memory with the code in a file that tells more about it, which is written."""
    from trilby.backend.native import symbol_files  # noqa: PLC0415 -- few ask for them

    shared = symbol_files.shared_object(code, content, sections)
    path, file = symbol_files.new_file(folder, name, shared)
    try:
        protection = mmap.PROT_READ | mmap.PROT_EXEC
        begin = _mapped(len(content), protection, mmap.MAP_PRIVATE, file, symbol_files.BEGIN)
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
