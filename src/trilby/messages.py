"""What Trilby tells while it works: one logger, `trilby`, of Python's own logging.

A program that sets up logging gets the messages its own way. Otherwise they go to standard
error, as much of them as the level of the options says. Logging takes a while to load: unless the
program does so, that happens with the first message.
"""

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from trilby.process import PROCESS

if TYPE_CHECKING:
    from types import ModuleType

_NUMBERS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
"""The levels as Python counts them."""


def tell(level: str, message: str, *details: object) -> None:
    """Log a message: `tell("info", "using %s", device)`."""
    if is_told(level):
        _logger().log.log(_NUMBERS[level], message, *map(_encodable, details))


def _encodable(detail: object) -> object:
    """A detail that every output takes: names of files may have bytes that are no UTF-8."""
    if isinstance(detail, str):
        return detail.encode("utf-8", "backslashreplace").decode("utf-8")
    return detail


def is_told(level: str) -> bool:
    """True where a message of that level would get anywhere."""
    if "logging" in sys.modules:
        told: bool = _logger().log.isEnabledFor(_NUMBERS[level])
        return told
    return _NUMBERS[level] >= _NUMBERS[PROCESS.log_levels[0] if PROCESS.log_levels else "warning"]


def set_up(level: str) -> None:
    """Send messages of a level and above to standard error, unless the program has a say."""
    if "logging" in sys.modules:
        _logger().set_up(level)
    else:
        PROCESS.log_levels.append(level)


@cache
def _logger() -> "ModuleType":
    """What talks to Python's logging, with everything set up that was wanted before."""
    logger = import_module("trilby.logger")
    for level in PROCESS.log_levels:
        logger.set_up(level)
    return logger
