import json
import math

import pytest
from tests.model.samples import ALL_CONTROL, RESULT, RESULT_TABLE, S32_ARRAY, SQUARE_KERNEL

from trilby.data.dtypes import BOOL, F32, F64, I32, ScalarType
from trilby.data.schema import ArrayType, NDArrayType
from trilby.errors import ModelError
from trilby.model.build import Builder
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func
from trilby.model.ops.arith import Ge, Gt, Lt
from trilby.model.ops.control import AndThen, Break, Continue, For, If, Ternary, While
from trilby.model.ops.core import Call, Constant, Return, Var, VarLoad, VarStore, Yield
from trilby.model.ops.grid import Grid
from trilby.model.ops.host import HostFor, HostRun
from trilby.model.ops.memory import AtomicUpdate, Extent, Load, Place, Store
from trilby.model.text import is_buffer_access, op_text, to_text
from trilby.model.value import KERNEL_CONTEXT, NONE, OBJECT, RefType, Value, VarType
from trilby.source import Location

APP = "/home/ada/app.py"


def squares() -> Func:
    kc, s32 = Value(KERNEL_CONTEXT, "kc"), Value(S32_ARRAY, "s32")
    b = Builder(Location(APP, 12, 4, 12, 47))
    x = b.value(Grid, kc, "x", type=I32, location=Location(APP, 12, 14, 12, 18))
    old = b.value(Load, s32, (x,), "array[]", type=I32)
    new = b.value(Call, (old,), "squares.square", type=I32, location=Location("lib.py", 3))
    b.run(Store, s32, (x,), new, "array[]")
    b.emit(Return())
    place = Location(APP, 10, 0, 12, 47)
    return Func("squares.square_kernel", (kc, s32), NONE, b.block(), "kernel", place)


def only(*ops: Builder) -> list[str]:
    """The lines between the braces of a function that holds the ops of a builder."""
    (b,) = ops
    return to_text(Func("f", (), NONE, b.block())).splitlines()[1:-1]


def test_a_kernel_reads_as_in_babylon() -> None:
    assert to_text(squares()) == SQUARE_KERNEL


def test_locations_are_added_when_asked_for_and_name_a_file_only_where_it_differs() -> None:
    assert (
        to_text(squares(), locations=True)
        == """\
kernel @"squares.square_kernel" (%0 : KernelContext, %1 : S32Array) -> None \
loc("/home/ada/app.py" 10:0-12:47) {
  %2 : i32 = grid %0 @"x" loc(12:14-12:18)
! %3 : i32 = load %1 %2 @"array[]" loc(12:4-12:47)
  %4 : i32 = call %3 @"squares.square" loc("lib.py" 3:0-0:0)
! store %1 %2 %4 @"array[]" loc(12:4-12:47)
  return
}"""
    )


def control_model() -> Func:
    kc, a, n = Value(KERNEL_CONTEXT), Value(NDArrayType(F32, 2)), Value(I32)
    b = Builder()
    size = b.value(Extent, a, 1, type=I32)
    zero, one = b.value(Constant, 0, type=I32), b.value(Constant, 1, type=I32)
    total = b.value(Var, (), "sum", type=VarType(F32))
    b.run(For, zero, size, one, for_body(a, n, zero, total))
    test = b.nested()
    content = test.value(VarLoad, total, type=F32)
    small = test.value(Constant, 1e-05, type=F32)
    test.run(Yield, test.value(Gt, content, small, type=BOOL))
    b.run(While, test.block(), Block((Break(),)))
    b.run(Return)
    return Func("all_control", (kc, a, n), NONE, b.block(), "kernel")


def for_body(a: Value, n: Value, zero: Value, total: Value) -> Block:
    b = Builder()
    i = Value(I32)
    below = b.value(Lt, i, n, type=BOOL)
    rest = b.nested()
    rest.run(Yield, rest.value(Ge, i, zero, type=BOOL))
    inside = b.value(AndThen, below, rest.block(), type=BOOL)
    b.run(If, inside, Block((Continue(),)), Block())
    loaded = b.value(Load, a, (zero, i), "[]", type=F32)
    other = b.nested()
    other.run(Yield, other.value(Constant, -0.5, type=F32))
    chosen = b.value(Ternary, inside, Block((Yield(loaded),)), other.block(), type=F32)
    b.run(VarStore, total, chosen)
    return b.block([i])


