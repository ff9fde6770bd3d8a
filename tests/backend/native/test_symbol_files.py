"""Kernels that are loaded from files: debuggers and profilers know their names and lines."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from tests.backend.test_private_folder import UNSAFE, give_away, too_large

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, i32
from trilby.backend.native import linking, symbol_files, toolchain
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


@pytest.fixture
def kernel_for(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Run a kernel whose symbols belong into a folder."""

    def run(folder: Path) -> None:
        monkeypatch.setenv("TRILBY_SYMBOLS", str(folder))
        check_that_it_runs()

    return run


def others_may_write(folder: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o777)


def sticky_as_tmp(folder: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o1777)


def a_link(folder: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


def a_file(folder: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    folder.rmdir()
    folder.touch()


@pytest.mark.parametrize("make", [others_may_write, sticky_as_tmp, a_link, a_file, give_away])
def test_a_folder_that_is_not_the_users_alone(
    make: Callable[[Path, pytest.MonkeyPatch], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kernel_for: Callable[[Path], None],
) -> None:
    folder = tmp_path / "symbols"
    folder.mkdir(mode=0o700)
    make(folder, monkeypatch)
    with pytest.raises(ArgumentValueError, match=r"no file can be written: .*(others|a link)"):
        kernel_for(folder)
    assert [*tmp_path.rglob("*.so"), *tmp_path.rglob("*.gdb")] == []


@pytest.mark.parametrize("make", [make for make in UNSAFE if make is not too_large])
def test_a_script_that_is_no_file_of_the_user(
    make: Callable[[Path], None], tmp_path: Path, kernel_for: Callable[[Path], None]
) -> None:
    """A link to a file of somebody else, planted before the folder was closed to others."""
    folder = tmp_path / "symbols"
    folder.mkdir(mode=0o700)
    script = folder / f"{os.getpid()}.gdb"
    script.write_text("as it was")
    make(script)
    with pytest.raises(ArgumentValueError, match=r"no file can be written"):
        kernel_for(folder)
    regular = [path for path in folder.iterdir() if path.is_file() and path.suffix != ".so"]
    assert all(path.read_text() == "as it was" for path in regular)


def test_a_link_in_the_place_of_a_symbol_file_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel_for: Callable[[Path], None]
) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "symbols"
    outside.write_text("as it was")
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(symbol_files, "_NUMBERS", count(7000))
    planted = [folder / f"tb_grow-{os.getpid()}-{number}.so" for number in range(7000, 7010)]
    for one in planted:
        one.symlink_to(outside)
    kernel_for(folder)
    assert outside.read_text() == "as it was"
    assert not planted[0].is_symlink()


@pytest.mark.skipif(not shutil.which("gdb"), reason="gdb reads the script")
def test_gdb_reads_names_with_any_letters(
    tmp_path: Path, kernel_for: Callable[[Path], None]
) -> None:
    folder = tmp_path / "a 'b' \"c\" $d #e é"
    kernel_for(folder)
    (script,) = folder.glob("*.gdb")
    told = output("gdb", "-batch", "-nx", "-x", str(script), "-ex", "info address tb_grow")
    assert 'Symbol "tb_grow" is' in told


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
