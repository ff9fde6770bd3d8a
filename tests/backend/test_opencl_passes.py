"""Passes on an OpenCL device: hand-written OpenCL C, real launches."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from tests.backend.opencl_running import RANGE, SCALE, download, upload

from trilby.backend.base import Event, Scalar
from trilby.backend.null import NullPrepared
from trilby.backend.opencl import OpenCLFamily
from trilby.backend.opencl.opencl_device import OpenCLBackend
from trilby.backend.opencl.opencl_launches import OpenCLPasses
from trilby.data.dtypes import I32
from trilby.data.ndrange import NDRange
from trilby.errors import ArgumentTypeError, DeviceError, KernelAssertionError
from trilby.source import Location

STIR = f"""
__kernel void stir(__global int *a, {RANGE}, int pass_id) {{
    int x = get_global_id(0);
    if (x < max_x) a[x] = a[x] * 3 + pass_id;
}}
"""
CHECKED = f"""
__kernel void checked(__global int *a, {RANGE}, int pass_id, __global int *failure) {{
    int x = get_global_id(0);
    if (x >= max_x) return;
    if (x == 1 && pass_id == 4) {{ failure[0] = 1; failure[1] = x; return; }}
    a[x] = a[x] * 3 + pass_id;
}}
"""


@pytest.fixture(scope="module")
def backend() -> Iterator[OpenCLBackend]:
    opened = OpenCLFamily().open(0)
    yield opened
    opened.close()


def mixed(start: int, passes: range) -> int:
    for number in passes:
        start = start * 3 + number
    return (start + 2**31) % 2**32 - 2**31


def test_passes_are_numbered_and_in_order(backend: OpenCLBackend) -> None:
    ones = np.ones(1000, np.int32)
    memory = upload(backend, ones)
    kernel = backend.build(STIR, "stir", takes_pass=True)
    passes = backend.passes(backend.prepare(kernel, NDRange(1000), [memory]))
    passes.count_from(5)
    assert passes.begun == 0
    for count in (1, 4, 300):
        passes.run(count)
    assert passes.begun == 305
    passes.latest.wait()
    assert set(download(backend, memory, ones)) == {mixed(1, range(5, 310))}


def test_the_first_waits_and_what_follows_waits_for_the_last(backend: OpenCLBackend) -> None:
    numbers = np.full(1 << 18, 2, np.int32)
    result = np.zeros_like(numbers)
    memory = backend.allocate(numbers.nbytes)
    scale = backend.build(SCALE, "scale")
    sent = backend.upload(memory, 0, numbers.data.cast("B"))
    prepared = backend.prepare(scale, NDRange(1 << 18), [memory, Scalar(I32, 3)])
    passes = backend.passes(prepared)
    passes.run(6, [sent])
    once = backend.prepare(scale, NDRange(1 << 18), [memory, Scalar(I32, 5)]).submit(
        after=[passes.latest]
    )
    passes.run(2, [once])
    backend.download(memory, 0, result.data.cast("B"), [passes.latest]).wait()
    assert np.array_equal(result, np.full(1 << 18, 2 * 3**8 * 5))


def test_they_are_measured_for_somebody_who_asks(backend: OpenCLBackend) -> None:
    """Those that are measured, and those that are not, come one after the other all the same."""
    ones = np.ones(1 << 16, np.int32)
    memory = upload(backend, ones)
    kernel = backend.build(STIR, "stir", takes_pass=True)
    passes = backend.passes(backend.prepare(kernel, NDRange(1 << 16), [memory]))
    after: list[Event] = []
    for turn, is_timed in enumerate((False, True, False, True)):
        passes.is_timed = is_timed
        passes.run(20, after)
        after = [passes.latest]
        if turn > 1:
            passes.latest.wait()
            assert (passes.latest.seconds > 0) == is_timed
    assert set(download(backend, memory, ones)) == {mixed(1, range(80))}


def test_another_number_is_for_the_passes_to_come(backend: OpenCLBackend) -> None:
    twos = np.full(1 << 16, 2, np.int32)
    memory = upload(backend, twos)
    scale = backend.build(SCALE, "scale")
    passes = backend.passes(backend.prepare(scale, NDRange(1 << 16), [memory, Scalar(I32, 3)]))
    passes.run(4)
    passes.replace(1, Scalar(I32, 5))
    passes.run(2, [passes.latest])
    passes.latest.wait()
    assert set(download(backend, memory, twos)) == {2 * 3**4 * 5**2}


def test_a_plain_run_is_pass_0(backend: OpenCLBackend) -> None:
    ones = np.ones(4, np.int32)
    memory = upload(backend, ones)
    kernel = backend.build(STIR, "stir", takes_pass=True)
    prepared = backend.prepare(kernel, NDRange(4), [memory])
    passes = backend.passes(prepared)
    passes.count_from(7)
    passes.run(1)
    del passes, prepared  # the next one gets the kernel object, which has the number of that pass
    backend.prepare(kernel, NDRange(4), [memory]).submit().wait()
    assert set(download(backend, memory, ones)) == {mixed(1, range(7, 8)) * 3}


@pytest.mark.parametrize("good", [0, 2, 4])
def test_an_assertion_takes_back_its_pass(backend: OpenCLBackend, good: int) -> None:
    ones = np.ones(64, np.int32)
    memory = upload(backend, ones)
    asserts = [("x is not four", Location("app.py", 3))]
    kernel = backend.build(CHECKED, "checked", asserts, takes_pass=True)
    passes = backend.passes(backend.prepare(kernel, NDRange(64), [memory]))
    passes.run(good)
    with pytest.raises(KernelAssertionError, match="x is not four"):
        passes.run(9)
    assert passes.begun == 4
    assert set(download(backend, memory, ones)) == {mixed(1, range(4))}


def test_freed_memory_cannot_be_used(backend: OpenCLBackend) -> None:
    memory = upload(backend, np.ones(4, np.int32))
    kernel = backend.build(STIR, "stir", takes_pass=True)
    passes = backend.passes(backend.prepare(kernel, NDRange(4), [memory]))
    passes.run(3)
    backend.free(memory, [passes.latest])
    with pytest.raises(DeviceError, match="freed"):
        passes.run(1)
    assert passes.begun == 3


def test_what_others_have_prepared_is_refused(backend: OpenCLBackend) -> None:
    with pytest.raises(ArgumentTypeError, match="which another accelerator made"):
        backend.passes(NullPrepared(NDRange(1)))


def test_a_driver_that_refuses_a_pass(backend: OpenCLBackend) -> None:
    """Those before it are counted, and done."""
    ones = np.ones(4, np.int32)
    memory = upload(backend, ones)
    kernel = backend.build(STIR, "stir", takes_pass=True)
    prepared = backend.prepare(kernel, NDRange(4), [memory])
    passes = backend.passes(prepared)
    assert isinstance(passes, OpenCLPasses)
    enqueue: Any = passes._enqueue  # pyright: ignore[reportPrivateUsage] -- no driver fails when it is told to
    given = 0

    def fail_later(wait_list: object) -> object:
        nonlocal given
        given += 1
        if given > 5:
            return cl.Buffer(backend.context, cl.mem_flags.READ_WRITE, 0)  # there is none
        return enqueue(wait_list)

    passes._enqueue = fail_later  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue] -- as above
    with pytest.raises(DeviceError, match="failed at running `stir`"):
        passes.run(9)
    assert passes.begun == 5
    passes.latest.wait()
    assert set(download(backend, memory, ones)) == {mixed(1, range(5))}


def test_closing_waits_for_passes() -> None:
    opened = OpenCLFamily().open(0)
    memory = upload(opened, np.ones(1000, np.int32))
    kernel = opened.build(STIR, "stir", takes_pass=True)
    passes = opened.passes(opened.prepare(kernel, NDRange(1000), [memory]))
    passes.run(500)
    opened.close()
    assert passes.latest.done
