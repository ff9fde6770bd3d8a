"""What backends that drive a real device say when it fails. Knows no driver."""

import re
from collections.abc import Sequence

from trilby.analysis.reach import KernelGraph, short_name
from trilby.backend.base import DeviceInfo
from trilby.errors import (
    ArgumentTypeError,
    BuildError,
    DeviceError,
    DeviceUnavailableError,
    KernelAssertionError,
    OutOfDeviceMemoryError,
)
from trilby.source import NOWHERE, Location

# ---------------------------------------------------------------------------------------- build log
# What a device's compiler complained about, and where in the user's Python that is.
#
# Generated code names the Python lines it came from in `#line` directives, so a compiler reports
# its errors there. This module reads the report. It knows the manners of several compilers and
# calls none.

# Patterns are compiled when something failed, and not when this is imported.
_DIRECTIVE = r'(?m)^\s*#line\s+\d+\s+"(?P<file>.*)"\s*$'
_MANNERS = (
    # PoCL: the severity comes first.
    r"^\s*error: (?P<file>.+?):(?P<line>\d+):\d+: (?P<message>.+)$",
    # Clang, Intel, Mesa, Oclgrind.
    r"^\s*(?P<file>.+?):(?P<line>\d+):\d+: (?:fatal )?error: (?P<message>.+)$",
    # NVIDIA.
    r"^\s*(?P<file>.+?)\((?P<line>\d+)\): error(?: \S+)?: (?P<message>.+)$",
)


def first_complaint(log: str, text: str) -> tuple[str, Location | None]:
    """The first error of a log that has a place in Python, or else the first error.

    `text` is the generated code: its `#line` directives tell which files are Python's.
    """
    python_files = {_unescaped(match["file"]) for match in re.finditer(_DIRECTIVE, text)}
    first = ""
    for match in (re.match(manner, line) for line in log.splitlines() for manner in _MANNERS):
        if match is None:
            continue
        message = match["message"].strip()
        if match["file"] in python_files:
            # The column counts in the generated line, which is not the Python line: it is left out.
            return message, Location(match["file"], int(match["line"]))
        first = first or message
    return first or "the compiler gave no reason", None


def _unescaped(literal: str) -> str:
    """The text of a string of C, in which bytes may be given as octal numbers."""
    content = re.sub(
        rb"\\([0-7]{3}|.)",
        lambda match: bytes([int(match[1], 8)]) if len(match[1]) > 1 else match[1],
        literal.encode(),
    )
    return content.decode(errors="replace")


# ----------------------------------------------------------------------------------------- failures

_LACKS = (("f64", "double"), ("f16", "half"))


def failed(device: DeviceInfo, what: str, error: Exception) -> DeviceError:
    """A command failed: `failed(device, "copying 8 bytes to the host", error)`."""
    return DeviceError(
        f"{device.name} failed at {what}: {error}",
        advice="what the host holds is intact. A kernel that leaves the bounds of an array can do "
        'this: run it with Accelerator("interpreter"), which checks. If the device itself is '
        "lost, make a new Accelerator",
    )


def not_prepared(device: DeviceInfo, entry: str, error: Exception) -> DeviceError:
    """A driver built a program, and has no kernel of it."""
    return DeviceError(
        f"{device.name} failed at preparing `{entry}`: {error}",
        advice="the cache in which the driver keeps compiled kernels may be damaged: remove it "
        "(for PoCL, the folder that POCL_CACHE_DIR names, or ~/.cache/pocl)",
    )


def no_room(device: DeviceInfo, nbytes: int, used: int | None = None) -> OutOfDeviceMemoryError:
    """Memory that was asked for is not there."""
    in_use = "" if used is None else f"{used:,} of them in use, "
    largest = device.buffer_bytes or device.memory_bytes
    return OutOfDeviceMemoryError(
        f"{device.name} has no room for {nbytes:,} bytes: its memory is "
        f"{device.memory_bytes:,} bytes in all, {in_use}and one buffer may have {largest:,}",
        advice="release buffers that are no longer used, or work in smaller pieces",
    )


