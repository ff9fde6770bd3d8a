"""The logger `trilby`, and the way of its messages where the program has set up none."""

import logging
import sys

log = logging.getLogger("trilby")


class StandardError(logging.Handler):
    """Writes to what `sys.stderr` is at the time: programs and tests put others in its place."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one message."""
        if sys.stderr:  # None where a program has no terminal
            sys.stderr.write(f"{self.format(record)}\n")


def set_up(level: str) -> None:
    """Send messages of a level and above to standard error, unless the program has a say."""
    if log.hasHandlers() or log.level != logging.NOTSET:
        return
    handler = StandardError()
    handler.setFormatter(logging.Formatter("trilby: %(message)s"))
    log.addHandler(handler)
    log.setLevel(level.upper())
    log.propagate = False
