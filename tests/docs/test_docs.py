"""Every code block of the README and of `docs/` is run, and every shown text is true.

Python blocks of a page run in order in one namespace. A `text` block right behind a Python
block is what that block prints. A block behind `<!-- emit FILE:FUNCTION TARGET -->` is what
`trilby emit` prints.
"""

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trilby.tools.emit import emit
from trilby.tools.load import load_function

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(
    r"(?:<!-- (?P<mark>[^>]*) -->\n)?```(?P<language>\w+)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Fenced:
    mark: str
    language: str
    body: str
    follows: bool
    """True where nothing but blank lines stands between it and the block before."""


def fenced(page: Path) -> Iterator[Fenced]:
    text = page.read_text("utf-8")
    end = -1
    for found in FENCE.finditer(text):
        follows = end >= 0 and not text[end : found.start()].strip()
        yield Fenced(found["mark"] or "", found["language"], found["body"], follows)
        end = found.end()


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_blocks_run_and_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    stem = f"{page.stem.replace('-', '_').lower()}_page"
    names: dict[str, Any] = {"__name__": stem}
    printed = ""
    for number, block in enumerate(fenced(page)):
        if block.language == "python":
            printed = run_cell(block.body, tmp_path / f"{stem}_{number}.py", names)
        elif block.language == "text" and block.follows and not block.mark:
            shown = re.sub(rf"{stem}_\d+\.py", "page.py", printed)
            assert "\n".join(row.rstrip() for row in shown.splitlines()) == block.body.rstrip("\n")


def run_cell(code: str, path: Path, names: dict[str, Any]) -> str:
    """Run a block as a notebook runs a cell, from a file of its own; gives what it prints."""
    path.write_text(code, "utf-8")
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, str(path), "exec"), names)  # noqa: S102 -- the page's own code
    return output.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_generated_texts_are_what_the_page_shows(page: Path) -> None:
    for block in fenced(page):
        if block.mark.startswith("emit "):
            _, function, target = block.mark.split()
            text = emit(load_function(str(ROOT / function)), target, ranks=None, lines=False)
            assert text.strip() == block.body.strip(), f"{page.name}: {block.mark}"


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
