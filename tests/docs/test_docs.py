"""Every code block of the README and of `docs/` is run, and every shown text is true."""

import re
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT, generated, printed


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
        assert text == block.body, f"{page.name}: {block.mark}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
