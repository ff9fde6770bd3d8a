"""The forms of `print`."""

import pytest

from trilby.model.ops.debug import texts_of


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("", [""]),
        ("text", ["text"]),
        ("{}", ["", ""]),
        ("x = {}, y = {}!", ["x = ", ", y = ", "!"]),
        ("{{}} {}", ["{} ", ""]),
        ("{{{}}}", ["{", "}"]),
        ("100% {}%", ["100% ", "%"]),
    ],
)
def test_what_stands_around_the_numbers(form: str, texts: list[str]) -> None:
    assert texts_of(form) == texts
    numbers = range(len(texts) - 1)
    assert form.format(*numbers) == "".join(
        text + str(number) for text, number in zip(texts, [*numbers, ""], strict=True)
    )
