"""Buffers in constant memory: read as any other, written by no kernel."""

import numpy as np
import pytest
from tests.conformance.running import filled, launch
from tests.reflect.kernel_cases import analysed, kernel, lined, said

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    F16Array,
    F32Array,
    KernelContext,
    NDArray,
    S32Array,
    U8Array2D,
    bf16,
    f16,
    f32,
    i32,
)
from trilby.errors import FieldError, KernelTypeError
from trilby.tools.emit import emit


@tb.kernel
def looked_up(
    kc: KernelContext, palette: tb.Constant[S32Array], index: S32Array, out: S32Array
) -> None:
    out.array[kc.x] = palette.array[index.array[kc.x] % palette.length]


def test_a_palette(accelerator: Accelerator) -> None:
    palette, index = S32Array.of([5, 7, 11]), S32Array.of(np.arange(10))
    out = S32Array.create(length=10)
    launch(accelerator, 10, looked_up, palette, index, out)
    assert np.asarray(out).tolist() == [5, 7, 11, 5, 7, 11, 5, 7, 11, 5]


class Filter(tb.Buffer):
    """Everything that has a place of its own: fields, halves, vectors, two arrays, a tail."""

    class Tap(tb.Struct):
        offset: i32
        weight: bf16
        colour: tb.f32x3

    taps: i32
    rows: i32
    bias: f16
    corner: tb.Array[f32] = tb.array(2, 2)
    tap: tb.Array[Tap] = tb.array("taps")
    table: tb.Array[i32] = tb.array("rows", "taps")
    last: f32


@tb.func
def weighted(taps: tb.Constant[Filter], number: i32) -> f32:
    tap = taps.tap[number]
    return tap.weight * tap.colour.y + taps.bias


@tb.func
def coefficient(c: tb.Constant[NDArray[f32]], row: i32, column: i32) -> f32:
    return c[row, column] + f32(c.shape[1])


@tb.kernel
def filtered(
    kc: KernelContext,
    taps: tb.Constant[Filter],
    more: tb.Constant[Filter],
    other: Filter,
    c: tb.Constant[NDArray[f32]],
    out: F32Array,
) -> None:
    cells = taps.corner
    chosen = taps if kc.x % 2 else more
    out.array[kc.x] = weighted(taps, kc.x) + cells[1, 0] + coefficient(c, kc.x, 1)
    out.array[kc.x] += f32(chosen.table[1, kc.x]) + taps.last + other.last
    colour = taps.tap[kc.x].colour
    out.array[kc.x] += tb.dot(colour, colour)


def test_fields_references_helpers_and_n_d_arrays(accelerator: Accelerator) -> None:
    taps, other = Filter.create(taps=3, rows=2), Filter.create(taps=1, rows=1)
    taps.bias, taps.last, other.last = 0.5, 100.0, 1000.0
    taps.corner[1, 0] = 10.0
    taps.table[:] = np.arange(6).reshape(2, 3)
    taps.tap.weight[:] = [1.0, 2.0, 3.0]
    for number in range(3):
        taps.tap[number].colour = tb.f32x3(1.0, float(number), 2.0)
    c = np.arange(6, dtype=np.float32).reshape(3, 2)
    out = F32Array.create(length=3)
    launch(accelerator, 3, filtered, taps, taps, other, accelerator.array(c), out)
    n = np.arange(3)
    expected = (n + 1) * n + 0.5 + 10 + c[:, 1] + 2 + (n + 3) + 1100 + (5 + n * n)
    assert np.asarray(out).tolist() == expected.tolist()


@tb.kernel
def image_sum(
    kc: KernelContext, out: NDArray[i32], image: tb.Constant[U8Array2D], gain: tb.Constant[F16Array]
) -> None:
    total = 0
    for y in range(image.height):
        total += i32(image.array[y, kc.x])
    out[kc.x] = i32(f32(total) * gain.array[kc.x])


def test_small_types(accelerator: Accelerator) -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    image, gain = U8Array2D.of(pixels), F16Array.of([1.0, 2.0, 0.5, 0.25])
    found = filled(accelerator, 4, image_sum, np.zeros(4, np.int32), image, gain)
    assert found.tolist() == [12, 30, 9, 5]


@tb.compute
def look_up(
    cc: ComputeContext, palette: tb.Constant[S32Array], index: S32Array, out: S32Array
) -> None:
    cc.dispatch(index.length, looked_up, palette, index, out)
    palette.array[0] = 1
    cc.dispatch(index.length, looked_up, palette, index, out)


def test_the_host_may_write_between_launches(accelerator: Accelerator) -> None:
    palette, index, out = S32Array.of([5]), S32Array.of([0]), S32Array.create(length=1)
    with accelerator.record() as ledger:
        accelerator.compute(look_up, palette, index, out)
    assert out.array[0] == 1
    assert not any(copy.buffer == "palette" for copy in ledger.copies if copy.direction == "down")


