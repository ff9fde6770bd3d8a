"""Object code in memory: what is understood runs, and everything else is left to LLVM."""

import ctypes
import gc
import mmap
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from struct import pack_into, unpack_from

import pytest

from trilby.backend.native import linking
from trilby.backend.native.host_processor import this_host
from trilby.backend.native.linking import linked, sections_of, symbols_of
from trilby.backend.native.llvm import object_code

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="it is for x86-64")

CALLS = """
declare double @pow(double, double)
declare i64 @strlen(ptr)
define double @cubed(double %x) {
  %half = fmul double %x, 5.000000e-01
  %y = call double @pow(double %half, double 3.000000e+00)
  ret double %y
}
define i64 @twice(ptr %text) {
  %n = call i64 @strlen(ptr %text)
  %m = call i64 @doubled(i64 %n)
  ret i64 %m
}
define i64 @doubled(i64 %n) noinline {
  %m = mul i64 %n, 2
  ret i64 %m
}
"""

WRITES = """
@count = global i64 0
define i64 @next() {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  ret i64 %new
}
"""

ADDRESS = """
declare i64 @strlen(ptr)
define ptr @address() {
  ret ptr @strlen
}
"""


def made(text: str) -> bytes:
    return object_code(text, this_host().processor)


def test_code_runs_with_constants_and_functions_of_the_process() -> None:
    code = linked(made(CALLS), ["cubed", "twice"])
    assert code is not None
    cubed = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code["cubed"])
    twice = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)(code["twice"])
    assert [cubed(x) for x in (2.0, 6.0)] == [1.0, 27.0]
    assert twice(b"Trilby") == 12
    with pytest.raises(KeyError):
        code["doubled"]


def test_memory_is_given_back_and_cannot_be_written() -> None:
    def access(address: int) -> str:
        """What may be done there; the system joins neighbours of which the same is true."""
        with open("/proc/self/maps", encoding="utf-8") as lines:  # noqa: PTH123 -- as it is
            for places, allowed, *_ in map(str.split, lines):
                begin, end = (int(place, 16) for place in places.split("-"))
                if begin <= address < end:
                    return allowed
        return ""

    code = linked(made(CALLS), ["cubed"])
    assert code is not None
    address = code["cubed"]
    assert access(address) == "r-xp"
    del code
    gc.collect()
    assert access(address) != "r-xp"


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        pytest.param(WRITES, "next", id="memory that is written"),
        pytest.param(CALLS.replace("@pow", "@no_such_function"), "cubed", id="nobody's function"),
        pytest.param(ADDRESS, "address", id="a table of addresses"),
        pytest.param(CALLS, "missing", id="a function that it has not"),
    ],
)
def test_what_is_not_understood_is_left_to_llvm(text: str, symbol: str) -> None:
    assert linked(made(text), [symbol]) is None


def test_anything_else_is_left_to_llvm() -> None:
    code = made(CALLS)
    for other in (b"", b"\x7fELF", b"MZ" * 100, code[:100], code[:-100], code[1:]):
        assert linked(other, ["cubed"]) is None
    for place, value in ((4, 1), (5, 2), (16, 3), (18, 183)):  # 32 bits, big endian, a library, ARM
        changed = bytearray(code)
        changed[place] = value
        assert linked(bytes(changed), ["cubed"]) is None


