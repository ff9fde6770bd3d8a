"""What transforms put into a model is written as calls of the compute context."""

import pytest
from tests.model.samples import TYPES

from trilby.codegen.python import to_python
from trilby.data.dtypes import F32, I32
from trilby.data.schema import ArrayType, BufferType, Field, StructType
from trilby.model.parse import parse
from trilby.model.verify import verify

CELL = StructType("Grid.Cell", (Field("mass", F32), Field("at", ArrayType(I32, (3,)))))
GRID = BufferType("Grid", (Field("n", I32), Field("cells", ArrayType(CELL, ("n", "n")))))

HEAD = (
    'compute @"f" (%cc : ComputeContext, %a : S32Array, %t : ResultTable, %x : NDArray<f32, 2>, '
    "%g : Grid, %r : Ref<ResultTable.Result>, %o : object, %i : i32, %j : i32) -> None {\n"
)


def written(*lines: str) -> list[str]:
    """The statements of a function made of some ops."""
    func = parse(f"{HEAD}{chr(10).join(lines)}\n}}", {**TYPES, "Grid": GRID})
    verify(func)
    return [line.strip() for line in to_python(func).splitlines()[1:]]


@pytest.mark.parametrize(
    ("op", "call"),
    [
        ("track.pre_access %cc %a", "cc.pre_access(a)"),
        ("track.post_access %cc %o", "cc.post_access(o)"),
        ("track.pre_mutate %cc %r", "cc.pre_mutate(r)"),
        ("track.post_mutate %cc %x", "cc.post_mutate(x)"),
        ("transfer.to_device %cc %a @False", "cc.to_device(a)"),
        ("transfer.to_device %cc %a @True", "cc.to_device(a)"),
        ('transfer.to_host %cc %a @"" @False', "cc.to_host(a)"),
        ('transfer.to_host %cc %a %i @"array[]" @True', "cc.to_host(a.array, i)"),
        ('transfer.to_host %cc %a @"array[]" @False', "cc.to_host(a.array)"),
        ('transfer.to_host %cc %a @"array" @False', "cc.to_host(a.array)"),
        ('transfer.to_host %cc %t %i @"result[].x" @False', "cc.to_host(t.result.x, i)"),
        ('transfer.to_host %cc %t @"result[].x" @False', "cc.to_host(t.result.x)"),
        ('transfer.to_host %cc %t @"count" @False', "cc.to_host(t, 'count')"),
        ('transfer.to_host %cc %r @"x" @False', "cc.to_host(r, 'x')"),
        ('transfer.to_host %cc %x %i %j @"[]" @False', "cc.to_host(x, (i, j))"),
        ('transfer.to_host %cc %x %i @"[]" @False', "cc.to_host(x, i)"),
        (
            'transfer.to_host %cc %g %i %j @"cells[].mass" @False',
            "cc.to_host(g.cells.mass, (i, j))",
        ),
        (
            'transfer.to_host %cc %g %i %j %i @"cells[].at[]" @False',
            "cc.to_host(g.cells[i, j].at, i)",
        ),
    ],
)
def test_a_transfer_is_a_call(op: str, call: str) -> None:
    assert written(op) == [call]


def test_an_index_may_be_a_slice() -> None:
    assert written(
        '%1 : object = host.value %i @"1:{0}" @()', 'transfer.to_host %cc %a %1 @"array[]" @False'
    ) == ["cc.to_host(a.array, slice(1, i, None))"]


def test_an_access_between_them_is_written_in_its_turn() -> None:
    lines = written(
        '%1 : Var<S32Array> = var %a @"b"',
        "%2 : S32Array = var.load %1",
        "%3 : i64 = constant @0",
        "track.pre_access %cc %2",
        '%4 : i32 = load %2 %3 @"array[]"',
        "track.post_access %cc %2",
        'host.value %4 @"print({0})" @()',
    )
    assert lines == ["cc.pre_access(b)", "_v0 = b.array[0]", "cc.post_access(b)", "print(_v0)"]
