"""Mending what an interrupt left half done, also where another one comes meanwhile."""

from collections.abc import Callable
from typing import ParamSpec

from trilby.errors import ReentryError, TrilbyError

P = ParamSpec("P")

_MOST_TRIES = 100


def is_final(error: BaseException) -> bool:
    """Whether an error is that of what was done, and none that a signal handler raised there."""
    return isinstance(error, TrilbyError | AssertionError) and not isinstance(error, ReentryError)


def mend(act: Callable[P, object], *args: P.args, **options: P.kwargs) -> None:
    """Do something brief that may be begun anew, until it was done without an interrupt.

    The last interrupt is raised then. Only one that comes in the few steps before the first try, or
    between two of them, gets through.
    """
    interrupt: BaseException | None = None
    for _ in range(_MOST_TRIES):
        try:
            act(*args, **options)
            break
        except ReentryError as error:
            interrupt = error
        except TrilbyError:
            raise
        except BaseException as error:  # noqa: BLE001 -- it is raised below
            interrupt = error
    if interrupt is not None:
        raise interrupt
