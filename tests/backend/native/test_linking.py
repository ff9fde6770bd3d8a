"""Object code in memory: what is understood runs, and everything else is left to LLVM."""

import ctypes
import gc
import mmap
import platform

import pytest

from trilby.backend.native import linking
from trilby.backend.native.elf import sections_of, symbols_of
from trilby.backend.native.host import this_host
from trilby.backend.native.linking import linked
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


@pytest.mark.parametrize("alignment", [0, 2 * mmap.PAGESIZE])
def test_an_alignment_that_a_page_does_not_have(alignment: int) -> None:
    code = made(CALLS)
    sections = sections_of(code)
    number = next(n for n, one in enumerate(sections) if one.flags & 2 and one.size)
    header = int.from_bytes(code[40:48], "little") + 64 * number
    changed = bytearray(code)
    changed[header + 48 : header + 56] = alignment.to_bytes(8, "little")
    assert linked(bytes(changed), ["cubed"]) is None


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
