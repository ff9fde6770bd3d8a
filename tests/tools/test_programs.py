"""The examples are found beside the source and where Trilby was installed, and run as commands."""

import sys
import tomllib
from pathlib import Path

import pytest

from trilby.cli import main
from trilby.errors import SourceError
from trilby.tools import programs

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def test_all_examples_are_listed_with_what_they_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[:-2]] == sorted(
        path.stem for path in EXAMPLES.glob("*.py")
    )
    assert "saxpy on NumPy arrays" in next(line for line in printed if line.startswith("saxpy"))
    assert programs.demos()["squares"] == EXAMPLES / "squares.py"


def test_an_example_runs_as_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    argv, places = list(sys.argv), list(sys.path)
    assert main(["demo", "squares", "--length", "4", "--backend", "interpreter"]) == 0
    assert capsys.readouterr().out.startswith("[0 1 4 9]\n")
    assert (sys.argv, sys.path) == (argv, places)


def test_a_dash_is_as_good_and_parts_of_an_example_are_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", "viola-jones", "--help"])
    assert ended.value.code == 0
    assert "--neighbours" in capsys.readouterr().out


def test_an_example_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "square"]) == 1
    error = capsys.readouterr().err
    assert "there is no example called `square`" in error
    assert "did you mean `squares`?" in error
    assert main(["demo", "qqq"]) == 1
    assert "`trilby demo` lists them" in capsys.readouterr().err


def test_a_package_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert main(["demo", "mandel"]) == 1
    error = capsys.readouterr().err
    assert "the example `mandel` needs the package pillow" in error
    assert "pip install 'trilby[demos]'" in error


def test_where_it_was_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packages, share = tmp_path / "lib" / "site", tmp_path / "share" / "trilby" / "examples"
    record = "../../share/trilby/examples/squares.py,,\ntrilby/__init__.py,,\n"
    info = packages / "trilby-0.1.0.dist-info"
    for folder in (info, share):
        folder.mkdir(parents=True)
    (info / "METADATA").write_text("Name: trilby\nVersion: 0.1.0\n")
    (info / "RECORD").write_text(record)
    (share / "squares.py").write_text('"""Squares, installed."""\n')
    monkeypatch.setattr(programs, "__file__", str(packages / "trilby" / "tools" / "programs.py"))
    monkeypatch.syspath_prepend(str(packages))  # pyright: ignore[reportUnknownMemberType]
    assert programs.demos() == {"squares": share / "squares.py"}
    assert "squares  Squares, installed." in programs.demo_list()
    (info / "RECORD").write_text("trilby/__init__.py,,\n")
    with pytest.raises(SourceError, match="installed without them"):
        programs.demos()


def test_every_file_of_the_examples_is_packaged() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    patterns: dict[str, list[str]] = tools["setuptools"]["data-files"]
    packaged = {
        path: Path(target).relative_to("share/trilby")
        for target, globs in patterns.items()
        for glob in globs
        for path in ROOT.glob(glob)
    }
    written = [
        path for path in EXAMPLES.rglob("*") if path.is_file() and "pycache" not in str(path)
    ]
    assert packaged == {path: path.parent.relative_to(ROOT) for path in written}