def test_code_that_is_damaged_anywhere_is_linked_or_left_to_llvm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is raised, and no more memory is asked for than the code has."""
    code = made(CALLS)
    images: list[int] = []

    def note(image: bytearray) -> None:
        images.append(len(image))

    monkeypatch.setattr(linking, "_executable", note)
    for place in range(len(code)):
        for value in (0, 0x7F, 0xFF):
            damaged = bytearray(code)
            damaged[place] = value
            assert linked(bytes(damaged), ["cubed"]) is None
    assert images
    assert max(images) < len(code) + 2 * mmap.PAGESIZE


class Changed:
    """The object code of `CALLS`, of which some numbers are others."""

    def __init__(self) -> None:
        self.code = bytearray(made(CALLS))
        self.sections = sections_of(bytes(self.code))
        self.symbols = symbols_of(bytes(self.code), self.sections)
        (self.headers,) = unpack_from("<Q", self.code, 40)

    def number(self, name: str) -> int:
        """The number of the section in which a function is."""
        return next(one.section for one in self.symbols if one.name == name)

    def table(self, kind: int) -> int:
        """The number of the section with a kind; of relocations, that with the most."""
        found = [(one.size, n) for n, one in enumerate(self.sections) if one.kind == kind]
        return max(found)[1]

    def set_header(self, field: str, value: int) -> None:
        place, form = {"sections": (40, "<Q"), "size": (58, "<H"), "count": (60, "<H")}[field]
        pack_into(form, self.code, place, value)

    def set_section(self, number: int, field: str, value: int) -> None:
        place = self.headers + 64 * number
        at, form = SECTION_FIELDS[field]
        pack_into(form, self.code, place + at, value)

    def set_symbol(self, name: str, field: str, value: int) -> None:
        number = [one.name for one in self.symbols].index(name)
        at, form = {
            "name": (0, "<I"),
            "section": (6, "<H"),
            "value": (8, "<Q"),
            "size": (16, "<Q"),
        }[field]
        pack_into(form, self.code, self.sections[self.table(2)].offset + 24 * number + at, value)

    def set_relocation(self, field: str, value: int) -> None:
        at, form = {"place": (0, "<Q"), "symbol": (12, "<I"), "kind": (8, "<I")}[field]
        pack_into(form, self.code, self.sections[self.table(4)].offset + at, value)


SECTION_FIELDS = {
    "kind": (4, "<I"),
    "flags": (8, "<Q"),
    "offset": (24, "<Q"),
    "size": (32, "<Q"),
    "link": (40, "<I"),
    "info": (44, "<I"),
    "alignment": (48, "<Q"),
    "entry": (56, "<Q"),
}

LARGE = 2**64 - 1
DAMAGES: dict[str, Callable[[Changed], object]] = {
    "a table of sections behind the end": lambda o: o.set_header("sections", len(o.code) - 8),
    "a table of sections nowhere": lambda o: o.set_header("sections", LARGE),
    "sections of another size": lambda o: o.set_header("size", 63),
    "more sections than there are": lambda o: o.set_header("count", 0xFFFF),
    "no sections": lambda o: o.set_header("count", 0),
    "a section behind the end": lambda o: o.set_section(o.number("cubed"), "offset", len(o.code)),
    "a section nowhere": lambda o: o.set_section(o.number("cubed"), "offset", LARGE),
    "a section that is too large": lambda o: o.set_section(o.number("cubed"), "size", LARGE),
    "two sections with the same bytes": lambda o: (
        o.set_section(o.number("cubed"), "offset", 0),
        o.set_section(o.number("cubed"), "size", len(o.code)),
    ),
    "a section without content": lambda o: o.set_section(o.number("cubed"), "kind", 0),
    "a section of zeros": lambda o: o.set_section(o.number("cubed"), "kind", 8),
    "code that is not executed": lambda o: o.set_section(o.number("cubed"), "flags", 2),
    "no alignment": lambda o: o.set_section(o.number("cubed"), "alignment", 0),
    "no power of two": lambda o: o.set_section(o.number("cubed"), "alignment", 24),
    "more than a page": lambda o: o.set_section(o.number("cubed"), "alignment", 2 * mmap.PAGESIZE),
    "symbols of another size": lambda o: o.set_section(o.table(2), "entry", 25),
    "half a symbol": lambda o: o.set_section(o.table(2), "size", o.sections[o.table(2)].size - 1),
    "names in no section": lambda o: o.set_section(o.table(2), "link", 1000),
    "names that are none": lambda o: o.set_section(o.table(2), "link", o.number("cubed")),
    "names without an end": lambda o: o.set_section(
        o.sections[o.table(2)].link, "size", o.sections[o.sections[o.table(2)].link].size - 1
    ),
    "a name behind all names": lambda o: o.set_symbol("cubed", "name", 10_000),
    "a symbol in no section": lambda o: o.set_symbol("cubed", "section", 1000),
    "a function in no section": lambda o: o.set_symbol("cubed", "section", 0xFFF1),
    "a function of somebody else": lambda o: o.set_symbol("cubed", "section", 0),
    "a symbol behind its section": lambda o: o.set_symbol(
        "cubed", "value", o.sections[o.number("cubed")].size + 1
    ),
    "a symbol at the end of its section": lambda o: (
        o.set_symbol("cubed", "value", o.sections[o.number("cubed")].size),
        o.set_symbol("cubed", "size", 0),
    ),
    "a symbol nowhere": lambda o: o.set_symbol("cubed", "value", LARGE),
    "a function that is too large": lambda o: o.set_symbol("cubed", "size", LARGE),
    "relocations of another size": lambda o: o.set_section(o.table(4), "entry", 8),
    "half a relocation": lambda o: o.set_section(
        o.table(4), "size", o.sections[o.table(4)].size - 1
    ),
    "relocations without symbols": lambda o: o.set_section(o.table(4), "link", 1),
    "a relocation behind its section": lambda o: o.set_relocation(
        "place", o.sections[o.sections[o.table(4)].info].size - 3
    ),
    "a relocation nowhere": lambda o: o.set_relocation("place", LARGE),
    "a relocation to no symbol": lambda o: o.set_relocation("symbol", 10_000),
    "a relocation of another kind": lambda o: o.set_relocation("kind", 42),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_code_that_contradicts_itself_is_not_linked(damage: str) -> None:
    changed = Changed()
    assert linked(bytes(changed.code), ["cubed"]) is not None
    DAMAGES[damage](changed)
    assert linked(bytes(changed.code), ["cubed"]) is None


FUZZ = """
import ctypes, random, sys
from struct import unpack_from
from tests.backend.native.test_linking import made
from tests.backend.native.test_symbol_files import grow
from trilby.backend.native import NativeFamily
from trilby.backend.native.linking import sections_of
from trilby.backend.native.linking import linked
from trilby.backend.native.modules import generated as generate
from trilby.runtime.compile import analyse_kernel

