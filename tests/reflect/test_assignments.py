"""Assignments: names, elements, fields, tuples, and arrays under another name."""

import numpy as np
import pytest
from tests.reflect.kernel_cases import body, indented, kernel, lined, load, run, said

from trilby.errors import FieldError, KernelTypeError, TrilbyError, UnsupportedSyntaxError

TABLE = """
    class Table(tb.Buffer):
        class Cell(tb.Struct):
            x: f32
            hits: i32
        count: i32
        length: i32
        cell: tb.Array[Cell] = tb.array("length")
        other: tb.Array[Cell] = tb.array(4)
"""


def text_of(lines: str, kind: type[TrilbyError] = KernelTypeError) -> str:
    params = "a: S32Array, g: F32Array2D, n: i32, f: f32, m: NDArray[f32], t: Table"
    source = f"@tb.kernel\ndef k(kc: KernelContext, {params}):\n{indented(lines)}\n"
    return said(kind, source, **load(TABLE, "table.py"))


# ------------------------------------------------------------------------------ the models


def test_names() -> None:
    text = body("x = n\nx = x + 1\ny = x", "n: i32")
    assert text == lined("""
        %2 : Var<i32> = var %1 @"x"
        %3 : i32 = var.load %2
        %4 : i32 = constant @1
        %5 : i32 = add %3 %4
        var.store %2 %5
        %6 : i32 = var.load %2
        %7 : Var<i32> = var %6 @"y"
    """)


def test_a_parameter_that_changes_is_copied_to_a_variable() -> None:
    text = body("n += 1\na.array[0] = n", "a: S32Array, n: i32")
    assert text == lined("""
        %3 : Var<i32> = var %2 @"n"
        %4 : i32 = var.load %3
        %5 : i32 = constant @1
        %6 : i32 = add %4 %5
        var.store %3 %6
        %7 : i32 = var.load %3
        %8 : i32 = constant @0
        store %1 %8 %7 @"array[]"
    """)


def test_a_swap_loads_both_before_it_stores() -> None:
    text = body("a.array[0], a.array[1] = a.array[1], a.array[0]", "a: S32Array")
    assert text == lined("""
        %2 : i32 = constant @1
        %3 : i32 = load %1 %2 @"array[]"
        %4 : i32 = constant @0
        %5 : i32 = load %1 %4 @"array[]"
        %6 : i32 = constant @0
        store %1 %6 %3 @"array[]"
        %7 : i32 = constant @1
        store %1 %7 %5 @"array[]"
    """)


def test_an_augmented_element_has_its_index_once() -> None:
    text = body("a.array[n + 1] *= 2", "a: S32Array, n: i32")
    assert text == lined("""
        %3 : i32 = constant @1
        %4 : i32 = add %2 %3
        %5 : i32 = load %1 %4 @"array[]"
        %6 : i32 = constant @2
        %7 : i32 = mul %5 %6
        store %1 %4 %7 @"array[]"
    """)


def test_a_stored_number_is_converted() -> None:
    text = body("m[0] = d\nm[1] = n\nm[2] = 1\nm[3] = True", "m: NDArray[f32], d: f64, n: i32")
    assert text == lined("""
        %4 : i32 = constant @0
        %5 : f32 = cast %2
        store %1 %4 %5 @"[]"
        %6 : i32 = constant @1
        %7 : f32 = cast %3
        store %1 %6 %7 @"[]"
        %8 : i32 = constant @2
        %9 : f32 = constant @1.0
        store %1 %8 %9 @"[]"
        %10 : i32 = constant @3
        %11 : f32 = constant @1.0
        store %1 %10 %11 @"[]"
    """)


def test_a_declared_variable() -> None:
    text = body("x: f64 = n\ny: u8\ny = 3", "n: i32")
    assert text == lined("""
        %2 : f64 = cast %1
        %3 : Var<f64> = var %2 @"x"
        %4 : Var<u8> = var @"y"
        %5 : u8 = constant @3
        var.store %4 %5
    """)


