"""What the environment, or whoever runs a program, says. This is the one module that reads it.

`Options` is made once and passed down; nothing below asks the environment again.
"""

import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Literal, Self, TypeAlias, cast, get_args

from trilby.arguments import brief, choice, whole_number
from trilby.dataclass import dataclass
from trilby.errors import ArgumentTypeError, ArgumentValueError
from trilby.process import PROCESS

MOST_THREADS = 4096

KERNELS = "trilby-kernels"
"""The folder of compiled kernels, in whichever folder the environment names."""

_ON = ("1", "yes", "true", "on")
_OFF = ("0", "no", "false", "off")

LogLevel: TypeAlias = Literal["error", "warning", "info", "debug"]

MemoryKind: TypeAlias = Literal["shared", "discrete"]


TransfersName: TypeAlias = Literal["always", "by_access", "planned", "tracked", "auto"]


class Transfers(Enum):
    """When data moves between host and device. All give the same results.

    `AUTO` moves what is needed, where it is needed, once. The others are there to look at and
    to compare: docs/transfers.md.
    """

    ALWAYS = "always"
    """Every argument goes in before every dispatch and comes out after it."""
    BY_ACCESS = "by_access"
    """What a kernel reads goes in before every dispatch, what it writes comes out after it."""
    PLANNED = "planned"
    """Copies are placed in the compute function ahead of time."""
    TRACKED = "tracked"
    """Calls around the host's accesses keep sets of what is newer on which side."""
    AUTO = "auto"
    """The plan where it is proven, what is known at run time everywhere else."""


@dataclass(frozen=True, slots=True)
class Options:
    """What an accelerator takes where its constructor is not told.

    `Options(backend="interpreter")` is what `TRILBY_BACKEND=interpreter` asks for.
    """

    backend: str | None = None
    """`TRILBY_BACKEND`: what `Accelerator()` opens, such as `opencl:1`; None is the first
    that works."""
    transfers: Transfers = Transfers.AUTO
    """When data moves."""
    memory: MemoryKind | None = None
    """Whose memory kernels work on; None is the host's wherever the device can."""
    lint: bool = False
    """`TRILBY_LINT`: warn of what the lints find when a compute function first runs."""
    log: LogLevel = "info"
    """`TRILBY_LOG`: how much is told; `info` says what was chosen and what was passed over."""

    @classmethod
    def current(cls) -> "Options":
        """Those of the innermost `default_options`, or else those of the environment."""
        given: list[Options] = PROCESS.default_options
        return given[-1] if given else cls.from_environment()

    @classmethod
    def from_environment(cls, given: Mapping[str, str] = os.environ) -> Self:
        """Read the variables. An empty variable counts as one that is not set."""
        log = given.get("TRILBY_LOG", "").strip().lower() or "info"
        return cls(
            backend=given.get("TRILBY_BACKEND", "").strip() or None,
            lint=_switch("TRILBY_LINT", given.get("TRILBY_LINT", "").strip().lower()),
            log=cast("LogLevel", choice("TRILBY_LOG", log, get_args(LogLevel))),
        )


@contextmanager
def default_options(options: Options) -> Generator[None]:
    """Let accelerators that are opened in a `with` block, by any thread, begin with these."""
    PROCESS.default_options.append(options)
    try:
        yield
    finally:
        PROCESS.default_options.remove(options)


def driver_variables(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What decides how a driver for the CPU compiles and links, and where it keeps the result."""
    names = ("PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR")
    begin = ("POCL_", "OCL_", "LD_")
    return {name: given[name] for name in sorted(given) if name in names or name.startswith(begin)}


def pocl_cache_folder(given: Mapping[str, str] = os.environ) -> str | None:
    """Where PoCL keeps compiled kernels; None where it has no place for them."""
    if given.get("POCL_CACHE_DIR"):
        return given["POCL_CACHE_DIR"]
    if given.get("XDG_CACHE_HOME"):
        return os.path.join(given["XDG_CACHE_HOME"], "pocl", "kcache")
    return os.path.join(given["HOME"], ".cache", "pocl", "kcache") if given.get("HOME") else None


def thread_limit(given: Mapping[str, str] = os.environ) -> int | None:
    """`TRILBY_THREADS`: how many threads the native device may use; None is one for each core."""
    text = given.get("TRILBY_THREADS", "").strip()
    if not text:
        return None
    is_number = re.fullmatch(r"0*[0-9]{1,4}", text) is not None
    if not (is_number and 0 < int(text[-4:]) <= MOST_THREADS):
        raise ArgumentValueError(
            f"TRILBY_THREADS is {brief(text)}, which is no number of threads",
            advice=f"use a number from 1 to {MOST_THREADS}, or leave it out for one per core",
        )
    return int(text[-4:])


def cache_folder(given: Mapping[str, str] = os.environ) -> str | None:
    """The folder of compiled kernels: `trilby-kernels` in the folder `TRILBY_CACHE`.

    None where that is `off`. Without it, in the user's folder for caches: `XDG_CACHE_HOME`, or
    `~/.cache`.
    """
    text = given.get("TRILBY_CACHE", "").strip()
    if text:
        base = "" if text.lower() == "off" else os.path.abspath(os.path.expanduser(text))
    else:
        base = given.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):
            base = os.path.join(os.path.expanduser(given.get("HOME", "") or "~"), ".cache")
    return os.path.join(base, KERNELS) if os.path.isabs(base) else None


def symbols_folder(given: Mapping[str, str] = os.environ) -> str | None:
    """`TRILBY_SYMBOLS`: where gdb and perf find names and lines of native kernels; or None."""
    text = given.get("TRILBY_SYMBOLS", "").strip()
    return os.path.abspath(os.path.expanduser(text)) if text else None


def as_bytes(size: object) -> int | None:
    """A number of bytes from what a user gave: `1000`, `"256MB"`, `"1.5 GiB"`."""
    if size is None:
        return None
    number = _bytes_in_text(size) if isinstance(size, str) else whole_number(size)
    advice = 'use a number of bytes, or a text such as "256MB" or "1.5 GiB"'
    if number is None and not isinstance(size, str):
        problem = f"a size of memory is a number of bytes, and {brief(size)} is"
        raise ArgumentTypeError(f"{problem} {type(size).__name__}", advice=advice)
    if number is None or number <= 0:
        raise ArgumentValueError(f"{brief(size)} is no size of a memory", advice=advice)
    return number


def _bytes_in_text(text: str) -> int | None:
    """The bytes that a text such as `"1.5 GiB"` means, or None; the digits are few."""
    number = r"[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20}"
    found = re.fullmatch(rf"\s*({number})\s*([kmgt]?)(i?)b?\s*", text, re.IGNORECASE)
    if found is None or (not found[2] and "." in found[1]):  # there are no parts of a byte
        return None
    power = "kmgt".find(found[2].lower()) + 1 if found[2] else 0
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


def as_transfers(given: object) -> Transfers:
    """A strategy from what a user gave: one of `Transfers`, or its name."""
    if isinstance(given, Transfers):
        return given
    return Transfers(choice("transfers", given, [one.value for one in Transfers]))


def _switch(name: str, text: str) -> bool:
    if text not in {"", *_ON, *_OFF}:
        raise ArgumentValueError(
            f"{name} is {brief(text)}, which is neither on nor off",
            advice=f"use one of {', '.join((*_ON, *_OFF))}",
        )
    return text in _ON
