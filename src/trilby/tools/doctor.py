"""`trilby doctor`: what is installed, what is missing, and how to get it.

Here are the findings and their forms. They are gathered from the devices, from what packages are
there, and from the folder of compiled kernels; nothing is changed.
"""

import json
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Literal, TypeAlias

from rich.console import Console
from rich.text import Text

from trilby.backend.private_folder import opened
from trilby.backend.registry import ENTRIES
from trilby.dataclass import dataclass
from trilby.tools.devices import CheckedDevice, DevicesReport
from trilby.tools.html.elements import counted
from trilby.version import VERSION

State: TypeAlias = Literal["ok", "missing", "broken"]

OLDEST_PYTHON = (3, 11)

_MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "missing": ("–", "yellow"),
    "broken": ("✗", "red"),
}


PACKAGES = (
    ("numpy", "host memory", "pip install numpy"),
    ("llvmlite", "the native device", "pip install llvmlite"),
    ("pyopencl", "OpenCL devices", 'pip install "trilby[opencl]"'),
    (
        "pocl-binary-distribution",
        "an OpenCL driver for the CPU",
        'pip install "trilby[opencl]"',
    ),
    ("z3-solver", "lints that prove more", 'pip install "trilby[lint]"'),
    ("pillow", "pictures of the examples", 'pip install "trilby[demos]"'),
)
"""The packages that Trilby can use: their names, what for, and how to get them."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that was looked at: how it is, and what would change that."""

    part: str
    name: str
    state: State
    what: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All findings. `chosen` is the device that `Accelerator()` opens, if any."""

    chosen: str | None
    findings: tuple[CheckResult, ...]

    @property
    def is_usable(self) -> bool:
        """Whether some device computes rightly."""
        return any(one.part == "device" and one.state == "ok" for one in self.findings)


def diagnose(devices: DevicesReport, cache: Path | None) -> Diagnosis:
    """Put together what is known of this machine."""
    idle = {entry.name for entry in ENTRIES if not entry.computes}
    found = [
        _python(),
        *(_package(*package) for package in PACKAGES),
        *(_device(one) for one in devices.devices if one.info.backend not in idle),
        *(
            CheckResult("device", gap.name, "missing", gap.reason, gap.advice)
            for gap in devices.absent
        ),
        *([] if os.name == "nt" else [_cache(cache)]),  # the native device's, which needs POSIX
    ]
    return Diagnosis(devices.chosen, tuple(found))


def _python() -> CheckResult:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    what = f"{VERSION} on {python}, {platform.system()} {platform.machine()}"
    if sys.version_info >= OLDEST_PYTHON:
        return CheckResult("program", "trilby", "ok", what)
    advice = f"use Python {'.'.join(map(str, OLDEST_PYTHON))} or newer"
    return CheckResult("program", "trilby", "broken", what, advice)


def _package(name: str, use: str, install: str) -> CheckResult:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return CheckResult("package", name, "missing", f"not installed; it is for {use}", install)
    return CheckResult("package", name, "ok", f"{version}, for {use}")


def _device(device: CheckedDevice) -> CheckResult:
    if device.outcome == "passes":
        units = counted(device.info.compute_units, "unit")
        what = f"{device.info.name} ({device.info.kind}, {units}): the test kernel passes"
        return CheckResult("device", device.spec, "ok", what)
    what = f"{device.info.name}: the test kernel {device.outcome}: {device.problem}"
    advice = "its driver may be broken or out of date: Accelerator(…) can open another"
    return CheckResult("device", device.spec, "broken", what, advice)


def _cache(folder: Path | None) -> CheckResult:
    if folder is None:
        what = "off: kernels are compiled anew in every process"
        return CheckResult("cache", "kernels", "missing", what, "unset TRILBY_CACHE")
    result = partial(CheckResult, "cache", "kernels")
    try:
        with opened(str(folder)):
            place = folder
    except FileNotFoundError:
        place = next((one for one in folder.parents if one.exists()), folder)
    except OSError as error:
        advice = f"chmod 700 {folder}, or set TRILBY_CACHE to another folder"
        return result("broken", f"{folder} is not used: {error.strerror}", advice)
    if place.is_dir() and os.access(place, os.W_OK):
        return result("ok", f"{folder} can be written")
    if place == folder:
        return result("ok", f"{folder} may only be read: it stays as it is")
    advice = "set TRILBY_CACHE to a folder that can, or to `off`"
    return result("broken", f"{folder} cannot be written", advice)


# ------------------------------------------------------------------------------------ forms


def diagnosis_as_json(diagnosis: Diagnosis) -> str:
    """The findings for programs."""
    return json.dumps({"usable": diagnosis.is_usable, **asdict(diagnosis)}, indent=2)


def print_diagnosis(diagnosis: Diagnosis, console: Console) -> None:
    """The findings for people; colours are for terminals."""
    width = max(len(one.name) for one in diagnosis.findings)
    part = ""
    for one in diagnosis.findings:
        if one.part != part:
            part = one.part
            console.print(Text(("" if part == "program" else "\n") + _TITLES[part], "bold"))
        console.print(_line(one, width), soft_wrap=True)
    console.print(Text("\n" + "\n".join(_verdict(diagnosis))), soft_wrap=True)


_TITLES = {"program": "Trilby", "package": "Packages", "device": "Devices", "cache": "Cache"}


def _line(finding: CheckResult, width: int) -> Text:
    mark, colour = _MARKS[finding.state]
    text = Text("  ").append(mark, colour).append(f" {finding.name:{width}}  {finding.what}")
    if finding.advice:
        text.append(f"\n    {'':{width}}  help: {finding.advice}", "dim")
    return text


def _verdict(diagnosis: Diagnosis) -> Iterator[str]:
    if not diagnosis.is_usable:
        yield "Nothing here can run a kernel."
        return
    yield f"Accelerator() opens {diagnosis.chosen}."
    broken = [one.name for one in diagnosis.findings if one.state == "broken"]
    if broken:
        yield f"Needs attention: {', '.join(broken)}."
