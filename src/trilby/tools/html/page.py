"""A whole page, with its stylesheet inside of it."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from trilby.tools.html.elements import Html, joined, tag
from trilby.version import VERSION


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
