"""`trilby devices`: every backend and device, whether it works, and why others are absent.

Here are the facts and their three forms: a table for a terminal, lines for a pipe, JSON for
programs. How a device is tested is handed in: this module knows no kernel.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Literal, TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from trilby.backend.base import Backend, DeviceInfo, Scalar
from trilby.backend.preference import Preference
from trilby.backend.registry import FASTER, PassedOver, Survey, fitting, open_backend, survey
from trilby.data.dtypes import I32
from trilby.data.kernel_context import KernelContext
from trilby.data.names import i32
from trilby.data.ndarray import NDArray
from trilby.data.ndrange import NDRange
from trilby.dataclass import dataclass
from trilby.errors import TrilbyError
from trilby.reflect.functions import func, kernel
from trilby.runtime.compile import analyse_kernel

# ----------------------------------------------------------------------------------------- selftest
# A kernel with a known result, to see whether a device works.

ITEMS = 100


@func
def _cube(v: i32) -> i32:
    return v * v * v


@kernel
def _cubes(kc: KernelContext, a: NDArray[i32]) -> None:
    a[kc.x] = _cube(a[kc.x]) // 7 - 3


def check_device(backend: Backend) -> str | None:
    """Run the kernel: None if the result is right, or what is wrong with it."""
    numbers = np.arange(-50, ITEMS - 50, dtype=np.int32)
    expected = numbers**3 // 7 - 3
    executable = backend.compile(analyse_kernel(_cubes, (1,)).graph)()
    memory = backend.allocate(numbers.nbytes)
    try:
        backend.upload(memory, 0, numbers.data.cast("B")).wait()
        arguments = [memory, Scalar(I32, ITEMS)]
        backend.prepare(executable, NDRange(ITEMS), arguments).submit().wait()
        backend.download(memory, 0, numbers.data.cast("B")).wait()
    finally:
        backend.free(memory)
    wrong = int((numbers != expected).sum())
    return f"{wrong} of {ITEMS} numbers are wrong" if wrong else None


# ------------------------------------------------------------------------------------------ devices

Check: TypeAlias = Callable[[Backend], str | None]
"""Runs a kernel whose result is known: None if it is right, or what is wrong."""

Outcome: TypeAlias = Literal["passes", "fails", "does not open", "not run"]

_OPENS = ("passes", "fails")
"""A device that opens and computes wrongly is still one that would be taken."""


@dataclass(frozen=True, slots=True)
class CheckedDevice:
    """A device and what became of the test kernel on it; `problem` says what failed."""

    spec: str
    info: DeviceInfo
    outcome: Outcome
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Wish:
    """One entry of a preference: the devices that fit and open, and why each other does not."""

    text: str
    fits: tuple[str, ...]
    passed_over: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DevicesReport:
    """What this machine has. `chosen` is what `Accelerator()` opens, if anything.

    With a preference it is what `Accelerator(prefer=[…])` opens, and `wishes` says why.
    """

    chosen: str | None
    devices: tuple[CheckedDevice, ...]
    absent: tuple[PassedOver, ...]
    wishes: tuple[Wish, ...] = ()


def devices_report(
    check: Check, surveys: Sequence[Survey] | None = None, prefer: Sequence[Preference] = ()
) -> DevicesReport:
    """Look at every backend, and run the test kernel on each device that computes."""
    found = survey() if surveys is None else surveys
    checked = tuple(_checked(info, each, check) for each in found for info in each.devices)
    wishes = tuple(_wish(preference, found, checked) for preference in prefer)
    own = {info.spec for each in found if not each.is_plugin for info in each.devices}
    opened = (one for one in checked if one.outcome in _OPENS and one.spec in own)
    openable = (one.spec for one in sorted(opened, key=lambda one: one.info.kind not in FASTER))
    fits = (spec for wish in wishes for spec in wish.fits)
    absent = tuple(gap for each in found for gap in each.absent)
    return DevicesReport(next(fits if prefer else openable, None), checked, absent, wishes)


def _wish(
    preference: Preference, found: Sequence[Survey], checked: Sequence[CheckedDevice]
) -> Wish:
    fit = {device.spec for device in fitting(preference, found)}
    fits: list[str] = []
    passed_over: list[tuple[str, str]] = []
    for device in checked:
        if device.spec in fit and device.outcome != "does not open":
            fits.append(device.spec)
            continue
        why = f"it does not open: {device.problem}"
        if device.outcome == "not run":
            why = "it computes nothing, and is taken only by its name"
        passed_over.append((device.spec, preference.misfit(device.info) or why))
    return Wish(preference.text, tuple(fits), tuple(passed_over))


def _checked(info: DeviceInfo, family: Survey, check: Check) -> CheckedDevice:
    if not family.computes:
        return CheckedDevice(info.spec, info, "not run")
    try:
        backend = open_backend(info.spec).backend
    except TrilbyError as error:
        return CheckedDevice(info.spec, info, "does not open", error.problem)
    try:
        try:
            problem = check(backend)
        finally:
            backend.close()
    except TrilbyError as error:
        problem = error.problem
    except Exception as error:  # noqa: BLE001 -- a plug-in may fail in any way, and others are to be listed
        problem = f"{type(error).__name__}: {error}"
    return CheckedDevice(info.spec, info, "fails" if problem else "passes", problem or "")


def as_json(report: DevicesReport) -> str:
    """The report for programs."""
    return json.dumps(asdict(report), indent=2, default=sorted)


def print_report(report: DevicesReport, console: Console) -> None:
    """A table on a terminal, plain lines elsewhere."""
    devices = [_cells(device, report.chosen) for device in report.devices]
    if console.is_terminal:
        wish = "prefer=[…]" if report.wishes else ""
        table = Table(*(devices or [{}])[0], caption=f"* is what Accelerator({wish}) opens")
        for cells in devices:
            table.add_row(*map(Text, cells.values()))
        console.print(table)
    else:
        lists = ["\n".join(f"{name:8}  {cell}" for name, cell in one.items()) for one in devices]
        console.print(Text("\n\n".join(lists)), soft_wrap=True)
    for gap in report.absent:
        console.print(Text(f"\n{gap.name}: {gap.reason}\n  help: {gap.advice}"), soft_wrap=True)
    if report.wishes:
        console.print(Text("\n" + "\n".join(_choice(report))), soft_wrap=True)


def _choice(report: DevicesReport) -> Iterator[str]:
    """What a preference comes to, and why nothing before it was taken."""
    texts = ", ".join(f'"{wish.text}"' for wish in report.wishes)
    yield f"Accelerator(prefer=[{texts}]) opens {report.chosen or 'nothing'}"
    for wish in report.wishes:
        yield f"  {wish.text}: {', '.join(wish.fits) or 'no device fits'}"
        yield from (f"    not {spec}: {reason}" for spec, reason in wish.passed_over)


def _cells(device: CheckedDevice, chosen: str | None) -> dict[str, str]:
    """What is shown of a device, by column."""
    info = device.info
    return {
        "device": f"{device.spec} *" if device.spec == chosen else device.spec,
        "name": info.name,
        "kind": info.kind,
        "vendor": info.vendor,
        "driver": info.driver,
        "memory": f"{info.memory_bytes / 2**30:.1f} GiB" if info.memory_bytes else "-",
        "units": str(info.compute_units),
        "group": str(info.max_group_items),
        "features": " ".join(sorted(info.features)),
        "test": f"{device.outcome}: {device.problem}" if device.problem else device.outcome,
    }
