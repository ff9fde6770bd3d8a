"""Object code knows the lines of Python that it was made from."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.codegen import other_helpers

import trilby as tb
from trilby import KernelContext, S32Array
from trilby.backend.native import NativeBackend
from trilby.backend.native.cache import Cache
from trilby.backend.native.device import legible
from trilby.backend.native.llvm import object_code
from trilby.runtime.compile import analyse_kernel


@tb.func
def squared(v: tb.i32) -> tb.i32:
    return v * v


@tb.kernel
def sums(kc: KernelContext, a: S32Array, n: tb.i32) -> None:
    total = a.array[kc.x]
    for i in range(n):
        if total > 1000:
            break
        total += squared(a.array[i])
    a.array[kc.x] = total


def lines_with(*parts: str) -> set[int]:
    """The numbers of the lines of this file in which a kernel does something."""
    text = Path(__file__).read_text("utf-8").splitlines()
    return {n for n, line in enumerate(text, 1) if any(part == line.strip() for part in parts)}


@pytest.mark.skipif(not shutil.which("objdump"), reason="objdump of binutils reads line tables")
def test_a_debugger_sees_the_lines_of_a_kernel(native: NativeBackend, tmp_path: Path) -> None:
    text = native.text(analyse_kernel(sums).graph, lines=True)
    kept = Cache(tmp_path, "v1")
    kept.put(text, object_code(text, native.engine.host.processor))
    done = subprocess.run(
        ["objdump", "--dwarf=decodedline", str(kept.path(text))],  # noqa: S607 -- whichever there is
        check=True,
        capture_output=True,
        text=True,
    )
    found = re.findall(r"^test_source_lines\.py +(\d+) ", done.stdout, re.MULTILINE)
    seen = set(map(int, found))
    assert seen >= lines_with(
        "return v * v", "total += squared(a.array[i])", "a.array[kc.x] = total"
    )


def test_texts_tell_the_lines_and_leave_them_out(native: NativeBackend) -> None:
    graph = analyse_kernel(sums).graph
    [place] = lines_with("a.array[kc.x] = total")
    with_lines, without = (native.text(graph, lines=lines) for lines in (True, False))
    assert f"; test_source_lines.py:{place}\n" in with_lines
    assert f"!DILocation(line: {place}, " in with_lines
    assert "test_source_lines" not in without
    assert "dbg" not in without
    bare = re.sub(r", !dbg !\d+| !dbg !14|\n  ; .*", "", with_lines).partition("\n\n!llvm.dbg")[0]
    assert bare == without.rstrip("\n")
    with_lines, without = (native.assembly(graph, lines=lines) for lines in (True, False))
    assert f"\t# test_source_lines.py:{place}\n" in with_lines
    assert "test_source_lines" not in without
    assert "debug_" not in with_lines.replace(".cfi_sections .debug_frame", "")


@tb.kernel
def elsewhere(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = other_helpers.scale(a.array[kc.x])


def test_a_helper_of_another_file(native: NativeBackend) -> None:
    text = native.text(analyse_kernel(elsewhere).graph, lines=True)
    [file] = re.findall(r'!(\d+) = !DIFile\(filename: "other_helpers.py"', text)
    [scope] = re.findall(rf"!(\d+) = !DILexicalBlockFile\(scope: !14, file: !{file}, ", text)
    [number] = set(re.findall(rf"!DILocation\(line: (\d+), column: \d+, scope: !{scope}\)", text))
    helpers = Path(other_helpers.__file__).read_text("utf-8").splitlines()
    assert helpers[int(number) - 1].strip().startswith("return")
    native.compile(analyse_kernel(elsewhere).graph)


def test_listings_without_lines_stay() -> None:
    assert legible("\t.text\nf:\n\tret\n") == "\t.text\nf:\n\tret\n"
