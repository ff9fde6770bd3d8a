"""Object code on disk: what is taken, what is not, and how much is kept."""

import os
import platform
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from trilby.backend.native.cache import MAGIC, Cache
from trilby.backend.native.host import this_host
from trilby.backend.native.objects import Objects, identity
from trilby.backend.native.processor import Processor


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "kernels"


def test_what_was_put_is_there(folder: Path) -> None:
    cache = Cache(folder, "v1")
    assert cache.get("text") is None
    cache.put("text", b"code")
    cache.put("other", b"")
    assert (cache.get("text"), cache.get("other"), cache.get("third")) == (b"code", b"", None)
    assert Cache(folder, "v1").get("text") == b"code"
    assert len(list(folder.iterdir())) == 2
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", [0, 5, len(MAGIC), len(MAGIC) + 40, 70, -1])
def test_a_byte_that_changed_is_noticed(folder: Path, place: int) -> None:
    cache = Cache(folder, "v1")
    cache.put("text", b"code")
    path = Path(cache.path("text"))
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    assert cache.get("text") is None
    assert not path.exists()


def test_any_truncation_is_noticed(folder: Path) -> None:
    cache = Cache(folder, "v1")
    cache.put("text", b"code")
    path = Path(cache.path("text"))
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert cache.get("text") is None
        assert not path.exists()
    path.write_bytes(content + b"more")
    assert cache.get("text") is None


def test_an_entry_of_another_version_or_text_is_not_taken(folder: Path) -> None:
    """Somebody copied it under a name that is not its own."""
    ours, theirs = Cache(folder, "trilby 2"), Cache(folder, "trilby 1")
    theirs.put("text", b"old code")
    ours.put("other", b"other code")
    assert ours.get("text") is None
    Path(theirs.path("text")).rename(ours.path("text"))
    assert ours.get("text") is None
    Path(ours.path("other")).rename(ours.path("text"))
    assert ours.get("text") is None
    assert list(folder.iterdir()) == []


def test_what_was_used_last_is_kept(folder: Path) -> None:
    cache = Cache(folder, "v", limit=1000)
    for number in range(4):
        cache.put(str(number), bytes(200))
        aged = time.time() - 100 + number
        os.utime(cache.path(str(number)), (aged, aged))
    assert [cache.get(str(n)) is not None for n in range(4)] == [False, True, True, True]
    assert cache.get("1") is not None  # from now on the latest
    cache.put("4", bytes(300))
    assert [Path(cache.path(str(n))).exists() for n in range(5)] == [False, True, False, True, True]
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 1000


def test_files_that_were_abandoned_go(folder: Path) -> None:
    cache = Cache(folder, "v")
    for name, age in (("old.new", 10_000), ("young.new", 1)):
        (folder / name).write_bytes(b"half")
        written = time.time() - age
        os.utime(folder / name, (written, written))
    cache.put("text", b"code")
    assert {path.name for path in folder.iterdir()} == {"young.new", Path(cache.path("text")).name}


def test_a_folder_that_others_may_write_to_is_not_used(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Cache(folder, "v").put("text", b"code")
    folder.chmod(0o777)
    cache = Cache(folder, "v")
    assert cache.get("text") is None
    cache.put("more", b"code")
    assert len(list(folder.iterdir())) == 1
    assert "others may write to" in caplog.text


def test_a_folder_that_cannot_be_made_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "kernels", "v")
    cache.put("text", b"code")
    assert cache.get("text") is None
    assert caplog.text.count("compiled kernels are not kept") == 1


def test_a_folder_that_goes_away_is_told_of_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(folder, "v")
    folder.rmdir()
    assert cache.get("text") is None
    cache.put("text", b"code")
    cache.put("text", b"code")
    assert caplog.text.count("compiled kernels are not kept") == 1


def test_many_threads_write_and_read_one_entry(folder: Path) -> None:
    caches = [Cache(folder, "v", limit=5000) for _ in range(4)]
    wrong: list[object] = []

    def work(cache: Cache) -> None:
        for number in range(100):
            text = str(number % 7)
            cache.put(text, text.encode() * 1000)
            got = cache.get(text)
            if got not in {None, text.encode() * 1000}:
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(cache,)) for cache in caches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


PROGRAM = """
import numpy as np
from tests.backend.native.running import SCALE, download, scale, upload
from trilby.backend.native import NativeFamily
native = NativeFamily().open(0)
memory = upload(native, np.arange(10, dtype=np.int32))
scale(native, memory, 3).wait()
print(download(native, memory, np.zeros(10, np.int32)).tolist())
"""


def test_two_processes_share_a_folder(folder: Path) -> None:
    environment = dict(os.environ, TRILBY_CACHE=str(folder))
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            cwd=Path(__file__).parents[3],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for process in running:
        out, err = process.communicate()
        assert (out.strip(), err) == (str(list(range(0, 30, 3))), "")
    assert sorted(path.suffix for path in folder.iterdir()) == [".o", ".o", ".txt"]
    # what is known of the processor, the queue, and `scale`


def test_code_is_made_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(text: str, _processor: Processor, *, as_written: bool) -> bytes:
        assert not as_written
        made.append(text)
        return text.upper().encode()

    monkeypatch.setattr("trilby.backend.native.objects.object_code", make)
    processor = this_host().processor
    for _ in range(2):
        objects = Objects(Cache(folder, "v"))
        assert [objects.code(text, processor) for text in ("a", "b", "a")] == [b"A", b"B", b"A"]
    assert made == ["a", "b"]
    assert Objects().code("a", processor) == b"A"
    assert made == ["a", "b", "a"]


def test_the_identity_names_all_that_code_depends_on() -> None:
    processor = Processor("x86_64-linux", "znver3", "+avx2")
    text = identity(processor)
    for part in ("trilby 0", "llvmlite /", "libllvmlite", "O2", "x86_64-linux", "znver3", "+avx2"):
        assert part in text
    assert identity(Processor("x86_64-linux", "znver4", "+avx2")) != text


WARM = """
import sys
import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array

@tb.kernel
def add_one(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = a.array[kc.x] + 1

@tb.compute
def once(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add_one, a)

a = S32Array.of(range(32))
Accelerator("native").compute(once, a)
print(a.array[31], *sys.modules)
"""


NOT_NEEDED = {
    "llvmlite",
    "hashlib",
    "logging",
    "pathlib",
    "trilby.analysis.residency_plan",
    "trilby.analysis.visible_effects",
    "trilby.codegen.llvm.module",
    "trilby.data.matrices",
    "trilby.data.vectors",
    "trilby.model.verify",
    "trilby.runtime.ledger",
    "trilby.runtime.profile",
    "trilby.runtime.undo",
    "trilby.transform.place_transfers",
}
"""What takes a while to load, and a kernel that is kept can do without."""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="elsewhere LLVM links")
def test_what_is_kept_needs_little(tmp_path: Path) -> None:
    program = tmp_path / "warm.py"
    program.write_text(WARM, "utf-8")
    environment = {**os.environ, "TRILBY_CACHE": str(tmp_path / "kept")}
    bare = tmp_path / "bare.py"
    bare.write_text("import sys, numpy; print(*sys.modules)", "utf-8")
    given, cold, warm = (
        subprocess.run(
            [sys.executable, str(one)], check=True, capture_output=True, text=True, env=environment
        ).stdout.split()
        for one in (bare, program, program)
    )
    assert cold[0] == warm[0] == "32"
    assert {"llvmlite", "trilby.codegen.llvm.module"} <= {*cold}
    assert NOT_NEEDED & {*warm} - {*given} == set()
