"""Folders whose files only the user can have written: what is executed is read from no others.

A folder is opened without following a link, and checked by its descriptor. Its files are reached
through that descriptor and checked by their own. So nothing can be exchanged between a check and
the use of what was checked. Root counts as the user: it can change Python itself.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from errno import EACCES, EFBIG, ELOOP, ENOTDIR

UNFINISHED = ".new"
"""How the name of a file ends that is being written: behind 32 hexadecimal digits."""


class NotPrivateError(OSError):
    """A folder or a file is not safe to use; the message says why."""


@contextmanager
def opened(path: str, *, make: bool = False) -> Generator[int]:
    """The descriptor of a private folder; `make` makes it, and those around it, where missing.

    Raises `NotPrivateError` for a link and for a folder that others may have written to, and
    other kinds of `OSError` where it cannot be opened.
    """
    if make:
        with suppress(FileExistsError):
            os.makedirs(path, mode=0o700)
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno not in {ELOOP, ENOTDIR}:
            raise
        raise NotPrivateError(error.errno, "a link, or not a folder", path) from error
    try:
        if not _is_of_user_alone(os.fstat(folder)):
            raise NotPrivateError(EACCES, "others may write to it, or own it", path)
        yield folder
    finally:
        os.close(folder)


def read_file(folder: int, name: str, most: int) -> bytes:
    """The content of a file in an opened folder.

    Raises `NotPrivateError` for anything but a regular file of the user's alone that has at most
    so many bytes, and other kinds of `OSError` where it cannot be read.
    """
    # Without O_NONBLOCK a FIFO would wait for a writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    file = os.open(name, flags, dir_fd=folder)
    try:
        about = os.fstat(file)
        _check_file(about, name)
        if about.st_size > most:
            raise NotPrivateError(EFBIG, f"larger than {most:,} bytes", name)
        with os.fdopen(file, "rb", closefd=False) as reader:
            return reader.read(about.st_size)
    finally:
        os.close(file)


def write_file(folder: int, name: str, content: bytes) -> None:
    """Put a file into an opened folder: under its name it appears all at once, or not at all."""
    unfinished = os.urandom(16).hex() + UNFINISHED
    file = new_file(folder, unfinished)
    try:
        with os.fdopen(file, "wb") as writer:
            writer.write(content)
        os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished, dir_fd=folder)
        raise


def append_to_file(folder: int, name: str, content: bytes) -> None:
    """Write to the end of a file in an opened folder, which is made where it is missing.

    Raises `NotPrivateError` for anything but a regular file of the user's alone.
    """
    # Without O_NONBLOCK a FIFO would wait for a reader.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
    file = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        _check_file(os.fstat(file), name)
        with os.fdopen(file, "wb", closefd=False) as writer:
            writer.write(content)
    finally:
        os.close(file)


def new_file(folder: int, name: str) -> int:
    """The descriptor of a new file in an opened folder, which only the user may open."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    return os.open(name, flags, 0o600, dir_fd=folder)


def _check_file(about: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(about.st_mode) or not _is_of_user_alone(about):
        raise NotPrivateError(EACCES, "not a regular file of the user's alone", name)


def _is_of_user_alone(about: os.stat_result) -> bool:
    """Whether it is the user's, or root's, and nobody else may write to it."""
    is_closed = not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return is_closed and about.st_uid in {0, os.geteuid()}
