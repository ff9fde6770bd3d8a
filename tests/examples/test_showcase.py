"""The show that `make run` gives: devices that are missing, and tables."""

import io

import pytest
from rich.console import Console
from tests.examples.programs import program

from trilby import TrilbyError


def shown(*things: object) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(*things)
    return getattr(console.file, "getvalue", str)()


def test_a_device_that_nobody_asked_for_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    showcase = program("showcase")
    monkeypatch.setattr(showcase, "DEVICES", ("interpreter", "opencl:99"))
    told = Console(file=io.StringIO(), width=200)
    assert list(showcase.opened(None, told)) == ["interpreter"]
    text = getattr(told.file, "getvalue", str)()
    assert "interpreter is Python interpreter" in text
    assert "opencl:99 is left out:" in text


def test_a_device_that_was_asked_for_has_to_be_there() -> None:
    with pytest.raises(TrilbyError, match="99"):
        program("showcase").opened(["opencl:99"], Console(file=io.StringIO()))


def test_without_any_device_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    showcase = program("showcase")
    monkeypatch.setattr(showcase, "DEVICES", ("opencl:99",))
    with pytest.raises(SystemExit, match="no device is here"):
        showcase.opened(None, Console(file=io.StringIO()))


def test_times_stand_side_by_side() -> None:
    showcase = program("showcase")
    times = {"native": showcase.Timed(1.5, 0.25), "opencl": showcase.Timed(3.0, 0.5)}
    row = showcase.Row("life", times, "NumPy", 0.75)
    line = next(line for line in shown(showcase.side_by_side([row])).splitlines() if "life" in line)
    assert line.split() == ["life", "1.500", "0.250", "3.000", "0.500", "NumPy", "0.750"]
