"""LLVM IR from one process to the next: taken for the same kernel only, and then as it was."""

import linecache
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from trilby.analysis.reach import KernelGraph
from trilby.backend.native import modules
from trilby.backend.native.cache import Cache
from trilby.backend.native.modules import FOLDERS, generator, module_of
from trilby.backend.native.modules import generated as generate
from trilby.codegen.llvm.target import LlvmModule, LlvmTarget
from trilby.runtime.compile import analyse_kernel

TARGET = LlvmTarget(256, "x86_64-unknown-linux-gnu", frozenset({"avx", "avx2", "fma"}))

PROGRAM = """
import trilby as tb
from trilby import KernelContext, f32, i32

FACTOR = 3

class Table(tb.Buffer):
    length: i32
    array: tb.Array[f32] = tb.array("length")

@tb.func
def halved(v: f32) -> f32:
    return v / 2

def made(step):
    @tb.kernel
    def run(kc: KernelContext, t: Table) -> None:
        t.array[kc.x] = halved(t.array[kc.x]) * FACTOR + step
    return run

run = made(1)
"""


def graph_of(text: str, folder: Path) -> KernelGraph:
    """The graph of `run` in a program, which always stands in the same file."""
    file = folder / "program.py"
    file.write_text(text, "utf-8")
    linecache.clearcache()
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, str(file), "exec"), names)  # noqa: S102 -- a program of this test
    return analyse_kernel(names["run"]).graph


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The entries of what is generated."""
    found: list[str] = []

    def counted(graph: KernelGraph, target: LlvmTarget, *, lines: bool) -> Any:
        found.append(graph.entry.name)
        return generate(graph, target, lines=lines)

    monkeypatch.setattr(modules, "generated", counted)
    return found


def kept(folder: Path, identity: str = "v1") -> Callable[[KernelGraph, LlvmTarget], LlvmModule]:
    """Takes modules from a cache in the folder, or generates them."""
    return partial(module_of, kept=Cache(folder / "kept", identity, kind="ll"))


def test_the_same_kernel_is_generated_once(tmp_path: Path, made: list[str]) -> None:
    first = kept(tmp_path)(graph_of(PROGRAM, tmp_path), TARGET)
    again = kept(tmp_path)(graph_of(PROGRAM, tmp_path), TARGET)
    assert len(made) == 1
    assert again == first == generate(graph_of(PROGRAM, tmp_path), TARGET, lines=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("+ step", "- step", id="the kernel"),
        pytest.param("v / 2", "v / 4", id="a helper"),
        pytest.param("FACTOR = 3", "FACTOR = 5", id="a constant of the module"),
        pytest.param("made(1)", "made(2)", id="a variable of a closure"),
        pytest.param("    length: i32\n", "    length: i32\n    more: i32\n", id="a layout"),
        pytest.param("Array[f32]", "Array[tb.f64]", id="the type of elements"),
        pytest.param("def made(", "\ndef made(", id="a line"),
    ],
)
def test_another_kernel_is_generated_anew(
    before: str, after: str, tmp_path: Path, made: list[str]
) -> None:
    assert before in PROGRAM
    first = kept(tmp_path)(graph_of(PROGRAM, tmp_path), TARGET)
    another = graph_of(PROGRAM.replace(before, after), tmp_path)
    other = kept(tmp_path)(another, TARGET)
    assert len(made) == 2
    assert other == generate(another, TARGET, lines=True)
    assert other.text != first.text
    assert kept(tmp_path)(graph_of(PROGRAM, tmp_path), TARGET) == first
    assert len(made) == 2


@pytest.mark.parametrize(
    "target",
    [
        replace(TARGET, fast_math=True),
        replace(TARGET, width_bits=128),
        replace(TARGET, features=frozenset({"avx", "avx2"})),
        replace(TARGET, vector_math="libmvec"),
        replace(TARGET, triple="aarch64-unknown-linux-gnu"),
    ],
)
def test_another_target_or_generator_is_another_thing(
    target: LlvmTarget, tmp_path: Path, made: list[str]
) -> None:
    graph = graph_of(PROGRAM, tmp_path)
    kept(tmp_path)(graph, TARGET)
    kept(tmp_path)(graph, target)
    kept(tmp_path, "v2")(graph, TARGET)
    assert len(made) == 3


@pytest.mark.parametrize(
    "talk",
    ["assert t.array[kc.x] >= 0, 'negative'", "print(t.array[kc.x])"],
    ids=["assert", "print"],
)
def test_what_talks_is_generated_every_time(talk: str, tmp_path: Path, made: list[str]) -> None:
    text = PROGRAM.replace("        t.array", f"        {talk}\n        t.array", 1)
    for _ in range(2):
        module = kept(tmp_path)(graph_of(text, tmp_path), TARGET)
        assert module.asserts or module.prints
    assert len(made) == 2


def cut(content: bytes) -> bytes:
    return content[:-7]


def changed(content: bytes) -> bytes:
    return content.replace(b"run", b"ruN")


def emptied(_content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [cut, changed, emptied])
def test_a_damaged_entry_is_made_anew(
    damage: Callable[[bytes], bytes], tmp_path: Path, made: list[str]
) -> None:
    graph = graph_of(PROGRAM, tmp_path)
    first = kept(tmp_path)(graph, TARGET)
    (file,) = (tmp_path / "kept").glob("*.ll")
    file.write_bytes(damage(file.read_bytes()))
    assert kept(tmp_path)(graph, TARGET) == first
    assert len(made) == 2


def test_many_threads_get_the_same(tmp_path: Path) -> None:
    graph = graph_of(PROGRAM, tmp_path)
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(kept(tmp_path), graph, TARGET) for _ in range(24)]
        found = [job.result() for job in jobs]
    assert {one.text for one in found} == {generate(graph, TARGET, lines=True).text}
    assert len(list((tmp_path / "kept").glob("*.ll"))) == 1


def test_without_a_cache_it_is_generated(tmp_path: Path, made: list[str]) -> None:
    graph = graph_of(PROGRAM, tmp_path)
    assert module_of(graph, TARGET, None) == module_of(graph, TARGET, None)
    assert len(made) == 2


def test_the_generator_is_known_by_all_its_files() -> None:
    program = """
import sys, trilby
before = set(sys.modules)
import trilby.codegen.llvm.module
for name in sorted(set(sys.modules) - before):
    if name.startswith("trilby."): print(sys.modules[name].__file__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    text = generator()
    assert "codegen/llvm" in FOLDERS
    files = [Path(line) for line in done.stdout.splitlines()]
    assert len(files) > 30
    for file in files:
        about = file.stat()
        assert f"{file} {about.st_mtime_ns} {about.st_size}" in text.replace("/./", "/")


def test_a_generator_that_was_edited_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "trilby"
    for folder in FOLDERS:
        (package / folder).mkdir(parents=True, exist_ok=True)
    file = package / "codegen" / "llvm" / "control_flow.py"
    file.write_text("before", "utf-8")
    monkeypatch.setattr(modules, "__file__", str(package / "backend" / "native" / "modules.py"))
    first = generator()
    about = file.stat()
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    assert generator() != first
