"""The devices on which all programs run: with a memory of their own, and stale copies poisoned."""

from collections.abc import Iterator

import pytest

from trilby import Accelerator


@pytest.fixture(params=["interpreter", "opencl", "native"], scope="session")
def accelerator(request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    with Accelerator(request.param, memory="discrete", poison=True) as opened:
        yield opened
