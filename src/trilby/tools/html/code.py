"""Source code with colours."""

from functools import cache
from typing import Any, Literal, TypeAlias

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType] -- its options have no types

from trilby.tools.html.elements import Html, tag

Language: TypeAlias = Literal["python", "c", "text"]


def coloured(text: str, language: Language) -> Html:
    """Code in the colours of the stylesheet, without anything around it."""
    if language == "text":
        return tag("span", text)
    formatter: HtmlFormatter[str] = HtmlFormatter(nowrap=True)
    return Html(highlight(text, _lexer(language), formatter).rstrip("\n"))


def block(text: str, language: Language) -> Html:
    """A block of code."""
    return tag("pre", tag("code", coloured(text, language)))


def changes(text: str) -> Html:
    """The text of a model whose new lines have a `+` in the margin, and those gone a `-`."""
    kinds = {"+": "added", "-": "removed"}
    parts: list[str] = []
    for line in text.split("\n"):
        change = kinds.get(line[:1])
        parts.append(tag("span", line or " ", class_=change or "same"))
        if change is None:  # one that has changed is drawn as a block, which ends by itself
            parts.append("\n")
    return tag("pre", *parts)


@cache
def _lexer(language: Language) -> Any:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)
