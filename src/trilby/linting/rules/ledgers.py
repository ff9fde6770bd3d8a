"""Copies of a recorded run that were not needed, and host statements that cause copies."""

from collections.abc import Iterator

from trilby.linting.findings import Finding
from trilby.linting.lint_registry import Lint, ledger_lint
from trilby.oracle.excess import Excess, Kind
from trilby.oracle.minimum import minimum
from trilby.oracle.trace import HOST, Trace
from trilby.runtime.ledger import Ledger
from trilby.source import NOWHERE, Location

MOST_LINES = 20
"""Of so many host statements at most it is worked out what moving them would save."""


@ledger_lint("transfer-duplicate")
def transfer_duplicate(ledger: Ledger) -> Iterator[Finding]:
    """A copy brought what its target had already.

    Two copies of one content: the second was not needed. It comes of an explicit `put`, or of a
    strategy that copies just in case.
    """
    for one in ledger.excess:
        if one.kind is Kind.LOST_VALIDITY and not _is_round_trip(ledger, one):
            yield _finding(ledger, transfer_duplicate, one, "its target had the same content")


@ledger_lint("transfer-round-trip")
def transfer_round_trip(ledger: Ledger) -> Iterator[Finding]:
    """A buffer went to the other side and came back unchanged.

    What was copied one way is copied back although nobody has written in between.
    """
    for one in ledger.excess:
        if one.kind is Kind.LOST_VALIDITY and _is_round_trip(ledger, one):
            yield _finding(ledger, transfer_round_trip, one, "it came from there and is unchanged")


@ledger_lint("transfer-unused")
def transfer_unused(ledger: Ledger) -> Iterator[Finding]:
    """A copy brought what nobody needed before it was overwritten or the run ended."""
    for one in ledger.excess:
        if one.kind in {Kind.DEAD, Kind.EAGER}:
            yield _finding(ledger, transfer_unused, one, one.kind.value)


@ledger_lint("transfer-redundant")
def transfer_redundant(ledger: Ledger) -> Iterator[Finding]:
    """A `put` or `get` moved nothing: the other side had all of it already.

    In explicit mode every transfer is written down. One that brings nothing is left over, or
    stands on the wrong side of what changes the data.
    """
    for call in dict.fromkeys(ledger.redundant):
        times = ledger.redundant.count(call)
        often = f", {times} times" if times > 1 else ""
        yield transfer_redundant.bug(
            f"this `{call.kind}` of `{call.buffer}` moved nothing new{often}",
            call.location,
            "leave it out, or do it only where the data has changed",
            about=f"{call.kind} {call.buffer}",
        )


@ledger_lint("host-statement-to-kernel", severity="hint")
def host_statement_to_kernel(ledger: Ledger) -> Iterator[Finding]:
    """Moving a host statement into a kernel would save copies.

    The oracle works out the least that has to move with the statement where it is, and with its
    accesses on the device: the difference is what it costs.
    """
    trace = ledger.recording.trace
    places = [copy.target for copy in ledger.recording.copies if copy.target != HOST]
    if not places:
        return
    least = ledger.optimal.range.nbytes
    for location in list(dict.fromkeys(_changing(ledger)))[:MOST_LINES]:
        saved = least - _least_on_device(trace, location, places[0])
        if saved > 0:
            yield host_statement_to_kernel.bug(
                f"moving this host statement into a kernel would save {saved:,} of {least:,} bytes",
                location,
                "write it as a kernel and dispatch it",
            )


def _least_on_device(trace: Trace, location: Location, place: str) -> int:
    """The bytes that would have to move if the host's accesses of a line were a kernel's."""
    moved = Trace()
    moved.buffers, moved.sharing = trace.buffers, trace.sharing
    moved.touches = [
        touch._replace(place=place, invisible=False)
        if touch.place == HOST and touch.location == location
        else touch
        for touch in trace.touches
    ]
    return minimum(moved, "range").nbytes


def _changing(ledger: Ledger) -> Iterator[Location]:
    """The lines on which the host writes what a device has."""
    for touch in ledger.recording.trace.touches:
        writes = any(access.writes for access in touch.accesses.values())
        if touch.place == HOST and writes and touch.location != NOWHERE:
            yield touch.location


def _is_round_trip(ledger: Ledger, one: Excess) -> bool:
    """Whether the last copy of the buffer before this one went the other way."""
    copies = ledger.recording.copies
    copy = copies[one.copy]
    before = [c for c in copies[: one.copy] if c.buffer == copy.buffer]
    return bool(before) and before[-1].source == copy.target


def _finding(ledger: Ledger, lint: Lint, one: Excess, why: str) -> Finding:
    caller = ledger.recording.callers[one.copy]
    return lint.bug(
        f"{one.nbytes:,} bytes of `{one.buffer}` went from {one.source} to {one.target} in vain: "
        f"{why}",
        caller.line if caller else NOWHERE,
        "leave the copy out, or let Trilby decide: Transfers.AUTO",
        severity="warning",
        about=one.buffer,
    )
