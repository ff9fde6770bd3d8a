"""Object code on disk: what is taken, what is not, and how much is kept."""

import ctypes
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.backend.test_private_folder import MOST, UNSAFE, give_away

from trilby.backend.native.cache import TAG, Cache
from trilby.backend.native.host_processor import this_host
from trilby.backend.native.llvm import object_code
from trilby.backend.native.toolchain import Processor, begin_code, object_identity


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "kernels"


def entries(folder: Path) -> set[str]:
    """The names of all files but the tag."""
    return {path.name for path in folder.iterdir()} - {TAG}


def test_what_was_put_is_there(folder: Path) -> None:
    cache = Cache(folder, "v1")
    assert cache.get("text") is None
    cache.put("text", b"code")
    cache.put("other", b"")
    assert (cache.get("text"), cache.get("other"), cache.get("third")) == (b"code", b"", None)
    assert Cache(folder, "v1").get("text") == b"code"
    assert len(entries(folder)) == 2
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", [0, 3, 4, 20, 35, 36, -1])
def test_a_byte_that_changed_is_noticed(folder: Path, place: int) -> None:
    cache = Cache(folder, "v1")
    cache.put("text", b"code")
    path = Path(cache.path("text"))
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    assert cache.get("text") is None
    cache.put("text", b"code")
    assert cache.get("text") == b"code"


def test_any_truncation_is_noticed(folder: Path) -> None:
    cache = Cache(folder, "v1")
    cache.put("text", b"code")
    path = Path(cache.path("text"))
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert cache.get("text") is None
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


def test_what_was_used_last_is_kept(folder: Path) -> None:
    cache = Cache(folder, "v", limit=950)
    for number in range(4):
        cache.put(str(number), bytes(200))
        aged = time.time() - 100 + number
        os.utime(cache.path(str(number)), (aged, aged))
    assert [cache.get(str(n)) is not None for n in range(4)] == [False, True, True, True]
    assert cache.get("1") is not None  # from now on the latest
    cache.put("4", bytes(300))
    assert [Path(cache.path(str(n))).exists() for n in range(5)] == [False, True, False, True, True]
    assert sum((folder / name).stat().st_size for name in entries(folder)) <= 950


def test_code_that_is_larger_than_all_may_be_drives_nothing_out(folder: Path) -> None:
    cache = Cache(folder, "v", limit=1000)
    cache.put("small", bytes(10))
    cache.put("large", bytes(1000))
    assert cache.get("large") is None
    assert cache.get("small") == bytes(10)


def test_files_that_were_abandoned_go(folder: Path) -> None:
    cache = Cache(folder, "v")
    folder.mkdir(parents=True)
    old, young = f"{'0' * 32}.new", f"{'f' * 32}.new"
    for name, age in ((old, 10_000), (young, 1)):
        (folder / name).write_bytes(b"half")
        written = time.time() - age
        os.utime(folder / name, (written, written))
    cache.put("text", b"code")
    assert entries(folder) == {young, Path(cache.path("text")).name}


HEX = "0123456789abcdef"
NAMES = st.one_of(
    st.sampled_from(["mine.o", "mine.ll", "mine.txt", "mine.new", "CACHEDIR.TAG", ".o", "notes"]),
    st.builds(
        str.__add__,
        st.text(f"{HEX}ABCDEFg.\n -", min_size=1, max_size=66),
        st.sampled_from([".o", ".ll", ".txt", ".new", ".o\n", ".py", ""]),
    ),
    st.builds(str.__add__, st.text(HEX, min_size=64, max_size=64), st.just(".new")),
    st.builds(str.__add__, st.text(HEX, min_size=32, max_size=32), st.sampled_from([".o", ".ll"])),
)
"""What users call files, and what is nearly the name of an entry."""