def test_another_name_for_an_array_is_no_variable() -> None:
    text = body("cells = g.array\ncells[1, 2] = cells[2, 1]", "g: F32Array2D")
    assert text == lined("""
        %2 : i32 = constant @2
        %3 : i32 = constant @1
        %4 : f32 = load %1 %2 %3 @"array[]"
        %5 : i32 = constant @1
        %6 : i32 = constant @2
        store %1 %5 %6 %4 @"array[]"
    """)


def test_a_struct_in_a_buffer_is_referred_to() -> None:
    text = body("c = t.cell[n]\nc.hits += 1", "t: Table, n: i32", **load(TABLE, "table.py"))
    assert text == lined("""
        %3 : Ref<Table.Cell> = place %1 %2 @"cell[]"
        %4 : Var<Ref<Table.Cell>> = var %3 @"c"
        %5 : Ref<Table.Cell> = var.load %4
        %6 : i32 = load %5 @"hits"
        %7 : i32 = constant @1
        %8 : i32 = add %6 %7
        store %5 %8 @"hits"
    """)


def test_a_shape_is_unpacked() -> None:
    text = body("rows, columns = m.shape\nm[0, 0] = rows * columns", "m: NDArray[f32]")
    assert text.splitlines()[:4] == [
        "%2 : i32 = extent %1 @0",
        "%3 : i32 = extent %1 @1",
        '%4 : Var<i32> = var %2 @"rows"',
        '%5 : Var<i32> = var %3 @"columns"',
    ]


# --------------------------------------------------------------------------- what they do

AUGMENTED = ["+=", "-=", "*=", "//=", "%=", "**=", "<<=", ">>=", "&=", "|=", "^="]


@pytest.mark.parametrize("symbol", AUGMENTED)
def test_augmented_assignments(symbol: str) -> None:
    found = np.array([11, 12, 13, 14], np.int32)
    source = f"""
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32]):
            x = a[0]
            x {symbol} 2
            a[0] = x
            a[1] {symbol} 2
            a[kc.x + 2] {symbol} a[3] // 7
    """
    run(kernel(source), 1, found)
    wanted = {"x": 11, "y": 12, "z": 13}
    for name in "xyz":
        exec(f"{name} {symbol} 2", wanted)  # noqa: S102 -- what Python makes of it
    assert found.tolist() == [wanted["x"], wanted["y"], wanted["z"], 14]


def test_augmented_division_needs_a_float() -> None:
    found = np.array([3.0], np.float32)
    run(kernel("@tb.kernel\ndef k(kc: KernelContext, a: NDArray[f32]):\n    a[0] /= 2\n"), 1, found)
    assert found.tolist() == [1.5]
    assert text_of("a.array[0] /= 2") == (
        "app.py:3: `a.array[0]` is `i32`, and this is `f64`\n"
        "  3 | a.array[0] /= 2\n"
        "    | ^^^^^^^^^^^^^^^\n"
        "  help: write `i32(…)`"
    )


