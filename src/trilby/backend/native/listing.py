"""Assembly that people can read: without debug information, but with the lines that it tells."""

import re

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"')
_LINE = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_LABEL = re.compile(r"\.L(tmp|func_begin)\d+:")


def legible(text: str) -> str:
    """The instructions and constants, and before each part `# app.py:12` where that is known."""
    files: dict[str, str] = {}
    found: list[str] = []
    shown, is_debug = "", False
    for line in text.splitlines():
        if line.lstrip().startswith((".section", ".text")):
            is_debug = ".debug_" in line
        if file := _FILE.match(line):
            files[file[1]] = file[2].rpartition("/")[2]
        elif place := _LINE.match(line):
            where = f"\t# {files.get(place[1], '?')}:{place[2]}"
            if where != shown and place[2] != "0":
                shown = where
                found.append(where)
        elif not is_debug and not _LABEL.match(line):
            found.append(line)
    return "\n".join(found) + "\n"
