"""Bytes that moved, buffer by buffer, beside the least that had to."""

from collections.abc import Iterator, Sequence

from trilby.tools.html.elements import Html, bytes_text, ratio_text, tag
from trilby.tools.movements import Movement

WIDTH, LEFT, RIGHT = 1110, 150, 210
ROW, BAR = 34, 18

MOST_BUFFERS = 24


def bytes_svg(rows: Sequence[Movement], names: dict[int, str]) -> Html:
    """A bar for each buffer, longest first; a line across it is the least in whole buffers."""
    shown = sorted(rows, key=lambda row: -max(row.moved, row.whole.nbytes))[:MOST_BUFFERS]
    longest = max([1, *(max(row.moved, row.whole.nbytes) for row in shown)])
    parts = [
        part
        for number, row in enumerate(shown)
        for part in _bar(row, names.get(row.number, row.name), number * ROW, longest)
    ]
    height = max(ROW * len(shown), 1)
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label="bytes per buffer",
        class_="bytes",
    )


def _bar(row: Movement, name: str, y: int, longest: int) -> Iterator[Html]:
    scale = (WIDTH - LEFT - RIGHT) / longest
    up, down = row.bytes_up * scale, row.bytes_down * scale
    least = LEFT + row.whole.nbytes * scale
    top, middle = y + 6, y + 6 + BAR / 2 + 4
    short = name if len(name) <= 20 else f"{name[:19]}…"
    yield tag("text", short, x=0, y=middle, class_="strong")
    shapes = [
        tag("rect", x=LEFT, y=top, width=up, height=BAR, rx=2, class_="copy-up"),
        tag("rect", x=LEFT + up, y=top, width=down, height=BAR, rx=2, class_="copy-down"),
        tag("line", x1=least, x2=least, y1=top - 4, y2=top + BAR + 4, class_="least"),
    ]
    about = (
        f"{name}, {bytes_text(row.nbytes)}\n"
        f"to the device: {row.bytes_up:,} bytes in {row.copies_up}\n"
        f"to the host: {row.bytes_down:,} bytes in {row.copies_down}\n"
        f"the least in whole buffers: {row.whole.nbytes:,} bytes\n"
        f"the least in ranges: {row.ranged.nbytes:,} bytes"
    )
    yield tag("g", tag("title", about), *shapes)
    text = f"{bytes_text(row.moved)} · least {bytes_text(row.whole.nbytes)}"
    ratio = f" · {ratio_text(row.ratio)}"
    yield tag("text", text + ratio, x=max(LEFT + up + down, least) + 10, y=middle)
