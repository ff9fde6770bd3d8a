"""Files that are made only at the end of a long run: checked before it, and written whole or not.

A file is written under another name in the same folder, which then becomes its own. So a full disk
or Ctrl-C leaves the file as it was before.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from trilby.errors import ArgumentValueError


def check_outputs(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Raise before any work is done where a file cannot be written.

    Each needs a place of its own, which is not that of a file that is read.
    """
    places = {os.path.realpath(file): "a file that is read" for file in inputs}
    for file in outputs:
        check_output(file)
        place = os.path.realpath(file)
        if place in places:
            raise _cannot_be_written(file, f"it is {places[place]} as well", "name another file")
        places[place] = "another file to write"


def check_output(file: Path) -> None:
    """Raise where a file cannot be written: it, or what a link leads to."""
    place = _place_of(file)
    if not place.parent.is_dir():
        problem, advice = f"there is no folder `{place.parent}`", "make it first"
    elif file.is_dir():
        problem, advice = "it is a folder", "name a file in it"
    elif file.exists() and not os.access(file, os.W_OK):
        problem, advice = "the system does not allow it", "change its permissions"
    elif not _is_special(file) and not os.access(place.parent, os.W_OK):
        problem = f"the system does not allow new files in `{place.parent}`"
        advice = "change its permissions"
    else:
        return
    raise _cannot_be_written(file, problem, f"{advice}, or name another place")


def write_output(file: str | os.PathLike[str], text: str) -> None:
    """Write a text file at once: it is complete, or what it was before.

    What is no regular file, such as `/dev/stdout`, is written to as it is. Raises `OSError`.
    """
    content = text.encode("utf-8", "backslashreplace")  # names may have bytes that are not UTF-8
    try:
        if _is_special(Path(file)):
            Path(file).write_bytes(content)
        else:
            _replace(_place_of(Path(file)), content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(file)) from error


def _replace(file: Path, content: bytes) -> None:
    unfinished = file.with_name(f".trilby-{os.urandom(8).hex()}.new")
    try:
        with unfinished.open("xb") as writer:
            writer.write(content)
        with suppress(FileNotFoundError):
            unfinished.chmod(stat.S_IMODE(file.stat().st_mode))
        unfinished.replace(file)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _is_special(file: Path) -> bool:
    """Whether something is there that is neither a regular file nor a folder."""
    return file.exists() and not file.is_file() and not file.is_dir()


def _place_of(file: Path) -> Path:
    """Where a file is, or will be: links stay, and what they lead to is replaced."""
    return file.absolute() if _is_special(file) else Path(os.path.realpath(file))


def _cannot_be_written(file: Path, problem: str, advice: str) -> ArgumentValueError:
    return ArgumentValueError(f"`{file}` cannot be written: {problem}", advice=advice)
