"""What Trilby tells while it works: one logger, `trilby`, of Python's own logging.

A program that sets up logging gets the messages its own way. Otherwise they go to standard
error, as much of them as the level of the options says. Logging takes a while to load: unless the
program does so, that happens with the first message.
"""

import sys
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from trilby.process import PROCESS

if TYPE_CHECKING:
    from logging import Logger

_NUMBERS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
"""The levels as Python counts them."""


def tell(level: str, message: str, *details: object) -> None:
    """Log a message: `tell("info", "using %s", device)`."""
    if is_told(level):
        _logger().log(_NUMBERS[level], message, *map(_encodable, details))


def _encodable(detail: object) -> object:
    """A detail that every output takes: names of files may have bytes that are no UTF-8."""
    if isinstance(detail, str):
        return detail.encode("utf-8", "backslashreplace").decode("utf-8")
    return detail


def is_told(level: str) -> bool:
    """True where a message of that level would get anywhere."""
    if "logging" in sys.modules:
        return _logger().isEnabledFor(_NUMBERS[level])
    return _NUMBERS[level] >= _NUMBERS[PROCESS.log_levels[0] if PROCESS.log_levels else "warning"]


def set_up(level: str) -> None:
    """Send messages of a level and above to standard error, unless the program has a say."""
    if "logging" in sys.modules:
        _send_to_standard_error(_logger(), level)
    else:
        PROCESS.log_levels.append(level)


@cache
def _logger() -> "Logger":
    """Python's logger, with everything set up that was wanted before logging was loaded."""
    logger: Logger = import_module("logging").getLogger("trilby")
    for level in PROCESS.log_levels:
        _send_to_standard_error(logger, level)
    return logger


def _send_to_standard_error(logger: "Logger", level: str) -> None:
    if logger.hasHandlers() or logger.level:
        return
    logging: Any = import_module("logging")
    handler = logging.StreamHandler(SimpleNamespace(write=_write))
    handler.setFormatter(logging.Formatter("trilby: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(_NUMBERS[level])
    logger.propagate = False


def _write(text: str) -> None:
    """Write to what `sys.stderr` is at the time: programs and tests put others in its place."""
    if sys.stderr:  # None where a program has no terminal
        sys.stderr.write(text)
