"""Lets others hear of every accelerator that a program opens: `trilby run` watches them all."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from trilby.runtime.accelerator import Accelerator

Hear: TypeAlias = "Callable[[Accelerator], None]"

_HEARING: "list[Hear]" = []
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