def test_the_table_says_that_it_is_read() -> None:
    table = str(analysed(looked_up).access)
    assert "  palette : Constant<S32Array> reads\n    array[]: reads\n" in table


def test_generated_code_has_the_word_for_it() -> None:
    text = emit(filtered, "opencl", ranks=(2,), lines=False)
    assert "__constant Filter_t *taps, int taps_taps, int taps_rows, __constant Filter_t *" in text
    assert "__global Filter_t *other, int other_taps, int other_rows" in " ".join(text.split())
    assert "__constant float *c, int c_shape0, int c_shape1" in text
    assert "static inline float tb_weighted(\n    __constant Filter_t *taps" in text
    assert "__constant Tap_t *Filter_tap_constant(__constant Filter_t *s) {" in text
    assert text.count("typedef struct Filter_s") == 1


HEAD = """
@tb.func
def first(a: S32Array) -> i32:
    return a.array[0]

@tb.func
def constant_first(a: tb.Constant[NDArray[i32]]) -> i32:
    return a[0]

class Points(tb.Buffer):
    n: i32
    p: tb.Array[tb.f32x3] = tb.array("n")
    total: tb.Atomic[i32]

@tb.kernel
def k(
    kc: KernelContext, c: tb.Constant[S32Array], p: tb.Constant[Points], a: S32Array,
    n: NDArray[i32],
) -> None:
"""


@pytest.mark.parametrize(
    ("statement", "carets"),
    [
        ("c.array[kc.x] = 1", "c.array[kc.x]"),
        ("c.array[0] += 1", "c.array[0]"),
        ("c.length = 3", "c.length"),
        ("p.p[0].x = 1.0", "p.p[0].x"),
        ("p.p[0].xy = tb.f32x2(1.0, 2.0)", "p.p[0].xy"),
        ("p.p[0] = tb.f32x3(1.0, 2.0, 3.0)", "p.p[0]"),
    ],
)
def test_writing_is_refused(statement: str, carets: str) -> None:
    text = said(FieldError, f"{HEAD}    {statement}")
    assert text == (
        f"app.py:19: this lies in constant memory, which kernels only read\n"
        f"  19 | {statement}\n"
        f"     | {'^' * len(carets)}\n"
        "  help: declare the parameter without `tb.Constant`, or write to another buffer"
    )


def test_atomics_write_too() -> None:
    assert "which kernels only read" in said(FieldError, f"{HEAD}    tb.atomic_inc(p.total)")


def test_a_reference_or_an_alias_is_no_way_around() -> None:
    assert "which kernels only read" in said(FieldError, f"{HEAD}    q = c.array\n    q[0] = 1")


def test_a_helper_must_say_the_same() -> None:
    assert said(KernelTypeError, f"{HEAD}    a.array[0] = first(c)") == lined(
        """
        app.py:19: parameter `a` is `S32Array`, and this is `Constant<S32Array>`
          19 | a.array[0] = first(c)
             |                    ^
          help: declare the helper's parameter `tb.Constant[S32Array]` as well
        """
    )
    assert said(KernelTypeError, f"{HEAD}    a.array[0] = constant_first(n)") == lined(
        """
        app.py:19: parameter `a` is `Constant<NDArray<i32, 1>>`, and this is `NDArray<i32, 1>`
          19 | a.array[0] = constant_first(n)
             |                             ^
          help: only what the kernel takes as `tb.Constant[NDArray[i32]]` lies in constant memory
        """
    )


def test_one_name_cannot_stand_for_both_kinds_of_memory() -> None:
    text = said(KernelTypeError, f"{HEAD}    b = c if kc.x else a\n    a.array[0] = b.array[0]")
    assert "the arms of this expression are `Constant<S32Array>` and `S32Array`" in text


def test_only_buffers_can_be_constant() -> None:
    source = "@tb.kernel\ndef k(kc: KernelContext, n: tb.Constant[i32]) -> None:\n    pass"
    assert said(KernelTypeError, source) == lined(
        """
        app.py:2: parameter `n` of `k` is `tb.Constant[i32]`, which a kernel cannot take
          2 | def k(kc: KernelContext, n: tb.Constant[i32]) -> None:
            |                          ^^^^^^^^^^^^^^^^^^^
          help: constant memory holds buffers and n-d arrays; other values need no memory
        """
    )


def test_annotations_may_be_text_and_names_of_their_own() -> None:
    made = kernel(
        """
        Palette = tb.Constant[S32Array]

        @tb.kernel
        def k(kc: KernelContext, a: "tb.Constant[NDArray[f32]]", b: Palette, c: F32Array) -> None:
            c.array[kc.x] = a[kc.x] + f32(b.array[0])
        """
    )
    types = [str(param.type) for param in analysed(made).graph.entry.params[1:]]
    assert types == ["Constant<NDArray<f32, 1>>", "Constant<S32Array>", "F32Array"]
