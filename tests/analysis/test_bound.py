"""Which variables surely have a value, and where."""

import pytest

from trilby.analysis.bound import bound_before, sure_loads
from trilby.model.op import walk
from trilby.model.ops.core import VarLoad
from trilby.model.ops.host import HostValue
from trilby.model.parse import parse

HEAD = """\
compute @"f" (%0 : ComputeContext, %c : object) -> object {
  %1 : Var<object> = var %c @"c"
  %x : Var<object> = var @"x"
"""

BEHIND = {
    "a store": ("var.store %x %c", True),
    "nothing": ("", False),
    "both ways of a branch": ("host.if %c {\nvar.store %x %c\n} {\nvar.store %x %c\n}", True),
    "one way of a branch": ("host.if %c {\nvar.store %x %c\n} {}", False),
    "a branch whose other way returns": (
        "host.if %c {\nvar.store %x %c\n} {\nreturn %c\n}",
        True,
    ),
    "a loop, which may have no turn": (
        'host.for %c @"i" @("i") {\nvar.store %x %c\n} {}',
        False,
    ),
    "a deletion": ('var.store %x %c\nhost.run @"del x" @() @("x")', False),
    "the end of an `except`": (
        'var.store %x %c\nhost.run @"try: f()\\nexcept E as x: pass" @() @("x")',
        False,
    ),
    "a deletion of another name": (
        'var.store %x %c\nhost.run @"x = 1\\ndel y" @() @("x", "y")',
        True,
    ),
    "a load, which would have failed": ("%2 : object = var.load %x", True),
}


@pytest.mark.parametrize(("ops", "is_bound"), BEHIND.values(), ids=list(BEHIND))
def test_a_variable_has_a_value_behind(ops: str, is_bound: bool) -> None:  # noqa: FBT001 -- a parameter of a test
    end = '%8 : object = var.load %x\n%9 : object = host.value @"end" @()\nreturn %9\n}'
    func = parse(f"{HEAD}{ops}\n{end}", {})
    *_, load = (op for op in walk(func.body) if isinstance(op, VarLoad))
    assert (load.value in sure_loads(func)) is is_bound
    assert ("x" in bound_before(func)[load]) is is_bound
    assert "c" in bound_before(func)[load]
    (last,) = (op for op in walk(func.body) if isinstance(op, HostValue))
    assert "x" in bound_before(func)[last]
