"""The report of a run: one page with its timeline, its copies, its graph and its hottest lines."""

from collections import Counter
from collections.abc import Iterator, Sequence
from os import PathLike

from trilby.dataclass import dataclass
from trilby.oracle.excess import Kind
from trilby.runtime.ledger import Copy, Ledger
from trilby.runtime.profile import time_text
from trilby.runtime.tracing import TracedRun
from trilby.source import Location, line_text
from trilby.tools.dataflow import Dataflow, dataflow_of
from trilby.tools.html.code import coloured
from trilby.tools.html.elements import (
    Html,
    bytes_text,
    counted,
    figures,
    page,
    ratio_text,
    section,
    table,
    tag,
)
from trilby.tools.html.graph_svg import graph_svg
from trilby.tools.html.moved import MOST_BUFFERS, bytes_svg, copies_table
from trilby.tools.html.timeline_svg import legend, timeline_svgs
from trilby.tools.movements import Movement, buffer_names, movements
from trilby.tools.output_files import write_output
from trilby.tools.timeline import Timeline, timeline_of

MOST_ROWS = 60
"""So many rows of a table are shown; what follows is counted."""

MOST_NAMES = 6


def save_report(
    runs: Sequence[TracedRun], path: str | PathLike[str], title: str = "A traced run"
) -> None:
    """Write the report of some runs."""
    write_output(path, report_of(runs, title))


def report_of(runs: Sequence[TracedRun], title: str) -> str:
    """The page of some runs, one for each accelerator."""
    if not runs:
        empty = section("Nothing to show", note="The program opened no accelerator.")
        return page(title, "no accelerator", [empty])
    several = len(runs) > 1
    body = [part for run in runs for part in run_sections(run, heading=several)]
    subtitle = counted(len(runs), "accelerator") if several else _about(runs[0])
    return page(title, subtitle, body)


def run_sections(run: TracedRun, *, heading: bool) -> Iterator[Html]:
    """All parts of one run."""
    flow = dataflow_of(run.ledger)
    if heading:
        yield tag("h2", run.place, class_="device")
        yield tag("p", _about(run), class_="note")
    yield run_figures(run)
    yield _timeline(timeline_of(run))
    yield _bytes(run.ledger, movements(run.ledger))
    yield _graph(flow)
    yield _lines(hot_lines(run))
    yield ledger_section(run.ledger.copies)


def _about(run: TracedRun) -> str:
    memory = "on the host's memory" if run.shares_memory else "with a memory of its own"
    return f"{run.device.name} ({run.place}), {memory}; transfers {run.transfers}"


def run_figures(run: TracedRun) -> Html:
    """The numbers of a run that say most."""
    ledger, total = run.ledger, run.profile.total
    moved, least = ledger.bytes_up + ledger.bytes_down, ledger.optimal.buffer.nbytes
    copies = f"{len(ledger.uploads):,} up, {len(ledger.downloads):,} down"
    beyond = f"the least is {bytes_text(least)}" if least else "nothing had to move"
    return figures(
        [
            ("duration", time_text(run.ended - run.began), "with all that the host did"),
            (
                "kernels",
                time_text(total.execute_seconds),
                counted(total.dispatches, "dispatch", "dispatches"),
            ),
            ("copies", f"{len(ledger.copies):,}", copies),
            ("bytes moved", bytes_text(moved), beyond),
            ("moved ÷ least", ratio_text(ledger.ratio), _praise(ledger.ratio)),
            ("host waited", time_text(total.wait_seconds), counted(total.waits, "time")),
            ("compiling", time_text(total.compile_seconds), "on the host"),
        ]
    )


def _praise(ratio: float) -> str:
    if ratio < 1:
        return "ranges do better than whole buffers"
    return "in whole buffers: the best" if ratio == 1 else "in whole buffers; 1.00× is the best"


def _timeline(timeline: Timeline) -> Html:
    parts: list[Html] = []
    for title, drawing in timeline_svgs(timeline):
        parts += [tag("h3", title), drawing]
    note = (
        "Lines lead from what wrote data over the copy to what needed it. "
        "Point at a thing to see more."
    )
    return section("Timeline", *parts, legend(), note=note, id_="timeline")


def _bytes(ledger: Ledger, rows: Sequence[Movement]) -> Html:
    if not rows:
        return section("Bytes per buffer", note="No buffer was used.", id_="bytes")
    least = "the least in whole buffers"
    colours = legend([("up", "to the device"), ("down", "to the host"), ("least", least)])
    parts = [bytes_svg(rows), colours]
    if len(rows) > MOST_BUFFERS:
        more = counted(len(rows) - MOST_BUFFERS, "buffer")
        parts.append(tag("p", f"and {more} that moved less", class_="note"))
    beyond = list(_beyond(ledger))
    if beyond:
        parts.append(tag("h3", "Beyond the least in byte ranges"))
        parts.append(table(("#bytes", "why they need not have moved", "of"), beyond))
    return section("Bytes per buffer", *parts, note=_bytes_note(rows), id_="bytes")


