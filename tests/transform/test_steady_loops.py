"""Which loops of compute functions repeat themselves, and after how many turns."""

import pytest
from tests.transform.loops import LOOPS

from trilby.model.op import walk
from trilby.model.ops.core import Var
from trilby.model.ops.host import HostFor
from trilby.runtime.compile import analyse_compute
from trilby.transform.steady_loops import steady_loop


def found_in(name: str) -> tuple[int, int] | None:
    """What is found of the loop of a compute function."""
    func = analyse_compute(LOOPS[name]).entry.func
    names = {op.value: op.name for op in walk(func.body) if isinstance(op, Var)}
    loops = [op for op in walk(func.body) if isinstance(op, HostFor)]
    return steady_loop(loops[0], names)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("same", (1, 1)),
        ("swapped", (2, 1)),
        ("three_in_a_ring", (3, 1)),
        ("by_the_way_of_a_third", (2, 1)),
        ("by_remainder", (2, 1)),
        ("by_two_remainders", (6, 1)),
        ("several", (1, 3)),
        ("reversed_shape", (2, 1)),
        ("set_in_the_first_turn", (1, 1)),
    ],
)
def test_a_loop_that_repeats_itself(name: str, expected: tuple[int, int]) -> None:
    assert found_in(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "number_of_the_turn",
        "number_by_another_name",
        "counts",
        "looks",
        "writes",
        "calls",
        "breaks",
        "has_an_else",
        "only_sometimes",
        "late",
        "many_passes",
        "unpacks",
        "element_of_a_list",
        "sum_of_arrays",
        "does_nothing",
        "makes_a_buffer",
    ],
)
def test_a_loop_that_does_more(name: str) -> None:
    assert found_in(name) is None
