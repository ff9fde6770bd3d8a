"""The text that models have as keys: the same for the same, another for anything else."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.model.samples import S32_ARRAY

from trilby.backend.native.modules import identity
from trilby.data.dtypes import F32, I32, Type
from trilby.data.schema import BufferType
from trilby.model.build import Builder
from trilby.model.op import Func, Raw, RawBody
from trilby.model.ops.arith import Sub
from trilby.model.ops.core import Constant, Return
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import Load, Store
from trilby.model.value import KERNEL_CONTEXT, NONE, Value
from trilby.source import Location

HERE = Location("app.py", 3, 4, 3, 20)


def kernel(
    number: float = 1,
    place: Location = HERE,
    buffer: Type = S32_ARRAY,
    *,
    hint: str = "s32",
    swapped: bool = False,
) -> Func:
    kc, s32 = Value(KERNEL_CONTEXT, "kc"), Value(buffer, hint)
    b = Builder(place)
    x = b.value(Grid, kc, "x", type=I32)
    old = b.value(Load, s32, (x,), "array[]", type=I32)
    one = b.value(Constant, number, type=I32)
    new = b.value(Sub, *((one, old) if swapped else (old, one)), type=I32)
    b.run(Store, s32, (x,), new, "array[]")
    b.emit(Return())
    return Func("app.kernel", (kc, s32), NONE, b.block(), "kernel", HERE)


def wider() -> BufferType:
    """A buffer of the same name in which the array begins somewhere else."""
    first, *others = S32_ARRAY.fields
    return replace(S32_ARRAY, fields=(replace(first, align=16), *others))


def test_the_same_model_has_the_same_text() -> None:
    assert identity(kernel()) == identity(kernel())
    assert identity(kernel(), kernel(2)) == identity(kernel(), kernel(2))


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda: kernel(2), id="a number"),
        pytest.param(lambda: kernel(1.0), id="the kind of a number"),
        pytest.param(lambda: kernel(number=True), id="a bool that equals a number"),
        pytest.param(lambda: kernel(place=replace(HERE, line=4)), id="a line"),
        pytest.param(lambda: kernel(place=replace(HERE, file="lib.py")), id="a file"),
        pytest.param(lambda: kernel(buffer=wider()), id="a layout"),
        pytest.param(lambda: kernel(hint="a"), id="a name"),
        pytest.param(lambda: kernel(swapped=True), id="the order of operands"),
        pytest.param(lambda: replace(kernel(), name="app.other"), id="the symbol"),
        pytest.param(lambda: replace(kernel(), result=F32), id="the result"),
        pytest.param(
            lambda: replace(kernel(), raw=Raw(("a",), (RawBody("opencl", "x"),))), id="raw code"
        ),
    ],
)
def test_any_difference_shows(other: Callable[[], Func]) -> None:
    assert identity(other()) != identity(kernel())


def test_texts_cannot_be_mistaken_for_what_is_around_them() -> None:
    assert identity("a,b") != identity("a", "b")
    assert identity(("a", "b")) != identity(("a',' b",))
    assert identity((1, (2,))) != identity(((1,), 2))


def test_it_is_the_same_in_every_process() -> None:
    program = (
        "from trilby.backend.native.modules import identity; print(identity(frozenset('abcdefgh')))"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    assert told == {"{'a','b','c','d','e','f','g','h'}\n"}


def test_what_is_no_part_of_a_model_is_refused() -> None:
    with pytest.raises(TypeError, match="no part of a model"):
        identity(replace(kernel(), name=b"bytes"))  # pyright: ignore[reportArgumentType] -- on purpose
