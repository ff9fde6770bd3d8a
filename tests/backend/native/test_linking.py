"""Object code in memory: what is understood runs, and everything else is left to LLVM."""

import ctypes
import gc
import platform
from types import SimpleNamespace

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


def test_anything_else_is_left_to_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    assert linked(b"\xcf\xfa\xed\xfe" * 100, ["cubed"]) is None  # as on macOS
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(machine="aarch64"))
    assert linked(made(CALLS), ["cubed"]) is None


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
