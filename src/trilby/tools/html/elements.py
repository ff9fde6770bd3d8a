"""HTML from Python: everything is escaped that is not HTML already."""

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from itertools import islice
from pathlib import Path

from trilby.version import VERSION

_EMPTY = {"br", "circle", "col", "line", "meta", "path", "rect"}
"""Elements that have no content."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *content: object, **attributes: object) -> Html:
    """An element: `tag("td", 12, class_="number")`.

    An underscore in an attribute is a hyphen, one at its end is for Python. None and False leave
    an attribute out.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is not None and value is not False:
            shown = "" if value is True else f'="{escape(_plain(value))}"'
            parts.append(key.rstrip("_").replace("_", "-") + shown)
    opening = " ".join(parts)
    if name in _EMPTY:
        return Html(f"<{opening}/>")
    return Html(f"<{opening}>{joined(content)}</{name}>")


def joined(parts: Iterable[object]) -> Html:
    """Elements and texts one after the other; None is nothing."""
    shown = (
        part if isinstance(part, Html) else escape(_plain(part), quote=False)
        for part in parts
        if part is not None
    )
    return Html("".join(shown))


def _plain(value: object) -> str:
    """Numbers as short as can be: positions in a drawing need no more than a tenth.

    What has no bytes (parts of file names that are no UTF-8) is written with a backslash.
    """
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return str(value).encode("utf-8", "backslashreplace").decode()


def table(names: Sequence[str], rows: Iterable[Iterable[object]], most: int | None = None) -> Html:
    """A table; a column whose name begins with `#` has numbers, a cell may be HTML.

    Of more rows than `most` the first are shown, and how many there are beyond.
    """
    found = iter(rows)
    shown = list(islice(found, most))
    more = sum(1 for _ in found)
    kinds = ["number" if name.startswith("#") else None for name in names]
    heads = (
        tag("th", name.removeprefix("#"), class_=kind, scope="col")
        for name, kind in zip(names, kinds, strict=True)
    )
    body = (
        tag("tr", *(tag("td", cell, class_=k) for cell, k in zip(row, kinds, strict=True)))
        for row in shown
    )
    inner = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *body))
    rest = tag("p", f"and {counted(more, 'row')} more", class_="note") if more else None
    return joined([tag("div", inner, class_="scroll"), rest])


def section(title: str, *content: object, note: str = "", id_: str | None = None) -> Html:
    """A part of a page under a heading."""
    about = tag("p", note, class_="note") if note else None
    return tag("section", tag("h2", title), about, *content, id=id_)


def svg(
    kind: str, label: str, box: tuple[float, float, float], *parts: object, **style: str
) -> Html:
    """A drawing: its class, what it shows, and its left edge, width and height."""
    left, width, height = box
    view = f"{left} 0 {width} {height}"
    return tag("svg", *parts, viewBox=view, **style, role="img", aria_label=label, class_=kind)


def shortened(text: str, most: int) -> str:
    """A text of no more letters than that."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def figures(pairs: Iterable[tuple[str, str, str]]) -> Html:
    """Big numbers in a row, each with what it is and a small remark."""
    cards = (
        tag(
            "div",
            tag("div", name, class_="label"),
            tag("div", number, class_="big"),
            tag("div", remark, class_="remark"),
            class_="figure",
        )
        for name, number, remark in pairs
    )
    return tag("div", *cards, class_="figures")


# --------------------------------------------------------------------------------------------- page
# A whole page, with its stylesheet inside of it.


def page(title: str, subtitle: str, body: Iterable[object]) -> str:
    """The text of a file that a browser shows, light or dark, without asking for anything."""
    head = joined(
        [
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", f"{title} · Trilby"),
            tag("style", stylesheet()),
        ]
    )
    header = tag("header", tag("h1", title), tag("p", subtitle, class_="subtitle"))
    footer = tag("footer", f"Trilby {VERSION}")
    inner = tag("main", header, *body, footer)
    html = tag("html", tag("head", head), tag("body", inner, class_="trilby"), lang="en")
    return f"<!doctype html>\n{html}\n"


@cache
def stylesheet() -> Html:
    """The one stylesheet of all pages and of notebooks."""
    return Html(Path(__file__).with_name("style.css").read_text("utf-8"))


# ------------------------------------------------------------------------------------------ numbers
# Numbers for people.


def bytes_text(nbytes: int) -> str:
    """`1.5 MB`; what is small is written out."""
    if nbytes < 10_000:
        return f"{nbytes:,} B"
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= 0.9995 * size:
            number = nbytes / size
            decimals = 2 if number < 9.995 else 1 if number < 99.95 else 0
            return f"{number:,.{decimals}f} {unit}"
    return f"{nbytes:,} B"


def ratio_text(ratio: float) -> str:
    """`1.00×`; what had not to move at all has no ratio."""
    return "∞" if ratio == float("inf") else f"{ratio:.2f}×"


def counted(count: int, what: str, several: str = "") -> str:
    """`1 copy`, `2 copies`."""
    return f"{count:,} {what if count == 1 else several or what + 's'}"
