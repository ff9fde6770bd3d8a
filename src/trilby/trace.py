"""What Trilby tells while it works: one logger, `trilby`, of Python's own logging.

A program that sets up logging gets the messages its own way. Otherwise they go to standard
error, as much of them as the level of the options says.
"""

import logging
import sys

log = logging.getLogger("trilby")


class StandardError(logging.Handler):
    """Writes to what `sys.stderr` is at the time: programs and tests put others in its place."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one message."""
        if sys.stderr:  # None where a program has no terminal
            sys.stderr.write(f"{self.format(record)}\n")


def tell(level: str, message: str, *details: object) -> None:
    """Log a message: `tell("info", "using %s", device)`."""
    log.log(logging.getLevelNamesMapping()[level.upper()], message, *details)


def is_told(level: str) -> bool:
    """True where a message of that level would get anywhere."""
    return log.isEnabledFor(logging.getLevelNamesMapping()[level.upper()])


def set_up(level: str) -> None:
    """Send messages of a level and above to standard error, unless the program has a say."""
    if log.hasHandlers() or log.level != logging.NOTSET:
        return
    handler = StandardError()
    handler.setFormatter(logging.Formatter("trilby: %(message)s"))
    log.addHandler(handler)
    log.setLevel(level.upper())
    log.propagate = False
