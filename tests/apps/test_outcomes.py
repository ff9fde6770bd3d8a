"""Every program gives what NumPy gives, however its data moves."""

from typing import Any

import numpy as np
import pytest
from tests.apps.catalogue import PROGRAMS
from tests.apps.program import Outcome, Program

import trilby as tb
from trilby import Accelerator


@pytest.mark.parametrize("transfers", tb.Transfers, ids=lambda transfers: transfers.name)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_agrees_with_numpy(
    accelerator: Accelerator, program: Program[Any], transfers: tb.Transfers
) -> None:
    buffers = program.make(accelerator)
    with accelerator.strategy(transfers):
        found = program.run(accelerator, buffers)
    assert_same(found, program.reference(), program.tolerance)


def assert_same(found: Outcome, expected: Outcome, tolerance: float) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.shape(one) == np.shape(other)
        if tolerance:
            np.testing.assert_allclose(one, other, rtol=tolerance)
        else:
            np.testing.assert_array_equal(one, other)


def test_programs_have_names_of_their_own() -> None:
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names)
