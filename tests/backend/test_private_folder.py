"""Files that only the user can have written: which folders and files are taken for that."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from trilby.backend.private_folder import NotPrivateError, new_file, opened, read_file, write_file

MOST = 1000


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let something be another user's; only root can do so, and others become another user."""
    other = os.geteuid() + 12345
    if os.geteuid() == 0:
        os.chown(path, other, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: other)


def writable_by_group(path: Path) -> None:
    path.chmod(0o620)


def writable_by_all(path: Path) -> None:
    path.chmod(0o602)


def too_large(path: Path) -> None:
    os.truncate(path, MOST + 1)


def a_link(path: Path) -> None:
    """To a file that would be taken itself."""
    path.rename(path.with_name("target"))
    path.symlink_to("target")


def a_link_to_endless_zeros(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    path.unlink()
    here = Path.cwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


UNSAFE: list[Callable[[Path], None]] = [
    writable_by_group,
    writable_by_all,
    too_large,
    a_link,
    a_link_to_endless_zeros,
    a_link_to_itself,
    a_fifo,
    a_socket,
    a_folder,
]
"""What may stand in the place of a file."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that is taken, in a folder that is."""
    path = tmp_path / "private" / "file"
    with opened(str(path.parent), make=True) as folder:
        write_file(folder, "file", b"content")
    return path


def content_of(path: Path) -> bytes:
    with opened(str(path.parent)) as folder:
        return read_file(folder, path.name, MOST)


def test_what_is_written_is_read(file: Path) -> None:
    assert content_of(file) == b"content"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("make", UNSAFE)
def test_a_file_that_is_not_taken(file: Path, make: Callable[[Path], None]) -> None:
    make(file)
    with pytest.raises(OSError, match=r".") as caught:
        content_of(file)
    assert not isinstance(caught.value, FileNotFoundError)


def test_a_file_of_another_user(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(str(file.parent)) as folder:
        give_away(file, monkeypatch)
        with pytest.raises(NotPrivateError, match="not a regular file of the user's alone"):
            read_file(folder, file.name, MOST)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722, 0o1777])
def test_a_folder_that_others_may_write_to(file: Path, mode: int) -> None:
    file.parent.chmod(mode)
    with pytest.raises(NotPrivateError, match="others may write to it, or own it"):
        content_of(file)


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o500, 0o555])
def test_a_folder_that_others_may_read(file: Path, mode: int) -> None:
    file.parent.chmod(mode)
    assert content_of(file) == b"content"


def test_a_folder_of_another_user(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give_away(file.parent, monkeypatch)
    with pytest.raises(NotPrivateError, match="others may write to it, or own it"):
        content_of(file)


def test_a_folder_that_is_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file.parent)
    with pytest.raises(NotPrivateError, match="a link, or not a folder"):
        content_of(tmp_path / "link" / "file")
    with pytest.raises(NotPrivateError), opened(str(tmp_path / "link"), make=True):
        pass
    with pytest.raises(NotPrivateError), opened(str(file)):
        pass


def test_a_folder_around_it_may_be_a_link(file: Path, tmp_path: Path) -> None:
    around = tmp_path / "around"
    around.symlink_to(tmp_path)
    assert content_of(around / file.relative_to(tmp_path)) == b"content"


def test_a_folder_that_is_exchanged_after_the_check(file: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "file").write_bytes(b"planted")
    with opened(str(file.parent)) as folder:
        file.parent.rename(tmp_path / "away")
        file.parent.symlink_to(planted)
        assert read_file(folder, "file", MOST) == b"content"
        write_file(folder, "more", b"more")
    assert {one.name for one in planted.iterdir()} == {"file"}
    assert {one.name for one in (tmp_path / "away").iterdir()} == {"file", "more"}


def test_writing_replaces_what_is_in_its_place_and_follows_nothing(
    file: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"as it was")
    file.unlink()
    file.symlink_to(outside)
    with opened(str(file.parent)) as folder:
        with pytest.raises(FileExistsError):
            new_file(folder, "file")
        write_file(folder, "file", b"new")
    assert content_of(file) == b"new"
    assert outside.read_bytes() == b"as it was"


def test_a_file_that_cannot_be_written_whole_is_not_left(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with opened(str(file.parent)) as folder, pytest.raises(OSError, match="No space left"):
        write_file(folder, "more", b"more")
    assert list(file.parent.iterdir()) == [file]


def test_no_descriptor_is_left_open(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    descriptors = Path("/dev/fd")
    before = set(descriptors.iterdir())
    for make in UNSAFE:
        if file.is_dir() and not file.is_symlink():
            file.rmdir()
        with opened(str(file.parent)) as folder:
            write_file(folder, file.name, b"content")
        make(file)
        with pytest.raises(OSError, match=r"."):
            content_of(file)
    give_away(file.parent, monkeypatch)
    with pytest.raises(NotPrivateError):
        content_of(file)
    assert set(descriptors.iterdir()) == before
