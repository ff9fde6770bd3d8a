"""The program for long runs, for a moment."""

import pytest
from tests.runtime.conftest import opened_as
from tests.stress import press_ctrl_c, soak

NAMES = ["interpreter", "opencl", "opencl, shared", "native", "native, shared"]


@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_again_and_again(name: str) -> None:
    with opened_as(name) as accelerator:
        assert press_ctrl_c(accelerator, seconds=1)["interrupts"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_random_operations(name: str) -> None:
    with opened_as(name) as accelerator:
        assert soak(accelerator, seconds=1)["values checked"] > 0
