import ctypes
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trilby.data.dtypes import SCALARS, ScalarType, Type
from trilby.data.layout import (
    Layout,
    align_of,
    header_size,
    layout,
    numpy_dtype,
    size_of,
    stride_of,
)
from trilby.data.schema import ArrayType, BufferType, Field, NDArrayType, PadType, StructType
from trilby.errors import BindingError, SchemaError

I8, I16, I32, I64 = (SCALARS[name] for name in ("i8", "i16", "i32", "i64"))
U8, F32, F64 = (SCALARS[name] for name in ("u8", "f32", "f64"))

# f16 has no counterpart in ctypes; any two bytes lie as it does
C_SCALARS = {
    "bool": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "f16": ctypes.c_uint16,
    "bf16": ctypes.c_uint16,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


def c_type(type_: Type) -> Any:
    """The ctypes class of a type without length-bound arrays."""
    match type_:
        case ScalarType():
            return C_SCALARS[type_.name]
        case PadType():
            return ctypes.c_char * type_.size
        case ArrayType():
            made = c_type(type_.element)
            for dim in reversed(type_.dims):
                made = made * cast("int", dim)
            return made
        case StructType():
            base = ctypes.Union if type_.is_union else ctypes.Structure
            members = [(field.name, c_type(field.type)) for field in type_.fields]
            return type("C", (base,), {"_fields_": members})
        case _:
            raise AssertionError(type_)


def fields(types: list[Type]) -> tuple[Field, ...]:
    return tuple(Field(f"m{number}", type_) for number, type_ in enumerate(types))


scalars = st.sampled_from(list(SCALARS.values()))
dims = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)
pads = st.integers(1, 9).map(PadType)


def structs(members: st.SearchStrategy[Type]) -> st.SearchStrategy[StructType]:
    return st.builds(struct, st.lists(members, min_size=1, max_size=5), st.booleans())


def struct(types: list[Type], is_union: bool) -> StructType:  # noqa: FBT001 -- called by st.builds
    return StructType("S", fields(types), is_union)


