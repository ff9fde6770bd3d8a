"""What a notebook shows of a buffer, a ledger, a profile, a run, a model or a graph.

All of it is bounded, whatever the size of what is shown, and nothing is moved to show it.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch

from trilby.data.buffer import Buffer
from trilby.data.ndarray import NDArray
from trilby.model.op import Func
from trilby.model.text import to_text
from trilby.runtime.compile import ContextOf
from trilby.runtime.ledger import Ledger
from trilby.runtime.profile import Copies, Profile, time_text
from trilby.runtime.tracing import TracedRun
from trilby.tools.dataflow import dataflow_of_context
from trilby.tools.html.buffer_parts import array_rows, buffer_rows, residence_line
from trilby.tools.html.code import changes
from trilby.tools.html.elements import (
    Html,
    bytes_text,
    counted,
    ratio_text,
    stylesheet,
    table,
    tag,
)
from trilby.tools.html.graph_svg import graph_svg
from trilby.tools.html.moved import bytes_svg, copies_table
from trilby.tools.html.timeline_svg import legend, timeline_svgs
from trilby.tools.movements import movements
from trilby.tools.timeline import timeline_of
from trilby.transform.pipelines import Transformed

MOST_ROWS = 20
MOST_LINES = 300


@singledispatch
def html_of(thing: object) -> str:
    """The HTML of a thing."""
    raise TypeError(f"{type(thing).__name__} has no HTML")


def _shown(title: str, *parts: object) -> str:
    return tag(
        "div", tag("style", stylesheet()), tag("h4", title), *parts, class_="trilby notebook"
    )


def _bounded(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Html | None:
    """A table of the first rows; nothing where there are none."""
    found = list(rows)
    return table(columns, found, MOST_ROWS) if found else None


def _text(text: str) -> Html:
    """A text of which not more than some lines are shown."""
    lines = text.splitlines()
    rest = [f"… and {counted(len(lines) - MOST_LINES, 'line')} more"]
    return changes("\n".join(lines if len(lines) <= MOST_LINES else lines[:MOST_LINES] + rest))


# ---------------------------------------------------------------------------------- buffers


@html_of.register
def _(thing: Buffer) -> str:
    title = f"{type(thing).__name__}, {bytes_text(thing.layout.size)}"
    if thing.segment.released:
        return _shown(title, tag("p", "released", class_="note"))
    parts = table(("field", "type", "shape", "first values"), buffer_rows(thing))
    return _shown(title, parts, residence_line(thing.segment))


@html_of.register(NDArray)
def _(thing: "NDArray[object]") -> str:
    if thing.segment.released:
        return _shown("NDArray", tag("p", "released", class_="note"))
    shape = " × ".join(f"{length:,}" for length in thing.shape) or "no dimensions"
    title = f"NDArray of {thing.element}, {shape}, {bytes_text(thing.nbytes)}"
    return _shown(title, table(("first values",), array_rows(thing)), residence_line(thing.segment))


# ------------------------------------------------------------------------------ what was run


@html_of.register
def _(thing: Ledger) -> str:
    rows = movements(thing)
    moved = thing.bytes_up + thing.bytes_down
    title = f"{counted(len(thing.copies), 'copy', 'copies')}, {bytes_text(moved)}"
    least = f"{bytes_text(thing.optimal.buffer.nbytes)} is the least in whole buffers"
    note = tag("p", f"{least}: {ratio_text(thing.ratio)}", class_="note")
    copies = copies_table(thing.copies, MOST_ROWS) if thing.copies else None
    return _shown(title, note, bytes_svg(rows) if rows else None, copies)


@html_of.register
def _(thing: Profile) -> str:
    total = thing.total
    executed = time_text(total.execute_seconds)
    title = f"{counted(total.dispatches, 'dispatch', 'dispatches')}, {executed}"
    dispatches = thing.dispatches
    kernels = (
        (
            tag("span", row.kernel, class_="name"),
            tag("span", row.location.short, class_="place"),
            f"{row.count:,}",
            time_text(row.execute_seconds),
            time_text(row.mean_seconds),
            *map(time_text, (row.most_seconds, row.wait_seconds)),
        )
        for row in dispatches
    )
    buffers = (
        (f"{row.buffer}.{row.field}".rstrip("."), *_way(row.copy_in), *_way(row.copy_out))
        for row in thing.buffers
    )
    return _shown(
        title,
        tag("p", "; ".join(thing.devices), class_="note"),
        _bounded(("kernel", "line", "#count", "#all", "#mean", "#most", "#waited for"), kernels),
        _bounded(("buffer", "#copies in", "#bytes", "#time", "#out", "#bytes", "#time"), buffers),
        _bounded(
            ("compiled", "#took"), ((r.function, time_text(r.seconds)) for r in thing.compiles)
        ),
    )


def _way(copies: Copies) -> Iterator[str]:
    yield f"{copies.count:,}"
    yield bytes_text(copies.nbytes)
    yield time_text(copies.seconds)


@html_of.register
def _(thing: TracedRun) -> str:
    *_, (title, drawing) = timeline_svgs(timeline_of(thing))
    about = f"{thing.device.name} ({thing.place})"
    return _shown(f"A run on {about}", tag("p", title, class_="note"), drawing, legend())


# --------------------------------------------------------------------------- models and graphs


@html_of.register
def _(thing: Func) -> str:
    return _shown(f"{thing.kind} {thing.name}", _text(to_text(thing)))


@html_of.register
def _(thing: Transformed) -> str:
    return _shown(f"{thing.func.kind} {thing.func.name}", _text(str(thing)))


@html_of.register
def _(thing: ContextOf) -> str:
    flow = dataflow_of_context(thing)
    access = (
        (kernel.kernel.name, one.name, str(one.type), tag("code", path), str(what))
        for kernel in thing.kernels
        for one in kernel.access.parameters
        for path, what in one.fields.items()
    )
    return _shown(
        f"compute {thing.entry.func.name}",
        graph_svg(flow) if flow.edges else tag("p", "it dispatches nothing", class_="note"),
        _bounded(("kernel", "parameter", "type", "field", "access"), access),
        tag("details", tag("summary", "model"), _text(to_text(thing.entry.func))),
    )
