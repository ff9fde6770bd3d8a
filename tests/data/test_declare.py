from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import tests.data.text_annotations as texts

from trilby.data.buffer import Buffer
from trilby.data.dtypes import BOOL, F32, I8, I32, U32
from trilby.data.markers import Atomic, array, field, pad
from trilby.data.names import f32, f64, i8, i32, u8, u32
from trilby.data.schema import ArrayType, BufferType, Field, PadType, StructType
from trilby.data.struct import Struct, Union
from trilby.data.views import Array
from trilby.errors import SchemaError


class ResultTable(Buffer):
    class Result(Struct):
        x: f32
        y: f32

    count: Atomic[i32]
    length: i32
    result: Array[Result] = array("length")


RESULT = StructType("ResultTable.Result", (Field("x", F32), Field("y", F32)))
TABLE = BufferType(
    "ResultTable",
    (
        Field("count", I32, atomic=True),
        Field("length", I32),
        Field("result", ArrayType(RESULT, ("length",))),
    ),
)


def test_the_order_of_annotations_is_the_schema() -> None:
    assert ResultTable.__schema__ == TABLE
    assert ResultTable.Result.__schema__ == RESULT


def test_annotations_as_text_mean_the_same() -> None:
    assert texts.ResultTable.__schema__ == TABLE


def test_annotations_as_text_see_the_locals_of_functions() -> None:
    point = StructType("Point", (Field("x", F32),))
    assert texts.local_buffer().__schema__ == BufferType(
        "Cloud",
        (
            Field("n", I32),
            Field("point", ArrayType(point, ("n",))),
            Field("origin", StructType("Cloud.Origin", (Field("at", point),))),
        ),
    )


def test_one_quoted_annotation_inside_an_array() -> None:
    class Inner(Struct):
        x: f32

    class Outer(Struct):
        inner: "Inner"
        more: Array["Inner"] = array(2)

    assert Outer.__schema__.fields == (
        Field("inner", Inner.__schema__),
        Field("more", ArrayType(Inner.__schema__, (2,))),
    )


def test_the_bool_of_python_is_a_scalar() -> None:
    class Flags(Struct):
        alive: bool

    assert Flags.__schema__.fields == (Field("alive", BOOL),)


def test_padding_alignment_stride_and_unions() -> None:
    class Bits(Union):
        number: f32
        pattern: u32

    class Cell(Struct, align=32):
        kind: i8
        _: Any = pad(3)
        bits: Bits
        _1: Any = pad(4)
        x: f32 = field(align=16)
        row: Array[f32] = array(2, 3, stride=8, align=16)

    bits = StructType("Bits", (Field("number", F32), Field("pattern", U32)), is_union=True)
    assert Cell.__schema__ == StructType(
        "Cell",
        (
            Field("kind", I8),
            Field("_", PadType(3)),
            Field("bits", bits),
            Field("_1", PadType(4)),
            Field("x", F32, align=16),
            Field("row", ArrayType(F32, (2, 3), stride=8), align=16),
        ),
        align=32,
    )
    assert list(Cell.__elements__) == ["kind", "bits", "x", "row"]


def test_a_class_may_extend_a_declared_one() -> None:
    class Point(Struct):
        x: f32

    class Moving(Point):
        speed: f32

    class Named(Moving):
        def norm(self) -> float:
            return abs(self.x)

    assert [f.name for f in Moving.__schema__.fields] == ["x", "speed"]
    assert [f.name for f in Named.__schema__.fields] == ["x", "speed"]
    assert Named(x=-2.0, speed=0.0).norm() == 2.0


def test_class_variables_and_methods_are_no_fields() -> None:
    class Point(Struct):
        unit: ClassVar[str] = "m"
        x: f32

    assert [f.name for f in Point.__schema__.fields] == ["x"]
    assert Point.unit == "m"


# ------------------------------------------------------------------------ what is refused


def of_int() -> type:
    class Bad(Struct):
        x: int

    return Bad


def of_float() -> type:
    class Bad(Struct):
        x: float

    return Bad


def of_list() -> type:
    class Bad(Struct):
        x: list[f32]

    return Bad


def of_str() -> type:
    class Bad(Struct):
        x: str

    return Bad


def of_numpy_scalar() -> type:
    class Bad(Struct):
        x: np.float64

    return Bad


def of_any() -> type:
    class Bad(Struct):
        x: Any

    return Bad


def of_buffer() -> type:
    class Bad(Struct):
        x: ResultTable

    return Bad


def of_bare_struct() -> type:
    class Bad(Struct):
        x: Struct

    return Bad


def no_annotation() -> type:
    class Bad(Struct):
        y: f32
        x = array(3)

    return Bad


