"""Explicit mode: blocks in which nothing moves by itself, and what is said of stale data there.

A block belongs to one accelerator and to the thread, or asynchronous task, that entered it.
What is current where is known in it as everywhere; only whoever needs what is elsewhere is
told so, and gets it only if the block says `stale="warn"`.
"""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast, get_args

from trilby.arguments import choice
from trilby.data.buffer import Buffer
from trilby.data.ndarray import NDArray
from trilby.data.ranges import Ranges
from trilby.errors import OutOfDeviceMemoryError, StaleReadError
from trilby.messages import tell
from trilby.runtime.callers import name_in_program
from trilby.runtime.content import Content, Replica

if TYPE_CHECKING:
    from trilby.runtime.replicas import Reason, Replicas

Stale: TypeAlias = Literal["raise", "warn"]
Speaker: TypeAlias = Literal["cc", "accelerator"]
"""What a block was opened with, and what the advice is to be written with."""


class ExplicitBlock(NamedTuple):
    """One `with …explicit():` that was entered.

    That of `with cc.explicit(stale="warn"):` has the stale "warn" and the speaker "cc".
    """

    owner: "Replicas"
    stale: Stale
    speaker: Speaker


_BLOCKS: ContextVar[tuple[ExplicitBlock, ...]] = ContextVar("explicit", default=())
"""The blocks around what is running, the innermost last."""


@contextmanager
def explicit_block(owner: "Replicas", stale: Stale, speaker: Speaker) -> Generator[None]:
    """A block in which nothing moves by itself to and from one device."""
    choice("stale", stale, get_args(Stale))
    token = _BLOCKS.set((*_BLOCKS.get(), ExplicitBlock(owner, stale, speaker)))
    try:
        yield
    finally:
        _BLOCKS.reset(token)


def block_of(owner: "Replicas") -> ExplicitBlock | None:
    """The innermost block of a device around what is running, if there is one."""
    return next((block for block in reversed(_BLOCKS.get()) if block.owner is owner), None)


def check_host_read(content: Content, missing: Ranges, reason: "Reason") -> None:
    """Refuse that the host reads what only devices have, inside of a block of theirs."""
    for replica in content.replicas:
        block = block_of(replica.owner)
        stale = missing & replica.valid
        if block is None or not stale:
            continue
        asked = _call(block, "get", replica, stale)
        problem = f"`{_name(replica)}` is stale on the host: {reason.text}, and nobody fetched it"
        location = reason.caller.location if reason.caller else None
        error = StaleReadError(
            problem, advice=f"write `{asked}` between the two", location=location
        )
        _raise_or_warn(block, error, reason)


def check_needs(replica: Replica, needs: Ranges, reason: "Reason") -> None:
    """Refuse that a kernel reads what its device lacks. The error's place is the dispatch."""
    if not _BLOCKS.get():
        return
    content, block = replica.content, block_of(replica.owner)
    if block is None:
        check_host_read(content, needs - replica.valid - content.host, reason)
        return
    stale = needs - (content.host if replica.shared else replica.valid | content.fresh)
    if stale:
        asked = _call(block, "put", replica, stale)
        problem = f"`{_name(replica)}` is stale on the device: {reason.text}, and nobody put it"
        error = StaleReadError(problem, advice=f"write `{asked}` before this dispatch")
        _raise_or_warn(block, error, reason)


def check_eviction(replica: Replica) -> None:
    """Refuse to make room for others on a device that is full."""
    block = block_of(replica.owner)
    if block is not None:
        raise OutOfDeviceMemoryError(
            "the device is full, and inside of `explicit()` nothing leaves it by itself",
            advice=f"`release()` what is not needed any more, such as `{_name(replica)}`, raise "
            "`memory_limit`, or leave the block",
        )


def name_of(address: int, nbytes: int, label: str) -> str:
    """What the user's program calls a buffer where it is running now."""

    def is_meant(value: object) -> bool:
        if not isinstance(value, Buffer | NDArray):
            return False
        segment = cast("Buffer | NDArray[Any]", value).segment
        return not segment.released and (segment.address, segment.nbytes) == (address, nbytes)

    return name_in_program(is_meant) or label


def _name(replica: Replica) -> str:
    return name_of(replica.address, replica.nbytes, replica.label)


def _call(block: ExplicitBlock, method: str, replica: Replica, stale: Ranges) -> str:
    """The call that moves what is stale: of one field, where only that is."""
    name = _name(replica)
    spans = ((field, Ranges.span(start, stop)) for field, start, stop in replica.fields)
    touched = [field for field, span in spans if span.shifted(replica.address).meets(stale)]
    if len(replica.fields) > 1 and len(touched) == 1:
        name = f"{name}.{touched[0]}" if block.speaker == "cc" else f'{name}, "{touched[0]}"'
    return f"{block.speaker}.{method}({name})"


def _raise_or_warn(block: ExplicitBlock, error: StaleReadError, reason: "Reason") -> None:
    if block.stale == "raise":
        raise error
    where = f"{reason.caller.line.short}: " if reason.caller else ""
    tell("warning", "%s%s; %s", where, error.problem, error.advice)
