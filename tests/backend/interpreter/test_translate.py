"""The Python text of a kernel."""

import pytest
from tests.backend.interpreter.kernels import S32_ARRAY, at, constant, function, kernel

from trilby.analysis.reach import KernelGraph
from trilby.backend.interpreter.translate import RENDERERS, translate
from trilby.data.dtypes import BOOL, I32
from trilby.errors import BuildError
from trilby.model.build import Builder
from trilby.model.op import Block
from trilby.model.ops import OPS
from trilby.model.ops.arith import Mul
from trilby.model.ops.control import If
from trilby.model.ops.core import LOWERED_OPS, Call, Return
from trilby.model.ops.grid import Grid
from trilby.model.ops.host import HOST_OPS
from trilby.model.ops.memory import Load, Store
from trilby.model.ops.transfer import TRANSFER_OPS
from trilby.model.value import Value


def squares() -> KernelGraph:
    def square(b: Builder, v: Value) -> None:
        b.run(Return, (b.value(Mul, v, v, type=I32, location=at(3)),), location=at(3))

    helper = function("square", {"v": I32}, I32, square, line=2)

    def body(b: Builder, kc: Value, s32: Value) -> None:
        x = b.value(Grid, kc, "x", type=I32, location=at(11))
        old = b.value(Load, s32, (x,), "array[]", type=I32, hint="old", location=at(11))
        new = b.value(Call, (old,), helper.name, type=I32, hint="new", location=at(12))
        b.run(Store, s32, (x,), new, "array[]", location=at(12))

    return kernel({"s32": S32_ARRAY}, body, helper, name="square_kernel")


def test_every_op_that_a_kernel_may_hold_has_a_meaning() -> None:
    assert set(RENDERERS) == set(OPS.values()) - {*HOST_OPS, *TRANSFER_OPS, *LOWERED_OPS}


def test_the_text_of_a_kernel_is_python_that_a_person_can_read() -> None:
    check = "if not 0 <= kc.x < s32.n_length: raise OutOfRangeError("
    check += "'s32.array', None, kc.x, s32.n_length)"
    assert translate(squares()).source.splitlines() == [
        "# app.square, app.py:2",
        "def square(v):",
        "    # app.py:3",
        "    v_2 = ((v * v) + 0x80000000 & 0xffffffff) - 0x80000000",
        "    return v_2",
        "",
        "# app.square_kernel, app.py:10",
        "def square_kernel(kc, s32):",
        "    # app.py:11",
        f"    {check}",
        "    old = load_i32(s32.bytes, kc.x * 4 + 4)[0]",
        "    # app.py:12",
        "    new = square(old)",
        f"    {check}",
        "    store_i32(s32.bytes, kc.x * 4 + 4, new)",
    ]


def test_the_same_model_gives_the_same_text() -> None:
    assert translate(squares()).source == translate(squares()).source


def test_blocks_nested_deeper_than_python_allows_are_refused_with_advice() -> None:
    def body(b: Builder, _: Value) -> None:
        block = Block()
        for _level in range(120):
            inner = Builder()
            inner.run(If, constant(inner, number=True, of=BOOL), block, Block())
            block = inner.block()
        b.run(If, constant(b, number=True, of=BOOL), block, Block())

    with pytest.raises(BuildError) as caught:
        translate(kernel({}, body))
    assert str(caught.value) == (
        "app.py:10: the kernel `kernel` cannot be written as Python: too many levels of "
        "indentation\n  help: move the innermost blocks to a function of their own (@tb.func)"
    )
