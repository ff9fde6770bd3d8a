"""Which lints run and how much they weigh: `[tool.trilby.lint]` in `pyproject.toml`.

[tool.trilby.lint]
ignore = ["strided-access"]
select = ["race-write-write", "out-of-bounds"]

[tool.trilby.lint.severity]
unused-parameter = "error"
"""

import tomllib
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast, get_args

from trilby.analysis.linting.registry import Lint, all_lints
from trilby.analysis.linting.report import Severity
from trilby.dataclass import dataclass
from trilby.errors import ArgumentValueError

FILE = "pyproject.toml"
_KEYS = {"select", "ignore", "severity"}


@dataclass(frozen=True)
class LintSettings:
    """What a project, or the command line, says: an empty `select` means all."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict[str, Severity])

    def __post_init__(self) -> None:
        known = {lint.id for lint in all_lints()}
        for name in (*self.select, *self.ignore, *self.severity):
            if name not in known:
                raise ArgumentValueError(
                    f"there is no lint `{name}`", advice=f"use one of {', '.join(sorted(known))}"
                )

    def lints(self, subject: str) -> list[Lint]:
        """Those that run."""
        return [
            lint
            for lint in all_lints()
            if lint.subject == subject
            and (not self.select or lint.id in self.select)
            and lint.id not in self.ignore
        ]


def settings_for(file: str) -> LintSettings:
    """The settings of the project in which a file lies."""
    return _read(_project(Path(file).absolute().parent))


@lru_cache(maxsize=256)
def _project(folder: Path) -> Path | None:
    places = (parent / FILE for parent in (folder, *folder.parents))
    return next((place for place in places if place.is_file()), None)


@lru_cache(maxsize=64)
def _read(place: Path | None) -> LintSettings:
    if place is None:
        return LintSettings()
    try:
        table: Any = tomllib.loads(place.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ArgumentValueError(f"{place} cannot be read: {error}") from error
    given: dict[str, Any] = table.get("tool", {}).get("trilby", {}).get("lint", {})
    unknown = sorted(set(given) - _KEYS)
    if unknown:
        raise ArgumentValueError(
            f"[tool.trilby.lint] in {place} has `{unknown[0]}`, which means nothing",
            advice=f"use {', '.join(sorted(_KEYS))}",
        )
    severity = cast("dict[str, Any]", given.get("severity", {}))
    for name, level in severity.items():
        if level not in get_args(Severity):
            raise ArgumentValueError(
                f"the severity of `{name}` in {place} is {level!r}",
                advice=f"use one of {', '.join(get_args(Severity))}",
            )
    return LintSettings(tuple(given.get("select", ())), tuple(given.get("ignore", ())), severity)
