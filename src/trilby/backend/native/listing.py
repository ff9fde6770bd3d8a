"""Assembly that people can read: without debug information, but with the lines that it tells."""

import re

# Patterns are compiled when somebody looks at code, and not when this is imported.
_STRING = r'"(?:[^"\\]|\\.)*"'
_FILE = rf'\s*\.file\s+(\d+)\s+(?:{_STRING}\s+)?"((?:[^"\\]|\\.)*)"'
_LINE = r"\s*\.loc\s+(\d+)\s+(\d+)"
_LABEL = r"\.L(tmp|func_begin)\d+:"


def legible(text: str) -> str:
    """The instructions and constants, and before each part `# app.py:12` where that is known."""
    files: dict[str, str] = {}
    found: list[str] = []
    shown, is_debug = "", False
    for line in text.splitlines():
        if line.lstrip().startswith((".section", ".text")):
            is_debug = ".debug_" in line
        if file := re.match(_FILE, line):
            files[file[1]] = file[2].rpartition("/")[2]
        elif place := re.match(_LINE, line):
            where = f"\t# {files.get(place[1], '?')}:{place[2]}"
            if where != shown and place[2] != "0":
                shown = where
                found.append(where)
        elif not is_debug and not re.match(_LABEL, line):
            found.append(line)
    return "\n".join(found) + "\n"
