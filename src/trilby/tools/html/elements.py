"""HTML from Python: everything is escaped that is not HTML already."""

from collections.abc import Iterable
from html import escape

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
    return Html("".join(_html(part) for part in parts if part is not None))


def _html(part: object) -> str:
    return part if isinstance(part, Html) else escape(_plain(part), quote=False)


def _plain(value: object) -> str:
    """Numbers as short as can be: positions in a drawing need no more than a tenth.

    What has no bytes (parts of file names that are no UTF-8) is written with a backslash.
    """
    if isinstance(value, float):
        return f"{value:.1f}".removesuffix(".0")
    return str(value).encode("utf-8", "backslashreplace").decode()


def table(columns: Iterable[str], rows: Iterable[Iterable[object]], class_: str = "") -> Html:
    """A table; a column whose name begins with `#` has numbers, a cell may be HTML."""
    names = list(columns)
    kinds = ["number" if name.startswith("#") else None for name in names]
    heads = (
        tag("th", name.removeprefix("#"), class_=kind, scope="col")
        for name, kind in zip(names, kinds, strict=True)
    )
    body = (
        tag("tr", *(tag("td", cell, class_=k) for cell, k in zip(row, kinds, strict=True)))
        for row in rows
    )
    inner = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *body))
    return tag("div", inner, class_=f"scroll {class_}".strip())


def section(title: str, *content: object, note: str = "", id_: str | None = None) -> Html:
    """A part of a page under a heading."""
    about = tag("p", note, class_="note") if note else None
    return tag("section", tag("h2", title), about, *content, id=id_)


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
