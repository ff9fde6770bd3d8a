"""What the environment says. This is the one module that reads it.

`Options` is made once and passed down; nothing below asks the environment again.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias, get_args

from trilby.errors import ArgumentValueError

LogLevel: TypeAlias = Literal["error", "warning", "info", "debug"]


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of one accelerator.

    `Options(backend="interpreter")` is what `TRILBY_BACKEND=interpreter` asks for.
    """

    backend: str | None = None
    """`TRILBY_BACKEND`: what `Accelerator()` opens, such as `opencl:1`; None is the first
    that works."""
    log: LogLevel = "info"
    """`TRILBY_LOG`: how much is told; `info` says what was chosen and what was passed over."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the variables. An empty variable counts as one that is not set."""
        given = os.environ if environment is None else environment
        return cls(
            backend=given.get("TRILBY_BACKEND", "").strip() or None,
            log=_log_level(given.get("TRILBY_LOG", "").strip().lower() or "info"),
        )


def program_path(environment: Mapping[str, str] | None = None) -> str:
    """The folders in which programs are looked for: empty where `PATH` is not set.

    A driver that starts a program sees it so too; `shutil.which` would use a default.
    """
    return (os.environ if environment is None else environment).get("PATH", "")


def _log_level(text: str) -> LogLevel:
    levels: tuple[LogLevel, ...] = get_args(LogLevel)
    for level in levels:
        if level == text:
            return level
    raise ArgumentValueError(
        f"TRILBY_LOG is `{text}`, which is no level", advice=f"use one of {', '.join(levels)}"
    )
