"""What PoCL needs of a machine, and what it says where something is missing."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from trilby.backend.opencl import pocl
from trilby.backend.opencl.pocl import (
    Setting,
    cpu_refusal,
    linking_refusal,
    missing_for_linking,
    problem_of_program,
    refusal,
    room_refusal,
    trial_refusal,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at a Linux file system")

FILES = {
    "bin/ld": "bin/ld",
    "libgcc": "usr/lib/gcc/x86_64-linux-gnu/12/libgcc.a",
    "crtbegin": "usr/lib/gcc/x86_64-linux-gnu/12/crtbegin.o",
    "libc": "usr/lib/x86_64-linux-gnu/libc.so",
}


def machine(root: Path, *files: str) -> Path:
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
    return root


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        ("bin/ld", "there is no `ld` on the PATH"),
        ("libgcc", "`ld` is there, and libgcc.a is not"),
        ("crtbegin", "`ld` is there, and libgcc.a is not"),
        ("libc", "`ld` is there, and the C library to link with (libc.so) is not"),
        ("nothing", None),
    ],
)
def test_each_thing_that_may_be_missing(tmp_path: Path, without: str, expected: str | None) -> None:
    root = machine(tmp_path, *(file for name, file in FILES.items() if name != without))
    assert missing_for_linking(str(root / "bin"), root) == expected


def test_other_places_of_the_libraries(tmp_path: Path) -> None:
    gcc = "usr/lib64/gcc/x86_64-redhat-linux/14"
    root = machine(tmp_path, "bin/ld", f"{gcc}/libgcc.a", f"{gcc}/crtbegin.o", "usr/lib64/libc.so")
    assert missing_for_linking(str(root / "bin"), root) is None


def test_a_path_that_is_not_set_holds_no_linker(tmp_path: Path) -> None:
    root = machine(tmp_path, *FILES.values())
    assert missing_for_linking("", root) == "there is no `ld` on the PATH"


def test_the_refusal_says_what_to_install(tmp_path: Path) -> None:
    refused = refusal(Setting("PoCL 3.0", {"PATH": str(tmp_path)}, str(tmp_path)), tmp_path)
    assert refused is not None
    assert refused.problem == (
        "PoCL, the OpenCL driver for the CPU, cannot link kernels here: there is no `ld` on the "
        "PATH"
    )
    assert "apt install gcc libc6-dev" in refused.advice
    root = machine(tmp_path, *FILES.values())
    assert linking_refusal(str(root / "bin"), root) is None


@pytest.mark.parametrize(
    ("target", "is_known"),
    [
        ("pthread-x86_64-pc-linux-gnu-skylake-avx512", True),
        ("pthread-x86_64-unknown-linux-gnu-generic", False),
        ("pthread-aarch64-unknown-linux-gnu-generic", True),
        ("", True),
    ],
)
def test_a_cpu_that_is_newer_than_the_compiler(target: str, *, is_known: bool) -> None:
    refused = cpu_refusal(Setting("OpenCL 3.0 PoCL 3.0-rc2  Linux, LLVM", {}, None, target))
    assert (refused is None) == is_known
    if refused is not None:
        assert refused.problem.startswith("OpenCL 3.0 PoCL 3.0-rc2 does not know this CPU")
        assert "apt install pocl-opencl-icd" in refused.advice


# ------------------------------------------------------------------------------------------ room


@pytest.mark.parametrize(
    ("blocks", "files", "expected"),
    [
        (10, (100, 100), "40,960 bytes are free"),
        (10_000, (100, 0), "no file can be made"),
        (10_000, (100, 1), None),
        (10_000, (0, 0), None),  # as on file systems that do not count files
    ],
)
def test_room_for_compiled_kernels(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    blocks: int,
    files: tuple[int, int],
    expected: str | None,
) -> None:
    asked: list[Path] = []

    def statvfs(place: Path) -> SimpleNamespace:
        asked.append(place)
        all_files, free_files = files
        return SimpleNamespace(
            f_bavail=blocks, f_frsize=4096, f_files=all_files, f_favail=free_files
        )

    monkeypatch.setattr(os, "statvfs", statvfs)
    folder = tmp_path / "not" / "yet"
    refused = room_refusal(str(folder))
    assert asked == [tmp_path]
    assert (refused and refused.problem) == (
        expected
        and "PoCL, the OpenCL driver for the CPU, has no room for compiled kernels: "
        f"{expected} in {folder}"
    )


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
    bin_folder = machine(tmp_path, "bin/ld") / "bin"
    cache = tmp_path / "cache"
    cache.mkdir()
    setting = Setting("PoCL 3.0", {"PATH": str(bin_folder)}, str(cache))
    refused = trial_refusal(setting)
    assert refused is not None
    assert refused.problem == (
        "PoCL, the OpenCL driver for the CPU, does not get a small kernel to run here: ld: no space"
    )
    for _ in range(3):  # the one that failed is made again, and the one that did not is not
        assert trial_refusal(setting) is None
    assert len(programs) == 2
    assert "'PoCL 3.0'" in programs[0]
    assert programs[0] != programs[1]  # or the driver would have the kernel already
    os.utime(bin_folder / "ld", (1, 1))  # as if another one were installed
    others = [
        setting,
        Setting("PoCL 7.0", {"PATH": str(bin_folder)}, str(cache)),
        Setting("PoCL 3.0", {"PATH": str(bin_folder), "POCL_DEVICES": "basic"}, str(cache)),
        Setting("PoCL 3.0", {"PATH": str(bin_folder)}, str(tmp_path)),
    ]
    for number, other in enumerate(others, start=3):
        assert trial_refusal(other) is None
        assert trial_refusal(other) is None
        assert len(programs) == number


def test_without_a_folder_every_process_makes_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: list[str] = []
    monkeypatch.setattr(pocl, "problem_of_program", programs.append)
    for _ in range(2):
        assert trial_refusal(Setting("PoCL 3.0", {}, None)) is None
    assert len(programs) == 2


def test_what_a_program_says_at_last_is_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problem_of_program("print('all is well')") is None
    assert problem_of_program("import sys; sys.exit('first\\nlast')") == "last"
    assert problem_of_program("import os; os.abort()") == "the process ended with -6"
    monkeypatch.setattr(pocl, "TRIAL_SECONDS", 0.5)
    hangs = "import threading; threading.Event().wait()"
    assert problem_of_program(hangs) == "it was not built after 0.5 seconds"
    monkeypatch.setattr(sys, "executable", "")
    assert problem_of_program("raise ValueError") is None  # there is no Python to run it with