@given(st.dictionaries(NAMES.filter(lambda name: name not in {".", ".."}), st.binary(max_size=50)))
def test_no_other_file_is_ever_touched(files: dict[str, bytes]) -> None:
    with TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
            os.utime(Path(folder, name), (1, 1))
        cache = Cache(folder, "v", limit=200)
        for number in range(4):
            cache.put(str(number), bytes(60))
        assert cache.get("3") == bytes(60)
        for name, content in files.items():
            assert Path(folder, name).read_bytes() == content
            assert Path(folder, name).stat().st_mtime == 1


def test_the_folder_says_that_it_is_a_cache(folder: Path) -> None:
    Cache(folder, "v").put("text", b"code")
    signature = b"Signature: 8a477f597d28d172789f06886806bc55\n"
    assert (folder / TAG).read_bytes().startswith(signature)


def test_a_folder_with_other_files_is_not_said_to_be_a_cache(folder: Path) -> None:
    """Backups would leave them out."""
    folder.mkdir(parents=True)
    (folder / "thesis.txt").touch()
    Cache(folder, "v").put("text", b"code")
    assert not (folder / TAG).exists()


@pytest.mark.parametrize("make", UNSAFE)
def test_what_is_no_file_of_the_user_is_ignored_and_replaced(
    folder: Path, make: Callable[[Path], None]
) -> None:
    cache = Cache(folder, "v", limit=MOST)
    cache.put("text", b"planted")
    path = Path(cache.path("text"))
    make(path)
    assert cache.get("text") is None
    cache.put("text", b"code")
    if path.is_dir():  # it may have something in it
        assert cache.get("text") is None
    else:
        assert cache.get("text") == b"code"
    assert not any(name.endswith(".new") for name in entries(folder))


def test_an_entry_of_another_user_is_ignored_and_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(folder, "v")
    cache.put("text", b"planted")
    with monkeypatch.context() as changes:
        give_away(Path(cache.path("text")), changes)
        assert cache.get("text") is None
    cache.put("text", b"code")
    assert cache.get("text") == b"code"


def test_a_folder_is_checked_whenever_it_is_used(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(folder, "v")
    cache.put("text", b"code")
    folder.chmod(0o777)
    assert cache.get("text") is None
    cache.put("more", b"code")
    assert len(entries(folder)) == 1
    assert caplog.text.count("others may write to it") == 1
    folder.chmod(0o700)
    assert cache.get("text") == b"code"


def test_a_link_is_not_followed_even_later(folder: Path, tmp_path: Path) -> None:
    """Somebody who owns the folder around it puts another in its place."""
    cache = Cache(folder, "v")
    cache.put("text", b"code")
    folder.rename(tmp_path / "planted")
    folder.symlink_to(tmp_path / "planted")
    assert cache.get("text") is None
    cache.put("more", b"code")
    assert len(entries(tmp_path / "planted")) == 1


def test_a_folder_that_cannot_be_made_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "kernels", "v")
    cache.put("text", b"code")
    assert cache.get("text") is None
    assert "compiled kernels are not kept" in caplog.text
    assert "set TRILBY_CACHE to another folder" in caplog.text


def test_a_folder_that_goes_away_is_made_anew(folder: Path) -> None:
    cache = Cache(folder, "v")
    cache.put("text", b"code")
    shutil.rmtree(folder)
    assert cache.get("text") is None
    cache.put("text", b"code")
    assert cache.get("text") == b"code"


def test_a_full_disk_is_told_of_once_and_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache = Cache(folder, "v")
    cache.put("text", b"code")
    with monkeypatch.context() as changes:

        def full(*_: object, **__: object) -> None:
            raise OSError(ENOSPC, "No space left on device")

        changes.setattr(os, "replace", full)
        cache.put("other", b"code")
        cache.put("third", b"code")
    assert cache.get("text") == b"code"
    assert len(entries(folder)) == 1
    assert caplog.text.count("compiled kernels are not kept: [Errno 28]") == 1


READ_ONLY = """
import logging, os, sys
from trilby.backend.native.cache import Cache
from trilby.messages import set_up
set_up("info")
folder = sys.argv[1]
if os.geteuid() == 0:
    os.chown(folder, 12345, -1)
    for name in os.listdir(folder):
        os.chown(f"{folder}/{name}", 12345, -1)
    os.setresuid(12345, 12345, 12345)
os.chmod(folder, 0o500)
cache = Cache(folder, "v")
print(cache.get("text"), cache.get("other"))
cache.put("other", b"new")
cache.put("third", b"new")
print(cache.get("text"), cache.get("other"))
"""


