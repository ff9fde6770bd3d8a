"""Object code and what leads to it on disk, from one process to the next.

What is read here is executed, or becomes what is. So an entry is taken only if it is whole, if it
was made by the same versions for the same processor and for the same text, and if nobody but the
user can write to the folder. Anything else is removed and made anew. Processes may share a folder:
an entry appears under its name all at once, and may vanish at any time.
"""

import os
import time
from _blake2 import blake2b  # `hashlib` would load OpenSSL for it
from contextlib import suppress

from trilby.backend.private_folder import is_of_user_alone
from trilby.trace import tell

LIMIT_BYTES = 64 * 2**20
"""The most that all entries may have together. Those that were not used for longest go first."""

MAGIC = b"trilby object 3\n"

_DIGEST = 32
_ENDINGS = (".o", ".ll", ".txt")
_ABANDONED_SECONDS = 600
"""A file that is being written for longer was left by a process that ended."""


class Cache:
    """The entries of one folder; `identity` says which versions and processor they are for.

    `kind` is how the names of their files end.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        identity: str,
        limit: int = LIMIT_BYTES,
        kind: str = "o",
    ) -> None:
        self._folder = os.fspath(folder)
        self._identity = identity.encode()
        self._limit = limit
        self._kind = kind
        self._is_usable = prepare_folder(folder)

    def path(self, text: str) -> str:
        """The file for a text."""
        return os.path.join(self._folder, f"{self._key(text).hex()}.{self._kind}")

    def get(self, text: str) -> bytes | None:
        """The object code of a text, or None where it has to be made."""
        if not self._is_usable:
            return None
        path = self.path(text)
        try:
            with open(path, "rb") as file:
                content = file.read()
            about = self._about(text)
            code = content[: -len(about) - _DIGEST - len(MAGIC)]
            if content == _whole(code + about):
                os.utime(path)
                return code
            os.unlink(path)
        except FileNotFoundError:  # never made, or removed by another process
            return None
        except OSError as error:
            self._give_up(error)
            return None
        tell("info", "%s is damaged or another version's: it is made anew", path)
        return None

    def put(self, text: str, code: bytes) -> None:
        """Keep the object code of a text, and make room for it."""
        if not self._is_usable:
            return
        content = _whole(code + self._about(text))
        try:
            path = os.path.join(self._folder, f"{os.urandom(16).hex()}.new")
            with open(path, "xb", opener=_for_its_owner) as file:
                file.write(content)
            os.replace(path, self.path(text))
            self._prune()
        except OSError as error:
            self._give_up(error)

    def _key(self, text: str) -> bytes:
        return _digest(self._identity + b"\0" + text.encode())

    def _about(self, text: str) -> bytes:
        """What says whose code it is, behind the code: other tools can read the file as well."""
        return self._key(text) + self._identity + len(self._identity).to_bytes(4, "little")

    def _give_up(self, error: OSError) -> None:
        """Work without the folder from now on."""
        self._is_usable = False
        tell("warning", "compiled kernels are not kept: %s", error)

    def _prune(self) -> None:
        """Remove the oldest entries until the rest is small enough, and what was abandoned."""
        found: list[tuple[float, int, str]] = []
        for name in os.listdir(self._folder):
            path = os.path.join(self._folder, name)
            with suppress(FileNotFoundError):
                about = os.stat(path)
                if name.endswith(_ENDINGS):
                    found.append((about.st_mtime, about.st_size, path))
                elif name.endswith(".new") and about.st_mtime < time.time() - _ABANDONED_SECONDS:
                    os.unlink(path)
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._limit:
                return
            with suppress(FileNotFoundError):
                os.unlink(path)
            total -= size


def _whole(body: bytes) -> bytes:
    """A file with this body, and what shows that it is ours and complete."""
    return body + _digest(body) + MAGIC


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST).digest()


def _for_its_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def prepare_folder(folder: str | os.PathLike[str]) -> bool:
    """Make a folder that is the user's alone; false where that cannot be, which is told."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        is_safe = is_of_user_alone(folder)
    except OSError as error:
        tell("warning", "compiled kernels are not kept: %s", error)
        return False
    if not is_safe:
        tell(
            "warning",
            "compiled kernels are not kept: others may write to %s (chmod 700, or set "
            "TRILBY_CACHE to another folder)",
            folder,
        )
    return is_safe
