"""Local and private arrays that a device has no memory for: an early error with the sizes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conformance.running import filled
from tests.reflect.kernel_cases import kernel

from trilby import Accelerator, NDRange
from trilby.errors import OutOfDeviceMemoryError, RangeError
from trilby.reflect.functions import Kernel

PRIVATE = """
@tb.func
def deeper(n: i32) -> f32:
    own = tb.private(f32, {size})
    own[n] = 1.0
    return own[n // 2]

@tb.kernel
def many(kc: KernelContext, out: NDArray[f32], at: NDArray[i32]) -> None:
    t = tb.private(f32, {size})
    for k in range(at[0]):
        t[k] = f32(k + kc.x)
    {barrier}
    out[kc.x] = t[at[0] - 1] + deeper(0) * 0
"""
LOCAL = """
@tb.kernel
def many(kc: KernelContext, out: NDArray[f32], at: NDArray[i32]) -> None:
    t = tb.local(f32, {size})
    t[kc.local_x] = f32(kc.x)
    kc.barrier()
    out[kc.x] = t[kc.local_x] + f32(at[0])
"""


def private(size: int, *, waits: bool = False) -> Kernel[...]:
    return kernel(PRIVATE.format(size=size, barrier="kc.barrier()" if waits else "pass"))


@pytest.mark.parametrize("power", [40, 48, 60, 61, 62, 63, 64, 100])
@pytest.mark.parametrize("text", [PRIVATE, LOCAL])
def test_no_device_has_such_memory(accelerator: Accelerator, text: str, power: int) -> None:
    made = kernel(text.format(size=2**power, barrier="pass"))
    with pytest.raises(OutOfDeviceMemoryError) as caught:
        filled(accelerator, 64, made, np.zeros(64, np.float32), np.array([4], np.int32))
    taken = (8 if text == PRIVATE else 4) * 2**power  # its own array, and that of what it calls
    assert f"{taken:,}" in caught.value.problem
    assert "`many`" in caught.value.problem
    assert caught.value.location is not None
    assert caught.value.location.line == 3


@pytest.mark.parametrize("waits", [False, True])
def test_arrays_of_some_size_work_in_groups_that_suit_them(
    accelerator: Accelerator, *, waits: bool
) -> None:
    """A driver with small stacks gets small groups."""
    size = 2**15 if accelerator.device.kind == "software" else 2**17
    out = np.zeros(130, np.float32)
    items = NDRange(130, 2) if waits else 130
    found = filled(accelerator, items, private(size, waits=waits), out, np.array([50], np.int32))
    assert found.tolist() == [49 + x for x in range(130)]


def test_a_group_that_is_asked_for_and_too_large_is_refused_with_the_reason() -> None:
    at = np.array([9], np.int32)
    with Accelerator("opencl") as accelerator, pytest.raises(RangeError) as caught:
        filled(accelerator, NDRange(512, 256), private(2**17), np.zeros(512, np.float32), at)
    assert "each of which has 1,048,576 bytes of private arrays" in caught.value.problem


PROGRAM = """
import resource, sys
import numpy as np
import trilby as tb
from trilby import *

N = {size}

@tb.kernel
def many(kc: KernelContext, out: NDArray[f32]) -> None:
    t = tb.private(f32, N)
    for k in range(kc.x + 2):
        t[k * 1000] = 1.0
    out[kc.x] = t[kc.x * 1000]

@tb.compute
def run(cc, out):
    cc.dispatch(64, many, out)

with Accelerator("native") as accelerator:
    out = accelerator.array(np.zeros(64, np.float32))
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    {before}
    accelerator.compute(run, out)
    {after}
    try:
        accelerator.compute(run, out)
        print(out.tolist() == [1.0] * 64)
    except TrilbyError as error:
        print(type(error).__name__, error.problem)
"""
LIMIT = (
    "accelerator.wait(); "
    "resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, resource.RLIM_INFINITY))"
)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_limit_of_the_system_ends_no_process(tmp_path: Path, moment: str) -> None:
    """Whether the limit is there before the launch is prepared, or comes later."""
    places = {"before": "pass", "after": "pass", moment: LIMIT}
    program = tmp_path / "program.py"
    text = PROGRAM.format(size=2**22, **places)
    if moment == "before":
        text = text.replace("    accelerator.compute(run, out)\n    pass\n", "")
    program.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Error" in done.stdout
    assert "array" in done.stdout