def test_a_folder_that_may_only_be_read_is_read() -> None:
    with TemporaryDirectory(prefix="trilby", dir="/tmp") as around:  # others get there
        Path(around).chmod(0o755)
        folder = Path(around, "kernels")
        Cache(folder, "v").put("text", b"code")
        before = entries(folder)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(folder)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines() == ["b'code' None", "b'code' None"]
        assert done.stderr.count("may only be read: new kernels are not kept") == 1
        assert entries(folder) == before
        folder.chmod(0o700)


def test_names_that_are_not_utf_8_are_keys_as_well(folder: Path) -> None:
    cache = Cache(folder, "in /caf\udce9/")
    cache.put("caf\udce9.py", b"code")
    cache.put("caf\udcea.py", b"other")
    assert cache.get("caf\udce9.py") == b"code"


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
    assert [path.name for path in folder.iterdir()] == ["trilby-kernels"]
    names = entries(folder / "trilby-kernels")
    assert sorted(Path(name).suffix for name in names) == [".o", ".o", ".txt"]
    # what is known of the processor, the queue, and `scale`


def test_a_folder_with_files_of_the_user(folder: Path) -> None:
    """They may be called anything, and be as old as they are."""
    folder.mkdir(parents=True)
    names = {"mine.o", "mine.ll", "mine.txt", "mine.new", f"{'a' * 64}.o", f"{'b' * 32}.new"}
    for name in names:
        (folder / name).write_text("mine")
        os.utime(folder / name, (1, 1))
    environment = dict(os.environ, TRILBY_CACHE=str(folder))
    here = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", PROGRAM], env=environment, cwd=here, check=True)
    assert {path.name for path in folder.iterdir()} == {*names, "trilby-kernels"}
    assert {(folder / name).read_text() for name in names} == {"mine"}
    assert (folder / "trilby-kernels" / TAG).exists()


def answer(number: int) -> str:
    """A module with a function that returns a number."""
    return f"define i32 @answer() {{ ret i32 {number} }}"


def answer_of(kept: Cache | None, number: int) -> int:
    code = begin_code(answer(number), this_host().processor, ["answer"], kept)()
    return int(ctypes.CFUNCTYPE(ctypes.c_int32)(code["answer"])())


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is compiled."""
    found: list[str] = []

    def make(text: str, processor: Processor, *, as_written: bool) -> bytes:
        found.append(text)
        return object_code(text, processor, as_written=as_written)

    monkeypatch.setattr("trilby.backend.native.llvm.object_code", make)
    return found


def test_code_is_made_once(folder: Path, made: list[str]) -> None:
    for _ in range(2):
        kept = Cache(folder, "v")
        assert [answer_of(kept, number) for number in (7, 8, 7)] == [7, 8, 7]
    assert made == [answer(7), answer(8)]
    assert answer_of(None, 7) == 7
    assert made == [answer(7), answer(8), answer(7)]


def test_the_identity_names_all_that_code_depends_on() -> None:
    processor = Processor("x86_64-linux", "znver3", "+avx2")
    text = object_identity(processor)
    for part in ("trilby 0", "llvmlite /", "libllvmlite", "O2", "x86_64-linux", "znver3", "+avx2"):
        assert part in text
    assert object_identity(Processor("x86_64-linux", "znver4", "+avx2")) != text


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
    "trilby.analysis.transfers.transfer_plan",
    "trilby.analysis.host.visible_effects",
    "trilby.codegen.llvm.module",
    "trilby.data.matrices",
    "trilby.data.vectors",
    "trilby.model.verify",
    "trilby.runtime.ledger",
    "trilby.runtime.profile",
    "trilby.runtime.attempt",
    "trilby.transform.forward_variables",
    "trilby.transform.inline_calls",
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