def wider(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    records = structs(inner | pads)
    return records | st.builds(ArrayType, scalars | records, dims)


def offsets(places: Layout) -> dict[str, int]:
    return {name: slot.offset for name, slot in places.slots.items()}


@given(structs(st.recursive(scalars, wider, max_leaves=8)))
def test_every_offset_size_and_alignment_is_that_of_ctypes(schema: StructType) -> None:
    expected = c_type(schema)
    places = layout(schema)
    assert offsets(places) == {
        field.name: getattr(expected, field.name).offset for field in schema.fields
    }
    assert places.size == ctypes.sizeof(expected)
    assert places.align == ctypes.alignment(expected)


@given(structs(st.recursive(scalars, wider, max_leaves=8)))
def test_the_numpy_dtype_has_the_same_places(schema: StructType) -> None:
    dtype = numpy_dtype(schema)
    expected = c_type(schema)
    assert dtype.itemsize == ctypes.sizeof(expected)
    assert {name: cast("Any", dtype.fields)[name][1] for name in dtype.names or ()} == {
        field.name: getattr(expected, field.name).offset
        for field in schema.fields
        if not isinstance(field.type, PadType)
    }


@given(
    st.lists(st.recursive(scalars, wider, max_leaves=4), max_size=4),
    st.recursive(scalars, wider, max_leaves=4).filter(lambda t: not isinstance(t, ArrayType)),
    st.integers(1, 20),
)
def test_a_trailing_array_begins_where_the_header_struct_ends(
    header: list[Type], element: Type, length: int
) -> None:
    head = (*fields(header), Field("length", I32))
    schema = BufferType("B", (*head, Field("array", ArrayType(element, ("length",)))))
    c_header = c_type(StructType("H", head))
    members = [("header", c_header), ("array", c_type(element) * length)]
    whole: Any = type("Whole", (ctypes.Structure,), {"_fields_": members})
    places = layout(schema, {"length": length})
    assert places.slots["array"].offset == whole.array.offset == header_size(schema)
    assert places.size == ctypes.sizeof(whole)
    assert places.align == ctypes.alignment(whole)


def test_the_result_table_of_the_design() -> None:
    result = StructType("T.Result", (Field("x", F32), Field("y", F32)))
    table = BufferType(
        "T",
        (
            Field("count", I32, atomic=True),
            Field("length", I32),
            Field("result", ArrayType(result, ("length",))),
        ),
    )
    places = layout(table, {"length": 100})
    assert offsets(places) == {"count": 0, "length": 4, "result": 8}
    assert places.size == 8 + 100 * 8


def test_the_header_is_padded_to_its_own_alignment_and_to_the_elements() -> None:
    bytes_after_long = BufferType(
        "B", (Field("a", I64), Field("n", I32), Field("data", ArrayType(U8, ("n",))))
    )
    assert header_size(bytes_after_long) == 16  # sizeof(struct { int64_t; int32_t; })
    doubles_after_int = BufferType("B", (Field("n", I32), Field("data", ArrayType(F64, ("n",)))))
    assert header_size(doubles_after_int) == 8


def test_a_buffer_without_bound_arrays_is_all_header() -> None:
    schema = BufferType("B", (Field("a", I64), Field("b", I8)))
    assert header_size(schema) == layout(schema).size == 16


def test_fields_after_a_bound_array_move_with_the_length() -> None:
    schema = BufferType(
        "B",
        (
            Field("n", I32),
            Field("a", ArrayType(U8, ("n",))),
            Field("m", I32),
            Field("b", ArrayType(I16, ("m", 2))),
            Field("end", F64),
        ),
    )
    assert offsets(layout(schema, {"n": 5, "m": 3})) == {
        "n": 0,
        "a": 4,
        "m": 12,  # 9 rounded up to 4
        "b": 16,
        "end": 32,  # 16 + 3 * 2 * 2 = 28 rounded up to 8
    }
    assert layout(schema, {"n": 0, "m": 0}).size == 16


def test_two_arrays_share_a_length() -> None:
    schema = BufferType(
        "B",
        (
            Field("n", I32),
            Field("a", ArrayType(F32, ("n",))),
            Field("b", ArrayType(F64, ("n",))),
        ),
    )
    places = layout(schema, {"n": 3})
    assert offsets(places) == {"n": 0, "a": 4, "b": 16}
    assert places.size == 40


def test_rows_are_contiguous() -> None:
    schema = BufferType(
        "B", (Field("w", I32), Field("h", I32), Field("a", ArrayType(F32, ("h", "w"))))
    )
    slot = layout(schema, {"w": 5, "h": 3}).slots["a"]
    assert (slot.shape, slot.strides, slot.size) == ((3, 5), (20, 4), 60)


def test_alignment_of_fields_and_structs_is_raised_and_never_lowered() -> None:
    schema = StructType("S", (Field("a", I8), Field("b", F32, align=16), Field("c", F64, align=2)))
    places = layout(schema)
    assert offsets(places) == {"a": 0, "b": 16, "c": 24}
    assert (places.size, places.align) == (32, 16)
    wide = StructType("S", (Field("a", I8),), align=8)
    assert (layout(wide).size, align_of(wide)) == (8, 8)
    outer = StructType("O", (Field("a", I8), Field("b", wide)))
    assert offsets(layout(outer)) == {"a": 0, "b": 8}


def test_an_aligned_array_moves_the_end_of_the_header() -> None:
    schema = BufferType("B", (Field("n", I32), Field("a", ArrayType(F32, ("n",)), align=64)))
    assert header_size(schema) == layout(schema, {"n": 1}).slots["a"].offset == 64


def test_stride_counts_for_size_and_place() -> None:
    array = ArrayType(I32, (3,), stride=16)
    schema = StructType("S", (Field("a", array), Field("b", I8)))
    assert stride_of(array) == 16
    assert size_of(array) == 48
    assert offsets(layout(schema)) == {"a": 0, "b": 48}
    numbers = np.zeros(2, numpy_dtype(schema))
    assert numbers["a"]["value"].strides == (52, 16)


def test_a_length_that_is_not_given_is_named() -> None:
    schema = BufferType("B", (Field("n", I32), Field("a", ArrayType(I32, ("n",)))))
    with pytest.raises(BindingError, match="`n` is not known"):
        layout(schema)


def test_what_has_no_place_is_refused() -> None:
    inside = StructType("S", (Field("a", NDArrayType(F32, 2)),))
    with pytest.raises(SchemaError, match="no place"):
        layout(inside)
    with pytest.raises(SchemaError, match="NumPy"):
        numpy_dtype(NDArrayType(F32, 2))
