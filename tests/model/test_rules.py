import pytest

from trilby.model.op import Op
from trilby.model.ops import OPS
from trilby.model.rules import RULES


@pytest.mark.parametrize("kind", OPS.values(), ids=list(OPS))
def test_every_op_has_a_rule(kind: type[Op]) -> None:
    assert any(base in RULES for base in kind.__mro__)
