"""An array that is larger than the driver's limit for one buffer, in a driver with a low limit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import numpy as np
import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, NDArray, S32Array, u8

@tb.kernel
def k(kc: KernelContext, a: S32Array, b: NDArray[u8]) -> None:
    a.array[kc.x] = a.array[kc.x] + 1
    b[kc.x] = 3

@tb.compute
def run(cc: ComputeContext, a: S32Array, b: NDArray[u8]) -> None:
    cc.dispatch(a.length, k, a, b)

with Accelerator("opencl", memory=sys.argv[1]) as accelerator:
    a, small = S32Array.of([1, 2, 3]), accelerator.array(np.zeros(3, np.uint8))
    limit = accelerator.device.buffer_bytes
    large = accelerator.array(np.zeros(limit + 1, np.uint8))
    accelerator.compute(run, a, small)
    with accelerator.record() as ledger:
        for call in (lambda: accelerator.compute(run, a, large), lambda: accelerator.put(large)):
            try:
                call()
            except tb.errors.OutOfDeviceMemoryError as error:
                print(f"{limit + 1:,}" in error.problem, f"{limit:,}" in error.problem)
                print(error.location, error.advice)
    print(ledger.bytes_up + ledger.bytes_down)
    accelerator.compute(run, a, small)
    print(a.array.tolist(), small.tolist(), int(np.max(large)))
"""


@pytest.mark.parametrize("memory", ["shared", "discrete"])
def test_an_array_beyond_the_limit_of_one_buffer(memory: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(PROGRAM, encoding="utf-8")
    # a gigabyte of memory, of which PoCL gives a quarter to one buffer
    environment = {**os.environ, "POCL_MEMORY_LIMIT": "1", "TRILBY_LOG": "error"}
    done = subprocess.run(
        [sys.executable, str(script), memory],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    said = done.stdout.splitlines()
    advice = "split it into several buffers, and launch over one after the other"
    assert [said[0], said[2]] == ["True True", "True True"]
    assert said[1].startswith(f"{script}:14 {advice}")
    assert said[3].startswith(f"{script}:22 {advice}")
    assert said[4:] == ["0", "[3, 4, 5] [3, 3, 3] 0"]
