"""Traces keep to the format, say what the ledger says, and let data flow forwards."""

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tools.trace_event_schema import check_trace
from tests.tools.traced_programs import many_passes, scale, traced

from trilby import Accelerator, F32Array, Transfers
from trilby.tools.trace_events import trace_of

BACKENDS = ["native", "opencl", "interpreter", "null"]


def events_of(trace: dict[str, Any], *phases: str) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event["ph"] in phases]


def rows_of(trace: dict[str, Any]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    found: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for event in events_of(trace, "X"):
        found[event["pid"], event["tid"]].append(event)
    return found


@pytest.mark.parametrize("transfers", [Transfers.AUTO, Transfers.ALWAYS, Transfers.TRACKED])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_trace_keeps_to_the_format(backend: str, transfers: Transfers, tmp_path: Path) -> None:
    run = traced(backend, transfers)
    run.save_trace(tmp_path / "run.json")
    trace = json.loads((tmp_path / "run.json").read_text("utf-8"))
    check_trace(trace)


@pytest.mark.parametrize("transfers", list(Transfers))
@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_are_those_of_the_ledger(backend: str, transfers: Transfers) -> None:
    run = traced(backend, transfers)
    copies = [event for event in events_of(trace_of([run]), "X") if event["cat"] == "copy"]
    assert copies
    assert len(copies) == len(run.ledger.copies)
    names = {row["tid"]: row["args"]["name"] for row in events_of(trace_of([run]), "M")}
    for way, total, count in (
        ("copies to the device", run.ledger.bytes_up, len(run.ledger.uploads)),
        ("copies to the host", run.ledger.bytes_down, len(run.ledger.downloads)),
    ):
        some = [event for event in copies if names[event["tid"]].startswith(way)]
        assert (len(some), sum(event["args"]["bytes"] for event in some)) == (count, total)


def test_every_launch_is_a_slice_of_the_device() -> None:
    trace = trace_of([traced("native", times=4)])
    kernels = [event["name"] for event in events_of(trace, "X") if event["cat"] == "kernel"]
    assert kernels == ["scale", "add"] * 4


@pytest.mark.parametrize("backend", BACKENDS)
def test_slices_lie_inside_of_each_other_or_apart(backend: str) -> None:
    for row in rows_of(trace_of([traced(backend)])).values():
        ends: list[float] = []
        for event in sorted(row, key=lambda event: (event["ts"], -event["dur"])):
            end = event["ts"] + event["dur"]
            while ends and ends[-1] <= event["ts"] + 0.002:
                ends.pop()
            assert not ends or end <= ends[-1] + 0.002
            ends.append(end)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_data_flows_from_writes_over_copies_to_reads(backend: str) -> None:
    run = traced(backend)
    trace = trace_of([run])
    rows = rows_of(trace)
    flows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in events_of(trace, "s", "t", "f"):
        flows[event["id"]].append(event)
    kinds: list[list[str]] = []
    for steps in flows.values():
        assert all(before["ts"] <= after["ts"] for before, after in pairwise(steps))
        kinds.append([innermost(rows, event)["cat"] for event in steps])
    assert len(kinds) == len(run.ledger.copies)
    # Both buffers go up once before anybody wrote what is recorded; then `b` goes up each time
    # that the host wrote it and a kernel follows, and `a` comes each time that the host looks.
    assert kinds.count(["copy", "kernel"]) == 2
    assert kinds.count(["write", "copy", "kernel"]) == 2
    assert kinds.count(["kernel", "copy", "read"]) == len(run.ledger.downloads)


def innermost(rows: dict[tuple[int, int], list[dict[str, Any]]], at: dict[str, Any]) -> Any:
    """The slice that an end of a flow belongs to, as viewers find it."""
    around = [
        event
        for event in rows[at["pid"], at["tid"]]
        if event["ts"] <= at["ts"] + 0.002 and at["ts"] <= event["ts"] + event["dur"] + 0.002
        if event["cat"] not in {"wait", "dispatch"}
    ]
    return max(around, key=lambda event: event["ts"])


def test_many_passes_are_one_slice() -> None:
    with Accelerator("native", memory="discrete") as accelerator:
        a = F32Array.of(np.ones(100))
        with accelerator.trace() as run:
            accelerator.compute(many_passes, a, 50)
            accelerator.compute(many_passes, a, 50)
            _ = a.array.sum()
    trace = trace_of([run])
    kernels = [event for event in events_of(trace, "X") if event["cat"] == "kernel"]
    assert [event["name"] for event in kernels] == [scale.name] * 2
    assert [len(run.ledger.uploads), len(run.ledger.downloads)] == [1, 1]


def test_several_accelerators_have_processes_of_their_own() -> None:
    runs = [traced("native"), traced("interpreter")]
    trace = trace_of(runs)
    names = [event for event in events_of(trace, "M") if event["name"] == "process_name"]
    assert len({event["pid"] for event in names}) == 4
    assert [one["copies_up"] for one in trace["otherData"]["accelerators"]] == [
        len(run.ledger.uploads) for run in runs
    ]


def test_nothing_is_a_trace_as_well() -> None:
    check_trace(trace_of([]))
