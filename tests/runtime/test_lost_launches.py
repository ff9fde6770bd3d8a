"""What becomes of launches that are kept when one of their buffers is gone."""

import gc

import pytest
from tests.runtime.conftest import Nulls
from tests.runtime.programs import add, dispatch

from trilby import S32Array
from trilby.runtime.launches import Launches
from trilby.runtime.prepared_launch import PreparedLaunch


def kept(launches: Launches) -> list[PreparedLaunch]:
    """The launches that equal dispatches find."""
    found: dict[object, PreparedLaunch] = vars(launches)["_kept"]
    return [*found.values()]


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_it_is_forgotten_and_the_others_are_not(null: Nulls, lost: int) -> None:
    buffers = [S32Array.create(length=4) for _ in range(3)]
    for number in [*range(3)] * 4:
        null.accelerator.compute(dispatch, 4, add, buffers[number], 1)
    launches = kept(null.accelerator.launches)
    assert len(launches) == 3
    del buffers[lost]
    gc.collect()
    assert kept(null.accelerator.launches) == launches[:lost] + launches[lost + 1 :]
