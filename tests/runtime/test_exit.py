"""The end of a program: wrapped memory is copied back, and no driver has work left."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.runtime.exiting import COUNT, STATUS, TIMES, WAYS

DEVICES = ("interpreter", "opencl", "opencl, shared", "native", "native, shared")
ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.bin"
    np.zeros(COUNT, np.int32).tofile(path)
    return path


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("way", WAYS)
def test_a_mapped_file_has_the_results_however_the_program_ends(
    device: str, way: str, numbers: Path
) -> None:
    done = run("-m", "tests.runtime.exiting", device, way, str(numbers))
    assert done.returncode == STATUS.get(way, 0), done.stderr
    assert way == "exception" or not done.stderr
    assert np.fromfile(numbers, np.int32).tolist() == [TIMES] * COUNT
