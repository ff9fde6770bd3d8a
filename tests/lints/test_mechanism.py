"""How lints are found, chosen, weighed and asked for."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from tests.lints import other_programs as programs
from tests.lints.cases import Case
from tests.lints.test_corpus import CASES

import trilby as tb
from trilby import Accelerator, S32Array
from trilby.errors import ArgumentValueError
from trilby.linting import lint as linting
from trilby.linting.decide.plain import PlainDecider
from trilby.linting.lint import LintSettings, LintWarning, assert_clean, functions_of, settings_for
from trilby.linting.lint_registry import all_lints, kernel_lint

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


# -- the mechanism


def test_every_lint_has_an_id_a_summary_and_a_page() -> None:
    lints = all_lints()
    assert {"race-write-write", "out-of-bounds", "barrier-divergence"} <= {one.id for one in lints}
    for one in lints:
        assert one.summary.endswith((".", ")"))
        assert one.id == one.id.lower()
        assert one.page.startswith(one.summary)


def test_a_lint_needs_a_docstring() -> None:
    with pytest.raises(ArgumentValueError, match="has no docstring"):
        kernel_lint("nameless")(lambda _facts: ())


def test_a_lint_of_another_package_is_found_and_runs() -> None:
    program = (
        "import trilby as tb\n"
        "from tests.lints import groups\n"
        "for finding in tb.lint(groups.a_barrier_within_groups).findings:\n"
        "    print(finding.lint, finding.location.line > 0)\n"
    )
    folders = [str(HERE / "third_party"), str(HERE.parents[1]), *sys.path]
    result = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {folders!r}\n{program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == ["house-no-global-barrier", "True"]


# -- settings


def test_settings_choose_lints() -> None:
    only = LintSettings(select=("unused-parameter",))
    assert [f.lint for f in tb.lint(programs.has_too_many, settings=only).findings] == [
        "unused-parameter"
    ]
    without = LintSettings(ignore=("unused-parameter",))
    assert tb.lint(programs.has_too_many, settings=without).findings == ()


def test_settings_weigh_lints() -> None:
    strict = LintSettings(severity={"unused-parameter": "error"})
    assert tb.lint(programs.has_too_many, settings=strict).verdict == "bug"


def test_a_lint_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ArgumentValueError, match="there is no lint `nonsense`"):
        LintSettings(ignore=("nonsense",))


def test_settings_come_from_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.trilby.lint]\nignore = ["strided-access"]\n'
        '[tool.trilby.lint.severity]\nunused-parameter = "hint"\n'
    )
    found = settings_for(str(tmp_path / "deep" / "app.py"))
    assert found.ignore == ("strided-access",)
    assert found.severity == {"unused-parameter": "hint"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[tool.trilby.lint]\nignored = []", "`ignored`, which means nothing"),
        ('[tool.trilby.lint.severity]\nout-of-bounds = "loud"', "is 'loud'"),
        ("[tool", "cannot be read"),
    ],
)
def test_settings_that_mean_nothing(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ArgumentValueError, match=problem):
        settings_for(str(tmp_path / "app.py"))


# -- without a solver


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case.name)
def test_without_a_solver_nothing_wrong_is_said(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linting, "decider", PlainDecider)
    report = tb.lint(case.kernel, range=case.range if case.given else None)
    assert report.verdict in {case.verdict, "unknown"}


def test_without_a_solver_the_plain_cases_are_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linting, "decider", PlainDecider)
    assert tb.lint(programs.add_one).verdict == "clean"
    assert tb.lint(programs.counts).verdict == "bug"


# -- ways to use it


def test_lints_as_assertions() -> None:
    assert assert_clean(programs.add_one).verdict == "clean"
    with pytest.raises(AssertionError, match="race-write-write"):
        assert_clean(programs.counts)
    assert_clean(programs.has_too_many, allow=["unused-parameter"])


def test_the_functions_of_a_module() -> None:
    found = {function.name for function in functions_of(programs)}
    assert {"adds", "counts"} <= found
    assert not {"add_one", "looks_away"} & found  # dispatched, and a helper


def test_warnings_at_the_first_run() -> None:
    accelerator = Accelerator("interpreter", lint=True)
    with pytest.warns(LintWarning, match="never-read-back"):
        accelerator.compute(programs.forgets_the_result, S32Array.create(length=4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        accelerator.compute(programs.forgets_the_result, S32Array.create(length=4))
        Accelerator("interpreter").compute(programs.forgets_the_result, S32Array.create(length=4))
