import ast

import pytest

from trilby.model.host_code import HostCode, filled, in_place, names_in
from trilby.syntax import parsed


def shown(code: HostCode) -> str:
    """The expression of some code, with a name for each operand."""
    names = [ast.Name(f"v{number}", ast.Load()) for number in range(code.operands)]
    return ast.unparse(filled(code.expression, names))


def test_operands_are_put_into_the_tree() -> None:
    assert shown(HostCode("{0} + f({1}, {{2: 3}})", 2)) == "v0 + f(v1, {2: 3})"
    assert shown(HostCode("f'{{{0}:>4}} {{{{'", 1)) == "f'{v0:>4} {{'"


def test_filling_leaves_the_tree_as_it_was() -> None:
    code = HostCode("g({0})", 1)
    assert (shown(code), shown(code)) == ("g(v0)", "g(v0)")
    assert code.expression is code.expression


def test_text_without_operands_is_taken_as_it_is() -> None:
    assert shown(HostCode("{0: '{1}'}")) == "{0: '{1}'}"


def test_slices_are_expressions() -> None:
    assert isinstance(HostCode("1:{0}", 1).expression, ast.Slice)
    assert isinstance(HostCode("...").expression, ast.Constant)


def test_statements_and_targets() -> None:
    body = HostCode("x = f(y)\ndel z").statements
    assert [type(one) for one in body] == [ast.Assign, ast.Delete]
    assert ast.unparse(HostCode("a, (b, *c)").target) == "(a, (b, *c))"


@pytest.mark.parametrize("sign", ["+", "-", "**", "//", "<<", "@", "|"])
def test_a_change_in_place_has_a_sign(sign: str) -> None:
    assert HostCode(f"{{0}} {sign}= {{1}}", 2).sign == sign
    assert in_place(sign) == HostCode(f"{{0}} {sign}= {{1}}", 2)


@pytest.mark.parametrize("text", ["{0} == {1}", "{1} += {0}", "{0} += {1} + 1"])
def test_other_code_has_none(text: str) -> None:
    assert HostCode(text, 2).sign == ""


def test_names() -> None:
    names = HostCode("x = (y := a.b) + sum(i for i in {0})\ndel c", 1).names
    assert set(names.reads) == {"a", "sum", "i"}
    assert set(names.sets) == {"x", "y", "c"}
    assert (names.wild, names.deleted) == ({"y"}, {"c"})
    assert names.words >= {"x", "y", "a", "sum", "i", "c"}


def test_names_of_inner_functions() -> None:
    found = names_in(parsed("def f(p):\n nonlocal n\n n = p\ntry: pass\nexcept E as e: pass"))
    assert (found.nonlocals, found.wild, found.deleted) == ({"n"}, {"n"}, {"e"})
    assert set(found.sets) == {"f", "n", "e"}
