"""Object code and what leads to it on disk, from one process to the next.

What is read here is executed, or becomes what is. So an entry is taken only if it is whole, if it
was made by the same versions for the same processor and for the same source, and if only the user
can have written it. Anything else is ignored, and replaced when the code is compiled again.
Processes may share a folder: an entry appears under its name all at once, and may vanish at any
time. A folder that may only be read is used as it is.

Files are written, replaced and removed only if their names have the form that names of entries
have. Whatever else is in the folder stays as it is.
"""

import os
import re
import stat
import time
from _blake2 import blake2b  # `hashlib` would load OpenSSL for it
from contextlib import suppress
from errno import EACCES, EPERM, EROFS
from functools import cache

from trilby.backend.private_folder import UNFINISHED, opened, read_file, write_file
from trilby.messages import tell
from trilby.options import cache_folder

LIMIT_BYTES = 64 * 2**20
"""The most that all entries may have together. Those that were not used for longest go first."""

MAGIC = b"trilby object 4\n"

TAG = "CACHEDIR.TAG"
_TAG_CONTENT = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# Trilby keeps compiled kernels here. All of it can be deleted at any time.\n"
    b"# https://bford.info/cachedir/ explains this file: backups leave such folders out.\n"
)

_DIGEST = 32
_ENTRY = rf"[0-9a-f]{{{2 * _DIGEST}}}\.(o|ll|txt)"
_UNFINISHED = rf"[0-9a-f]{{32}}{re.escape(UNFINISHED)}"
_ABANDONED_SECONDS = 600
"""A file that is being written for longer was left by a process that ended."""


class Cache:
    """The entries of one folder; `identity` says which versions and processor they are for.

    `kind` is how the names of their files end: `o`, `ll` or `txt`.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        identity: str,
        limit: int = LIMIT_BYTES,
        kind: str = "o",
    ) -> None:
        self._folder = os.fspath(folder)
        self._identity = _encoded(identity)
        self._limit = limit
        self._kind = kind

    def path(self, text: str) -> str:
        """The file for a text."""
        return os.path.join(self._folder, self._name(text))

    def get(self, text: str) -> bytes | None:
        """The object code of a text, or None where it has to be made."""
        try:
            with opened(self._folder) as folder:
                return self._read(folder, text)
        except FileNotFoundError:
            return None
        except OSError as error:
            _tell_of_folder(error)
            return None

    def put(self, text: str, code: bytes) -> None:
        """Keep the object code of a text, and make room for it."""
        content = self._whole(text, code)
        if len(content) > self._limit:
            return
        try:
            with opened(self._folder, make=True) as folder:
                self._write(folder, self._name(text), content)
        except OSError as error:
            _tell_of_folder(error)

    def _read(self, folder: int, text: str) -> bytes | None:
        name = self._name(text)
        try:
            content = read_file(folder, name, self._limit)
        except FileNotFoundError:  # never made, or removed by another process
            return None
        except OSError as error:
            tell("info", "%s is not used: %s", self.path(text), error)
            return None
        code = content[: -_DIGEST - len(MAGIC)]
        if content != self._whole(text, code):
            tell("info", "%s is damaged or another version's: it is made anew", self.path(text))
            return None
        with suppress(OSError):  # the folder may only be read
            os.utime(name, dir_fd=folder, follow_symlinks=False)
        return code

    def _write(self, folder: int, name: str, content: bytes) -> None:
        try:
            if not os.listdir(folder):
                write_file(folder, TAG, _TAG_CONTENT)
            write_file(folder, name, content)
            self._prune(folder)
        except OSError as error:
            if error.errno in {EACCES, EPERM, EROFS}:
                _tell_once("info", f"{self._folder} may only be read: new kernels are not kept")
            else:
                _tell_once("warning", f"compiled kernels are not kept: {error}")

    def _name(self, text: str) -> str:
        return f"{self._key(text).hex()}.{self._kind}"

    def _key(self, text: str) -> bytes:
        return _digest(MAGIC + self._identity + b"\0" + _encoded(text))

    def _whole(self, text: str, code: bytes) -> bytes:
        """The content of a file: other tools can read the code, as it comes first."""
        return code + _digest(self._key(text) + code) + MAGIC

    def _prune(self, folder: int) -> None:
        """Remove the oldest entries until the rest is small enough, and what was abandoned."""
        abandoned = time.time() - _ABANDONED_SECONDS
        found: list[tuple[float, int, str]] = []
        for name in os.listdir(folder):
            is_entry = re.fullmatch(_ENTRY, name)
            if not is_entry and not re.fullmatch(_UNFINISHED, name):
                continue
            with suppress(FileNotFoundError):
                about = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISREG(about.st_mode):
                    continue
                if is_entry:
                    found.append((about.st_mtime, about.st_size, name))
                elif about.st_mtime < abandoned:
                    os.unlink(name, dir_fd=folder)
        total = sum(size for _, size, _ in found)
        for _, size, name in sorted(found):
            if total <= self._limit:
                return
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            total -= size


def users_cache(identity: str, kind: str) -> Cache | None:
    """A cache in the folder that the environment names, or None where nothing is to be kept."""
    folder = cache_folder()
    return Cache(folder, identity, kind=kind) if folder else None


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST).digest()


def _encoded(text: str) -> bytes:
    """Also of names of files that are not UTF-8, which Python reads as lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def _tell_of_folder(error: OSError) -> None:
    _tell_once(
        "warning",
        f"compiled kernels are not kept: {error} (set TRILBY_CACHE to another folder)",
    )


@cache
def _tell_once(level: str, message: str) -> None:
    """Log what is the same for every kernel of the process."""
    tell(level, "%s", message)
