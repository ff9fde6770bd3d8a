"""The pages of the README and of `docs/`: their blocks, and what should stand in them.

Python blocks of a page run in order in one namespace. A `text` block right behind a Python
block is what that block prints. A block behind `<!-- emit FILE:FUNCTION TARGET -->` is what
`trilby emit` prints; with `model TRANSFORM`, after that transform. One behind
`<!-- explain FILE:FUNCTION STRATEGY SECTION … -->` are those sections of what `trilby explain`
prints. One behind `<!-- lints -->` is `trilby lint --list`, one behind `<!-- commands -->` the
help of every command. One behind `<!-- lines FILE FIRST … LAST -->` is a part of a file, from the
line that begins with FIRST to the one before that begins with LAST (without `… LAST`, to its end),
and one behind `<!-- vectors FILE:FUNCTION -->` the loop over vectors of a kernel in LLVM, for a
processor that does not depend on the machine. One behind `<!-- body FILE:FUNCTION -->` is what is
in that loop, with the Python before each part.

`python -m tests.docs.pages` puts into every such block what should stand there.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trilby.backend.native.modules import generated as generate
from trilby.cli import build_parser
from trilby.codegen.llvm.target import LlvmTarget
from trilby.options import Transfers
from trilby.reflect.functions import is_kernel
from trilby.runtime.compile import analyse_kernel
from trilby.tools.emit import emit
from trilby.tools.explanation import explanation_of
from trilby.tools.lint_command import list_lints
from trilby.tools.load import load_function

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PROCESSOR = LlvmTarget(256, "x86_64-unknown-linux-gnu", frozenset({"avx2", "fma"}))
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
            case ["emit", function, target, *after]:
                found = load_function(str(ROOT / function))
                last = after[0] if after else None
                text = emit(found, target, ranks=None, lines=False, after=last)
                yield block, f"{text.strip()}\n"
            case ["explain", function, strategy, *wanted]:
                found = load_function(str(ROOT / function))
                sections = str(explanation_of(found, Transfers(strategy))).strip().split("\n\n")
                chosen = [part for part in sections if part.split(maxsplit=1)[0] in wanted]
                yield block, "\n\n".join(chosen or sections) + "\n"
            case ["lints"]:
                yield block, list_lints()
            case ["commands"]:
                yield block, helps()
            case ["lines", path, *ends]:
                yield block, lines_between(ROOT / path, *" ".join(ends).split(" … "))
            case ["vectors", function]:
                yield block, vector_loop(str(ROOT / function))
            case ["body", function]:
                yield block, one_vector(str(ROOT / function))
            case _:
                pass


def helps() -> str:
    """What `--help` prints, of all and of each command."""
    columns, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), "100"
    try:
        whole = build_parser().format_help()
        commands = re.findall(r"^    (\w+)", whole, re.MULTILINE)
        return "\n".join([whole, *map(help_of, commands)])
    finally:
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns


def help_of(command: str) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
        build_parser().parse_args([command, "--help"])
    return output.getvalue()


def lines_between(path: Path, first: str, last: str | None = None) -> str:
    lines = path.read_text("utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(first))
    stop = len(lines)
    if last is not None:
        stop = next(n for n, line in enumerate(lines) if n > start and line.startswith(last))
    return "\n".join(lines[start:stop]).strip() + "\n"


def vector_loop(function: str) -> str:
    """The blocks of a kernel between the first vector that is loaded and the one that is stored."""
    kernel = load_function(function)
    assert is_kernel(kernel)
    text = generate(analyse_kernel(kernel).graph, PROCESSOR).text
    blocks = re.split(r"(?m)^(?=\w+:$)", text)
    loaded, stored = (
        next(number for number, block in enumerate(blocks) if re.search(rf"{op} <\d+ x", block))
        for op in ("load", "store")
    )
    return "".join(blocks[loaded : stored + 1])


def one_vector(function: str) -> str:
    """What LLVM is given for a vector in which all work items run, once for each line of Python.

    Where a kernel has barriers it is cut there, and each part has a loop over vectors of its own.
    """
    kernel = load_function(function)
    assert is_kernel(kernel)
    source = Path(function.rpartition(":")[0]).read_text("utf-8").splitlines()
    parts: list[list[str]] = []
    seen: set[str] = set()
    inside = False
    for line in generate(analyse_kernel(kernel).graph, PROCESSOR, lines=True).text.splitlines():
        if line.startswith("  ; "):
            text = f"  ; {source[int(line.rpartition(':')[2]) - 1].strip()}"
            if not inside and text not in seen:
                inside = True
                parts.append([])
            if inside:
                seen.add(text)
                parts[-1].append(text)
        elif re.match(r"(items_done|vector_end|each)\d+:", line):
            inside = False
        elif inside:
            parts[-1].append(re.sub(r", !dbg !\d+", "", line))
    return "\n  …\n".join("\n".join(part) for part in parts) + "\n"


def renew(page: Path) -> None:
    """Write into a page what should stand in its blocks; what it generates may then be run."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_blocks(page, list(generated(page)))
        write_blocks(page, list(printed(page, Path(folder))))


def write_blocks(page: Path, blocks: list[tuple[Fenced, str]]) -> None:
    text = page.read_text("utf-8")
    for block, body in sorted(blocks, key=lambda pair: pair[0].place, reverse=True):
        start, stop = block.place
        text = text[:start] + body + text[stop:]
    page.write_text(text, "utf-8")


if __name__ == "__main__":
    for path in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        renew(path)
