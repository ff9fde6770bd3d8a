"""Which functions wait, and which kernels depend on whole groups."""

import pytest
from tests.reflect.kernel_cases import analysed, indented, kernel

from trilby.analysis.reach import KernelGraph, waiting_functions, works_in_groups

HELPERS = """
@tb.func
def plain(n: i32) -> i32:
    return n + 1

@tb.func
def waits(kc: KernelContext) -> None:
    if kc.max_x > 1:
        for i in range(3):
            kc.barrier()

@tb.func
def waits_later(kc: KernelContext) -> i32:
    waits(kc)
    return plain(1)

"""


def graph(lines: str) -> KernelGraph:
    source = f"{HELPERS}@tb.kernel\ndef k(kc: KernelContext):\n{indented(lines)}\n"
    return analysed(kernel(source)).graph


@pytest.mark.parametrize(
    ("lines", "waiting", "in_groups"),
    [
        ("x = plain(1)", set[str](), False),
        ("kc.barrier()", {"app.k"}, True),
        (
            "if kc.x > 1:\n    x = 1 if waits_later(kc) > 0 else 2",
            {"k", "waits_later", "waits"},
            True,
        ),
        ("waits(kc)\nx = plain(2)", {"k", "waits"}, True),
        ("s = tb.local(f32, 4)", set[str](), True),
        ("s = tb.private(f32, 4)", set[str](), False),
    ],
)
def test_who_waits(lines: str, waiting: set[str], in_groups: bool) -> None:  # noqa: FBT001 -- a case
    found = graph(lines)
    names = {name.rpartition(".")[2] for name in waiting_functions(found)}
    assert names == {name.rpartition(".")[2] for name in waiting}
    assert works_in_groups(found) is in_groups