module = generate(analyse_kernel(grow).graph, NativeFamily().open(0).target, lines=True)
code = made(module.text)
assert linked(code, [module.entry], sys.argv[1]) is not None
(headers,) = unpack_from("<Q", code, 40)
tables = [(0, 64), (headers, len(code))]
tables += [(s.offset, s.offset + s.size) for s in sections_of(code) if s.kind in {2, 3, 4}]
draw = random.Random(17)
taken = 0
for turn in range(3000):
    damaged = bytearray(code)
    for _ in range(draw.choice((1, 1, 2, 4))):
        begin, end = draw.choice(tables)
        place, width = draw.randrange(begin, end), draw.choice((1, 2, 4, 8))
        bit = bytes([1 << draw.randrange(8)])
        for value in draw.choice((b"\\xff" * width, draw.randbytes(width), bit, bit)):
            damaged[place] ^= value
            place = min(place + 1, end - 1)
    if turn % 10 == 0:
        del damaged[draw.randrange(len(damaged)) :]
    found = linked(bytes(damaged), [module.entry], sys.argv[1] if turn % 4 == 0 else None)
    if found is not None:
        taken += 1
        ctypes.string_at(found[module.entry], 1)  # it is there, and can be read
print(taken)
"""


def test_random_damages_end_no_process(tmp_path: Path) -> None:
    """Only tables are damaged: nobody can tell wrong instructions from right ones."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", FUZZ, str(tmp_path / "symbols")],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert 0 < int(done.stdout) < 3000  # some numbers mean nothing, such as those for debuggers


def test_data_of_the_process_is_left_to_llvm() -> None:
    """A stub can be called; what is read there would be its instructions."""
    code = made(CALLS)
    sections = sections_of(code)
    symbols = symbols_of(code, sections)
    changed = bytearray(code)
    for table in (one for one in sections if one.kind == 4):
        for entry in range(table.offset, table.offset + table.size, 24):
            symbol = int.from_bytes(code[entry + 12 : entry + 16], "little")
            if symbols[symbol].name == "pow":
                changed[entry + 8] = 2  # as an access to data has it, instead of a call's 4
    assert changed != code
    assert linked(bytes(changed), ["cubed"]) is None


def test_a_system_that_forbids_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def __init__(self, process: ctypes.CDLL) -> None:
            self.mmap, self.munmap = process.mmap, process.munmap
            self._process = process

        def __getitem__(self, name: str) -> object:
            return self._process[name]

        @staticmethod
        def mprotect(_begin: int, _size: int, _protection: int) -> int:
            return -1

    refusing = Refusing(vars(linking)["_process"]())
    monkeypatch.setattr(linking, "_process", lambda: refusing)
    assert linked(made(CALLS), ["cubed"]) is None
