"""The source has few ideas: what `scripts/counts.py` counts may fall, and never rises."""

from pathlib import Path

import pytest
from scripts.counts import counts, fragments, modules, mutable_state, repeated_classes

CEILINGS = {
    "files": 300,
    "classes": 570,
    "lines": 59_858,
    "class names with several meanings": 0,
    "module names with several meanings": 0,
    "modules of under 60 lines with one importer": 1,
    "containers at the top of modules": 0,
}
"""Who makes a count smaller writes the new one here."""


@pytest.fixture(scope="module")
def found() -> dict[str, int]:
    return counts(modules())


@pytest.mark.parametrize("name", CEILINGS)
def test_no_count_rises(name: str, found: dict[str, int]) -> None:
    assert found[name] <= CEILINGS[name]


def test_every_count_has_a_ceiling(found: dict[str, int]) -> None:
    assert found.keys() == CEILINGS.keys()


FILES = {
    "a/one.py": "class Same: ...\nclass _Other: ...\nSEEN: dict[str, int] = {}\n",
    "a/two.py": "from a.one import Same\nclass Other: ...\nTABLE = {1: 2}\nseen = set[int]()\n",
    "b/one.py": "import a.two\nclass Third: ...\nfound: list[int] = []\n",
}


def test_what_is_counted(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    few = modules(tmp_path)
    assert repeated_classes(few) == {"Other": ["a.one", "a.two"]}
    assert fragments(few) == {"a.one": "a.two", "a.two": "b.one"}
    assert mutable_state(few) == ["a.one.SEEN", "a.two.seen", "b.one.found"]
    assert counts(few) == {
        "files": 3,
        "classes": 4,
        "lines": 10,
        "class names with several meanings": 1,
        "module names with several meanings": 1,
        "modules of under 60 lines with one importer": 2,
        "containers at the top of modules": 3,
    }
