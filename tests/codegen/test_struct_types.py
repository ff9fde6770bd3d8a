"""Typedefs: their text, and sizes and offsets as a device's compiler sees them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.codegen.running import build_log, run_text

from trilby.codegen.identifiers import Identifiers
from trilby.codegen.opencl_c import OPENCL as DIALECT
from trilby.codegen.struct_types import Structs
from trilby.data.dtypes import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U64, Type
from trilby.data.layout import align_of, first_bound, layout, size_of
from trilby.data.schema import ArrayType, BufferType, Field, PadType, StructType

SIZES = "int max_x, int max_y, int max_z"


def structs_of(*schemas: StructType) -> Structs:
    structs = Structs(DIALECT, Identifiers(DIALECT.is_used))
    for schema in schemas:
        structs.add(schema)
    return structs


def text_of(*schemas: StructType) -> str:
    return "\n\n".join(structs_of(*schemas).text())


# -- the text -----------------------------------------------------------------------------

RESULT = StructType("ResultTable.Result", (Field("x", F32), Field("y", F32)))
RESULT_TABLE = BufferType(
    "ResultTable",
    (
        Field("count", I32, atomic=True),
        Field("length", I32),
        Field("result", ArrayType(RESULT, ("length",))),
    ),
)


def test_the_result_table_is_the_one_of_the_documents() -> None:
    """Members in order, inner structs first; a trailing array has no spelling for all devices."""
    assert text_of(RESULT_TABLE) == (
        "typedef struct Result_s {\n"
        "    float x;\n"
        "    float y;\n"
        "} Result_t;\n"
        "\n"
        "typedef struct ResultTable_s {\n"
        "    int count;\n"
        "    int length;\n"
        "} ResultTable_t;\n"
        "\n"
        "static inline __global Result_t *ResultTable_result(__global ResultTable_t *s) {\n"
        "    return (__global Result_t *)(s + 1);\n"
        "}"
    )


def test_unions_padding_alignment_and_fixed_arrays() -> None:
    value = StructType("Value", (Field("whole", I32), Field("real", F64)), is_union=True)
    schema = StructType(
        "Mixed",
        (
            Field("flag", BOOL),
            Field("_", PadType(3)),
            Field("_1", PadType(2)),
            Field("half", F16),
            Field("value", value),
            Field("matrix", ArrayType(F32, (3, 4))),
            Field("here", F32, align=16),
        ),
        align=64,
    )
    assert text_of(schema) == (
        "typedef union Value_s {\n"
        "    int whole;\n"
        "    double real;\n"
        "} Value_t;\n"
        "\n"
        "typedef struct Mixed_s {\n"
        "    uchar flag;\n"
        "    char padding[3];\n"
        "    char padding_1[2];\n"
        "    ushort half_2;\n"
        "    Value_t value;\n"
        "    float matrix[3][4];\n"
        "    float here __attribute__((aligned(16)));\n"
        "} __attribute__((aligned(64))) Mixed_t;"
    )


def test_arrays_with_a_stride_are_bytes_with_the_alignment_of_their_elements() -> None:
    schema = StructType("Wide", (Field("a", U8), Field("b", ArrayType(F32, (3,), stride=12))))
    assert "    char b[36] __attribute__((aligned(4)));\n" in text_of(schema)


def test_the_header_is_padded_to_where_its_array_begins() -> None:
    schema = BufferType("Doubles", (Field("n", I32), Field("array", ArrayType(F64, ("n",)))))
    assert "    int n;\n    char tail_padding[4];\n} Doubles_t;" in text_of(schema)


def test_names_of_padding_do_not_meet_names_of_fields() -> None:
    schema = BufferType(
        "Odd",
        (
            Field("padding", I32),
            Field("_", PadType(4)),
            Field("tail_padding", I32),
            Field("array", ArrayType(F64, ("padding",))),
        ),
    )
    text = text_of(schema)
    for member in ("int padding;", "char padding_2[4];", "int tail_padding;", "tail_padding_2[4];"):
        assert member in text
    assert build_log(text) == ""


# -- the places, asked of the compiler ----------------------------------------------------


def probes(structs: Structs, schema: StructType) -> Iterator[tuple[str, int]]:
    """Size, alignment and the places of the members that have one."""
    name = structs.type_name(schema)
    fixed = (
        schema.fields[: first_bound(schema)] if isinstance(schema, BufferType) else schema.fields
    )
    is_whole = len(fixed) == len(schema.fields)
    if is_whole:
        yield f"sizeof({name})", size_of(schema)
    yield (
        f"__alignof__({name})",
        align_of(schema) if is_whole else align_of(replace(schema, fields=fixed)),
    )
    slots = layout(replace(schema, fields=fixed)).slots
    for field in fixed:
        member = structs.member(schema, field.name)
        yield f"__builtin_offsetof({name}, {member})", slots[field.name].offset
        if isinstance(field.type, StructType):
            yield from probes(structs, field.type)


def check_places(schemas: list[StructType]) -> None:
    structs = structs_of(*schemas)
    asked = [probe for schema in schemas for probe in probes(structs, schema)]
    body = "".join(f"    out[{n}] = {text};\n" for n, (text, _) in enumerate(asked))
    kernel = f"__kernel void probe(__global int *out, {SIZES}) {{\n{body}}}\n"
    text = "\n\n".join([*structs.text(), kernel])
    found = run_text(text, "probe", [np.zeros(len(asked), np.int32)])[0]
    wrong = [
        (text, want, got) for (text, want), got in zip(asked, found, strict=True) if want != got
    ]
    assert wrong == [], text


SCALARS = (BOOL, I8, I16, I32, I64, U8, U64, F16, F32, F64)
NUMBERS: st.SearchStrategy[Type] = st.sampled_from(SCALARS)
LEAVES = NUMBERS | st.builds(PadType, st.integers(1, 9))
ALIGNS = st.none() | st.sampled_from([2, 4, 16, 32])


def named(types: list[Type], aligns: list[int | None]) -> tuple[Field, ...]:
    """Names and alignments for members; padding cannot be aligned, and one is a number."""
    listed = [*types, I32] if all(isinstance(t, PadType) for t in types) else types
    return tuple(
        Field(f"_{n}", t) if isinstance(t, PadType) else Field(f"m{n}", t, align=aligns[n % 6])
        for n, t in enumerate(listed)
    )


@st.composite
def struct_types(draw: st.DrawFn, members: st.SearchStrategy[Type]) -> StructType:
    types = draw(st.lists(members, min_size=1, max_size=5))
    aligns = draw(st.lists(ALIGNS, min_size=6, max_size=6))
    return StructType(
        draw(st.sampled_from(["S", "T", "U"])),
        named(types, aligns),
        is_union=draw(st.booleans()),
        align=draw(ALIGNS),
    )


@st.composite
def array_types(draw: st.DrawFn, elements: st.SearchStrategy[Type]) -> ArrayType:
    element = draw(elements)
    dims = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)))
    extra = draw(st.none() | st.integers(0, 2))
    align = align_of(element)
    stride = None if extra is None else size_of(element) + extra * align
    return ArrayType(element, dims, stride)


INNER = LEAVES | array_types(NUMBERS)
MEMBERS = INNER | struct_types(INNER) | array_types(struct_types(LEAVES))


@settings(max_examples=12)
@given(schemas=st.lists(struct_types(MEMBERS), min_size=6, max_size=6))
def test_the_compiler_places_every_member_where_the_layout_does(
    schemas: list[StructType],
) -> None:
    check_places(schemas)


# -- length-bound arrays, and what follows them -------------------------------------------


def bound_probes(
    structs: Structs, schema: BufferType, lengths: dict[str, int]
) -> list[tuple[str, str]]:
    """The fields from the first length-bound array on, with the way to each."""
    found: list[tuple[str, str]] = []
    for field in schema.fields[first_bound(schema) :]:
        if not isinstance(field.type, PadType):
            sizes = (str(lengths[name]) for name in structs.accessor_sizes(schema, field.name))
            call = f"{structs.accessor(schema, field.name)}({', '.join(['s', *sizes])})"
            found.append((field.name, f"(__global char *){call} - start"))
    return found


def check_bound(schema: BufferType, lengths: dict[str, int]) -> None:
    structs = structs_of(schema)
    asked = bound_probes(structs, schema, lengths)
    body = "".join(f"    out[{n}] = {text};\n" for n, (_, text) in enumerate(asked))
    kernel = (
        f"__kernel void probe(__global {structs.type_name(schema)} *s, __global int *out, {SIZES})"
        f" {{\n    __global char *start = (__global char *)s;\n{body}}}\n"
    )
    places = layout(schema, lengths)
    content = np.zeros(places.size, np.uint8)
    text = "\n\n".join([*structs.text(), kernel])
    found = run_text(text, "probe", [content, np.zeros(len(asked), np.int32)])[1]
    assert found.tolist() == [places.slots[name].offset for name, _ in asked], text


@st.composite
def buffer_types(draw: st.DrawFn) -> BufferType:
    """A header, then arrays bound to one of two lengths, then fields of any kind between."""
    lengths = [Field("n", draw(st.sampled_from([I32, I64, U8]))), Field("k", I32)]
    header = draw(st.lists(LEAVES, max_size=3))
    aligns = draw(st.lists(ALIGNS, min_size=6, max_size=6))
    dims = st.sampled_from([("n",), ("k",), ("n", "k"), (2, "n"), ("k", 3)])
    elements = NUMBERS | struct_types(LEAVES)
    bound = draw(st.lists(st.tuples(elements, dims, st.integers(0, 2)), min_size=1, max_size=3))
    fields = [*lengths, *named([*header, F32], aligns)]
    for number, (element, shape, extra) in enumerate(bound):
        stride = size_of(element) + extra * align_of(element) if extra else None
        array = ArrayType(element, shape, stride)
        fields.append(Field(f"array{number}", array, align=aligns[number]))
        if draw(st.booleans()):
            fields.append(Field(f"_after{number}", PadType(draw(st.integers(1, 9)))))
        if draw(st.booleans()):
            fields.append(Field(f"after{number}", draw(elements)))
    return BufferType("Buffer", tuple(fields), align=draw(ALIGNS))


@settings(max_examples=20)
@given(schema=buffer_types(), n=st.integers(0, 9), k=st.integers(0, 9))
def test_accessors_find_what_has_no_fixed_place(schema: BufferType, n: int, k: int) -> None:
    check_bound(schema, {"n": n, "k": k})


@pytest.mark.parametrize("length", [0, 1, 7])
def test_several_arrays_on_one_length_and_fields_behind_them(length: int) -> None:
    schema = BufferType(
        "Particles",
        (
            Field("n", I32),
            Field("alive", ArrayType(BOOL, ("n",))),
            Field("position", ArrayType(F64, ("n", 3))),
            Field("kind", ArrayType(I16, ("n",))),
            Field("total", F64),
            Field("_", PadType(5)),
            Field("last", I32),
        ),
    )
    check_bound(schema, {"n": length})
