"""A run as a file of trace events, the JSON that Chrome and Perfetto show.

Each accelerator has two processes: the host as that accelerator sees it, with a track for each of
its threads, and the device, with tracks for copies up, copies down and kernels. The time that work
lies in the queue is a track of its own. Flows go from a write over the copy to the access that
needed it.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, TypeAlias

from trilby.runtime.tracing import TracedRun
from trilby.tools.output_files import write_output
from trilby.tools.timeline import Flow, Slice, Timeline, Track, timeline_of
from trilby.version import VERSION

TraceEvent: TypeAlias = dict[str, Any]

_DEVICE_TRACKS: dict[Track, tuple[int, str]] = {
    "kernel": (1, "kernels"),
    "up": (101, "copies to the device"),
    "down": (201, "copies to the host"),
}
"""The number of the first row of each, and what it is called; there are rows for what overlaps."""


def save_trace(runs: Sequence[TracedRun], path: str | PathLike[str]) -> None:
    """Write the trace of some runs."""
    write_output(path, json.dumps(trace_of(runs)) + "\n")


def trace_of(runs: Sequence[TracedRun]) -> dict[str, Any]:
    """The trace of some runs as plain lists and dicts."""
    lines = [timeline_of(run) for run in runs]
    first = min((run.began for run in runs), default=0.0)
    events: list[TraceEvent] = []
    for number, line in enumerate(lines):
        events += _TraceWriter(line, 2 * number + 1, line.run.began - first).events()
    return {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"trilby": VERSION, "accelerators": [_about(run) for run in runs]},
    }


def _about(run: TracedRun) -> dict[str, Any]:
    ledger = run.ledger
    return {
        "device": f"{run.device.spec} ({run.device.name})",
        "transfers": run.transfers,
        "memory": "shared" if run.shares_memory else "discrete",
        "copies_up": len(ledger.uploads),
        "copies_down": len(ledger.downloads),
        "bytes_up": ledger.bytes_up,
        "bytes_down": ledger.bytes_down,
        "optimal_bytes": ledger.optimal.buffer.nbytes,
    }


class _TraceWriter:
    """The events of one timeline; `host` is the number of its first process."""

    def __init__(self, timeline: Timeline, host: int, shift: float) -> None:
        self._timeline = timeline
        self._host, self._device = host, host + 1
        self._shift = shift
        threads = dict.fromkeys(one.thread for one in timeline.on("host"))
        self._threads = {ident: number for number, ident in enumerate(threads, 1)}
        self._places: dict[Slice, tuple[int, int]] = {}
        self._rows: dict[int, str] = {}
        self._place_device_slices()
        self._spans = _nested(timeline.on("host"))

    def events(self) -> Iterator[TraceEvent]:
        """All events, names of tracks first."""
        yield from self._names()
        for number, one in enumerate(self._timeline.slices):
            yield self._slice(one)
            if one.queued is not None and one.begin > one.queued:
                yield from self._queued(one, number)
        for number, flow in enumerate(self._timeline.flows):
            yield from self._flow(flow, number)

    # ------------------------------------------------------------------------------ tracks

    def _names(self) -> Iterator[TraceEvent]:
        run = self._timeline.run
        yield _named("process_name", self._host, 0, f"host, for {run.place}")
        yield _named("process_name", self._device, 0, f"{run.place}: {run.device.name}")
        for ident, number in self._threads.items():
            yield _named(
                "thread_name", self._host, number, run.threads.get(ident, f"thread {number}")
            )
        for row, name in self._rows.items():
            yield _named("thread_name", self._device, row, name)

    def _place_device_slices(self) -> None:
        for track, (first, name) in _DEVICE_TRACKS.items():
            for number, row in enumerate(_rows(self._timeline.on(track))):
                self._rows[first + number] = name if not number else f"{name} ({number + 1})"
                self._places |= dict.fromkeys(row, (self._device, first + number))
        for one in self._timeline.on("host"):
            self._places[one] = self._host, self._threads[one.thread]

    # ------------------------------------------------------------------------------ events

    def _time(self, seconds: float) -> float:
        """Microseconds since the first run began, to the nanosecond."""
        return round(max(seconds + self._shift, 0.0) * 1e6, 3)

    def _span(self, one: Slice) -> tuple[float, float]:
        return self._spans.get(one, (one.begin, one.end))

    def _slice(self, one: Slice) -> TraceEvent:
        pid, tid = self._places[one]
        begin, end = map(self._time, self._span(one))
        about = dict(one.about)
        if one.location is not None:
            about["source"] = str(one.location)
        return {
            "ph": "X",
            "cat": one.kind,
            "name": one.name,
            "pid": pid,
            "tid": tid,
            "ts": begin,
            "dur": round(end - begin, 3),
            "args": about,
        }

    def _queued(self, one: Slice, number: int) -> Iterator[TraceEvent]:
        common = {
            "cat": "queue",
            "name": f"queued: {one.name}",
            "id": f"{self._device}.{number}",
            "pid": self._device,
            "tid": 0,
        }
        yield {"ph": "b", "ts": self._time(one.queued or 0.0), **common}
        yield {"ph": "e", "ts": self._time(one.begin), **common}

    def _flow(self, flow: Flow, number: int) -> Iterator[TraceEvent]:
        """Arrows; they need two ends, and each lies in its slice, none before the one before."""
        steps = [one for one in (flow.write, flow.copy, flow.read) if one is not None]
        phases = ["s", *["t"] * (len(steps) - 2), "f"] if len(steps) > 1 else []
        earliest = 0.0
        for phase, one in zip(phases, steps, strict=bool(phases)):
            begin, end = self._span(one)
            last = end - (end - begin) / 100  # the end itself belongs to what comes next
            leaves = one is flow.write or (one is flow.read and one.track == "host")
            at = min(last, flow.copy.begin) if one is flow.write else last if leaves else begin
            earliest = max(earliest, begin, at)
            pid, tid = self._places[one]
            event: TraceEvent = {
                "ph": phase,
                "cat": "data",
                "name": flow.copy.name,
                "id": f"{self._device}.{number}",
                "pid": pid,
                "tid": tid,
                "ts": self._time(earliest),
            }
            yield {**event, "bp": "e"} if phase == "f" else event


def _named(what: str, pid: int, tid: int, name: str) -> TraceEvent:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0, "args": {"name": name}}


def _rows(slices: Iterable[Slice]) -> list[list[Slice]]:
    """Slices in as many rows as are needed so that none overlaps another."""
    rows: list[list[Slice]] = []
    for one in slices:
        free = next((row for row in rows if row[-1].end <= one.begin), None)
        if free is None:
            rows.append([one])
        else:
            free.append(one)
    return rows


def _nested(slices: Iterable[Slice]) -> dict[Slice, tuple[float, float]]:
    """Begin and end of slices so that on each thread one lies inside of another or beside it.

    What is drawn longer than it was ends where the next one begins.
    """
    spans: dict[Slice, tuple[float, float]] = {}
    open_slices: dict[int, list[Slice]] = {}
    for one in slices:
        around = open_slices.setdefault(one.thread, [])
        while around and spans[around[-1]][1] < one.end:
            outer = around.pop()
            begin, end = spans[outer]
            spans[outer] = begin, min(end, one.begin)
        spans[one] = one.begin, one.end
        around.append(one)
    return spans