def check_buffer(device: DeviceInfo, label: str, nbytes: int) -> None:
    """Refuse a buffer that the driver would never take, however much room there is."""
    if device.buffer_bytes and nbytes > device.buffer_bytes:
        raise OutOfDeviceMemoryError(
            f"`{label}` has {nbytes:,} bytes, and the driver of {device.name} takes at most "
            f"{device.buffer_bytes:,} in one buffer",
            advice="split it into several buffers, and launch over one after the other; or use "
            "another device: `trilby devices` lists them",
        )


def closed(device: DeviceInfo) -> DeviceError:
    """A device was used after `close()`."""
    return DeviceError(f"{device.spec} ({device.name}) was closed", advice="make a new Accelerator")


def freed(device: DeviceInfo, nbytes: int) -> DeviceError:
    """Memory was used after it was given back."""
    return DeviceError(
        f"{nbytes:,} bytes of {device.spec} were freed, and are used all the same",
        advice="a released buffer cannot be used again: make a new one",
    )


def foreign(device: DeviceInfo, thing: object) -> ArgumentTypeError:
    """A kernel or memory was given to a backend that did not make it."""
    return ArgumentTypeError(
        f"{device.spec} was given `{type(thing).__name__}`, which another accelerator made",
        advice="kernels and memory belong to the accelerator that made them",
    )


def beyond(device: DeviceInfo, offset: int, nbytes: int, size: int) -> DeviceError:
    """A copy or a fill does not stay inside of its memory."""
    return DeviceError(
        f"bytes {offset:,} to {offset + nbytes:,} were asked for in {size:,} bytes of "
        f"{device.spec}",
        advice="this is a fault of Trilby: please report it with the program",
    )


def wrong_count(entry: str, expected: int, given: int) -> DeviceError:
    """A kernel was given more or fewer arguments than it takes."""
    return DeviceError(
        f"`{entry}` takes {expected} arguments, and {given} are given",
        advice="this is a fault of Trilby: please report it with the program",
    )


def none_left(refused: Sequence[DeviceUnavailableError]) -> DeviceUnavailableError:
    """Every device was refused: all the reasons in one error."""
    problems = dict.fromkeys(refusal.problem for refusal in refused)
    advice = dict.fromkeys(refusal.advice for refusal in refused)
    return DeviceUnavailableError("; ".join(problems), advice="; ".join(advice))


def refused_code(device: DeviceInfo, entry: str, text: str, log: str) -> BuildError:
    """A device's compiler refused the generated `text`; `log` is what it said."""
    message, location = first_complaint(log, text)
    lines = "\n".join(f"    {line}" for line in log.strip().splitlines())
    return BuildError(
        f"the compiler of {device.name} refused `{entry}`: {message}\n  its log:\n{lines}",
        advice=_advice(device, message),
        location=location,
    )


def blamed(error: BuildError, graph: KernelGraph) -> BuildError:
    """The error, with other advice where the compiler complains of raw device code."""
    place = error.location
    bodies = ((one, raw) for one in graph.functions if one.raw for raw in one.raw.bodies)
    for function, body in bodies:
        text = body.location
        if place and place.file == text.file and text.line <= place.line <= text.end_line:
            advice = f"this is device code of the @tb.raw `{short_name(function.name)}`: correct it"
            return BuildError(error.problem, advice=advice, location=place)
    return error


def _advice(device: DeviceInfo, message: str) -> str:
    for feature, word in _LACKS:
        if word in message and feature not in device.features:
            return f"{device.name} has no {feature}: use f32, or another device"
    return (
        "the code is generated, so this is a fault of Trilby: please report it with this text "
        "and with what `trilby emit FILE:FUNCTION` prints"
    )


def assertion_failed(
    message: str, item: tuple[int, int, int], location: Location
) -> KernelAssertionError:
    """An `assert` in a kernel did not hold."""
    return KernelAssertionError(
        f"{message}, in work item {item}",
        advice="look at the numbers that this work item saw",
        location=None if location == NOWHERE else location,
    )
