"""Files that are written at the end of a run: what stands against them is told at its beginning."""

import os
import re
from pathlib import Path

import pytest

from trilby.cli import main
from trilby.errors import ArgumentValueError
from trilby.tools.output_files import check_output


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
    with pytest.raises(ArgumentValueError, match="the system does not allow it"):
        check_output(tmp_path / "a.html")


def test_an_explanation_without_a_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "missing" / "a.html"
    assert main(["explain", "examples/squares.py:square_all", "--html", str(page)]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_an_explanation_has_one_form(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["explain", "examples/squares.py:square_all", "--html", "a.html", "--json"])
    assert "not allowed with" in capsys.readouterr().err
