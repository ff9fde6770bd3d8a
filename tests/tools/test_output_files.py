"""Files that are written at the end of a run: checked at its beginning, and never half-written."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trilby.cli import main
from trilby.errors import ArgumentValueError
from trilby.tools.output_files import check_output, check_outputs, write_output


def test_a_file_that_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_output(tmp_path / "new.html")
    (tmp_path / "old.html").touch()
    check_output(tmp_path / "old.html")
    monkeypatch.chdir(tmp_path)
    check_output(Path("new.html"))
    assert not Path("new.html").exists()


def test_what_stands_against_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(ArgumentValueError, match=re.escape(f"there is no folder `{missing}`")):
        check_output(missing / "a.html")
    with pytest.raises(ArgumentValueError, match="it is a folder"):
        check_output(tmp_path)
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType] -- the tests may run as root
    with pytest.raises(ArgumentValueError, match="does not allow new files in"):
        check_output(tmp_path / "a.html")
    (tmp_path / "a.html").touch()
    with pytest.raises(ArgumentValueError, match="the system does not allow it"):
        check_output(tmp_path / "a.html")


def test_two_files_in_one_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "folder").symlink_to(".")
    check_outputs([Path("a"), Path("b")], [Path("c")])
    for other in (Path("a"), tmp_path / "a", Path("link"), Path("folder/a")):
        with pytest.raises(ArgumentValueError, match="it is another file to write as well"):
            check_outputs([Path("a"), other])
        with pytest.raises(ArgumentValueError, match="it is a file that is read as well"):
            check_outputs([Path("a")], [other])


def test_a_folder_that_takes_no_new_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.html"
    file.touch()

    def access(path: Path, _mode: int) -> bool:
        return path == file

    monkeypatch.setattr(os, "access", access)  # the tests may run as root
    with pytest.raises(ArgumentValueError, match="does not allow new files in"):
        check_output(file)


# -- writing


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_a_file_keeps_its_mode_and_its_link(tmp_path: Path, mode: int) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("before")
    file.chmod(mode)
    link.symlink_to("file")
    write_output(link, "text ü \udce9")
    assert link.is_symlink()
    assert file.read_text("utf-8") == "text ü \\udce9"
    assert file.stat().st_mode & 0o777 == mode
    assert {one.name for one in tmp_path.iterdir()} == {"file", "link"}


def test_a_new_file_has_the_mode_that_new_files_have(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    (tmp_path / "link").symlink_to("new")
    write_output(tmp_path / "link", "text")
    assert (tmp_path / "new").read_text() == "text"
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as other:
        read = other.submit(pipe.read_text)
        check_output(pipe)
        write_output(pipe, "text")
        assert read.result() == "text"
    check_output(Path(os.devnull))
    write_output(os.devnull, "text")
    assert Path(os.devnull).is_char_device()
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it is a disk that is full")
def test_a_device_that_is_full() -> None:
    check_output(Path("/dev/full"))
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_output("/dev/full", "text")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("before", ["before", None])
def test_a_file_is_whole_or_as_it_was(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    before: str | None,
) -> None:
    file = tmp_path / "file"
    if before is not None:
        file.write_text(before)

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(type(failure)) as caught:
        write_output(file, "text")
    if isinstance(caught.value, OSError):
        assert caught.value.filename == str(file)
    assert (file.read_text() if file.exists() else None) == before
    assert [one.name for one in tmp_path.iterdir()] == ["file"] * (before is not None)


# -- what the commands do


LIMITED = """
import resource, sys
from trilby.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # as if the disk were full
sys.exit(main(sys.argv[1:]))
"""


def limited(*arguments: object) -> "subprocess.CompletedProcess[str]":
    """A command that can write no file of more than 1,000 bytes."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TRILBY_CACHE": "off"},
    )


@pytest.mark.parametrize(("ends", "expected"), [("", 1), ("raise SystemExit(3)", 3)])
def test_a_run_on_a_full_disk(tmp_path: Path, ends: str, expected: int) -> None:
    program, trace, report = (tmp_path / name for name in ("program.py", "a.json", "a.html"))
    program.write_text(f"from trilby import Accelerator\nAccelerator('interpreter')\n{ends}")
    report.write_text("before")
    done = limited("run", "--trace", trace, "--report", report, program)
    assert done.returncode == expected
    assert "Traceback" not in done.stderr
    assert f"trilby: see {trace}\n" in done.stderr  # it is small enough
    assert f"trilby: `{report}` cannot be written: File too large\n" in done.stderr
    assert report.read_text() == "before"
    assert {one.name for one in tmp_path.iterdir()} == {"program.py", "a.json", "a.html"}


def test_an_explanation_on_a_full_disk(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    done = limited("explain", "examples/squares.py:square_all", "--html", page)
    assert (done.returncode, done.stderr) == (1, f"trilby: `{page}`: File too large\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="it is a disk that is full")
def test_an_output_that_is_full() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "trilby", "reference", "math"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    expected = "trilby: `standard output`: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, expected)


def test_a_trace_and_a_report_in_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, out = tmp_path / "program.py", tmp_path / "out"
    program.write_text("print('it ran')")
    assert main(["run", "--trace", str(out), "--report", str(out), str(program)]) == 1
    assert main(["run", "--trace", str(program), str(program)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert f"`{out}` cannot be written: it is another file to write as well" in said.err
    assert f"`{program}` cannot be written: it is a file that is read as well" in said.err
    assert program.read_text() == "print('it ran')"


def test_an_explanation_in_the_place_of_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text("print('it ran')")
    assert main(["explain", f"{program}:f", "--html", str(program)]) == 1
    assert "it is a file that is read as well" in capsys.readouterr().err
    assert program.read_text() == "print('it ran')"


def test_a_program_that_goes_to_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("elsewhere").mkdir()
    Path("program.py").write_text("import os\nos.chdir('elsewhere')")
    assert main(["run", "--trace", "out.json", "program.py"]) == 0
    assert (tmp_path / "out.json").exists()


def test_an_explanation_without_a_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "missing" / "a.html"
    assert main(["explain", "examples/squares.py:square_all", "--html", str(page)]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_an_explanation_has_one_form(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "examples/squares.py:square_all", "--html", "a.html", "--json"])
    assert "not allowed with" in capsys.readouterr().err
