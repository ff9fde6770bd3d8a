"""Places in memory against ctypes and NumPy, and the errors of indices."""

import ctypes
from typing import Any

import numpy as np
import pytest
from tests.backend.interpreter.kernels import (
    S32_ARRAY,
    at,
    constant,
    function,
    kernel,
    launch,
    s32_array,
)
from tests.messages import message

from trilby.analysis.reach import KernelGraph
from trilby.data.dtypes import BOOL, F32, F64, I8, I16, I32, I64, SCALARS, U8, ScalarType, Type
from trilby.data.schema import ArrayType, BufferType, Field, NDArrayType, PadType, StructType
from trilby.errors import DeviceError, KernelIndexError
from trilby.model.build import Builder
from trilby.model.op import Func
from trilby.model.ops.arith import Add, Cast, Gt, Mul, Sub
from trilby.model.ops.control import Ternary
from trilby.model.ops.core import Call, Return, Var, VarLoad, Yield
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import AtomicUpdate, Extent, Load, Place, Store
from trilby.model.value import NONE, RefType, Value, VarType

# -------------------------------------------------------------------- structs and ctypes

POINT = StructType("Table.Point", (Field("x", F32), Field("y", F64), Field("tag", I8)))
CELL = StructType(
    "Table.Cell",
    (
        Field("kind", U8),
        Field("points", ArrayType(POINT, (3,))),
        Field("grid", ArrayType(I16, (2, 4))),
        Field("gap", PadType(5)),
        Field(
            "number",
            StructType("Table.Either", (Field("whole", I32), Field("real", F32)), is_union=True),
        ),
    ),
)
TABLE = BufferType(
    "Table",
    (
        Field("count", I32, atomic=True),
        Field("length", I32),
        Field("width", I16),
        Field("cell", ArrayType(CELL, ("length",))),
        Field("mean", F64),
        Field("image", ArrayType(I16, ("length", "width"))),
        Field("sparse", ArrayType(I32, (3,), stride=12)),
    ),
)


class CPoint(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_double), ("tag", ctypes.c_int8)]


class CEither(ctypes.Union):
    _fields_ = [("whole", ctypes.c_int32), ("real", ctypes.c_float)]


class CCell(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_uint8),
        ("points", CPoint * 3),
        ("grid", ctypes.c_int16 * 4 * 2),
        ("gap", ctypes.c_uint8 * 5),
        ("number", CEither),
    ]


class CSpread(ctypes.Structure):
    _fields_ = [("value", ctypes.c_int32), ("gap", ctypes.c_int32 * 2)]


LENGTH, WIDTH = 4, 3


class CTable(ctypes.Structure):
    """`Table` with its lengths put in; the alignment of the first array ends the header."""

    _fields_ = [
        ("count", ctypes.c_int32),
        ("length", ctypes.c_int32),
        ("width", ctypes.c_int16),
        ("cell", CCell * LENGTH),
        ("mean", ctypes.c_double),
        ("image", ctypes.c_int16 * WIDTH * LENGTH),
        ("sparse", CSpread * 3),
    ]


def table() -> tuple[Any, Any]:
    """A C struct and its bytes as an array; both are the same memory."""
    content = np.zeros(ctypes.sizeof(CTable), np.uint8)
    struct: Any = CTable.from_buffer(content.data)
    struct.length, struct.width = LENGTH, WIDTH
    return struct, content


