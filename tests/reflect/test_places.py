"""Attributes and subscripts: fields, elements, shapes, the kernel context, modules."""

import types

import numpy as np
import pytest
from tests.reflect.kernel_cases import analysed, body, indented, kernel, lined, load, run, said

from trilby.data.kernel_context import GRID_FIELDS
from trilby.errors import FieldError, KernelTypeError, TrilbyError

WORLD = """
    class Point(tb.Struct):
        x: f32
        y: f32

    class Body(tb.Struct):
        at: Point
        trail: tb.Array[Point] = tb.array(3)
        weight: f32

    class Word(tb.Union):
        whole: i32
        real: f32

    class World(tb.Buffer):
        centre: Point
        word: Word
        total: i32
        length: i32
        rows: i32
        body: tb.Array[Body] = tb.array("length")
        grid: tb.Array[i16] = tb.array("rows", 4)
"""


def text_of(lines: str, kind: type[TrilbyError] = KernelTypeError, **names: object) -> str:
    params = "a: S32Array, g: F32Array2D, n: i32, f: f32, w: World"
    source = f"@tb.kernel\ndef k(kc: KernelContext, {params}):\n{indented(lines)}\n"
    return said(kind, source, **load(WORLD, "world.py"), **names)


# ----------------------------------------------------------------------------- the models


@pytest.mark.parametrize("field", GRID_FIELDS)
def test_the_kernel_context(field: str) -> None:
    text = body(f"r = kc.{field}")
    assert text == f'%1 : i32 = grid %0 @"{field}"\n%2 : Var<i32> = var %1 @"r"'


def test_the_kernel_context_may_have_any_name_and_be_handed_on() -> None:
    source = """
        @tb.func
        def index(where: KernelContext) -> i32:
            return where.x + where.max_x * where.y

        @tb.kernel
        def k(item: KernelContext, a: NDArray[i32]):
            a[index(item)] = 1 + index(where=item)
    """
    found = np.zeros(6, np.int32)
    run(kernel(source), (3, 2), found)
    assert found.tolist() == [1, 2, 3, 4, 5, 6]


def test_paths_into_nested_structs() -> None:
    lines = """
        w.centre.x = 1.0
        w.body[n].trail[2].y = w.body[0].at.x
        w.grid[n, 1] = 3
        w.word.real = 2.0
    """
    assert body(lines, "w: World, n: i32", **load(WORLD, "world.py")) == lined("""
        %3 : f32 = constant @1.0
        store %1 %3 @"centre.x"
        %4 : i32 = constant @0
        %5 : f32 = load %1 %4 @"body[].at.x"
        %6 : i32 = constant @2
        store %1 %2 %6 %5 @"body[].trail[].y"
        %7 : i32 = constant @1
        %8 : i16 = constant @3
        store %1 %2 %7 %8 @"grid[]"
        %9 : f32 = constant @2.0
        store %1 %9 @"word.real"
    """)


def test_a_reference_to_a_struct_goes_on_from_its_place() -> None:
    lines = "b = w.body[n]\nt = b.trail[1]\nr = t.x"
    assert body(lines, "w: World, n: i32", **load(WORLD, "world.py")) == lined("""
        %3 : Ref<Body> = place %1 %2 @"body[]"
        %4 : Var<Ref<Body>> = var %3 @"b"
        %5 : Ref<Body> = var.load %4
        %6 : i32 = constant @1
        %7 : Ref<Point> = place %5 %6 @"trail[]"
        %8 : Var<Ref<Point>> = var %7 @"t"
        %9 : Ref<Point> = var.load %8
        %10 : f32 = load %9 @"x"
        %11 : Var<f32> = var %10 @"r"
    """)


def test_a_nested_array_may_have_a_name() -> None:
    lines = "trail = w.body[n].trail\ntrail[0].x = trail[1].x"
    assert body(lines, "w: World, n: i32", **load(WORLD, "world.py")) == lined("""
        %3 : i32 = constant @1
        %4 : f32 = load %1 %2 %3 @"body[].trail[].x"
        %5 : i32 = constant @0
        store %1 %2 %5 %4 @"body[].trail[].x"
    """)


def test_shapes_of_nd_arrays() -> None:
    text = body("r = m.shape[1] + m.shape[-1] + m.ndim + m.size + m[0, 0]", "m: NDArray[i32]")
    assert text == lined("""
        %2 : i32 = extent %1 @1
        %3 : i32 = extent %1 @1
        %4 : i32 = add %2 %3
        %5 : i32 = constant @2
        %6 : i32 = add %4 %5
        %7 : i32 = extent %1 @0
        %8 : i32 = extent %1 @1
        %9 : i32 = mul %7 %8
        %10 : i32 = add %6 %9
        %11 : i32 = constant @0
        %12 : i32 = constant @0
        %13 : i32 = load %1 %11 %12 @"[]"
        %14 : i32 = add %10 %13
        %15 : Var<i32> = var %14 @"r"
    """)


