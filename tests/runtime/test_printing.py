"""Printing from kernels: whatever `sys.stdout` does, nobody waits for ever."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["interpreter", "native", "native, shared"])
def test_an_output_that_collects_and_launches(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"from tests.runtime.printing import main; main({name!r})"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True True\n", "")
