"""Every code block of the README and of `docs/` is run, and every shown text is true."""

import re
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT, generated, printed

import trilby as tb

DOCS = ROOT / "docs"
TABLES = ("math.md", "vectors.md", "buffers.md")
"""Pages with names that have no docstring of their own."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_blocks_run_and_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for block, text in printed(page, tmp_path):
        assert text == block.body


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_generated_texts_are_what_the_page_shows(page: Path) -> None:
    for block, text in generated(page):
        if block.mark == "commands":  # each Python indents the lists of a help in its own way
            assert text.split() == block.body.split()
        else:
            assert text == block.body, f"{page.name}: {block.mark}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_every_public_name_stands_in_the_reference() -> None:
    pages = [*(ROOT / "docs" / "reference").glob("*.md"), *map(DOCS.joinpath, TABLES)]
    words = set(re.findall(r"\w+", " ".join(page.read_text("utf-8") for page in pages)))
    names = {name for name in tb.__all__ if not re.fullmatch(r"[fiu]\d+(x\d)+", name)}
    assert names - words == set()


def test_every_example_stands_in_the_gallery() -> None:
    told = re.findall(r"`trilby demo (\w+)`", (DOCS / "gallery.md").read_text("utf-8"))
    assert set(told) - {"NAME"} == {path.stem for path in (ROOT / "examples").glob("*.py")}


def test_the_pictures_are_small() -> None:
    assert sum(path.stat().st_size for path in (DOCS / "pictures").iterdir()) < 1_500_000