def type_as_value() -> type:
    class Bad(Struct):
        y: f32
        x = f32

    return Bad


def default_value() -> type:
    class Bad(Struct):
        x: f32 = 1.0

    return Bad


def array_without_marker() -> type:
    class Bad(Struct):
        x: Array[f32]

    return Bad


def array_of_nothing() -> type:
    class Bad(Struct):
        x: Array = array(3)  # pyright: ignore[reportMissingTypeArgument, reportUnknownVariableType] -- the mistake

    return Bad


def array_without_dims() -> type:
    class Bad(Struct):
        x: Array[f32] = array()

    return Bad


def array_of_arrays() -> type:
    class Bad(Struct):
        x: Array[Array[f32]] = array(3)

    return Bad


def array_of_atomics() -> type:
    class Bad(Struct):
        x: Array[Atomic[i32]] = array(3)

    return Bad


def marker_without_array() -> type:
    class Bad(Struct):
        x: f32 = array(3)

    return Bad


def zero_size() -> type:
    class Bad(Struct):
        x: Array[f32] = array(0)

    return Bad


def negative_size() -> type:
    class Bad(Struct):
        x: Array[f32] = array(4, -1)

    return Bad


def float_size() -> type:
    class Bad(Struct):
        x: Array[f32] = array(1.5)  # pyright: ignore[reportArgumentType] -- the mistake

    return Bad


def zero_padding() -> type:
    class Bad(Struct):
        y: f32
        _x: Any = pad(0)

    return Bad


def named_padding() -> type:
    class Bad(Struct):
        y: f32
        x: Any = pad(4)

    return Bad


def private_field() -> type:
    class Bad(Struct):
        _x: f32

    return Bad


def unknown_length() -> type:
    class Bad(Buffer):
        n: i32
        x: Array[f32] = array("m")

    return Bad


def late_length() -> type:
    class Bad(Buffer):
        x: Array[f32] = array("n")
        n: i32

    return Bad


def hidden_length() -> type:
    class Bad(Buffer):
        n: i32
        w: Array[f32] = array("n")
        m: i32
        x: Array[f32] = array("m")

    return Bad


def float_length() -> type:
    class Bad(Buffer):
        n: f32
        x: Array[f32] = array("n")

    return Bad


def atomic_length() -> type:
    class Bad(Buffer):
        n: Atomic[i32]
        x: Array[f32] = array("n")

    return Bad


def bound_in_struct() -> type:
    class Bad(Struct):
        n: i32
        x: Array[f32] = array("n")

    return Bad


def bound_in_union() -> type:
    class Bad(Union):
        n: i32
        x: Array[f32] = array("n")

    return Bad


def nothing_inside() -> type:
    class Bad(Struct):
        pass

    return Bad


def only_padding() -> type:
    class Bad(Buffer):
        _: Any = pad(4)

    return Bad


def atomic_of_f64() -> type:
    class Bad(Buffer):
        x: Atomic[f64]

    return Bad


def atomic_of_u8() -> type:
    class Bad(Buffer):
        x: Atomic[u8]

    return Bad


def atomic_of_int() -> type:
    class Bad(Buffer):
        x: Atomic[int]

    return Bad


def bare_atomic() -> type:
    class Bad(Buffer):
        x: Atomic  # pyright: ignore[reportMissingTypeArgument, reportUnknownVariableType] -- the mistake

    return Bad


def odd_align() -> type:
    class Bad(Struct):
        x: f32 = field(align=12)

    return Bad


def huge_align() -> type:
    class Bad(Struct):
        x: f32 = field(align=8192)

    return Bad


def odd_class_align() -> type:
    class Bad(Struct, align=3):
        x: f32

    return Bad


def small_stride() -> type:
    class Bad(Struct):
        x: Array[f64] = array(4, stride=4)

    return Bad


def odd_stride() -> type:
    class Bad(Struct):
        x: Array[f32] = array(4, stride=6)

    return Bad


def taken_name() -> type:
    class Bad(Buffer):
        create: i32  # pyright: ignore[reportIncompatibleMethodOverride] -- the mistake

    return Bad


def twice() -> type:
    class Good(Struct):
        x: f32

    class Bad(Good):
        x: f32  # pyright: ignore[reportIncompatibleVariableOverride] -- harmless to a checker

    return Bad


def unknown_type() -> type:
    class Bad(Struct):
        x: "Missing"  # pyright: ignore[reportUndefinedVariable] # noqa: F821 -- the mistake

    return Bad


