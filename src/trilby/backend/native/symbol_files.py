"""Files with the code that is in memory, for debuggers and profilers.

`perf` looks into the file that code is mapped from, and `gdb` into those that it is told of, for
the names of functions and the lines of their source. What LLVM makes is an object file: here it
becomes a shared object, with the same sections in the same order, each of which has its place.
"""

import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from struct import Struct, pack_into

from trilby.backend import private_folder
from trilby.backend.native.linking import (
    ALLOCATED,
    HEADER,
    NOTHING,
    RELOCATIONS,
    SECTION,
    SYMBOL,
    SYMBOLS,
    Section,
    relocations_of,
    sections_of,
    symbols_of,
)
from trilby.errors import ArgumentValueError

BEGIN = 4096
"""Where the code begins in a file: with a page, as in memory."""

_SHARED_OBJECT, _HEADERS = 3, HEADER.size
_PROGRAM = Struct("<IIQQQQQQ")
_LOADED, _READ_AND_RUN = 1, 5
_ABSOLUTE = {1: "<Q", 10: "<I"}
"""How what debugging data refers to is written, by the kind of the place."""

_NUMBERS = count()

_LONGEST_NAME = 50
"""How much of a kernel's name is in that of its file; systems take 255 bytes in all."""


def shared_object(code: bytes, image: bytes, places: Mapping[int, int]) -> bytes:
    """An object file as a shared object with an image of its code, and where its sections are."""
    sections = sections_of(code)
    addresses = {number: BEGIN + place for number, place in places.items()}
    made = bytearray(BEGIN) + image
    kept: list[Section] = []
    for number, one in enumerate(sections):
        if number in addresses:
            place = addresses[number]
            kept.append(one._replace(address=place, offset=place))
        elif one.kind == RELOCATIONS or one.flags & ALLOCATED:
            kept.append(one._replace(kind=NOTHING, flags=0, offset=0, size=0, link=0, info=0))
        else:
            made += bytes(-len(made) % 16)
            kept.append(one._replace(offset=len(made)))
            made += one.content(code)
    # Debugging data refers to where everything is now.
    symbols = symbols_of(code, sections)
    others = [n for n, one in enumerate(kept) if n not in addresses and one.kind != NOTHING]
    for section, place, kind, number, addend in relocations_of(code, sections, others):
        one = symbols[number]
        value = addresses.get(one.section, 0) + one.value + addend
        pack_into(_ABSOLUTE[kind], made, kept[section].offset + place, value)
    # Symbols of an object file count from their sections, those of a shared object from 0.
    for table in (one for one in kept if one.kind == SYMBOLS):
        for at in range(table.offset, table.offset + table.size, SYMBOL.size):
            *about, section, value, size = SYMBOL.unpack_from(made, at)
            SYMBOL.pack_into(made, at, *about, section, value + addresses.get(section, 0), size)
    made += bytes(-len(made) % 16)
    header = list(HEADER.unpack_from(code))
    header[1], header[4], header[5], header[6] = _SHARED_OBJECT, 0, _HEADERS, len(made)
    header[9], header[10] = _PROGRAM.size, 1
    HEADER.pack_into(made, 0, *header)
    size = len(image)
    program = (_LOADED, _READ_AND_RUN, BEGIN, BEGIN, BEGIN, size, size, BEGIN)
    _PROGRAM.pack_into(made, _HEADERS, *program)
    return bytes(made + b"".join(SECTION.pack(*one) for one in kept))


def new_file(folder: str, name: str, content: bytes) -> tuple[str, int]:
    """The path of a new file of this process, and its descriptor.

    The folder is private, as that of compiled kernels is: what is in the file will be executed.
    """
    name = f"{name[:_LONGEST_NAME]}-{os.getpid()}-{next(_NUMBERS)}.so"
    with _opened(folder, make=True) as place:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place)  # of an earlier process with the same number
        file = private_folder.new_file(place, name)
        try:
            with os.fdopen(file, "wb", closefd=False) as writer:
                writer.write(content)
        except BaseException:
            os.close(file)
            os.unlink(name, dir_fd=place)
            raise
    return os.path.join(folder, name), file


def tell_gdb(path: str, begin: int) -> None:
    """Add to a script which file has the names and lines of what begins at an address."""
    folder, _ = os.path.split(path)
    quoted = re.sub(r"[^\w./+-]", r"\\\g<0>", path)
    line = f"add-symbol-file {quoted} -o {begin - BEGIN:#x}\n"
    with _opened(folder) as place:
        private_folder.append_to_file(place, f"{os.getpid()}.gdb", os.fsencode(line))


@contextmanager
def _opened(folder: str, *, make: bool = False) -> Generator[int]:
    """The descriptor of the folder; whatever goes wrong in it is told with its name."""
    try:
        with private_folder.opened(folder, make=make) as place:
            yield place
    except OSError as error:
        raise ArgumentValueError(
            f"TRILBY_SYMBOLS is `{folder}`, where no file can be written: {error.strerror}",
            advice="name a folder of yours that nobody else may write to, or leave it out",
        ) from error
