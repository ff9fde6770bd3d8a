"""Odd names for what a random program names itself: words of C, OpenCL, LLVM and Python."""

import re
from random import Random

from tests.codegen.odd_names import ALL

_FUNCTIONS = r"\bhelper\d+\b"
_VARIABLES = rf"{_FUNCTIONS}|\b[vpkz]\d+(?:_\w+)?\b"


def renamed(text: str, seed: int, *, judged: bool) -> str:
    """Half of all programs with odd names for their functions and variables.

    Where NumPy judges, the names of variables have to tell their types: only functions get others.
    What a program says otherwise does not depend on it.
    """
    random = Random(~seed)  # noqa: S311 -- nothing secret
    if random.random() < 0.5:
        return text
    taken = set(re.findall(r"\w+", text))
    free = [name for name in ALL if name not in taken and not name.startswith("_")]
    wanted = sorted(set(re.findall(_FUNCTIONS if judged else _VARIABLES, text)))
    chosen = dict(zip(wanted, random.sample(free, min(len(free), len(wanted))), strict=False))
    return re.sub(_VARIABLES, lambda match: chosen.get(match[0], match[0]), text)
