"""Kernels on structs, vectors and matrices: their models, and the exact texts of refusals."""

from typing import Any

import pytest
from tests.reflect.kernel_cases import analysed, body, error_of, indented, kernel, load

from trilby.errors import KernelTypeError, TrilbyError

TYPES = """
    class Point(tb.Struct):
        x: f32
        n: i32
        w: tb.Array[f32] = tb.array(3)

    class Bits(tb.Union):
        number: f32
        pattern: i32

    class Cell(tb.Struct):
        bits: Bits
        on: tb.Array[bool] = tb.array(2)

    class Pair(tb.Struct):
        p: Point
        v: tb.f32x3

    class Table(tb.Buffer):
        n: i32
        point: tb.Array[Point] = tb.array("n")
        v: tb.Array[tb.f32x3] = tb.array("n")
        m: tb.Array[tb.f32x2x2] = tb.array("n")
        cell: tb.Array[Cell] = tb.array("n")
        count: tb.Atomic[i32]
"""
PARAMS = "t: Table, a: S32Array, f: F32Array, n: i32, p: Point, v: tb.f32x3, m: tb.f32x2x2"


def names() -> dict[str, Any]:
    """The types of the cases, for the module of a kernel."""
    return load(TYPES, "types.py")


def model_of(lines: str, params: str) -> str:
    """The body of a kernel's model, without its last `return`."""
    return body(lines, params, **names())


def source_of(lines: str, helpers: str = "") -> str:
    """A kernel with these lines; without helpers they begin on line 3."""
    return f"{helpers}@tb.kernel\ndef k(kc: KernelContext, {PARAMS}):\n{indented(lines)}\n"


def accepted(lines: str) -> None:
    """Check that a kernel with these lines has a sound model."""
    analysed(kernel(source_of(lines), **names()))


def check_refusal(
    lines: str,
    part: str,
    problem: str,
    advice: str = "",
    kind: type[TrilbyError] = KernelTypeError,
) -> None:
    """Compare the whole text of the error, whose carets stand under `part` of the last line."""
    last = lines.splitlines()[-1].strip()
    number = 2 + len(lines.splitlines())
    text = str(error_of(kind, source_of(lines), **names()))
    carets = " " * last.rindex(part) + "^" * len(part)
    expected = f"app.py:{number}: {problem}\n  {number} | {last}\n    | {carets}"
    assert text == expected + (f"\n  help: {advice}" if advice else "")


def refusals(*cases: tuple[str, ...]) -> pytest.MarkDecorator:
    """Parametrise a test over lines, the part that is marked, the problem, and the advice."""
    filled = [(*case, "") if len(case) == 3 else case for case in cases]
    return pytest.mark.parametrize(("lines", "part", "problem", "advice"), filled)
