import pytest
from tests.model.samples import ALL_CONTROL, TYPES

from trilby.data.dtypes import I32
from trilby.model.op import Block, Op, blocks, operands, roles, walk
from trilby.model.ops import OPS
from trilby.model.ops.arith import Add
from trilby.model.ops.control import Break, If
from trilby.model.ops.core import Call, Constant
from trilby.model.ops.host import HostFor
from trilby.model.ops.memory import Store
from trilby.model.parse import parse
from trilby.model.value import Value

every_op = pytest.mark.parametrize("kind", OPS.values(), ids=list(OPS))


@every_op
def test_every_op_explains_itself_and_is_found_by_its_mnemonic(kind: type[Op]) -> None:
    assert kind.__dict__["__doc__"], "a docstring of its own, not an inherited one"
    assert OPS[kind.mnemonic] is kind


@every_op
def test_every_op_has_at_most_one_field_of_many_operands(kind: type[Op]) -> None:
    assert [role for _, role in roles(kind)].count("operands") <= 1


@every_op
def test_ops_are_compared_by_identity(kind: type[Op]) -> None:
    assert kind.__eq__ is object.__eq__
    assert kind.__hash__ is object.__hash__


def test_roles_follow_from_the_annotations() -> None:
    assert roles(Store) == (
        ("base", "operand"),
        ("indices", "operands"),
        ("stored", "operand"),
        ("path", "attribute"),
    )
    assert roles(HostFor) == (
        ("iterable", "operand"),
        ("body", "block"),
        ("otherwise", "block"),
        ("target", "attribute"),
        ("sets", "attribute"),
    )


def test_an_op_inherits_the_roles_of_its_shape() -> None:
    assert roles(Add) == (("left", "operand"), ("right", "operand"))


def test_operands_come_in_the_order_of_the_fields() -> None:
    base, i, j, stored = (Value(I32) for _ in range(4))
    assert list(operands(Store(base, (i, j), stored, "[]"))) == [base, i, j, stored]
    assert list(operands(Break())) == []


def test_blocks_are_those_directly_within() -> None:
    inner = If(Value(I32), Block(), Block())
    then, otherwise = Block((inner,)), Block()
    assert list(blocks(If(Value(I32), then, otherwise))) == [then, otherwise]
    assert list(blocks(Break())) == []


def test_walk_gives_outer_ops_before_inner_ones() -> None:
    func = parse(ALL_CONTROL, TYPES)
    found = [op.mnemonic for op in walk(func.body)]
    assert found[:7] == ["extent", "constant", "constant", "var", "for", "lt", "and_then"]
    assert found[7:12] == ["ge", "yield", "if", "continue", "load"]
    assert found[-2:] == ["break", "return"]
    assert len(found) == 24


def test_the_value_of_an_op_is_its_result() -> None:
    result = Value(I32)
    assert Constant(1, result=result).value is result


def test_asking_for_a_result_that_is_not_there_names_the_op() -> None:
    with pytest.raises(TypeError, match="`call` has no result"):
        _ = Call((), "f").value
