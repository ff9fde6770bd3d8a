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
    return tag("pre", *(_model_line(line, kinds.get(line[:1])) for line in text.split("\n")))


def _model_line(line: str, change: str | None) -> Html:
    """A line; one that has changed is drawn as a block, which ends by itself."""
    shown = tag("span", line or " ", class_=change or "same")
    return shown if change else Html(f"{shown}\n")


@cache
def _lexer(language: Language) -> Any:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)
