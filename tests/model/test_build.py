from trilby.data.dtypes import I32
from trilby.model.build import Builder
from trilby.model.op import Block
from trilby.model.ops.arith import Mul
from trilby.model.ops.control import If
from trilby.model.ops.core import Constant, Return
from trilby.model.value import Value
from trilby.source import NOWHERE, Location

HERE, THERE = Location("app.py", 3), Location("app.py", 4)


def test_ops_stand_in_the_order_in_which_they_were_made() -> None:
    b = Builder()
    two = b.value(Constant, 2, type=I32)
    four = b.value(Mul, two, two, type=I32, hint="four")
    b.run(Return, (four,))
    constant, mul, end = b.block().ops
    assert isinstance(constant, Constant)
    assert constant.literal == 2
    assert isinstance(mul, Mul)
    assert mul.left is mul.right is constant.value
    assert (four.type, four.hint) == (I32, "four")
    assert isinstance(end, Return)
    assert end.returned == (four,)
    assert end.result is None


def test_a_block_is_frozen_when_it_is_asked_for() -> None:
    b = Builder()
    b.run(Return)
    before = b.block()
    b.run(Return)
    assert (len(before.ops), len(b.block().ops), len(b)) == (1, 2, 2)


def test_a_nested_builder_has_ops_of_its_own() -> None:
    b = Builder(HERE)
    condition, param = Value(I32), Value(I32)
    inner = b.nested()
    inner.run(Return)
    op = b.emit(If(condition, inner.block([param]), Block()))
    assert b.block().ops == (op,)
    assert op.then.params == (param,)
    assert op.then.ops[0].location == HERE


def test_an_op_can_be_put_before_others() -> None:
    b = Builder()
    last = b.emit(Return())
    first = b.insert(0, Constant(1, result=Value(I32)))
    assert b.block().ops == (first, last)


def test_ops_have_the_location_that_is_given_or_else_the_builders() -> None:
    b = Builder()
    b.run(Return)
    b.location = HERE
    b.value(Constant, 1, type=I32)
    b.value(Constant, 1, type=I32, location=THERE)
    b.run(Return, location=THERE)
    assert [op.location for op in b.block().ops] == [NOWHERE, HERE, THERE, THERE]
