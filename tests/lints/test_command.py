"""`trilby lint`: what it prints, in three forms, and what it ends with."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.lints import other_programs as programs

from trilby.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"

NOTHING = "there are no kernels and no compute functions here\n"
GOOD = """\
import trilby as tb
from trilby import KernelContext, S32Array


@tb.kernel
def count(kc: KernelContext, a: S32Array) -> None:
    a.array[kc.x] = kc.x
"""
BAD = GOOD.replace("[kc.x]", "[kc.x // 2]")
REFUSED = """

@tb.kernel
def refused(kc: KernelContext, a: S32Array) -> None:
    with open("x"):
        a.array[0] = 1


@tb.compute
def dispatches(cc: tb.ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, refused, a)
"""


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: str(path.relative_to(EXAMPLES))
)
def test_the_examples_are_clean_on_the_command_line(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    assert main(["lint", str(path)]) == 0
    told = capsys.readouterr().out
    assert " 0 unknown, 0 bug" in told or told.endswith(NOTHING)


def test_the_command_line_shows_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", programs.__file__, "--select", "unused-parameter"]) == 1
    told = capsys.readouterr().out
    assert "warning[unused-parameter] the parameter `b` is never used" in told
    assert "def has_too_many(" in told
    assert "help: leave it out" in told


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--format", "json", "--select", "race-write-write"]
    assert main(["lint", "tests.lints.other_programs", *arguments]) == 1
    table = json.loads(capsys.readouterr().out)
    (report,) = [one for one in table["functions"] if one["function"] == "counts"]
    (finding,) = report["findings"]
    assert report["verdict"] == "bug"
    assert finding["witness"]["element"] == "a.array[0]"
    assert len(finding["witness"]["items"]) == 2


def test_sarif(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", programs.__file__, "--format", "sarif"]) == 1
    table = json.loads(capsys.readouterr().out)
    (run,) = table["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert table["version"] == "2.1.0"
    assert {result["ruleId"] for result in run["results"]} <= rules
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("other_programs.py")


def test_what_cannot_be_imported_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text("import trilby\n1 / 0\n")
    assert main(["lint", str(tmp_path)]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_all_lints_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", "--list"]) == 0
    assert "race-write-write" in capsys.readouterr().out
    assert main(["lint", "--list", "--select", "race-write-write"]) == 0
    assert "Within a group a barrier" in capsys.readouterr().out


# -- what it ends with


@pytest.mark.parametrize(
    ("name", "text", "code", "told"),
    [
        ("good.py", GOOD, 0, "1 function: 1 clean, 0 unknown, 0 bug; 0 findings\n"),
        ("bad.py", BAD, 1, "1 function: 0 clean, 0 unknown, 1 bug; 1 finding\n"),
        ("plain.py", "x = 1\n", 0, NOTHING),
        ("syntax.py", "import trilby\ndef f(:\n", 2, "SyntaxError"),
        ("raises.py", "import trilby\nraise RuntimeError('no')\n", 2, "RuntimeError: no"),
        ("exits.py", "import trilby\nraise SystemExit(0)\n", 2, "SystemExit"),
        ("refused.py", GOOD + REFUSED, 2, "`with` has no meaning in a kernel"),
    ],
)
def test_files_of_all_kinds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, code: int, told: str
) -> None:
    (tmp_path / name).write_text(text)
    for path in (tmp_path / name, tmp_path):
        assert main(["lint", str(path)]) == code
        assert told in capsys.readouterr().out


NOT_USING = {
    "plain": "",
    "speaks_of_it": "# trilby\nTRILBY = 'import trilby'\n",
    "has_its_name": "from .trilby import x\nimport trilby_of_mine, other.trilby\n",
    "warns": "# trilby\nx = '\\d'\n",
    "has_its_name_inside": "trilby = 3\ndef trilby(): ...\n",
}
USING = {
    "imports": "import trilby\n",
    "imports_as": "import os, trilby as tb\n",
    "imports_part": "import trilby.data.dtypes\n",
    "imports_from": "from trilby import f32\n",
    "imports_from_part": "from trilby.errors import TrilbyError\n",
    "imports_inside": "def f():\n    if True:\n        from trilby import f32\n",
    "encoded": "# coding: latin-1\n# \xe9\nimport trilby\n",
}


@pytest.mark.parametrize("by_file", [True, False])
@pytest.mark.parametrize(
    ("name", "text"), [*NOT_USING.items(), *USING.items()], ids=[*NOT_USING, *USING]
)
def test_only_files_that_import_trilby_are_imported(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, text: str, *, by_file: bool
) -> None:
    """What does not is read, and nothing of it runs."""
    ran = tmp_path / "it ran"
    file = tmp_path / f"{name}.py"
    file.write_text(f"{text}open({str(ran)!r}, 'w').close()\n", "latin-1")
    assert main(["lint", str(file if by_file else tmp_path)]) == 0
    assert ran.exists() == (name in USING)
    told = capfd.readouterr()
    assert ("is left out: it has no `import trilby`" in told.out) == (by_file and name in NOT_USING)
    assert told.out.endswith(NOTHING)
    if name in NOT_USING:
        assert told.err == ""


def test_what_is_called_a_file_and_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """None of these is opened: two of them would never end."""
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "endless.py").symlink_to("/dev/zero")
    (tmp_path / "nothing.py").symlink_to("missing")
    os.mkfifo(tmp_path / "pipe.py")
    assert main(["lint", str(tmp_path)]) == 0
    assert capsys.readouterr().out == NOTHING
    for name in ("endless.py", "pipe.py"):
        assert main(["lint", str(tmp_path / name)]) == 2
        assert f"{name}` cannot be read: it is not a regular file" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["1 / 0", "raise SystemExit(3)"])
def test_a_module_that_cannot_be_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "module_that_fails.py").write_text(text)
    assert main(["lint", "module_that_fails"]) == 2
    assert "`module_that_fails` cannot be imported: " in capsys.readouterr().out


@pytest.mark.parametrize("command", ["lint", "emit", "explain"])
def test_the_help_says_that_files_are_imported(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "is imported, which runs what stands outside" in " ".join(
        capsys.readouterr().out.split()
    )


def test_one_that_cannot_be_looked_at_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.py").write_text(BAD + REFUSED)
    assert main(["lint", str(tmp_path), "no.such.module", str(tmp_path / "nowhere.py")]) == 2
    told = capsys.readouterr().out
    assert "error[race-write-write]" in told
    assert told.count("`with` has no meaning") == 1
    assert "`no.such.module` is neither a file, nor a folder, nor a module" in told
    assert "nowhere.py` is neither a file" in told


def test_a_folder_with_nothing_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(tmp_path)]) == 0
    assert capsys.readouterr().out == NOTHING


def test_an_id_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", programs.__file__, "--select", "nonsense"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("trilby: there is no lint `nonsense`")
    assert told.out == ""


def test_arguments_that_mean_nothing() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["lint", "--format", "xml"])
    assert ended.value.code == 2


def test_what_a_module_prints_is_not_in_the_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loud.py").write_text(GOOD + 'print("hello")\n')
    assert main(["lint", str(tmp_path / "loud.py"), "--format", "json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["functions"][0]["verdict"] == "clean"
    assert told.err == "hello\n"


# -- SARIF, as its standard has it


def sarif_run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["lint", "--format", "sarif", *arguments])
    table = json.loads(capsys.readouterr().out)
    assert set(table) == {"$schema", "version", "runs"}
    assert table["version"] == "2.1.0"
    (run,) = table["runs"]
    return run


def test_sarif_of_findings(capsys: pytest.CaptureFixture[str]) -> None:
    run = sarif_run([programs.__file__, "tests.lints.odd_groups"], capsys)
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    assert {result["kind"] for result in run["results"]} == {"fail", "open"}
    for result in run["results"]:
        # 3.27.10: whatever is not a failure has no level
        levels = {"error", "warning", "note"} if result["kind"] == "fail" else {"none"}
        assert result["level"] in levels
        assert result["message"]["text"]
        assert result["ruleId"] in rules
        for place in (*result["locations"], *result["relatedLocations"]):
            physical = place["physicalLocation"]
            region = physical["region"]
            assert not physical["artifactLocation"]["uri"].startswith("/")
            assert min(region["startLine"], region["startColumn"]) >= 1
            start = (region["startLine"], region["startColumn"])
            assert (region["endLine"], region["endColumn"]) > start
    for rule in rules.values():
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}


def test_sarif_of_what_cannot_be_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a bad one.py").write_text(BAD + REFUSED)
    monkeypatch.chdir(tmp_path)
    run = sarif_run(["."], capsys)
    (invocation,) = run["invocations"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert invocation["executionSuccessful"] is False
    assert "`with` has no meaning in a kernel" in notification["message"]["text"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == "a%20bad%20one.py"


def test_a_file_of_a_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    package = tmp_path / "package_to_lint"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "sizes.py").write_text("LENGTH = 4\n")
    (package / "kernels.py").write_text(f"from package_to_lint.sizes import LENGTH\n{GOOD}")
    assert main(["lint", str(package / "kernels.py")]) == 0
    assert capsys.readouterr().out.startswith("1 function: 1 clean")