def test_the_kernel_writes_where_c_reads() -> None:
    struct, content = table()

    def body(b: Builder, kc: Value, t: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        one, two = constant(b, 1), constant(b, 2)
        b.run(Store, t, (x,), b.value(Cast, x, type=U8), "cell[].kind")
        b.run(Store, t, (x, two), b.value(Cast, x, type=F64), "cell[].points[].y")
        b.run(Store, t, (x, one), b.value(Cast, x, type=I8), "cell[].points[].tag")
        b.run(Store, t, (x, one, two), b.value(Cast, x, type=I16), "cell[].grid[]")
        b.run(Store, t, (x,), constant(b, 0.5, F32), "cell[].number.real")
        b.run(Store, t, (x, two), b.value(Cast, x, type=I16), "image[]")
        b.run(Store, t, (two,), constant(b, 77), "sparse[]")
        b.run(Store, t, (), constant(b, 2.5, F64), "mean")

    launch(kernel({"t": TABLE}, body), LENGTH, content)
    for i in range(LENGTH):
        cell = struct.cell[i]
        assert (cell.kind, cell.points[2].y, cell.points[1].tag) == (i, float(i), i)
        assert cell.grid[1][2] == i
        assert cell.number.whole == 0x3F000000
        assert struct.image[i][2] == i
    assert struct.mean == 2.5
    assert [spread.value for spread in struct.sparse] == [0, 0, 77]
    assert sum(bytes(struct.cell[0].gap)) == 0


def test_the_kernel_reads_where_c_writes() -> None:
    struct, content = table()
    out = np.zeros(LENGTH)
    for i in range(LENGTH):
        struct.cell[i].points[1].y = 1000.0 * i
        struct.cell[i].grid[1][3] = 10 * i
        struct.image[i][0] = i
    struct.mean = 0.25

    def body(b: Builder, kc: Value, t: Value, target: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        zero, one, three = (constant(b, n) for n in (0, 1, 3))
        total = b.value(Load, t, (x, one), "cell[].points[].y", type=F64)
        for indices, path in (((x, one, three), "cell[].grid[]"), ((x, zero), "image[]")):
            part = b.value(Load, t, indices, path, type=I16)
            total = b.value(Add, total, b.value(Cast, part, type=F64), type=F64)
        total = b.value(Add, total, b.value(Load, t, (), "mean", type=F64), type=F64)
        b.run(Store, target, (x,), total, "[]")

    params: dict[str, Type] = {"t": TABLE, "out": NDArrayType(F64, 1)}
    launch(kernel(params, body), LENGTH, content, out)
    assert out.tolist() == [1011.0 * i + 0.25 for i in range(LENGTH)]


@pytest.mark.parametrize("of", SCALARS.values(), ids=str)
def test_every_type_goes_to_memory_and_back(of: ScalarType) -> None:
    source = np.arange(-3, 4).astype(of.numpy)
    if of.is_integer:
        source[0], source[1] = of.lowest, of.highest
    target = np.zeros_like(source)

    def body(b: Builder, kc: Value, a: Value, c: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        b.run(Store, c, (x,), b.value(Load, a, (x,), "[]", type=of), "[]")

    array = NDArrayType(of, 1)
    launch(kernel({"a": array, "b": array}, body), len(source), source, target)
    assert target.tolist() == source.tolist()


def test_any_byte_but_zero_is_a_true_bool() -> None:
    content = np.array([0, 1, 2, 255], np.uint8)
    out = np.zeros(4, np.bool_)

    def body(b: Builder, kc: Value, a: Value, target: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        b.run(Store, target, (x,), b.value(Load, a, (x,), "[]", type=BOOL), "[]")

    array = NDArrayType(BOOL, 1)
    launch(kernel({"a": array, "b": array}, body), 4, content.view(np.bool_), out)
    assert out.tolist() == [False, True, True, True]


# ------------------------------------------------------------------------------ n-d arrays


def test_arrays_of_three_dimensions_are_row_major() -> None:
    shape = (2, 3, 4)
    out = np.zeros(shape, np.int32)

    def body(b: Builder, kc: Value, a: Value) -> None:
        z, y, x = (b.value(Grid, kc, name, type=I32) for name in "zyx")
        total = constant(b, 0)
        for axis, index in enumerate((z, y, x)):
            size = b.value(Extent, a, axis, type=I32)
            total = b.value(Add, b.value(Mul, total, size, type=I32), index, type=I32)
        b.run(Store, a, (z, y, x), total, "[]")

    launch(kernel({"a": NDArrayType(I32, 3)}, body), shape[::-1], out)
    assert np.array_equal(out, np.arange(24).reshape(shape))


# ----------------------------------------------------------------------------- references


def test_references_go_through_variables_ternaries_and_calls() -> None:
    struct, content = table()
    ref = RefType(POINT)

    def move(b: Builder, p: Value, by: Value) -> None:
        old = b.value(Load, p, (), "y", type=F64)
        b.run(Store, p, (), b.value(Add, old, by, type=F64), "y")
        b.run(Return)

    helper = function("move", {"p": ref, "by": F64}, NONE, move)

    def body(b: Builder, kc: Value, t: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        branches: list[Any] = []
        for number in (2, 0):
            inner = Builder()
            point = inner.value(Place, t, (x, constant(inner, number)), "cell[].points[]", type=ref)
            inner.run(Yield, point)
            branches.append(inner.block())
        large = b.value(Gt, x, constant(b, 1), type=BOOL)
        chosen = b.value(Ternary, large, *branches, type=ref)
        var = b.value(Var, (chosen,), "p", type=VarType(ref))
        again = b.value(VarLoad, var, type=ref)
        b.run(Call, (again, b.value(Cast, x, type=F64)), helper.name)

    launch(kernel({"t": TABLE}, body, helper), LENGTH, content)
    moved = [[point.y for point in cell.points] for cell in struct.cell]
    assert moved == [[0, 0, 0], [1, 0, 0], [0, 0, 2], [0, 0, 3]]


def test_a_reference_leads_to_arrays_inside_its_struct() -> None:
    struct, content = table()

    def body(b: Builder, kc: Value, t: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        cell = b.value(Place, t, (x,), "cell[]", type=RefType(CELL), hint="cell")
        one = constant(b, 1)
        b.run(Store, cell, (one, x), constant(b, 5, I16), "grid[]")

    launch(kernel({"t": TABLE}, body), LENGTH, content)
    assert [list(cell.grid[1]) for cell in struct.cell] == np.diag([5] * 4).tolist()


# -------------------------------------------------------------------------------- atomics


def counting(of: ScalarType, path: str, holder: Type) -> KernelGraph:
    """Each work item adds its number + 1 and writes down what was there before."""

    def body(b: Builder, kc: Value, a: Value, out: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        step = b.value(Cast, b.value(Add, x, constant(b, 1), type=I32), type=of)
        indices = (constant(b, 0),) if path.endswith("[]") else ()
        old = b.value(AtomicUpdate, a, indices, step, path, "add", type=of)
        b.run(Store, out, (x,), old, "[]")
        b.run(AtomicUpdate, a, indices, constant(b, 0, of), path, "add")

    return kernel({"a": holder, "out": NDArrayType(of, 1)}, body)


@pytest.mark.parametrize("of", [t for t in SCALARS.values() if t is not BOOL], ids=str)
def test_an_atomic_addition_gives_the_old_number(of: ScalarType) -> None:
    place, out = np.array([10], of.numpy), np.zeros(6, of.numpy)
    launch(counting(of, "[]", NDArrayType(of, 1)), 6, place, out)
    assert out.tolist() == [10, 11, 13, 16, 20, 25]
    assert place.tolist() == [31]


def test_an_atomic_addition_wraps() -> None:
    place, out = np.array([126], np.int8), np.zeros(2, np.int8)
    launch(counting(I8, "[]", NDArrayType(I8, 1)), 2, place, out)
    assert out.tolist() == [126, 127]
    assert place.tolist() == [-127]


def test_an_atomic_field_of_a_buffer_counts() -> None:
    struct, content = table()
    out = np.zeros(3, np.int32)
    launch(counting(I32, "count", TABLE), 3, content, out)
    assert (out.tolist(), struct.count) == ([0, 1, 3], 6)


# ------------------------------------------------------------------------------ index errors


def shifted(by: int) -> KernelGraph:
    """`s32.array[kc.x + by] = 1`."""

    def body(b: Builder, kc: Value, s32: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        index = b.value(Add, x, constant(b, by), type=I32)
        b.run(Store, s32, (index,), constant(b, 1), "array[]", location=at(12))

    return kernel({"s32": S32_ARRAY}, body)


def test_an_index_beyond_the_end_names_array_index_size_item_and_line() -> None:
    content = s32_array(0, 0, 0)
    with pytest.raises(KernelIndexError) as caught:
        launch(shifted(1), 3, content)
    assert str(caught.value) == (
        "app.py:12: index 3 is outside `s32.array`, whose size is 3, in work item (2, 0, 0)\n"
        "  help: launch no more work items than there are elements, or guard the access with `if`"
    )
    assert isinstance(caught.value, IndexError)
    assert content.tolist() == [3, 0, 0, 0]


def test_a_negative_index_does_not_count_from_the_end() -> None:
    with pytest.raises(KernelIndexError) as caught:
        launch(shifted(-1), 3, s32_array(0, 0, 0))
    assert str(caught.value) == (
        "app.py:12: index -1 is outside `s32.array`, whose size is 3, in work item (0, 0, 0)\n"
        "  help: indices count from 0, and negative ones do not count from the end in a kernel"
    )


def test_an_error_shows_the_line_of_the_source_with_a_caret(tmp_path: Any) -> None:
    file = tmp_path / "app.py"
    file.write_text("def k(kc, s32):\n    s32.array[kc.x] = 1\n")
    place = at(2, 4, 19)

    def body(b: Builder, kc: Value, s32: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        location = type(place)(str(file), 2, 4, 2, 19)
        b.run(Store, s32, (x,), constant(b, 1), "array[]", location=location)

    with pytest.raises(KernelIndexError) as caught:
        launch(kernel({"s32": S32_ARRAY}, body), 1, s32_array())
    assert str(caught.value).splitlines()[:3] == [
        f"{file}:2: index 0 is outside `s32.array`, whose size is 0, in work item (0, 0, 0)",
        "  2 | s32.array[kc.x] = 1",
        "    | ^^^^^^^^^^^^^^^",
    ]


@pytest.mark.parametrize(
    ("indices", "axis", "index", "size"),
    [((2, 0), 0, 2, 2), ((0, 3), 1, 3, 3), ((-1, 0), 0, -1, 2), ((0, -2), 1, -2, 3)],
)
def test_each_axis_has_its_own_size(
    indices: tuple[int, int], axis: int, index: int, size: int
) -> None:
    def body(b: Builder, _: Value, image: Value) -> None:
        y, x = (constant(b, n) for n in indices)
        b.value(Load, image, (y, x), "[]", type=I32)

    with pytest.raises(KernelIndexError) as caught:
        launch(kernel({"image": NDArrayType(I32, 2)}, body), 1, np.zeros((2, 3), np.int32))
    expected = f"index {index} of axis {axis} is outside `image`, whose size there is {size}"
    assert caught.value.problem == f"{expected}, in work item (0, 0, 0)"


@pytest.mark.parametrize("kind", [Load, Place, AtomicUpdate])
def test_every_kind_of_access_is_checked(kind: type[Load | Place | AtomicUpdate]) -> None:
    struct, content = table()
    fields: dict[object, tuple[object, ...]] = {
        Load: ("cell[].kind",),
        Place: ("cell[]",),
        AtomicUpdate: (constant(Builder(), 1), "sparse[]", "add"),
    }

    def body(b: Builder, _: Value, t: Value) -> None:
        extra = [constant(b, 1), *fields[kind][1:]] if kind is AtomicUpdate else fields[kind]
        b.value(kind, t, (constant(b, LENGTH),), *extra, type=I32)

    with pytest.raises(KernelIndexError, match=r"index 4 is outside `t\.(cell|sparse)`"):
        launch(kernel({"t": TABLE}, body), 1, content)
    assert struct.length == LENGTH


def test_an_array_inside_a_struct_is_named_by_its_path() -> None:
    _, content = table()

    def body(b: Builder, _: Value, t: Value) -> None:
        one, five = constant(b, 1), constant(b, 5)
        b.value(Load, t, (one, five), "cell[].points[].tag", type=I8)

    with pytest.raises(
        KernelIndexError, match=r"5 is outside `t.cell\[\].points`, whose size is 3"
    ):
        launch(kernel({"t": TABLE}, body), 1, content)


def chain() -> tuple[Func, Func]:
    """`outer` (line 20) calls `inner` (line 30), which leaves the array at line 31."""
    array = NDArrayType(I32, 1)

    def leave(b: Builder, a: Value, i: Value) -> None:
        found = b.value(Load, a, (i,), "[]", type=I32, location=at(31))
        b.run(Return, (found,))

    inner = function("inner", {"a": array, "i": I32}, I32, leave)

    def pass_on(b: Builder, a: Value, i: Value) -> None:
        found = b.value(Call, (a, i), inner.name, type=I32, location=at(21))
        b.run(Return, (found,))

    return inner, function("outer", {"a": array, "i": I32}, I32, pass_on)


def test_an_error_in_a_helper_shows_the_calls_that_led_there() -> None:
    inner, outer = chain()

    def body(b: Builder, kc: Value, a: Value) -> None:
        y = b.value(Grid, kc, "y", type=I32)
        b.value(Call, (a, y), outer.name, type=I32, location=at(11))

    with pytest.raises(KernelIndexError) as caught:
        launch(
            kernel({"a": NDArrayType(I32, 1)}, body, inner, outer), (1, 9), np.zeros(4, np.int32)
        )
    assert str(caught.value).splitlines()[:3] == [
        "app.py:31: index 4 is outside `a`, whose size is 4, in work item (0, 4, 0)",
        "  in `inner`, called at app.py:21",
        "  in `outer`, called at app.py:11",
    ]


def test_a_header_that_promises_more_than_the_memory_has_is_refused() -> None:
    content = s32_array(1, 2)
    content[0] = 3
    with pytest.raises(DeviceError) as caught:
        launch(shifted(0), 1, content)
    assert message(caught.value) == (
        "the parameter `s32` of type S32Array with length=3 takes 16 bytes, and its memory has 12"
    )


def test_lengths_may_be_of_any_integer_type() -> None:
    wide = BufferType("Wide", (Field("n", I64), Field("data", ArrayType(U8, ("n",)))))
    content = np.frombuffer(bytes([3, *[0] * 7, 9, 8, 7, *[0] * 5]), np.uint8).copy()

    def body(b: Builder, kc: Value, a: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32)
        old = b.value(Load, a, (x,), "data[]", type=U8)
        b.run(Store, a, (x,), b.value(Sub, old, constant(b, 1, U8), type=U8), "data[]")

    launch(kernel({"a": wide}, body), 3, content)
    assert content[8:11].tolist() == [8, 7, 6]
