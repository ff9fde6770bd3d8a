"""Warnings of lints when a compute function first runs: `Accelerator(lint=True)`."""

import warnings
from typing import Any

from trilby.reflect.functions import Compute
from trilby.runtime.linting import lint


class LintWarning(UserWarning):
    """A lint found something in a kernel, or in a compute function, that is about to run."""


def warn_of(function: Compute[..., Any]) -> None:
    """Warn of what is wrong or unknown; hints are left to `trilby lint`."""
    for finding in lint(function).findings:
        if finding.severity != "hint":
            told = f"{finding.location}: {finding.lint}: {finding.message}"
            warnings.warn(told, LintWarning, stacklevel=2)
