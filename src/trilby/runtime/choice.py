"""Which device an accelerator begins with, from what its constructor was given."""

from typing import cast, get_args

from trilby.arguments import choice
from trilby.backend.base import DeviceInfo
from trilby.backend.preference import Preference
from trilby.backend.registry import Choice, as_preferences, open_backend, open_preferred
from trilby.errors import ArgumentValueError, MissingFeatureError, TrilbyError
from trilby.options import MemoryKind, Options
from trilby.runtime.callers import Caller


def choose(backend: str | None, prefer: object, options: Options) -> Choice:
    """Open the device that is named, or the one that is preferred, or the first that works."""
    wanted = as_preferences(prefer, "prefer")
    if not wanted:
        return _open(backend, options)
    if backend is not None:
        raise ArgumentValueError(
            f"`{backend}` is asked for by its name, and `prefer` is given beside it",
            advice=f'leave one of them out, or write `prefer=["{backend}", …]`',
            location=Caller.now().location,
        )
    return open_preferred(wanted)


def _open(backend: str | None, options: Options) -> Choice:
    """Open the device that is named by the program, or else from outside of it."""
    if backend is not None or options.backend is None:
        return open_backend(backend)
    try:
        return open_backend(options.backend)
    except TrilbyError as error:
        error.advice += "; `TRILBY_BACKEND`, or an option of `trilby`, asks for it"
        raise


def wanted_fallbacks(fallback: object) -> tuple[Preference, ...]:
    """The devices that may take over."""
    return as_preferences(fallback, "fallback")


def memory_kind(memory: object) -> MemoryKind:
    """Whose memory kernels work on, by its name."""
    return cast("MemoryKind", choice("memory", memory, get_args(MemoryKind)))


def shares_memory(memory: MemoryKind | None, device: DeviceInfo) -> bool:
    """Whether kernels work on the host's own memory, from what `memory` asks for."""
    can = "shared_memory" in device.features
    if memory == "shared" and not can:
        raise MissingFeatureError(
            f"{device.name} cannot work on the host's memory",
            advice='leave `memory` out, or write `memory="discrete"`',
            location=Caller.now().location,
        )
    return can and memory != "discrete"