@pytest.mark.parametrize("type_", ["i8", "u8", "i16", "u32", "i64", "u64"])
def test_any_integer_is_an_index(type_: str) -> None:
    assert body("a.array[i] = 0", f"a: S32Array, i: {type_}").splitlines()[-1] == (
        'store %1 %2 %3 @"array[]"'
    )


# -------------------------------------------------------------------------- what they mean


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 4), (2, 3, 2, 3)])
def test_nd_arrays_of_one_to_four_dimensions(shape: tuple[int, ...]) -> None:
    names = "ijkl"[: len(shape)]
    loops = "".join(
        f"{'    ' * (level + 1)}for {name} in range(a.shape[{level}]):\n"
        for level, name in enumerate(names)
    )
    index = ", ".join(names)
    value = " + ".join(f"{name} * {10**level}" for level, name in enumerate(names))
    source = (
        f"@tb.kernel\ndef k(kc: KernelContext, a: NDArray[i32]):\n{loops}"
        f"{'    ' * (len(shape) + 1)}a[{index}] = a[{index}] * 0 + {value}\n"
    )
    found = np.full(shape, 99, np.int32)
    run(kernel(source), 1, found)
    indices = np.indices(shape)
    wanted = sum(indices[level] * 10**level for level in range(len(shape)))
    np.testing.assert_array_equal(found, wanted)


def test_buffers_hold_what_kernels_write() -> None:
    names = load(WORLD, "world.py")
    world = names["World"].create(length=2, rows=3)
    source = """
        @tb.kernel
        def k(kc: KernelContext, w: World):
            w.word.real = 1.0
            w.total = w.word.whole
            for y in range(w.rows):
                for x in range(4):
                    w.grid[y, x] = i16(y * 10 + x)
            b = w.body[w.length - 1]
            b.at.y = 2.5
            b.trail[2].x = b.at.y * 2.0
            w.centre.x = w.body[1].trail[2].x
    """
    run(kernel(source, **names), 1, world)
    assert world.total == int(np.float32(1.0).view(np.int32))
    assert world.grid[2, 3] == 23
    assert world.body[1].at.y == 2.5
    assert world.centre.x == 5.0
    assert world.body[0].at.y == 0.0


def test_modules_and_objects_are_looked_into() -> None:
    settings = types.SimpleNamespace(SIZE=7, inner=types.SimpleNamespace(SCALE=2.0))
    found = np.zeros(3, np.float32)
    source = """
        @tb.kernel
        def k(kc: KernelContext, r: NDArray[f32]):
            r[0] = settings.SIZE
            r[1] = settings.inner.SCALE
            r[2] = i8.highest
    """
    run(kernel(source, settings=settings), 1, found)
    assert found.tolist() == [7.0, 2.0, 127.0]


# ----------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("line", "part", "problem", "advice"),
    [
        (
            "x = a.arry[0]",
            "a.arry",
            "`S32Array` has no field `arry`",
            "did you mean `array`? it has `length`, `array`",
        ),
        (
            "x = w.body[0].wieght",
            "w.body[0].wieght",
            "`Body` has no field `wieght`",
            "did you mean `weight`? it has `at`, `trail`, `weight`",
        ),
        ("x = a.q", "a.q", "`S32Array` has no field `q`", "it has `length`, `array`"),
        ("a.q = 1", "a.q", "`S32Array` has no field `q`", "it has `length`, `array`"),
        ("x = n.real", "n.real", "`i32` has no attribute `real`", ""),
        ("x = a.array.size", "a.array.size", "`i32[length]` has no attribute `size`", ""),
        ("x = math.qqq", "math.qqq", "`math` has no attribute `qqq`", ""),
        (
            "x = tb.NDRang(n)",
            "tb.NDRang",
            "`trilby` has no attribute `NDRang`",
            "did you mean `NDRange`?",
        ),
        ("x = 1 .real", "1 .real", "the literal `1` has no attribute `real`", ""),
    ],
)
def test_unknown_fields(line: str, part: str, problem: str, advice: str) -> None:
    text = text_of(line, FieldError)
    carets = f"{' ' * line.index(part)}{'^' * len(part)}"
    wanted = f"app.py:3: {problem}\n  3 | {line}\n    | {carets}"
    assert text == wanted + (f"\n  help: {advice}" if advice else "")


def test_an_unknown_field_of_the_kernel_context() -> None:
    assert text_of("x = kc.maxx", FieldError) == (
        "app.py:3: the kernel context has no field `maxx`\n"
        "  3 | x = kc.maxx\n"
        "    |     ^^^^^^^\n"
        f"  help: did you mean `max_x`? it has {', '.join(f'`{name}`' for name in GRID_FIELDS)}"
    )


