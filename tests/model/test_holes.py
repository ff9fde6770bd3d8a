import pytest

from trilby.model.holes import identifiers, in_place_sign, marked, operand_number


def test_operands_get_names() -> None:
    text = marked("{0} + f({1}, {{2: 3}})", 2)
    assert text == "(_trilby_operand_0_) + f((_trilby_operand_1_), {2: 3})"
    assert [operand_number(name) for name in ("_trilby_operand_12_", "x", "_trilby_operand_")] == [
        12,
        None,
        None,
    ]


def test_text_without_operands_is_taken_as_it_is() -> None:
    assert marked("{0: '{1}'}", 0) == "{0: '{1}'}"


@pytest.mark.parametrize("sign", ["+", "-", "**", "//", "<<", "@", "|"])
def test_a_change_in_place_has_a_sign(sign: str) -> None:
    assert in_place_sign(f"{{0}} {sign}= {{1}}") == sign


@pytest.mark.parametrize("text", ["{0} == {1}", "{1} += {0}", "{0} += {1} + 1", "x += 1", ""])
def test_other_texts_have_none(text: str) -> None:
    assert in_place_sign(text) == ""


def test_words() -> None:
    assert identifiers("del a[b.c], 12x # naïve") == {"del", "a", "b", "c", "x", "naïve"}