PROGRAMS = {
    "swap": "x = 1; y = 2\nx, y = y, x\nr[0] = x * 10 + y",
    "three at once": "x, y, z = 1, 2, 3\nx, y, z = z, x, y\nr[0] = x * 100 + y * 10 + z",
    "nested tuples": "(x, y), z = (1, 2), 3\nr[0] = x * 100 + y * 10 + z",
    "a list of targets": "[x, y] = 1, 2\nr[0] = x * 10 + y",
    "several targets": "x = y = r[1] = 7\nr[0] = x + y",
    "a swap of elements": "r[0], r[1] = r[1] + 5, r[0] + 6",
    "into itself": "x = 3\nx = x * x + x\nr[0] = x",
    "left to right": "i = 0\ni, r[i] = 1, 9",
    "a parameter": "n = n * 2\nr[0] = n\nn += 1\nr[1] = n",
    "a parameter under a condition": "if n > 2:\n    n = 0\nr[0] = n",
    "a parameter as a counter": "for n in range(4):\n    r[0] += n\nr[1] = n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_do_what_python_does(name: str) -> None:
    head = "@tb.kernel\ndef k(kc: KernelContext, n: i32, r: NDArray[i32]):\n"
    found, wanted = np.zeros(2, np.int32), [0, 0]
    run(kernel(head + indented(PROGRAMS[name])), 1, 5, found)
    names: dict[str, object] = {"n": 5, "r": wanted}
    exec(PROGRAMS[name], names)  # noqa: S102 -- the text above, as plain Python
    assert found.tolist() == wanted


def test_a_struct_is_changed_through_its_reference() -> None:
    names = load(TABLE, "table.py")
    table = names["Table"].create(length=3)
    source = """
        @tb.kernel
        def k(kc: KernelContext, t: Table):
            c = t.cell[1] if t.length > 2 else t.cell[0]
            d = c
            c = t.other[2]
            d.x = 1.5
            d.hits += 7
            c.hits = d.hits + 1
            t.count = 3
    """
    run(kernel(source, **names), 1, table)
    assert table.cell[1].x == 1.5
    assert table.cell[1].hits == 7
    assert table.other[2].hits == 8
    assert table.count == 3
    assert table.cell[0].hits == 0


def test_buffers_are_swapped_by_name() -> None:
    source = """
        @tb.kernel
        def k(kc: KernelContext, a: NDArray[i32], b: NDArray[i32], n: i32):
            source = a
            target = b
            for i in range(n):
                target[0] = source[0] + 1
                source, target = target, source
    """
    a, b = np.array([10], np.int32), np.array([0], np.int32)
    run(kernel(source), 1, a, b, 3)
    assert (a[0], b[0]) == (12, 13)


# ---------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("line", "part", "problem", "advice"),
    [
        (
            "a.array[0] = f",
            "f",
            "`a.array[0]` is `i32`, and this is `f32`",
            "write `i32(…)`",
        ),
        (
            "a.array[0] = 0.5",
            "0.5",
            "`a.array[0]` is `i32`, and this is the literal `0.5`",
            "write a whole number, or `i32(…)` to cut it",
        ),
        (
            "t.count = 2 ** 31",
            "2 ** 31",
            "the literal `2147483648` does not fit `i32`",
            "use a number within the type's range, or convert the other operand to a wider type",
        ),
        (
            "a.array[0] = a",
            " a",
            "`a.array[0]` is `i32`, and this is `S32Array`",
            "use one of its fields or elements",
        ),
        (
            "kc.x = 1",
            "kc.x",
            "`kc.x` cannot be assigned",
            "assign to a local name, or to a field or element of a buffer",
        ),
        (
            "m.shape[0] = 1",
            "m.shape[0]",
            "`m.shape[0]` cannot be assigned",
            "assign to a local name, or to a field or element of a buffer",
        ),
        (
            "math.pi = 3",
            "math.pi",
            "`math.pi` cannot be assigned",
            "assign to a local name, or to a field or element of a buffer",
        ),
        (
            "a.array = 1",
            "a.array",
            "`a.array` is `i32[length]` and cannot be assigned as a whole",
            "assign each of its numbers",
        ),
        ("x, y = 1, 2, 3", "1, 2, 3", "3 values are unpacked into 2 names", ""),
        ("x, y = n", "n", "`i32` cannot be unpacked", "give a tuple of values"),
        (
            "x = 1, 2",
            "1, 2",
            "a tuple is not a value in a kernel",
            "assign each item to its own name",
        ),
        ("x = math", "math", "`math` is not a number", ""),
        ("x = f32", "f32", "the type `f32` is not a number", ""),
        (
            "x = kc",
            "kc",
            "`KernelContext` cannot be held by a local name",
            "use it where it is",
        ),
        (
            "x: 'f32' = 1",
            "'f32'",
            "the type of a local variable is not given as text",
            "leave the quotes out: `f32`",
        ),
        ("a.length: i32 = 1", "a.length: i32 = 1", "only local names can be annotated", ""),
        (
            "x: int = 1",
            "int",
            "`int` is not a type for a local variable",
            "use a scalar type (`i32`, `f32`, …), a struct, a vector or a buffer class",
        ),
        ("x: i32 = f", "f", "`x` is `i32`, and this is `f32`", "write `i32(…)`"),
        ("kc += 1", "kc", "`KernelContext` is not a number", "use one of its fields or elements"),
    ],
)
def test_what_cannot_be_assigned(line: str, part: str, problem: str, advice: str) -> None:
    carets = " " * (line.rindex(part) + len(part) - len(part.lstrip())) + "^" * len(part.strip())
    if part in {"kc.x", "a.array", "kc"} and not line.startswith("x"):
        carets = "^" * len(part)
    wanted = f"app.py:3: {problem}\n  3 | {line}\n    | {carets}"
    assert text_of(line) == wanted + (f"\n  help: {advice}" if advice else "")


