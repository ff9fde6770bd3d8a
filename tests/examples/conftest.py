"""The devices on which all examples run."""

import pytest
from tests.examples.programs import DEVICES, opened

from trilby import Accelerator


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=[False, True], ids=["plain", "poisoned"])
def accelerator(device: str, request: pytest.FixtureRequest) -> Accelerator:
    return opened(device, poison=request.param)
