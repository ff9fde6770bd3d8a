"""Patterns of the game of life from files in RLE, the format of pattern collections.

`bo$2bo$3o!` is a glider: dead (b) and living (o) cells with how many of them, ends of rows ($),
and the end (!). Lines that begin with # are remarks; `#C period 30` says how long a pattern takes
to be itself again.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Pattern(NamedTuple):
    """Living cells, and the period if the file says it."""

    alive: npt.NDArray[np.bool_]
    period: int | None


def read_pattern(path: Path) -> Pattern:
    """Read a file; ends the program where it is none."""
    lines = path.read_text(encoding="utf-8").splitlines()
    remarks = [line for line in lines if line.startswith("#")]
    header, *body = [line for line in lines if line and not line.startswith("#")] or [""]
    size = re.match(r"x\s*=\s*(\d+)\s*,\s*y\s*=\s*(\d+)\s*(?:,\s*rule\s*=\s*(\S+))?\s*$", header)
    if size is None or (size[3] or "B3/S23").upper() not in {"B3/S23", "23/3"}:
        message = f"{path} is no pattern of Conway's game in RLE: it has to say x = …, y = …"
        raise SystemExit(message)
    periods = [match[1] for line in remarks if (match := re.match(r"#C period (\d+)$", line))]
    period = int(periods[0]) if periods else None
    return Pattern(cells_of("".join(body), int(size[1]), int(size[2])), period)


def cells_of(text: str, width: int, height: int) -> npt.NDArray[np.bool_]:
    """The cells that the letters say, row by row."""
    alive = np.zeros((height, width), np.bool_)
    x = y = 0
    for count, letter in re.findall(r"(\d*)([bo$!])", text):
        times = int(count or 1)
        if letter == "!":
            break
        if letter == "$":
            x, y = 0, y + times
            continue
        alive[y : y + 1, x : x + times] = letter == "o"
        x += times
    return alive
