"""Messages: through Python's logging, and to standard error where nobody set that up."""

import io
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

from trilby import messages
from trilby.messages import set_up, tell


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    """A logger that nobody set up, in the place of Trilby's own."""
    logger = logging.Logger("trilby")  # noqa: LOG001 -- one that is known to nobody
    monkeypatch.setattr(messages, "_logger", lambda: logger)
    yield logger
    for handler in logger.handlers:
        handler.close()


def written(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_messages_of_the_level_and_above(
    quiet: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = written(monkeypatch)
    set_up("warning")
    for level in ("debug", "info", "warning", "error"):
        tell(level, "%s of %d", level, 3)
    assert stream.getvalue() == "trilby: warning of 3\ntrilby: error of 3\n"
    assert quiet.propagate is False


def test_setting_up_twice_says_everything_once(
    quiet: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up("info")
    set_up("debug")
    assert len(quiet.handlers) == 1
    assert quiet.level == logging.INFO
    stream = written(monkeypatch)  # another standard error than when it was set up
    tell("info", "hello")
    assert stream.getvalue() == "trilby: hello\n"


def test_a_program_with_a_handler_is_left_alone(
    quiet: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = written(monkeypatch)
    seen = io.StringIO()
    quiet.addHandler(logging.StreamHandler(seen))
    set_up("debug")
    tell("warning", "hello")
    assert seen.getvalue() == "hello\n"
    assert stream.getvalue() == ""


def test_a_program_with_a_level_is_left_alone(quiet: logging.Logger) -> None:
    quiet.setLevel(logging.CRITICAL)
    set_up("debug")
    assert quiet.handlers == []
    assert quiet.level == logging.CRITICAL


def test_no_standard_error_is_no_error(
    quiet: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up("info")
    monkeypatch.setattr(sys, "stderr", None)
    quiet.info("hello")


def test_a_level_that_does_not_exist() -> None:
    with pytest.raises(KeyError):
        tell("loud", "hello")


def test_importing_sets_nothing_up() -> None:
    program = "import logging, trilby; log = logging.getLogger('trilby'); print(log.handlers)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
