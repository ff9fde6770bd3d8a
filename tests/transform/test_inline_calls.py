"""Calls of device functions become copies of their bodies."""

import pytest
from tests.reflect.kernel_cases import analysed, kernel

from trilby.model.text import to_text
from trilby.transform import inline_calls
from trilby.transform.pipelines import Transformed, lower_kernel

SOURCE = """
    @tb.func
    def least(a: i32, b: i32) -> i32:
        if a < b:
            return a
        return b

    @tb.func
    def least_of_three(a: i32, b: i32, c: i32) -> i32:
        return least(least(a, b), c)

    @tb.kernel
    def k(kc: KernelContext, a: S32Array):
        if kc.x > 0:
            a.array[kc.x] = least_of_three(a.array[kc.x], 3, kc.x)
"""


def inlined(source: str) -> Transformed:
    graph = analysed(kernel(source)).graph
    return lower_kernel(Transformed(graph.functions), ["inline_calls"])


def test_each_call_has_a_copy_of_its_own() -> None:
    done = inlined(SOURCE)
    assert [f.name for f in done.original] == ["app.least", "app.least_of_three", "app.k"]
    assert [f.name for f in done.functions] == ["app.k"]
    text = to_text(done.func)
    assert " call " not in text
    assert text.count('inlined @"app.least_of_three"') == 1
    assert text.count('inlined @"app.least"') == 2


def test_a_listing_shows_the_functions_that_are_gone() -> None:
    lines = str(inlined(SOURCE)).splitlines()
    after = lines[lines.index("AFTER inline_calls") + 1 :]
    assert after[0] == '- func @"app.least" (%0 : i32, %1 : i32) -> i32 {'
    new = [line for line in after if line.startswith("+")]
    assert sum('inlined @"app.least_of_three" {' in line for line in new) == 1


def test_a_kernel_without_calls_stays_as_it_is() -> None:
    done = inlined("""
        @tb.kernel
        def k(kc: KernelContext, a: S32Array):
            for i in range(3):
                a.array[kc.x] += i
    """)
    assert done.functions == done.original
    assert not done.steps[0].changed


def test_functions_that_stay_functions_are_in_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline_calls, "DEEPEST", 0)
    done = inlined(SOURCE)
    assert [f.name for f in done.functions] == ["app.least", "app.least_of_three", "app.k"]
    assert not done.steps[0].changed


def test_what_was_reflected_is_not_changed() -> None:
    graph = analysed(kernel(SOURCE)).graph
    before = [to_text(f) for f in graph.functions]
    lower_kernel(Transformed(graph.functions), ["inline_calls", "forward_variables"])
    assert [to_text(f) for f in graph.functions] == before
