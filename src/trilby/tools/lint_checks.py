"""For tests of projects that use Trilby: lints as assertions.

from trilby.tools.lint_checks import assert_clean

def test_my_kernel() -> None:
assert_clean(my_kernel)

@pytest.mark.parametrize("function", functions_of(my_module), ids=str)
def test_all(function) -> None:
assert_clean(function)
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from trilby.analysis.linting.findings import Report
from trilby.data.ndrange import NDRange
from trilby.reflect.functions import Compute, Kernel
from trilby.runtime.linting import lint
from trilby.tools.lint import lintable


def assert_clean(
    function: Kernel[...] | Compute[..., Any],
    *,
    range: int | tuple[int, ...] | NDRange | None = None,  # noqa: A002 -- as in `tb.lint`
    allow: Sequence[str] = (),
) -> Report:
    """Fail with the report where a lint finds anything but hints; `allow` are ids to pass over."""
    __tracebackhide__ = True
    report = lint(function, range=range)
    left = [f for f in report.findings if f.severity != "hint" and f.lint not in allow]
    if left:
        raise AssertionError(f"{report}\n({len(left)} findings that are not allowed)")
    return report


def functions_of(module: ModuleType) -> list[Kernel[...] | Compute[..., Any]]:
    """What `trilby lint` would look at in a module."""
    return lintable(module)
