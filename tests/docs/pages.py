"""The pages of the README and of `docs/`: their blocks, and what should stand in them.

Python blocks of a page run in order in one namespace. A `text` block right behind a Python
block is what that block prints. A block behind `<!-- emit FILE:FUNCTION TARGET -->` is what
`trilby emit` prints, and one behind `<!-- explain FILE:FUNCTION STRATEGY SECTION … -->` those
sections of what `trilby explain` prints. One behind `<!-- lints -->` is `trilby lint --list`.

`python -m tests.docs.pages` puts into every such block what should stand there.
"""

import contextlib
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilby.options import Transfers
from trilby.tools.emit import emit
from trilby.tools.explain import explain
from trilby.tools.lint import list_lints
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
    place: tuple[int, int]
    """Where the body starts and stops in the text of the page."""
    follows: bool
    """True where nothing but blank lines stands between it and the block before."""


def fenced(page: Path) -> Iterator[Fenced]:
    text = page.read_text("utf-8")
    end = -1
    for found in FENCE.finditer(text):
        follows = end >= 0 and not text[end : found.start()].strip()
        mark, language = found["mark"] or "", found["language"]
        yield Fenced(mark, language, found["body"], found.span("body"), follows)
        end = found.end()


def printed(page: Path, folder: Path) -> Iterator[tuple[Fenced, str]]:
    """The blocks of a page that show what a program prints, with what it prints."""
    stem = f"{page.stem.replace('-', '_').lower()}_page"
    names: dict[str, Any] = {"__name__": stem}
    output = ""
    for number, block in enumerate(fenced(page)):
        if block.language == "python":
            output = run_cell(block.body, folder / f"{stem}_{number}.py", names)
        elif block.language == "text" and block.follows and not block.mark:
            shown = re.sub(rf"{stem}_\d+\.py", "page.py", output)
            yield block, "".join(f"{row.rstrip()}\n" for row in shown.splitlines())


def run_cell(code: str, path: Path, names: dict[str, Any]) -> str:
    """Run a block as a notebook runs a cell, from a file of its own; gives what it prints."""
    path.write_text(code, "utf-8")
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, str(path), "exec"), names)  # noqa: S102 -- the page's own code
    return output.getvalue()


def generated(page: Path) -> Iterator[tuple[Fenced, str]]:
    """The blocks of a page that show what a tool prints, with what it prints."""
    for block in fenced(page):
        match block.mark.split():
            case ["emit", function, target]:
                found = load_function(str(ROOT / function))
                yield block, f"{emit(found, target, ranks=None, lines=False).strip()}\n"
            case ["explain", function, strategy, *wanted]:
                text = explain(load_function(str(ROOT / function)), Transfers(strategy))
                sections = text.strip().split("\n\n")
                chosen = [part for part in sections if part.split(maxsplit=1)[0] in wanted]
                yield block, "\n\n".join(chosen or sections) + "\n"
            case ["lints"]:
                yield block, list_lints()
            case _:
                pass


def renew(page: Path) -> None:
    """Write into a page what should stand in its blocks."""
    text = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        blocks = [*printed(page, Path(folder)), *generated(page)]
    for block, body in sorted(blocks, key=lambda pair: pair[0].place, reverse=True):
        start, stop = block.place
        text = text[:start] + body + text[stop:]
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    for path in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        renew(path)
