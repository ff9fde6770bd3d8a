"""Accelerators for the tests of the runtime. All of them poison what is stale."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from trilby import Accelerator
from trilby.backend.base import Backend
from trilby.backend.null import NullBackend
from trilby.backend.registry import Choice


@pytest.fixture(params=["interpreter", "opencl"], scope="session")
def accelerator(request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    """Each device that computes."""
    with Accelerator(request.param, poison=True) as opened:
        yield opened


@pytest.fixture(scope="session")
def interpreter() -> Iterator[Accelerator]:
    """The device that checks."""
    with Accelerator("interpreter", poison=True) as opened:
        yield opened


@dataclass(frozen=True)
class Nulls:
    """An accelerator that counts, and its counts."""

    accelerator: Accelerator
    backend: NullBackend


@pytest.fixture
def null(monkeypatch: pytest.MonkeyPatch) -> Nulls:
    """A device that counts what it is asked for and does nothing."""
    backend = NullBackend()
    return Nulls(with_backend(monkeypatch, backend), backend)


def with_backend(
    monkeypatch: pytest.MonkeyPatch, backend: Backend, *, poison: bool = False
) -> Accelerator:
    """An accelerator on a backend that the test has in its hands."""

    def opened(_spec: str | None = None) -> Choice:
        return Choice(backend)

    with monkeypatch.context() as patch:
        patch.setattr("trilby.runtime.accelerator.open_backend", opened)
        return Accelerator(backend.device.spec, poison=poison)