REFUSED: list[tuple[Callable[[], type], str, str]] = [
    (of_int, "annotated `int`, which has no size", "write `x: i32`"),
    (of_float, "annotated `float`, which has no size", "write `x: f32`"),
    (of_list, "annotated `list", "tb.Array[f32]"),
    (of_str, "annotated `str`", "tb.Array[u8]"),
    (of_numpy_scalar, "annotated `float64`", "write `x: f64`"),
    (of_any, "annotated `Any`", "use a scalar"),
    (of_buffer, "annotated `ResultTable`", "make it a tb.Struct"),
    (of_bare_struct, "annotated `Struct`", "use a scalar"),
    (no_annotation, "`x` has no annotation", "x: tb.Array[f32]"),
    (type_as_value, "`x` has no annotation", "write `x: f32`"),
    (default_value, "`x` is given `1.0`", "memory starts as zeros"),
    (array_without_marker, "the array `x` has no dimensions", "= tb.array(16)"),
    (array_of_nothing, "does not say what it is an array of", "tb.Array[f32]"),
    (array_without_dims, "the array `x` has no dimensions", 'tb.array("length")'),
    (array_of_arrays, "no size in memory", "more dimensions"),
    (array_of_atomics, "no size in memory", "write the plain type"),
    (marker_without_array, "a field has no default", "x: tb.Array[f32]"),
    (zero_size, "a dimension cannot be 0", "from 1 to 2147483647"),
    (negative_size, "a dimension cannot be -1", "from 1 to 2147483647"),
    (float_size, "a dimension cannot be 1.5", "whole number"),
    (zero_padding, "the size of padding cannot be 0", "from 1 to 2147483647"),
    (named_padding, "padding holds nothing", "call it `_`"),
    (private_field, "begins with an underscore", "call it `x`"),
    (unknown_length, "`m`, which is no field of `Bad`", "declare `m: i32` before `x`"),
    (late_length, "`n`, which is declared after it", "declare `n: i32` before `x`"),
    (hidden_length, "`m`, which lies behind the array `w`", "all lengths before `w`"),
    (float_length, "no length but f32", "declare `n: i32`"),
    (atomic_length, "no length but atomic i32", "declare `n: i32`"),
    (bound_in_struct, "a struct has one size", "tb.Buffer"),
    (bound_in_union, "a union has one size", "tb.Buffer"),
    (nothing_inside, "`Bad` has no fields", "x: f32"),
    (only_padding, "`Bad` has no fields", "x: f32"),
    (atomic_of_f64, "no atomic operations on `f64`", "i32, u32, i64, u64, f32"),
    (atomic_of_u8, "no atomic operations on `u8`", "i32, u32, i64, u64, f32"),
    (atomic_of_int, "annotated `int`", "write `x: i32`"),
    (bare_atomic, "does not say what is atomic", "tb.Atomic[i32]"),
    (odd_align, "an alignment cannot be 12", "power of two"),
    (huge_align, "an alignment cannot be 8192", "up to 4096"),
    (odd_class_align, "an alignment cannot be 3", "power of two"),
    (small_stride, "8 bytes, aligned to 8, cannot stand every 4 bytes", "multiple of 8"),
    (odd_stride, "4 bytes, aligned to 4, cannot stand every 6 bytes", "multiple of 4"),
    (taken_name, "cannot be called `create`", "call it otherwise"),
    (twice, "`x` is declared already", "another name"),
    (unknown_type, "`Missing` of `x` cannot be evaluated", "declare or import"),
]
IN_THE_CLASS_LINE = {nothing_inside, only_padding, odd_class_align}
LINE_OF = {taken_name: "create: i32", zero_padding: "_x: Any", private_field: "_x: f32"}


@pytest.mark.parametrize(
    ("declaration", "problem", "advice"), REFUSED, ids=[case[0].__name__ for case in REFUSED]
)
def test_a_mistake_is_shown_with_its_line_and_advice(
    declaration: Callable[[], type], problem: str, advice: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        declaration()
    error = caught.value
    assert problem in error.problem
    assert advice in error.advice
    assert error.location is not None
    assert error.location.file == __file__
    line = Path(__file__).read_text("utf-8").splitlines()[error.location.line - 1].strip()
    if declaration in IN_THE_CLASS_LINE:
        assert line.startswith("class Bad(")
    else:
        assert line.startswith((LINE_OF.get(declaration, "x: "), "x = "))
    assert line in str(error)


def test_without_source_an_error_still_says_what() -> None:
    scope: dict[str, object] = {"Struct": Struct, "__name__": "nowhere"}
    with pytest.raises(SchemaError, match="annotated `int`") as caught:
        exec("class Bad(Struct):\n    x: int\n", scope)  # noqa: S102 -- code that has no file
    assert str(caught.value.location) == "<string>:1"


def test_an_error_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        of_int()
