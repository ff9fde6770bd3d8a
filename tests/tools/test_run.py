"""`trilby run`: the program as it is, with other defaults, and files about what it did."""

import json
import sys
from pathlib import Path

import pytest

from trilby.cli import main
from trilby.options import Options, Transfers, default_options
from trilby.runtime.accelerator import Accelerator

PROGRAM = """\
import sys
import numpy as np
from trilby import Accelerator, F32Array
from tests.tools.traced_programs import steps

accelerator = Accelerator()
a, b = F32Array.of(np.ones(10)), F32Array.of(np.ones(10))
accelerator.compute(steps, a, b, 2)
print(accelerator.device.backend, accelerator.transfers.value, *sys.argv[1:], __name__)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, "utf-8")
    return path


def test_a_program_takes_what_is_given_on_the_command_line(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv, places = list(sys.argv), list(sys.path)
    options = ["--backend", "interpreter", "--transfers", "always"]
    assert main(["run", *options, str(program), "--flag", "x"]) == 0
    assert capsys.readouterr().out == "interpreter always --flag x __main__\n"
    assert (sys.argv, sys.path) == (argv, places)


def test_what_the_program_says_itself_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.py"
    path.write_text(
        "from trilby import Accelerator, Transfers\n"
        'a = Accelerator("interpreter", transfers=Transfers.TRACKED)\n'
        "print(a.device.backend, a.transfers.value)\n",
        "utf-8",
    )
    assert main(["run", "--backend", "native", "--transfers", "always", str(path)]) == 0
    assert capsys.readouterr().out == "interpreter tracked\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("", 0),
        ("raise SystemExit", 0),
        ("raise SystemExit(0)", 0),
        ("raise SystemExit(7)", 7),
        ("raise SystemExit('it is over')", 1),
        ("1 / 0", 1),
        ("def", 1),
        ("raise KeyboardInterrupt", 130),
    ],
)
def test_the_code_is_that_of_the_program(
    code: str, expected: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "program.py"
    path.write_text(code, "utf-8")
    assert main(["run", str(path)]) == expected
    err = capsys.readouterr().err
    assert (err == "it is over\n") == ("over" in code)
    if expected in {1, 130} and "over" not in code:
        assert err.startswith(("Traceback", f'  File "{path}"'))
        assert "runpy" not in err
        assert "programs.py" not in err


def test_files_are_written(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, report = tmp_path / "out.json", tmp_path / "out.html"
    options = ["--memory", "discrete", "--trace", str(trace), "--report", str(report)]
    assert main(["run", *options, str(program)]) == 0
    about = json.loads(trace.read_text("utf-8"))["otherData"]["accelerators"]
    assert [one["device"].partition(" ")[0] for one in about] == ["native:0"]
    assert about[0]["copies_up"] > 0
    assert report.read_text("utf-8").startswith("<!doctype html>")
    err = capsys.readouterr().err
    assert ": 4 dispatches, " in err
    assert err.endswith(f"trilby: see {trace} and {report}\n")


def test_files_are_written_where_the_program_fails(program: Path, tmp_path: Path) -> None:
    program.write_text(f"{PROGRAM}raise SystemExit(3)\n", "utf-8")
    trace = tmp_path / "out.json"
    assert main(["run", "--trace", str(trace), str(program)]) == 3
    assert json.loads(trace.read_text("utf-8"))["otherData"]["accelerators"]


def test_an_accelerator_that_the_program_closes_is_in_the_trace(
    program: Path, tmp_path: Path
) -> None:
    program.write_text(f"{PROGRAM}accelerator.close()\n", "utf-8")
    trace = tmp_path / "out.json"
    assert main(["run", "--memory", "discrete", "--trace", str(trace), str(program)]) == 0
    (about,) = json.loads(trace.read_text("utf-8"))["otherData"]["accelerators"]
    assert about["copies_down"] > 0


def test_a_program_without_an_accelerator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, report = tmp_path / "program.py", tmp_path / "out.html"
    path.write_text("", "utf-8")
    assert main(["run", "--report", str(report), str(path)]) == 0
    assert "the program opened no accelerator" in capsys.readouterr().err
    assert "opened no accelerator" in report.read_text("utf-8")


def test_what_cannot_be_run_or_written(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tmp_path / "no.py")]) == 1
    assert "there is no file `" in capsys.readouterr().err
    assert main(["run", "--trace", str(tmp_path / "no" / "out.json"), str(program)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "cannot be written: there is no folder" in err


def test_defaults_hold_inside_of_their_block_only() -> None:
    with default_options(Options(backend="interpreter", transfers=Transfers.PLANNED)):
        inside = Accelerator()
    outside = Accelerator()
    assert (inside.device.backend, inside.transfers) == ("interpreter", Transfers.PLANNED)
    assert (outside.device.backend, outside.transfers) == ("native", Transfers.AUTO)
