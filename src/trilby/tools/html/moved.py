"""What moved in a run: a bar for each buffer beside the least that had to, and all copies."""

from collections.abc import Iterable, Iterator, Sequence

from trilby.runtime.ledger import Copy
from trilby.runtime.profile import time_text
from trilby.tools.html.elements import Html, bytes_text, ratio_text, shortened, svg, table, tag
from trilby.tools.movements import Movement, alike

WIDTH, LEFT, RIGHT = 1110, 150, 210
ROW, BAR = 34, 18

MOST_BUFFERS = 24


def bytes_svg(rows: Sequence[Movement]) -> Html:
    """A bar for each buffer, longest first; a line across it is the least in whole buffers."""
    shown = sorted(rows, key=lambda row: -max(row.moved, row.least))[:MOST_BUFFERS]
    scale = (WIDTH - LEFT - RIGHT) / max([1, *(max(row.moved, row.least) for row in shown)])
    parts = [part for n, row in enumerate(shown) for part in _bar(row, n * ROW, scale)]
    return svg("bytes", "bytes per buffer", (0, WIDTH, max(ROW * len(shown), 1)), *parts)


def _bar(row: Movement, y: int, scale: float) -> Iterator[Html]:
    up, down = row.bytes_up * scale, row.bytes_down * scale
    least = LEFT + row.least * scale
    top, middle = y + 6, y + 6 + BAR / 2 + 4
    yield tag("text", shortened(row.name, 20), x=0, y=middle, class_="strong")
    about = (
        f"{row.name}, {bytes_text(row.nbytes)}\n"
        f"to the device: {row.bytes_up:,} bytes in {row.copies_up}\n"
        f"to the host: {row.bytes_down:,} bytes in {row.copies_down}\n"
        f"the least in whole buffers: {row.least:,} bytes\n"
        f"the least in ranges: {row.least_in_ranges:,} bytes"
    )
    yield tag(
        "g",
        tag("title", about),
        tag("rect", x=LEFT, y=top, width=up, height=BAR, rx=2, class_="copy-up"),
        tag("rect", x=LEFT + up, y=top, width=down, height=BAR, rx=2, class_="copy-down"),
        tag("line", x1=least, x2=least, y1=top - 4, y2=top + BAR + 4, class_="least"),
    )
    text = f"{bytes_text(row.moved)} · least {bytes_text(row.least)} · {ratio_text(row.ratio)}"
    yield tag("text", text, x=max(LEFT + up + down, least) + 10, y=middle)


def copies_table(copies: Iterable[Copy], most: int) -> Html:
    """Copies with their reasons; those alike are one row."""
    rows = (
        (
            tag("span", "→ device" if direction == "up" else "← host", class_=direction),
            tag("span", name, class_="name"),
            f"{len(group):,}",
            bytes_text(sum(copy.nbytes for copy in group)),
            time_text(sum(copy.seconds for copy in group)),
            cause,
            tag("span", line, class_="place"),
        )
        for (direction, name, cause, line), group in alike(copies).items()
    )
    return table(("", "buffer", "#copies", "#bytes", "#time", "because", "line"), rows, most)