def _beyond(ledger: Ledger) -> Iterator[tuple[str, str, str]]:
    """For each kind of mistake the bytes, and the buffers where it cost most."""
    names = buffer_names(ledger.recording.trace)
    for kind in Kind:
        cost: Counter[int] = Counter()
        for one in ledger.excess if kind.beyond_minimum else ():
            if one.kind is kind:
                cost[ledger.recording.copies[one.copy].buffer] += one.nbytes
        if cost:
            worst = [names[buffer] for buffer, _ in cost.most_common(MOST_NAMES)]
            more = [f"{len(cost) - MOST_NAMES} more"] if len(cost) > MOST_NAMES else []
            yield f"{cost.total():,}", kind.value, ", ".join([*worst, *more])


def _bytes_note(rows: Sequence[Movement]) -> str:
    moved, least = sum(row.moved for row in rows), sum(row.least for row in rows)
    if not moved:
        return "Nothing moved."
    if moved <= least:
        return f"{moved:,} bytes moved, which is not more than any run of this program has to."
    return f"{moved:,} bytes moved, {moved - least:,} more than had to in whole buffers."


def _graph(flow: Dataflow) -> Html:
    note = (
        "What the host and the kernels read and wrote, as it was recorded. "
        "Arrows show where data goes."
    )
    if not flow.edges:
        return section("Kernels and buffers", note="No buffer was used.", id_="graph")
    colours = legend([("kernel", "by a kernel"), ("faint", "by the host")])
    return section("Kernels and buffers", graph_svg(flow), colours, note=note, id_="graph")


# ---------------------------------------------------------------------------------------- hot lines
# Which lines of a program cost most: kernels that they dispatch, waits, and copies.


@dataclass(slots=True)
class HotLine:
    """A line: what the device took for its dispatches, how long it waited, what moved for it."""

    location: Location
    dispatches: int = 0
    execute_seconds: float = 0.0
    wait_seconds: float = 0.0
    copies: int = 0
    bytes_up: int = 0
    bytes_down: int = 0


def hot_lines(run: TracedRun) -> list[HotLine]:
    """All lines with some cost, the hottest first."""
    found: dict[tuple[str, int], HotLine] = {}

    def at(location: Location) -> HotLine:
        return found.setdefault((location.file, location.line), HotLine(location))

    for row in run.profile.dispatches:
        line = at(row.location)
        line.dispatches += row.count
        line.execute_seconds += row.execute_seconds
    for wait in run.profile.waits:
        at(wait.location).wait_seconds += wait.seconds
    for copy in run.ledger.copies:
        if copy.location is not None:
            line = at(copy.location)
            line.copies += 1
            line.bytes_up += copy.nbytes if copy.direction == "up" else 0
            line.bytes_down += copy.nbytes if copy.direction == "down" else 0

    def coolness(line: HotLine) -> tuple[float, int]:
        return -line.execute_seconds - line.wait_seconds, -line.bytes_up - line.bytes_down

    return sorted(found.values(), key=coolness)


def _lines(lines: Sequence[HotLine]) -> Html:
    if not lines:
        return section("Hottest lines", note="No line dispatched, waited or copied.", id_="lines")
    columns = ("line", "", "#dispatches", "#kernels took", "#waited", "#copies", "#↑", "#↓")
    rows = (
        (
            tag("span", line.location.short, class_="place"),
            tag("code", coloured(line_text(line.location).strip(), "python")),
            f"{line.dispatches:,}" if line.dispatches else "",
            time_text(line.execute_seconds) if line.execute_seconds else "",
            time_text(line.wait_seconds) if line.wait_seconds else "",
            f"{line.copies:,}" if line.copies else "",
            tag("span", bytes_text(line.bytes_up) if line.bytes_up else "", class_="up"),
            tag("span", bytes_text(line.bytes_down) if line.bytes_down else "", class_="down"),
        )
        for line in lines
    )
    return section("Hottest lines", table(columns, rows, MOST_ROWS), id_="lines")


def ledger_section(copies: Sequence[Copy]) -> Html:
    """Every copy with its reason; those alike are one row."""
    if not copies:
        return section("Copies", note="Nothing was copied.", id_="copies")
    shown = copies_table(copies, MOST_ROWS)
    return section("Copies, and why each was made", shown, id_="copies")
