"""What LLVM says of a processor is asked once for a machine."""

from pathlib import Path

import pytest

from trilby.backend.native import host_processor, llvm
from trilby.backend.native.host_processor import detect, told_by_system
from trilby.backend.native.toolchain import Processor

TOLD = "processor\t: 0\nmodel name\t: Fast 9000\ncpu MHz\t\t: 1\n\nprocessor\t: 1\ncpu MHz\t\t: 2\n"
FAST = Processor("x86_64-linux-gnu", "fast", "+avx2,-sse4a", "20.1")


def told(megahertz: int, flags: str) -> dict[str, str]:
    """What a system tells of a processor."""
    return {"model name": "Fast 9000", "cpu MHz": str(megahertz), "flags": flags}


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often LLVM is asked."""
    found: list[str] = []

    def ask() -> Processor:
        found.append("asked")
        return FAST

    monkeypatch.setattr(llvm, "detected", ask)
    monkeypatch.setenv("TRILBY_CACHE", str(tmp_path / "kept"))
    return found


def test_a_machine_is_asked_about_once(asked: list[str]) -> None:
    for speed in (1000, 2000, 3000):
        assert detect(told(speed, "avx2")) == FAST
    assert len(asked) == 1
    assert detect(told(1000, "avx2 avx512f")) == FAST
    assert len(asked) == 2


def test_another_llvmlite_is_asked_again(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    detect(told(1, "avx2"))
    monkeypatch.setattr(host_processor, "installed", lambda: "another")
    detect(told(1, "avx2"))
    assert len(asked) == 2


def test_what_is_damaged_is_not_believed(asked: list[str], tmp_path: Path) -> None:
    detect(told(1, "avx2"))
    [entry] = (tmp_path / "kept" / "trilby-kernels").glob("*.txt")
    entry.write_bytes(entry.read_bytes().replace(b"+avx2", b"-avx2"))
    assert detect(told(1, "avx2")) == FAST
    assert len(asked) == 2


def test_a_system_that_says_nothing_is_asked_every_time(
    asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [detect({}), detect({})] == [FAST, FAST]
    monkeypatch.setenv("TRILBY_CACHE", "off")
    assert [detect(told(1, "avx2")), detect(told(1, "avx2"))] == [FAST, FAST]
    assert len(asked) == 4


def test_what_the_system_tells(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(TOLD, "utf-8")
    found = told_by_system(str(file))
    assert (found["model name"], found["cpu MHz"]) == ("Fast 9000", "1")
    assert told_by_system(str(tmp_path / "absent")) == {}
