"""Every kernel of the corpus gets the verdict that a person gives it."""

import pytest
from tests.lints import edges, groups, odd_groups, odd_ones, races_between_items
from tests.lints.cases import Case

import trilby as tb

CASES = [
    *races_between_items.corpus.cases,
    *groups.corpus.cases,
    *edges.corpus.cases,
    *odd_ones.corpus.cases,
    *odd_groups.corpus.cases,
]


def test_the_corpus_is_large_and_half_of_it_is_clean() -> None:
    verdicts = [case.verdict for case in CASES]
    assert len(CASES) >= 60
    assert verdicts.count("clean") * 2 >= len(CASES) - verdicts.count("unknown")
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict_is_right(case: Case) -> None:
    report = tb.lint(case.kernel, range=case.range if case.given else None)
    told = {f.lint for f in report.findings if f.verdict != "bug" or f.severity == "error"}
    benign = {f.lint for f in report.findings} - told
    assert report.verdict == case.verdict, str(report)
    assert (told or benign if case.verdict == "clean" else told) == case.lints, str(report)


@pytest.mark.parametrize("case", [c for c in CASES if c.verdict == "bug"], ids=lambda c: c.name)
def test_a_bug_has_a_witness(case: Case) -> None:
    report = tb.lint(case.kernel, range=case.range if case.given else None)
    for finding in report.findings:
        if finding.verdict == "bug" and finding.severity == "error":
            assert finding.witness is not None
            races = finding.lint.startswith("race") or finding.lint == "barrier-divergence"
            assert len(finding.witness.items) == (2 if races else 1)
            assert finding.location.file == case.kernel.location.file
