"""Kernels that are loaded from files: debuggers and profilers know their names and lines."""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, i32
from trilby.backend.native import linking, toolchain
from trilby.errors import ArgumentValueError

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="it is for x86-64")
needs_binutils = pytest.mark.skipif(
    not (shutil.which("nm") and shutil.which("addr2line")), reason="binutils read such files"
)


@tb.kernel
def grow(kc: KernelContext, a: F32Array, n: i32) -> None:
    v = a.array[kc.x]
    for _ in range(n):
        v = tb.sin(v) + v * 1.5
    a.array[kc.x] = v


@tb.compute
def grow_all(cc: ComputeContext, a: F32Array, n: int) -> None:
    cc.dispatch(a.length, grow, a, n)


def grown(count: int) -> object:
    """What the kernel should make of some ones."""
    v = np.float32(1)
    for _ in range(count):
        v = np.float32(np.sin(v) + v * np.float32(1.5))
    return [pytest.approx(float(v), rel=1e-5)] * 64


def check_that_it_runs() -> None:
    """Load the kernel anew, and compare what it makes."""
    with Accelerator("native") as accelerator:
        a = F32Array.of(np.ones(64, np.float32))
        accelerator.compute(grow_all, a, 3)
        assert a.array.tolist() == grown(3)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of a kernel that has run."""
    monkeypatch.setenv("TRILBY_SYMBOLS", str(tmp_path / "symbols"))
    check_that_it_runs()
    return tmp_path / "symbols"


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@needs_binutils
def test_the_file_has_names_and_lines(folder: Path) -> None:
    (file,) = folder.glob("tb_grow-*.so")
    (found,) = re.findall(r"^([0-9a-f]+) T tb_grow$", output("nm", str(file)), re.MULTILINE)
    size = file.stat().st_size
    addresses = [hex(place) for place in range(int(found, 16), min(size, 16 * 4096), 4)]
    lines = set(output("addr2line", "-e", str(file), *addresses).split())
    text = Path(__file__).read_text("utf-8").splitlines()
    begin = text.index("def grow(kc: KernelContext, a: F32Array, n: i32) -> None:") + 1
    seen = {
        int(n) for name, n in (one.rsplit(":", 1) for one in lines) if name == __file__ and n != "?"
    }
    assert seen >= {begin + 3, begin + 4}
    assert not output("objdump", "-d", "-l", str(file)).startswith("objdump")


def test_gdb_is_told_where_the_code_is(folder: Path) -> None:
    (script,) = folder.glob("*.gdb")
    commands = script.read_text("utf-8").splitlines()
    assert all(re.fullmatch(r"add-symbol-file \S+\.so -o 0x[0-9a-f]+", one) for one in commands)
    assert any("/tb_grow-" in one for one in commands)


def test_the_memory_of_a_kernel_is_that_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRILBY_SYMBOLS", str(tmp_path))
    with Accelerator("native") as accelerator:
        a = F32Array.of(np.ones(64, np.float32))
        accelerator.compute(grow_all, a, 2)
        accelerator.wait()
        maps = Path("/proc/self/maps").read_text("utf-8")
        found = re.findall(r"^([0-9a-f]+)-\S+ r-xp 00001000 .*/tb_grow-", maps, re.MULTILINE)
        (script,) = tmp_path.glob("*.gdb")
        (told,) = re.findall(r"/tb_grow-\S+ -o (0x[0-9a-f]+)", script.read_text("utf-8"))
        assert int(told, 16) + 0x1000 in {int(one, 16) for one in found}


def test_a_folder_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRILBY_SYMBOLS", str(tmp_path / "file"))
    with Accelerator("native") as accelerator, pytest.raises(ArgumentValueError, match="no file"):
        accelerator.compute(grow_all, F32Array.create(length=4), 1)


def test_a_folder_from_which_nothing_may_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    original = linking._mapped  # pyright: ignore[reportPrivateUsage] -- the system refuses there

    def refused(size: int, protection: int, flags: int, file: int, offset: int) -> int | None:
        return None if file >= 0 else original(size, protection, flags, file, offset)

    monkeypatch.setattr(linking, "_mapped", refused)
    monkeypatch.setenv("TRILBY_SYMBOLS", str(tmp_path))
    check_that_it_runs()
    assert "code may not be run from" in caplog.text


def test_code_that_only_llvm_can_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def not_understood(*_: object) -> None:
        """As it is with code for other processors."""

    monkeypatch.setattr(toolchain, "linked", not_understood)
    monkeypatch.setenv("TRILBY_SYMBOLS", str(tmp_path))
    check_that_it_runs()
    assert "gdb and perf will not know `tb_grow`" in caplog.text
