"""An independent judge agrees: each kernel of the corpus, as OpenCL, under Oclgrind."""

from pathlib import Path

import pytest
from tests.lints.cases import Case
from tests.lints.oclgrind import PROGRAM, judged
from tests.lints.test_corpus import CASES

pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="oclgrind is not installed: apt-get install oclgrind"
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_oclgrind_agrees(case: Case, tmp_path: Path) -> None:
    seen = judged(case, tmp_path)
    if case.sees == "nothing":
        assert seen == set()
    else:
        assert case.sees in seen


def test_what_oclgrind_cannot_see_is_explained() -> None:
    for case in CASES:
        agrees = case.verdict == "unknown" or (case.verdict == "clean") == (case.sees == "nothing")
        assert agrees is not bool(case.disagrees), case.name
