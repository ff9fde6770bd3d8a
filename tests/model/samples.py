"""Types and texts that several tests of the model use."""

from trilby.data.dtypes import F32, I32, Type
from trilby.data.schema import ArrayType, BufferType, Field, StructType

S32_ARRAY = BufferType(
    "S32Array", (Field("length", I32), Field("array", ArrayType(I32, ("length",))))
)
S32_ARRAY_2D = BufferType(
    "S32Array2D",
    (
        Field("width", I32),
        Field("height", I32),
        Field("array", ArrayType(I32, ("height", "width"))),
    ),
)
RESULT = StructType("ResultTable.Result", (Field("x", F32), Field("y", F32)))
RESULT_TABLE = BufferType(
    "ResultTable",
    (
        Field("count", I32, atomic=True),
        Field("length", I32),
        Field("result", ArrayType(RESULT, ("length",))),
    ),
)
LOCAL_CLASS = StructType("test_it.<locals>.Pair", (Field("a", I32), Field("b", I32)))

TYPES: dict[str, Type] = {
    str(t): t for t in (S32_ARRAY, S32_ARRAY_2D, RESULT, RESULT_TABLE, LOCAL_CLASS)
}

SQUARE_KERNEL = """\
kernel @"squares.square_kernel" (%0 : KernelContext, %1 : S32Array) -> None {
  %2 : i32 = grid %0 @"x"
! %3 : i32 = load %1 %2 @"array[]"
  %4 : i32 = call %3 @"squares.square"
! store %1 %2 %4 @"array[]"
  return
}"""

SQUARE = """\
func @"squares.square" (%0 : i32) -> i32 {
  %1 : i32 = mul %0 %0
  return %1
}"""

ALL_CONTROL = """\
kernel @"all_control" (%0 : KernelContext, %1 : NDArray<f32, 2>, %2 : i32) -> None {
  %3 : i32 = extent %1 @1
  %4 : i32 = constant @0
  %5 : i32 = constant @1
  %6 : Var<f32> = var @"sum"
  for %4 %3 %5 (%7 : i32) {
    %8 : bool = lt %7 %2
    %9 : bool = and_then %8 {
      %10 : bool = ge %7 %4
      yield %10
    }
    if %9 {
      continue
    } {}
!   %11 : f32 = load %1 %4 %7 @"[]"
    %12 : f32 = ternary %9 {
      yield %11
    } {
      %13 : f32 = constant @-0.5
      yield %13
    }
    var.store %6 %12
  }
  while {
    %14 : f32 = var.load %6
    %15 : f32 = constant @1e-05
    %16 : bool = gt %14 %15
    yield %16
  } {
    break
  }
  return
}"""