@pytest.mark.parametrize("line", ["a.length = 3", "a.length += 1", "t.length = n", "g.width = 2"])
def test_a_length_is_fixed(line: str) -> None:
    field = line.partition(" ")[0]
    assert text_of(line, FieldError) == (
        f"app.py:3: `{field[2:]}` is a length, fixed when the buffer was created\n"
        f"  3 | {line}\n"
        f"    | {'^' * len(field)}\n"
        "  help: keep a count in a field of its own"
    )


@pytest.mark.parametrize(
    ("first", "then", "problem"),
    [
        ("x = n", "x = a", "`x` is `i32` since line 3, and this is `S32Array`"),
        ("x = a", "x = n", "`x` is `S32Array` since line 3, and this is `i32`"),
        ("x = a", "x = 1", "`x` is `S32Array` since line 3, and this is the literal `1`"),
        ("x = a", "x = g", "`x` is `S32Array` since line 3, and this is `F32Array2D`"),
        ("x = n", "x = 0.5", "`x` is `i32` since line 3, and this is the literal `0.5`"),
        ("x = n > 0", "x = n", "`x` is `bool` since line 3, and this is `i32`"),
        ("x = True", "x = 1", "`x` is `bool` since line 3, and this is the literal `1`"),
        ("x: i32 = 0", "x: f32 = 1", "`x` is `i32` since line 3, and cannot become `f32`"),
        ("x: u8 = 0", "x = n", "`x` is `u8` since line 3, and this is `i32`"),
    ],
)
def test_a_variable_keeps_its_type(first: str, then: str, problem: str) -> None:
    value = then.partition("= ")[2]
    text = text_of(f"{first}\n{then}")
    assert text.splitlines()[:3] == [
        f"app.py:4: {problem}",
        f"  4 | {then}",
        f"    | {' ' * then.index(value, 2)}{'^' * len(value)}",
    ]


@pytest.mark.parametrize(
    "lines",
    [
        "x = a.array\nx = a.array",
        "if n > 0:\n    x = a.array\nelse:\n    x = a.array\nx[0] = 1",
        "if n > 0:\n    x = a.array\n    x[0] = 1\nx[1] = 2",
    ],
)
def test_another_name_for_an_array_is_given_once(lines: str) -> None:
    assert "`x` names an array, and is set more than once or used outside of this block" in text_of(
        lines
    )


def test_a_starred_target_is_refused() -> None:
    assert text_of("x, *y = 1, 2, 3", UnsupportedSyntaxError) == (
        "app.py:3: `*` unpacking has no meaning in a kernel\n"
        "  3 | x, *y = 1, 2, 3\n"
        "    |    ^^\n"
        "  help: name each item"
    )
