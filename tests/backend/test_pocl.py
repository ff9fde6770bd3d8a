"""What PoCL needs of a machine, and what it says where something is missing."""

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from trilby.backend.opencl import pocl
from trilby.backend.opencl.pocl import problem_of_program, refusal
from trilby.errors import DeviceUnavailableError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="PoCL is for Linux")

TARGET = "pthread-x86_64-pc-linux-gnu-skylake-avx512"


def refused(
    cache: Path | None, version: str = "PoCL 3.0", target: str = TARGET, **variables: str
) -> DeviceUnavailableError | None:
    return refusal(version, target, variables, str(cache) if cache else None)


def works(_program: str) -> None:
    """A trial that goes well."""


@pytest.mark.parametrize(
    ("target", "is_known"),
    [
        ("pthread-x86_64-pc-linux-gnu-skylake-avx512", True),
        ("pthread-x86_64-unknown-linux-gnu-generic", False),
        ("pthread-aarch64-unknown-linux-gnu-generic", True),
        ("", True),
    ],
)
def test_a_cpu_that_is_newer_than_the_compiler(
    monkeypatch: pytest.MonkeyPatch, target: str, *, is_known: bool
) -> None:
    monkeypatch.setattr(pocl, "problem_of_program", works)
    problem = refused(None, "OpenCL 3.0 PoCL 3.0-rc2  Linux, LLVM", target)
    assert (problem is None) == is_known
    if problem is not None:
        assert problem.problem.startswith("OpenCL 3.0 PoCL 3.0-rc2 does not know this CPU")
        assert "apt install pocl-opencl-icd" in problem.advice


def test_with_little_room_every_process_makes_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs: list[str] = []
    free = 40_960_000

    def disk_usage(_: Path) -> SimpleNamespace:
        return SimpleNamespace(free=free)

    monkeypatch.setattr(shutil, "disk_usage", disk_usage)
    monkeypatch.setattr(pocl, "problem_of_program", programs.append)
    for _ in range(2):
        assert refused(tmp_path) is None
    assert len(programs) == 1
    free = 40_960
    for _ in range(2):
        assert refused(tmp_path) is None
    assert len(programs) == 3


@pytest.mark.parametrize(
    ("problem", "advice"),
    [
        ('error: unable to execute command: Executable "ld" doesn\'t exist!', "libc6-dev"),
        ("/usr/bin/ld: cannot find -lgcc: No such file or directory", "libc6-dev"),
        ("error: linker command failed with exit code 1", "libc6-dev"),
        ("/usr/bin/ld: final link failed: No space left on device", "room in POCL_CACHE_DIR"),
        ("LLVM ERROR: IO failure on output stream: File too large", "room in POCL_CACHE_DIR"),
        ("the process ended with -11", "room in POCL_CACHE_DIR"),
    ],
)
def test_the_advice_is_about_what_failed(
    monkeypatch: pytest.MonkeyPatch, problem: str, advice: str
) -> None:
    def fails(_program: str) -> str:
        return problem

    monkeypatch.setattr(pocl, "problem_of_program", fails)
    error = refused(None)
    assert error is not None
    assert error.problem == (
        f"PoCL, the OpenCL driver for the CPU, does not get a small kernel to run here: {problem}"
    )
    assert advice in error.advice


# ---------------------------------------------------------------------------------------- trials


def test_a_trial_that_went_well_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs: list[str] = []
    problems: list[str | None] = ["ld: no space", None]

    def run(program: str) -> str | None:
        programs.append(program)
        return problems.pop(0) if problems else None

    monkeypatch.setattr(pocl, "problem_of_program", run)
    bin_folder, cache = tmp_path / "bin", tmp_path / "cache"
    for folder in (bin_folder, cache):
        folder.mkdir()
    (bin_folder / "ld").touch(mode=0o755)
    path = str(bin_folder)
    error = refused(cache, PATH=path)
    assert error is not None
    assert error.problem.endswith("does not get a small kernel to run here: ld: no space")
    for _ in range(3):  # the one that failed is made again, and the one that did not is not
        assert refused(cache, PATH=path) is None
    assert len(programs) == 2
    assert "'PoCL 3.0'" in programs[0]
    assert programs[0] != programs[1]  # or the driver would have the kernel already
    os.utime(bin_folder / "ld", (1, 1))  # as if another one were installed
    for number, change in enumerate(
        [
            lambda: refused(cache, PATH=path),
            lambda: refused(cache, "PoCL 7.0", PATH=path),
            lambda: refused(cache, PATH=path, POCL_DEVICES="basic"),
            lambda: refused(tmp_path, PATH=path),
        ],
        start=3,
    ):
        assert change() is None
        assert change() is None
        assert len(programs) == number


def test_without_a_folder_every_process_makes_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: list[str] = []
    monkeypatch.setattr(pocl, "problem_of_program", programs.append)
    for _ in range(2):
        assert refused(None) is None
    assert len(programs) == 2


def test_what_a_program_says_first_is_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problem_of_program("print('all is well')") is None
    assert problem_of_program("import sys; sys.exit('first\\nlast')") == "first"
    assert problem_of_program("raise ValueError('why')") == "ValueError: why"
    assert problem_of_program("import os; os.abort()") == "the process ended with -6"
    monkeypatch.setattr(pocl, "TRIAL_SECONDS", 0.5)
    hangs = "import threading; threading.Event().wait()"
    assert problem_of_program(hangs) == "it was not built after 0.5 seconds"
    monkeypatch.setattr(sys, "executable", "")
    assert problem_of_program("raise ValueError") is None  # there is no Python to run it with
