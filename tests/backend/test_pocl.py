import sys
from pathlib import Path

import pytest

from trilby.backend.pocl import missing_for_linking, refusal

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
    refused = refusal(str(tmp_path), tmp_path)
    assert refused is not None
    assert refused.problem == (
        "PoCL, the OpenCL driver for the CPU, cannot link kernels here: there is no `ld` on the "
        "PATH"
    )
    assert "apt install gcc libc6-dev" in refused.advice
    root = machine(tmp_path, *FILES.values())
    assert refusal(str(root / "bin"), root) is None
