"""Bars that show how far a program is; where nobody watches they leave no trace."""

from collections.abc import Collection, Iterable
from typing import TypeVar

from rich.console import Console
from rich.progress import Progress, track

T = TypeVar("T")


def watched(things: Collection[T] | Iterable[T], title: str) -> Iterable[T]:
    """The same things, one after the other, with a bar."""
    return track(things, title, transient=True, disable=not Console().is_terminal)


def bar() -> Progress:
    """A bar to be moved by hand."""
    return Progress(transient=True, disable=not Console().is_terminal)
