"""Accelerators for the tests of the runtime. All of them poison what is stale."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pytest

from trilby import Accelerator
from trilby.backend.base import Backend
from trilby.backend.null import NullBackend
from trilby.backend.registry import Choice


@pytest.fixture(
    params=["interpreter", "opencl", "opencl, shared", "native", "native, shared"], scope="session"
)
def accelerator(request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    """Each device that computes, with memory of its own and with the host's."""
    with opened_as(request.param) as opened:
        yield opened


@pytest.fixture(params=["interpreter", "opencl", "native"], scope="session")
def discrete(request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    """Each device that computes, with memory of its own, so that there is something to count."""
    with opened_as(request.param) as opened:
        yield opened


@pytest.fixture(scope="session")
def shared() -> Iterator[Accelerator]:
    """A device that works on the host's memory."""
    with opened_as("opencl, shared") as opened:
        yield opened


def opened_as(name: str) -> Accelerator:
    """A device that poisons what is stale: `opencl`, or `opencl, shared`."""
    spec, _, kind = name.partition(", ")
    return Accelerator(spec, memory="shared" if kind else "discrete", poison=True)


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
    return Nulls(with_backend(monkeypatch, backend, memory="discrete"), backend)


def with_backend(
    monkeypatch: pytest.MonkeyPatch,
    backend: Backend,
    *,
    memory: Literal["shared", "discrete"] | None = None,
    memory_limit: int | None = None,
    poison: bool = False,
) -> Accelerator:
    """An accelerator on a backend that the test has in its hands."""

    def opened(_spec: str | None = None) -> Choice:
        return Choice(backend)

    with monkeypatch.context() as patch:
        patch.setattr("trilby.runtime.accelerator.open_backend", opened)
        return Accelerator(
            backend.device.spec, memory=memory, memory_limit=memory_limit, poison=poison
        )
