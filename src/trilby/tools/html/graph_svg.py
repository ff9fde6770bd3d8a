"""The graph of a run: lines of the host, buffers, kernels, and who reads and writes what."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from trilby.tools.dataflow import Dataflow
from trilby.tools.html.elements import Html, shortened, svg, tag

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

    @property
    def x(self) -> float:
        """The middle."""
        return (self.left + self.right) / 2


HOST = GraphBox("the host's lines", "host", 0, 250)
BUFFERS = GraphBox("buffers", "buffer", 445, 665)
KERNELS = GraphBox("kernels", "kernel", 860, WIDTH)


def graph_svg(flow: Dataflow) -> Html:
    """Three columns; an arrow to the right is a read by a kernel or a write by the host."""
    buffers = list(flow.buffers)[:MOST_NODES]
    nodes: dict[GraphBox, Sequence[str | int]] = {
        HOST: _actors(flow, "host", buffers),
        BUFFERS: buffers,
        KERNELS: _actors(flow, "kernel", buffers),
    }
    height = HEAD + max(1, *map(len, nodes.values())) * ROW
    boxes: dict[str | int, GraphBox] = {}
    for column, keys in nodes.items():
        first = HEAD + (height - HEAD - len(keys) * ROW) / 2
        for number, key in enumerate(keys):
            name = key if isinstance(key, str) else flow.buffers[key]
            boxes[key] = column._replace(name=name, y=first + number * ROW + ROW / 2)
    lines = [part for edge in flow.edges.items() for part in _edge(edge, boxes)]
    columns = [column for column in nodes if nodes[HOST] or column is not HOST]
    heads = [tag("text", one.name, x=one.x, y=14, text_anchor="middle") for one in columns]
    left, width = columns[0].left, WIDTH - columns[0].left
    parts = (*heads, *lines, *map(_box, boxes.values()))
    about = "graph of kernels and buffers"
    return svg("graph", about, (left, width, height), *parts, style=f"max-width: {width}px")


def _actors(flow: Dataflow, kind: str, buffers: Sequence[int]) -> list[str]:
    """Those of a kind, each beside the buffers that it uses, so that few arrows cross."""
    places = {number: place for place, number in enumerate(buffers)}

    def middle(name: str) -> float:
        used = [places[n] for actor, n, _ in flow.edges if actor == name and n in places]
        return sum(used) / len(used) if used else 0.0

    names = [name for name, actor_kind in flow.actors.items() if actor_kind == kind]
    return sorted(names[:MOST_NODES], key=middle)


def _box(node: GraphBox) -> Html:
    width = node.right - node.left
    return tag(
        "g",
        tag("title", node.name),
        tag(
            "rect",
            x=node.left + 1,
            y=node.y - BOX / 2,
            width=width - 2,
            height=BOX,
            rx=14 if node.kind == "kernel" else 4,
            class_=f"node is-{node.kind}",
        ),
        tag(
            "text",
            shortened(node.name, int((width - 20) / 7)),
            x=node.x,
            y=node.y + 4,
            text_anchor="middle",
            class_="strong",
        ),
    )


def _edge(
    edge: tuple[tuple[str, int, bool], int], boxes: dict[str | int, GraphBox]
) -> Iterator[Html]:
    (name, number, is_write), count = edge
    actor, buffer = boxes.get(name), boxes.get(number)
    if actor is None or buffer is None:
        return
    shift = -5 if is_write else 5  # a read and a write of the same two lie beside each other
    if actor.kind == "host":
        start, end = (actor.right, actor.y), (buffer.left, buffer.y)
    else:
        start, end = (actor.left, actor.y), (buffer.right, buffer.y)
    if not is_write:
        start, end = end, start
    kind = "at-device" if actor.kind == "kernel" else "at-host"
    about = f"{name} {'writes' if is_write else 'reads'} {buffer.name}, {count:,} times"
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