def test_blocks_are_indented_and_an_empty_one_is_a_pair_of_braces() -> None:
    assert to_text(control_model()) == ALL_CONTROL


def test_blocks_come_last_whatever_the_order_of_the_fields() -> None:
    b = Builder()
    items = b.value(Constant, 1, type=I32)
    b.run(HostFor, items, Block((Break(),)), Block(), "i, j", ("i", "j"))
    assert only(b)[1:] == [
        '  host.for %0 @"i, j" @("i", "j") {',
        "    break",
        "  } {}",
    ]


def test_a_block_without_ops_shows_its_parameters() -> None:
    b = Builder()
    n = b.value(Constant, 1, type=I32)
    b.run(For, n, n, n, Block((), (Value(I32),)))
    assert only(b)[1] == "  for %0 %0 %0 (%1 : i32) {}"


@pytest.mark.parametrize(
    ("literal", "of", "text"),
    [
        (1, I32, "1"),
        (-1, I32, "-1"),
        (True, BOOL, "True"),
        (1.0, F64, "1.0"),
        (-0.0, F64, "-0.0"),
        (0.1, F64, "0.1"),
        (5e-324, F64, "5e-324"),
        (1e300, F64, "1e+300"),
        (math.inf, F64, "inf"),
        (-math.inf, F64, "-inf"),
        (math.nan, F64, "nan"),
    ],
)
def test_numbers_are_exact_and_show_their_type(
    literal: bool | int | float,  # noqa: FBT001, PYI041 -- the three types of a literal
    of: ScalarType,
    text: str,
) -> None:
    b = Builder()
    b.value(Constant, literal, type=of)
    assert only(b) == [f"  %0 : {of} = constant @{text}"]


def test_text_is_quoted_as_in_json_on_one_line() -> None:
    b = Builder()
    b.run(HostRun, HostCode('if ok:\n  print("½")'), (), ("a",))
    assert only(b) == ['  host.run @"if ok:\\n  print(\\"½\\")" @() @("a")']


def test_only_accesses_to_buffers_are_marked() -> None:
    index = Value(I32)
    nd, ref = Value(NDArrayType(I32, 1)), Value(RefType(RESULT))
    tile, table = Value(ArrayType(I32, (16,))), Value(RESULT_TABLE)
    assert is_buffer_access(Load(nd, (index,), "[]", result=Value(I32)))
    assert is_buffer_access(Store(ref, (), index, "x"))
    assert is_buffer_access(AtomicUpdate(table, (), index, "count", "add", result=Value(I32)))
    assert not is_buffer_access(Load(tile, (index,), "[]", result=Value(I32)))
    assert not is_buffer_access(Place(table, (index,), "result[]", result=Value(ref.type)))
    assert not is_buffer_access(Extent(nd, 0, result=Value(I32)))


def test_hints_do_not_change_the_text() -> None:
    named, nameless = Value(OBJECT, "total"), Value(OBJECT)
    texts = {to_text(Func("f", (value,), NONE, Block())) for value in (named, nameless)}
    assert texts == {'func @"f" (%0 : object) -> None {}'}


def test_one_op_can_be_shown_by_itself() -> None:
    func = squares()
    assert op_text(func, func.body.ops[1]) == '%3 : i32 = load %1 %2 @"array[]"'


def test_a_broken_model_can_still_be_printed() -> None:
    body = Block((Yield(Value(I32)),))
    assert to_text(Func("f", (), NONE, body)).splitlines()[1] == "  yield %0"


def test_an_attribute_that_has_no_text_is_refused() -> None:
    b = Builder()
    b.run(HostRun, ["code"], (), ())
    with pytest.raises(ModelError, match=r"of type `list` has no text[\s\S]*help: use str"):
        only(b)


def test_texts_in_ops_are_json() -> None:
    text = "".join(map(chr, range(300))) + "\u2028’ 🎩"
    shown = to_text(Func("f", (), NONE, Block((HostRun(HostCode(text), (), ()),))))
    (line,) = (line for line in shown.split("\n") if "host.run" in line)
    assert line.isprintable()
    literal = line[line.index('@"') + 1 : line.index('" @()') + 1]
    assert json.loads(literal) == text
    assert "’ 🎩" in literal
