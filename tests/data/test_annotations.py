from dataclasses import replace
from typing import Annotated, Any

from trilby.data.annotations import is_constant, type_of
from trilby.data.buffer import Buffer
from trilby.data.dtypes import BOOL, F32, I32
from trilby.data.library import S32Array
from trilby.data.library_2d import RGBAImage
from trilby.data.markers import Atomic, Constant
from trilby.data.names import f32, i32
from trilby.data.ndarray import NDArray
from trilby.data.schema import ArrayType, BufferType, Field, NDArrayType
from trilby.data.struct import Struct
from trilby.data.views import Array


def test_scalars_and_classes_name_types() -> None:
    assert type_of(i32) is I32
    assert type_of(bool) is BOOL
    assert type_of(S32Array) == BufferType(
        "S32Array", (Field("length", I32), Field("array", ArrayType(I32, ("length",))))
    )
    assert str(type_of(RGBAImage.Pixel)) == "RGBAImage.Pixel"


def test_n_d_arrays_have_an_element_and_no_rank_yet() -> None:
    assert type_of(NDArray[f32]) == NDArrayType(F32, 0)
    assert type_of(NDArray[i32]) == NDArrayType(I32, 0)
    assert type_of(NDArray[bool]) == NDArrayType(BOOL, 0)


def test_constant_is_the_same_type_in_other_memory() -> None:
    constant = type_of(Constant[S32Array])
    assert constant == replace(S32Array.__schema__, is_constant=True)
    assert str(constant) == "Constant<S32Array>"
    assert type_of(Constant[NDArray[f32]]) == NDArrayType(F32, 0, is_constant=True)
    for nothing in (Constant[i32], Constant[bool], Constant[RGBAImage.Pixel], Constant[str]):
        assert type_of(nothing) is None
    assert is_constant(Constant[i32])
    assert not is_constant(Annotated[S32Array, "constant"])


def test_what_names_no_type() -> None:
    for nothing in (int, float, str, list, None, "i32", Struct, Buffer, Array[f32], Atomic[i32]):
        assert type_of(nothing) is None
    assert type_of(NDArray) is None
    assert type_of(NDArray[Any]) is None
