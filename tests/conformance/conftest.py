"""The devices that must agree. All poison what is stale."""

from collections.abc import Iterator

import pytest

from trilby import Accelerator


@pytest.fixture(params=["interpreter", "opencl", "native"], scope="session")
def accelerator(request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    """Each device that computes, through the whole of Trilby."""
    with Accelerator(request.param, memory="discrete", poison=True) as opened:
        yield opened
