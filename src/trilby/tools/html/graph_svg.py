"""The graph of a run: lines of the host, buffers, kernels, and who reads and writes what."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from trilby.tools.dataflow import Dataflow, Edge
from trilby.tools.html.elements import Html, tag

WIDTH = 1110
ROW, BOX = 46, 28
HEAD = 26

MOST_NODES = 30
"""Of each kind; a graph with more is no picture any more."""


class GraphBox(NamedTuple):
    """A box, by its left and right edge and its middle; or the column of its kind."""

    name: str
    kind: str
    left: float
    right: float
    y: float = 0


HOST = GraphBox("the host's lines", "host", 0, 250)
BUFFERS = GraphBox("buffers", "buffer", 445, 665)
KERNELS = GraphBox("kernels", "kernel", 860, WIDTH)


def graph_svg(flow: Dataflow) -> Html:
    """Three columns; an arrow to the right is a read by a kernel or a write by the host."""
    buffers = list(flow.buffers)[:MOST_NODES]
    hosts = _ordered(list(flow.hosts)[:MOST_NODES], flow, buffers)
    kernels = _ordered(list(flow.kernels)[:MOST_NODES], flow, buffers)
    tallest = max(len(hosts), len(buffers), len(kernels), 1)
    height = HEAD + tallest * ROW
    boxes: dict[object, GraphBox] = {}
    for column, keys, names in (
        (HOST, [("host", name) for name in hosts], hosts),
        (BUFFERS, [number for number, _ in buffers], [name for _, name in buffers]),
        (KERNELS, [("kernel", name) for name in kernels], kernels),
    ):
        boxes |= dict(zip(keys, _boxes(column, names, height), strict=True))
    kinds = dict.fromkeys(hosts, "host") | dict.fromkeys(kernels, "kernel")
    lines = [part for edge in flow.edges for part in _edge(edge, kinds, boxes)]
    columns = (HOST, BUFFERS, KERNELS) if hosts else (BUFFERS, KERNELS)
    left, width = columns[0].left, WIDTH - columns[0].left
    heads = (
        tag("text", column.name, x=(column.left + column.right) / 2, y=14, text_anchor="middle")
        for column in columns
    )
    nodes = (_box(node) for node in boxes.values())
    return tag(
        "svg",
        *heads,
        *lines,
        *nodes,
        viewBox=f"{left} 0 {width} {height}",
        style=f"max-width: {width}px",
        role="img",
        aria_label="graph of kernels and buffers",
        class_="graph",
    )


def _ordered(names: list[str], flow: Dataflow, buffers: Sequence[tuple[int, str]]) -> list[str]:
    """Each beside the buffers that it uses, so that few arrows cross."""
    places = {number: place for place, (number, _) in enumerate(buffers)}

    def middle(name: str) -> float:
        used = [places[e.buffer] for e in flow.edges if e.actor == name and e.buffer in places]
        return sum(used) / len(used) if used else 0.0

    return sorted(names, key=middle)


def _boxes(column: GraphBox, names: Iterable[str], height: float) -> Iterator[GraphBox]:
    found = list(names)
    first = HEAD + (height - HEAD - len(found) * ROW) / 2
    for number, name in enumerate(found):
        yield column._replace(name=name, y=first + number * ROW + ROW / 2)


def _box(node: GraphBox) -> Html:
    most = int((node.right - node.left - 20) / 7)
    name = node.name if len(node.name) <= most else f"{node.name[: most - 1]}…"
    return tag(
        "g",
        tag("title", node.name),
        tag(
            "rect",
            x=node.left + 1,
            y=node.y - BOX / 2,
            width=node.right - node.left - 2,
            height=BOX,
            rx=14 if node.kind == "kernel" else 4,
            class_=f"node is-{node.kind}",
        ),
        tag(
            "text",
            name,
            x=(node.left + node.right) / 2,
            y=node.y + 4,
            text_anchor="middle",
            class_="strong",
        ),
    )


def _edge(edge: Edge, kinds: dict[str, str], boxes: dict[object, GraphBox]) -> Iterator[Html]:
    actor = boxes.get((kinds.get(edge.actor), edge.actor))
    buffer = boxes.get(edge.buffer)
    if actor is None or buffer is None:
        return
    shift = -5 if edge.writes else 5  # a read and a write of the same two lie beside each other
    if actor.kind == "host":
        start, end = (actor.right, actor.y), (buffer.left, buffer.y)
    else:
        start, end = (actor.left, actor.y), (buffer.right, buffer.y)
    if not edge.writes:
        start, end = end, start
    kind = "at-device" if actor.kind == "kernel" else "at-host"
    verb = "writes" if edge.writes else "reads"
    about = f"{edge.actor} {verb} {buffer.name}, {edge.count:,} times"
    yield tag("g", tag("title", about), *_arrow(start, end, shift, kind))


def _arrow(
    start: tuple[float, float], end: tuple[float, float], shift: float, kind: str
) -> Iterator[Html]:
    (x1, y1), (x2, y2) = start, end
    y1, y2 = y1 + shift, y2 + shift
    towards = 1 if x2 > x1 else -1
    tip = x2 - 8 * towards
    bend = (tip - x1) / 2
    way = (
        f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {tip - bend:.1f} {y2:.1f} {tip:.1f} {y2:.1f}"
    )
    yield tag("path", d=way, class_=f"edge {kind}")
    head = f"M{x2:.1f} {y2:.1f}L{tip:.1f} {y2 - 4:.1f}L{tip:.1f} {y2 + 4:.1f}Z"
    yield tag("path", d=head, class_=f"tip {kind}")
