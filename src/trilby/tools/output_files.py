"""Whether a file can be written that is made only at the end of a long run."""

import os
from pathlib import Path

from trilby.errors import ArgumentValueError


def check_output(file: Path) -> None:
    """Raise before any work is done where a file cannot be written."""
    folder = file.absolute().parent
    if not folder.is_dir():
        problem, advice = f"there is no folder `{file.parent}`", "make it first"
    elif file.is_dir():
        problem, advice = "it is a folder", "name a file in it"
    elif not os.access(file if file.exists() else folder, os.W_OK):
        problem, advice = "the system does not allow it", "change its permissions"
    else:
        return
    raise ArgumentValueError(
        f"`{file}` cannot be written: {problem}", advice=f"{advice}, or name another place"
    )
