"""`trilby devices`: every backend and device, whether it works, and why others are absent.

Here are the facts and their three forms: a table for a terminal, lines for a pipe, JSON for
programs. How a device is tested is handed in: this module knows no kernel.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from trilby.backend.base import Backend, DeviceInfo
from trilby.backend.registry import PassedOver, Survey, open_backend, survey
from trilby.errors import TrilbyError

Check: TypeAlias = Callable[[Backend], str | None]
"""Runs a kernel whose result is known: None if it is right, or what is wrong."""

Outcome: TypeAlias = Literal["passes", "fails", "does not open", "not run"]


@dataclass(frozen=True, slots=True)
class CheckedDevice:
    """A device and what became of the test kernel on it; `problem` says what failed."""

    spec: str
    info: DeviceInfo
    outcome: Outcome
    problem: str = ""


@dataclass(frozen=True, slots=True)
class DevicesReport:
    """What this machine has. `default` is what `Accelerator()` opens, if anything."""

    default: str | None
    devices: tuple[CheckedDevice, ...]
    absent: tuple[PassedOver, ...]


def devices_report(check: Check, surveys: Sequence[Survey] | None = None) -> DevicesReport:
    """Look at every backend, and run the test kernel on each device that computes."""
    found = survey() if surveys is None else surveys
    checked = tuple(_checked(info, each, check) for each in found for info in each.devices)
    # A device that opens and computes wrongly is still the one that would be taken.
    openable = (device for device in checked if device.outcome in {"passes", "fails"})
    default = next((device.spec for device in openable), None)
    return DevicesReport(default, checked, tuple(gap for each in found for gap in each.absent))


def _checked(info: DeviceInfo, family: Survey, check: Check) -> CheckedDevice:
    if not family.computes:
        return CheckedDevice(info.spec, info, "not run")
    try:
        backend = open_backend(info.spec).backend
    except TrilbyError as error:
        return CheckedDevice(info.spec, info, "does not open", error.problem)
    problem = _run(backend, check)
    return CheckedDevice(info.spec, info, "fails" if problem else "passes", problem or "")


def _run(backend: Backend, check: Check) -> str | None:
    try:
        return check(backend)
    except TrilbyError as error:
        return error.problem
    finally:
        backend.close()


def as_json(report: DevicesReport) -> str:
    """The report for programs."""
    return json.dumps(asdict(report), indent=2, default=sorted)


def print_report(report: DevicesReport, console: Console) -> None:
    """A table on a terminal, plain lines elsewhere."""
    if console.is_terminal:
        console.print(_table(report))
    else:
        console.print(Text("\n\n".join(_lines(report))), soft_wrap=True)
    for gap in report.absent:
        console.print(Text(f"\n{gap.name}: {gap.reason}\n  help: {gap.advice}"), soft_wrap=True)


_COLUMNS = ("device", "name", "kind", "driver", "memory", "units", "group", "features", "test")


def _table(report: DevicesReport) -> Table:
    table = Table(*_COLUMNS, caption="* is what Accelerator() opens")
    for device in report.devices:
        table.add_row(*(Text(cell) for cell in _cells(device, report.default)))
    return table


def _lines(report: DevicesReport) -> Iterator[str]:
    width = max(len(column) for column in _COLUMNS)
    for device in report.devices:
        cells = zip(_COLUMNS, _cells(device, report.default), strict=True)
        yield "\n".join(f"{column:{width}}  {cell}" for column, cell in cells)


def _cells(device: CheckedDevice, default: str | None) -> tuple[str, ...]:
    info = device.info
    return (
        f"{device.spec} *" if device.spec == default else device.spec,
        info.name,
        info.kind,
        info.driver,
        _memory(info.memory_bytes),
        str(info.compute_units),
        str(info.max_group_items),
        " ".join(sorted(info.features)),
        f"{device.outcome}: {device.problem}" if device.problem else device.outcome,
    )


def _memory(nbytes: int) -> str:
    return f"{nbytes / 2**30:.1f} GiB" if nbytes else "-"