def test_an_unknown_attribute_of_an_nd_array() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext, m: NDArray[f32]):\n    x = m.shap\n"
    assert said(FieldError, source) == (
        "app.py:3: `NDArray<f32, 1>` has no field `shap`\n"
        "  3 | x = m.shap\n"
        "    |     ^^^^^^\n"
        "  help: did you mean `shape`? it has `shape`, `size`, `ndim`"
    )


@pytest.mark.parametrize(
    ("index", "problem", "advice"),
    [
        ("f", "an index is an integer, and this is `f32`", "convert it: `i32(…)`"),
        ("0.5", "an index is an integer, and this is `f32`", "convert it: `i32(…)`"),
        ("n > 0", "an index is an integer, and this is `bool`", "convert it: `i32(…)`"),
        ("True", "an index is an integer, and this is `bool`", "convert it: `i32(…)`"),
        ("-1", "index -1 is negative", "kernels do not count from the end: write `length - 1`"),
        ("a", "an index is an integer, and this is `S32Array`", "convert it: `i32(…)`"),
    ],
)
def test_an_index_is_an_integer(index: str, problem: str, advice: str) -> None:
    line = f"a.array[{index}] = 0"
    assert text_of(line) == (
        f"app.py:3: {problem}\n  3 | {line}\n    |         {'^' * len(index)}\n  help: {advice}"
    )


@pytest.mark.parametrize(
    ("place", "problem", "advice"),
    [
        ("a.array[n, n]", "an array of 1 dimension is given 2 indices", "write `[i]`"),
        ("g.array[n]", "an array of 2 dimensions is given 1 index", "write `[i, j]`"),
        ("g.array[n][n]", "an array of 2 dimensions is given 1 index", "write `[i, j]`"),
    ],
)
def test_as_many_indices_as_dimensions(place: str, problem: str, advice: str) -> None:
    text = text_of(f"x = {place}")
    part = place.removesuffix("[n]") if place.endswith("][n]") else place
    assert text == (
        f"app.py:3: {problem}\n  3 | x = {place}\n    |     {'^' * len(part)}\n  help: {advice}"
    )


def test_the_rank_of_an_nd_array_is_that_of_the_launch() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext, m: NDArray[f32]):\n    m[1, 2] = 0\n"
    made = kernel(source)
    with pytest.raises(KernelTypeError) as caught:
        analysed(made, (3,))
    assert str(caught.value) == (
        "app.py:3: an array of 3 dimensions is given 2 indices\n"
        "  3 | m[1, 2] = 0\n"
        "    | ^^^^^^^\n"
        "  help: write `[i, j, k]`"
    )


@pytest.mark.parametrize(
    ("line", "part", "problem", "advice"),
    [
        ("x = n[0]", "n[0]", "`i32` cannot be indexed", "index an array: `buffer.array[i]`"),
        (
            "x = a[0]",
            "a[0]",
            "`S32Array` cannot be indexed",
            "index one of its arrays: `.array[i]`",
        ),
        (
            "x = LIST[0]",
            "LIST[0]",
            "a Python object of type `list` cannot be indexed",
            "pass it to the kernel: as a buffer, or as an `NDArray` made of it",
        ),
        (
            "x = TABLE[n]",
            "TABLE[n]",
            "a Python object of type `ndarray` cannot be indexed",
            "pass it to the kernel: as a buffer, or as an `NDArray` made of it",
        ),
        ("x = w.centre[0]", "w.centre[0]", "`Point` cannot be indexed", None),
    ],
)
def test_what_cannot_be_indexed(line: str, part: str, problem: str, advice: str | None) -> None:
    text = text_of(line, LIST=[1] * 10_000, TABLE=np.zeros(10_000)).splitlines()
    assert text[:3] == [
        f"app.py:3: {problem}",
        f"  3 | {line}",
        f"    |     {'^' * len(part)}",
    ]
    assert advice is None or text[3:] == [f"  help: {advice}"]


@pytest.mark.parametrize(
    ("axis", "problem"),
    [
        ("2", "axis 2 does not exist: the axes of this array are 0 to 1"),
        ("-3", "axis -3 does not exist: the axes of this array are 0 to 1"),
        ("n", "an axis of a shape is a constant"),
        ("0.0", "an axis of a shape is a constant"),
    ],
)
def test_axes_of_a_shape(axis: str, problem: str) -> None:
    source = (
        "@tb.kernel\ndef k(kc: KernelContext, m: NDArray[f32], n: i32):\n"
        f"    m[0, 0] = m.shape[{axis}]\n"
    )
    made = kernel(source)
    with pytest.raises(KernelTypeError) as caught:
        analysed(made, (2,))
    assert str(caught.value).splitlines()[:3] == [
        f"app.py:3: {problem}",
        f"  3 | m[0, 0] = m.shape[{axis}]",
        f"    |                   {'^' * len(axis)}",
    ]
