"""Kernels made at random get no wrong verdict: a judge runs all their work items."""

from pathlib import Path

import pytest
from tests.lints.brute_force import meets_in_some_launch
from tests.lints.random_kernels import module_text

import trilby as tb
from trilby.linting.lint import functions_of
from trilby.reflect.functions import is_kernel
from trilby.tools.load import load_module

SEEDS = range(4)
COUNT = 12


@pytest.mark.parametrize("seed", SEEDS)
def test_no_race_is_called_clean(seed: int, tmp_path: Path) -> None:
    file = tmp_path / f"random_kernels_{seed}.py"
    file.write_text(module_text(seed, COUNT))
    kernels = [one for one in functions_of(load_module(file)) if is_kernel(one)]
    assert len(kernels) == COUNT
    for kernel in kernels:
        report = tb.lint(kernel)
        told = {finding.lint for finding in report.findings}
        assert meets_in_some_launch(kernel) <= told, f"{kernel.name} of seed {seed}: {report}"
        assert report.verdict != "bug" or all(
            finding.witness is not None and finding.witness.confirmed
            for finding in report.findings
            if finding.severity == "error"
        )
