"""The timeline of a run as a drawing: the host above, the device below, one row for each kind."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from trilby.runtime.profile import time_text
from trilby.tools.html.elements import Html, bytes_text, joined, shortened, svg, tag
from trilby.tools.timeline import Flow, Slice, Timeline

WIDTH, LEFT, RIGHT = 1110, 128, 14
ROW, BAR, AXIS = 34, 22, 26

MOST_FLOWS = 80
"""More lines than this hide what they show, and are left out."""

_NARROWEST = 0.8
_NEAREST = 2.0
"""Of narrow slices only one in so many units is drawn."""
_LETTER = 6.6
"""About how wide a letter is."""


ROWS = (
    ("compute calls", "host", {"compute"}),
    ("host", "host", {"compile", "wait", "read", "write", "access", "dispatch"}),
    ("to the device", "up", {"copy"}),
    ("kernels", "kernel", {"kernel"}),
    ("to the host", "down", {"copy"}),
)
"""For each row its title, its track, and the kinds of slices in it."""

LEGEND = (
    ("compute", "compute call"),
    ("compile", "compiling"),
    ("access", "host reads or writes"),
    ("dispatch", "dispatch"),
    ("wait", "host waits"),
    ("up", "copy to the device"),
    ("kernel", "kernel"),
    ("down", "copy to the host"),
)


class TimeWindow(NamedTuple):
    """The stretch of time that a drawing shows."""

    begin: float
    end: float

    def x(self, time: float) -> float:
        """Where a time lies."""
        share = (time - self.begin) / (self.end - self.begin)
        return LEFT + min(max(share, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)

    def shows(self, one: Slice) -> bool:
        """Whether some of a slice is in it."""
        return one.end >= self.begin and one.begin <= self.end


def timeline_svgs(timeline: Timeline) -> Iterator[tuple[str, Html]]:
    """The whole run, and, where the device has worked for a small part of it, that part."""
    whole = TimeWindow(0.0, max(timeline.seconds, 1e-6))
    yield "the whole run", timeline_svg(timeline, whole)
    busy = [one for one in timeline.slices if one.track != "host" or one.kind == "dispatch"]
    if not busy:
        return
    begin, end = min(one.begin for one in busy), max(one.end for one in timeline.slices)
    end = min(end, max(one.end for one in timeline.slices if one.kind != "compute"))
    spare = (end - begin) / 50
    if 0 < end - begin < 0.7 * timeline.seconds:
        window = TimeWindow(max(begin - spare, 0.0), min(end + spare, timeline.seconds))
        yield (
            f"from the first work of the device on ({time_text(end - begin)})",
            timeline_svg(timeline, window),
        )


def timeline_svg(timeline: Timeline, window: TimeWindow) -> Html:
    """One drawing."""
    height = AXIS + ROW * len(ROWS) + 6
    parts = [*_axis(window, height)]
    for number, (title, track, kinds) in enumerate(ROWS):
        shown = [one for one in timeline.slices if one.track == track and one.kind in kinds]
        parts += _row(title, filter(window.shows, shown), window, AXIS + ROW * number)
    parts += _flows(timeline.flows, window)
    return svg("timeline", "timeline", (0, WIDTH, height), *parts)


def legend(entries: Iterable[tuple[str, str]] = LEGEND) -> Html:
    """What the colours mean."""
    return tag(
        "div",
        *(tag("span", name, style=f"--colour: var(--{kind})") for kind, name in entries),
        class_="legend",
    )


def _axis(window: TimeWindow, height: int) -> Iterator[Html]:
    length = window.end - window.begin
    step = _step(length)
    tick = -(-window.begin // step) * step
    while tick <= window.end:
        x = window.x(tick)
        yield tag("line", x1=x, x2=x, y1=AXIS - 6, y2=height - 4, class_="grid")
        anchor = "end" if x > WIDTH - 50 else "middle"
        yield tag("text", time_text(round(tick, 9)), x=x, y=13, text_anchor=anchor)
        tick += step


def _step(length: float) -> float:
    """A round number of seconds that gives five to twelve ticks."""
    step = 1e-9
    while True:
        for factor in (1, 2, 5):
            if length / (step * factor) <= 10:
                return step * factor
        step *= 10


def _row(title: str, slices: Iterable[Slice], window: TimeWindow, y: int) -> Iterator[Html]:
    yield tag("text", title, x=0, y=y + BAR / 2 + 8, class_="strong")
    width = WIDTH - LEFT - RIGHT
    yield tag("rect", x=LEFT, y=y + 4, width=width, height=BAR, rx=3, class_="lane")
    drawn = -1.0
    # what is inside of another comes after it, and waits lie on the accesses that wait
    for one in sorted(slices, key=lambda one: (one.kind == "wait", one.begin)):
        x, end = window.x(one.begin), window.x(one.end)
        if end - x < _NARROWEST and end <= drawn and one.kind != "wait":
            continue  # it would cover the one before
        drawn = x + _NEAREST
        yield _bar(one, x, max(end - x, _NARROWEST), y + 4)


def _bar(one: Slice, x: float, width: float, y: float) -> Html:
    kind = f"copy-{one.track}" if one.kind == "copy" else one.kind
    inset = 5 if one.kind == "wait" else 0
    shape = tag(
        "rect",
        x=x,
        y=y + inset,
        width=width,
        height=BAR - 2 * inset,
        rx=min(3.0, width / 2),
        class_=kind,
    )
    fits = int((width - 10) / _LETTER)
    text = None
    if fits >= min(len(one.name), 4) and not inset:
        colour = "in-pale" if one.kind == "compute" else "inside"
        text = tag("text", shortened(one.name, fits), x=x + 6, y=y + 15, class_=colour)
    return tag("g", tag("title", described(one)), shape, text)


def described(one: Slice) -> str:
    """All that is known of a slice, for who points at it."""
    lines = [f"{one.name}: {time_text(one.seconds)}"]
    if one.copy is not None:
        lines = [f"{one.name}: {bytes_text(one.copy.nbytes)} in {time_text(one.seconds)}"]
        lines.append(one.copy.cause)
    elif "because" in one.about:
        lines.append(str(one.about["because"]))
    if one.location is not None:
        lines.append(one.location.short)
    return "\n".join(lines)


_Y = {track: AXIS + ROW * number + 4 for number, (_, track, _) in enumerate(ROWS)}


def _flows(flows: Sequence[Flow], window: TimeWindow) -> Iterator[Html]:
    shown = [flow for flow in flows if window.shows(flow.copy)]
    if len(shown) > MOST_FLOWS:
        return
    lines = [
        _line(first, second, window)
        for flow in shown
        for first, second in ((flow.write, flow.copy), (flow.copy, flow.read))
        if first is not None and second is not None
    ]
    yield tag("g", joined(lines), class_="flows")


def _line(first: Slice, second: Slice, window: TimeWindow) -> Html:
    x1 = window.x(first.end if first.track != "host" else min(first.end, second.begin))
    x2 = window.x(second.begin if second.track != "host" else second.end)
    above = _Y[first.track] < _Y[second.track]
    y1, y2 = _Y[first.track] + (BAR if above else 0), _Y[second.track] + (0 if above else BAR)
    bend = (y2 - y1) / 2
    return tag(
        "path",
        d=f"M{x1:.1f} {y1}C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2}",
        class_="flow",
    )
