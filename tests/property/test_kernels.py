"""Random kernels mean the same on every backend, and, where NumPy can say, what NumPy says.

`make fuzz` runs many more of them, each time others.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from tests.property.kernel_programs import Program, programs
from tests.property.kernel_running import differences, load, meaning, outcome

from trilby import Accelerator, TrilbyError


@pytest.fixture(scope="module")
def devices() -> Iterator[tuple[Accelerator, Accelerator]]:
    with (
        Accelerator("interpreter", poison=True) as interpreter,
        Accelerator("opencl", poison=True) as device,
    ):
        yield interpreter, device


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_backends_agree(devices: tuple[Accelerator, Accelerator], program: Program) -> None:
    interpreter, device = devices
    module = load(program.text)
    try:
        expected = outcome(program, interpreter, module)
        found = outcome(program, device, module)
    except TrilbyError as error:
        pytest.fail(f"{program.text}\n{program}\n{error}")
    told = differences(expected, found)
    assert not told, f"{program.text}\n{told}"
    if program.judged:
        told = differences(meaning(program), expected, skip_near=True)
        assert not told, f"{program.text}\n{told}"
