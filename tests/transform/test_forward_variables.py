"""Reads of variables become the values that they hold, where these are known."""

import pytest
from tests.reflect.kernel_cases import analysed, kernel

from trilby.model.op import Func, walk
from trilby.model.ops.core import Var, VarLoad, VarStore
from trilby.model.verify import verify
from trilby.transform.forward_variables import forward_variables

HEAD = "@tb.kernel\ndef k(kc: KernelContext, a: S32Array, n: i32):\n"


def forwarded(*lines: str) -> Func:
    func = analysed(kernel(HEAD + "".join(f"    {line}\n" for line in lines))).graph.entry
    made = forward_variables(func)
    verify(made)
    return made


def counts(func: Func) -> list[int]:
    """How many variables there are, how many reads and how many writes of them."""
    ops = list(walk(func.body))
    return [sum(isinstance(op, kind) for op in ops) for kind in (Var, VarLoad, VarStore)]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["x = n", "x = x + 1", "a.array[0] = x"], [0, 0, 0]),
        (["x = n", "if n > 0:", "    a.array[0] = x", "a.array[1] = x"], [0, 0, 0]),
        (["x = n", "if n > 0:", "    x = 2", "a.array[1] = x"], [1, 1, 1]),
        (["x = n", "for i in range(n):", "    x = x + i", "a.array[1] = x"], [1, 2, 1]),
        (["x = n", "for i in range(n):", "    x = i", "    a.array[i] = x"], [0, 0, 0]),
        (["x = n", "for i in range(n):", "    a.array[i] = x", "x = 3"], [0, 0, 0]),
    ],
)
def test_what_is_left_of_variables(lines: list[str], found: list[int]) -> None:
    assert counts(forwarded(*lines)) == found


def test_a_function_without_variables_stays_as_it_is() -> None:
    func = analysed(kernel(HEAD + "    a.array[kc.x] = n\n")).graph.entry
    assert forward_variables(func) is func
