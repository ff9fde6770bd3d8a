"""The profiles and recordings that are open, which report what happens meanwhile.

Nearly always there are none, and nothing is done. Their classes are loaded with the first one.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from trilby.backend.base import Backend, Ticket
from trilby.process import PROCESS
from trilby.runtime.callers import line_now
from trilby.source import Location
from trilby.stages import measured_stages

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator
    from trilby.runtime.content import Replica
    from trilby.runtime.profile import Book
    from trilby.runtime.recording import Recording


# --------------------------------------------------------------------------------------- recordings
RECORDINGS: "list[Recording]" = PROCESS.recordings
"""All that are open now, of any accelerator."""


# ----------------------------------------------------------------------------------------- openings
# Lets others hear of every accelerator that a program opens: `trilby run` watches them all.

Hear: TypeAlias = "Callable[[Accelerator], None]"

_HEARING: "list[Hear]" = PROCESS.opening_hearers
"""Those who want to know; nearly always nobody."""


@contextmanager
def hearing_of_openings(hear: Hear) -> Generator[None]:
    """Call `hear` with each accelerator that is opened in a `with` block, by any thread."""
    _HEARING.append(hear)
    try:
        yield
    finally:
        _HEARING.remove(hear)


def tell_of_opening(accelerator: "Accelerator") -> None:
    """An accelerator is ready."""
    for hear in tuple(_HEARING):
        hear(accelerator)


# ----------------------------------------------------------------------------------------- profiles

PROFILES: "list[Book]" = PROCESS.profiles
"""The books of all profiles that are open now, of any accelerator."""


def measure(backend: Backend, *, on: bool) -> None:
    """Let a device measure its commands, or no more; calls count."""
    for queue in {backend.compute, backend.upload_queue, backend.download_queue}:
        queue.measure(on)


def profiles_of(backend: Backend) -> "list[Book]":
    """The books of the profiles that are open for a device."""
    return [book for book in PROFILES if backend in book.backends]


@contextmanager
def compiling(backend: Backend) -> Generator[None]:
    """Something is compiled for a device."""
    books = profiles_of(backend)
    if not books:
        yield
        return
    with measured_stages() as spent:
        try:
            yield
        finally:
            for book in books:
                book.add_compiled(spent)


def note_wait(ticket: Ticket, seconds: float, why: str, replicas: "Sequence[Replica]") -> None:
    """The host has waited for a command, for the sake of these replicas."""
    buffer = replicas[0].label if len(replicas) == 1 else ""
    location = Location(*line_now())
    for book in PROFILES:
        if any(replica.owner.backend in book.backends for replica in replicas):
            book.waited(ticket, seconds, location, why, buffer)
