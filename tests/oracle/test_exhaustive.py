"""The minimum is the minimum: no schedule of copies is better, and one is as good."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracle.every_schedule import every_cost
from tests.oracle.small_traces import small_traces

from trilby.oracle import Trace, minimum

ONE = ["gpu"]
TWO = ["gpu", "fpga"]
SHAPES = [(ONE, [3]), (ONE, [1, 2]), (TWO, [2]), (TWO, [1, 1])]


@pytest.mark.parametrize(("devices", "sizes"), SHAPES, ids=str)
@given(data=st.data())
def test_no_schedule_of_whole_buffers_is_better(
    devices: Sequence[str], sizes: Sequence[int], data: st.DataObject
) -> None:
    trace: Trace = data.draw(small_traces(devices, sizes))
    costs = every_cost(trace, devices, whole=True)
    least = minimum(trace, "buffer")
    assert least.nbytes == min(cost.nbytes for cost in costs)
    assert least.uploads + least.downloads == min(c.uploads + c.downloads for c in costs)
    assert (least.uploads, least.downloads, least.bytes_up, least.bytes_down) in costs


@pytest.mark.parametrize(("devices", "sizes"), SHAPES, ids=str)
@given(data=st.data())
def test_no_schedule_of_ranges_is_better(
    devices: Sequence[str], sizes: Sequence[int], data: st.DataObject
) -> None:
    trace: Trace = data.draw(small_traces(devices, sizes))
    costs = every_cost(trace, devices, whole=False)
    least = minimum(trace, "range")
    assert least.nbytes == min(cost.nbytes for cost in costs)
    of_fewest_bytes = [cost for cost in costs if cost.nbytes == least.nbytes]
    assert {cost[2:] for cost in of_fewest_bytes} == {(least.bytes_up, least.bytes_down)}
    assert least.uploads == min(cost.uploads for cost in of_fewest_bytes)
    assert least.downloads == min(cost.downloads for cost in of_fewest_bytes)
    if devices == ONE:
        assert (least.uploads, least.downloads) in {cost[:2] for cost in of_fewest_bytes}
