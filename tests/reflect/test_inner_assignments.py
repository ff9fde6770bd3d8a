"""What stands left of the last dot or bracket is evaluated once, before anything is stored."""

import numpy as np
import pytest
from tests.reflect.kernel_cases import kernel, lined, run, said
from tests.reflect.struct_cases import accepted, model_of, names

import trilby as tb
from trilby.errors import FieldError

STEP = """
@tb.func
def step(t: Table) -> i32:
    t.count += 1
    return t.count

@tb.kernel
def k(kc: KernelContext, t: Table):
    {line}
"""


@pytest.mark.parametrize(
    "line",
    [
        "t.v[step(t)].xy = tb.f32x2(1.0, 2.0)",
        "t.v[step(t)].xy += tb.f32x2(1.0, 2.0)",
        "t.v[step(t)].y += 1.0",
        "t.v[step(t)] += 1.0",
        "t.m[step(t)][0, 1] += 1.0",
        "t.m[step(t)][step(t) - 1, 1] *= 2.0",
        "t.point[step(t)].w[step(t)] += 1.0",
        "t.point[step(t)].x = 1.0",
    ],
)
def test_indices_are_computed_once(line: str) -> None:
    made = names()
    table = made["Table"].create(n=4)
    run(kernel(STEP.format(line=line), **made), 1, table)
    assert table.count == line.count("step(t)")


def test_a_struct_may_have_fields_that_look_like_lanes() -> None:
    source = """
        class Box(tb.Struct):
            xy: f32
            zw: tb.f32x2

        class Boxes(tb.Buffer):
            count: i32
            n: i32
            box: tb.Array[Box] = tb.array("n")

        @tb.func
        def step(b: Boxes) -> i32:
            b.count += 1
            return b.count

        @tb.kernel
        def k(kc: KernelContext, b: Boxes):
            b.box[step(b)].xy = 2.0
            b.box[step(b)].zw = tb.f32x2(3.0, 4.0)
            b.box[1].zw.yx += tb.f32x2(1.0, 2.0)
            mine = Box(xy=1.0, zw=tb.f32x2(0.0, 0.0))
            mine.xy += 5.0
            mine.zw.yx = b.box[2].zw
            b.box[0] = mine
    """
    made = kernel(source)
    boxes = made.function.__globals__["Boxes"].create(n=3)
    run(made, 1, boxes)
    assert boxes.count == 2
    assert [box.xy for box in boxes.box] == [6.0, 2.0, 0.0]
    assert [box.zw for box in boxes.box] == [
        tb.f32x2(4.0, 3.0),
        tb.f32x2(2.0, 1.0),
        tb.f32x2(3.0, 4.0),
    ]


def test_lanes_in_memory_are_stores() -> None:
    assert model_of("t.v[n].zx = v.xy", "t: Table, n: i32, v: tb.f32x3") == lined("""
        %4 : f32 = unpack %3 @"x"
        %5 : f32 = unpack %3 @"y"
        %6 : f32 = unpack %3 @"z"
        store %1 %2 %4 @"v[].z"
        store %1 %2 %5 @"v[].x"
    """)


def test_all_kinds_of_places() -> None:
    accepted("s = tb.local(tb.f32x3, 4)\ns[n].xy = v.yx\ns[n].z -= 1.0\ns[n] *= 2.0")
    accepted("w = v\nw.x, w.y = w.y, w.x\nw.xz += w.zx\nw *= w")
    accepted("q = Pair(p=p, v=v)\nq.v.xy = v.yz\nq.p.w[1] += q.v.x\nq.p = p\nq.v.z **= 2.0")
    accepted("o = m\no[0, 1], o[1, 0] = o[1, 0], o[0, 1]\no[1, 1] /= 2.0\nt.m[n] = o @ o")
    accepted("r = t.point[n]\nr.w[n] = 1.0\nr.x, t.v[0].y = t.v[0].y, r.x")


def test_constant_memory_has_no_lanes_to_write() -> None:
    source = """
        @tb.kernel
        def k(kc: KernelContext, t: tb.Constant[Table]):
            t.v[0].xy = t.v[0].yx
    """
    assert said(FieldError, source, **names()).splitlines()[0] == (
        "app.py:3: this lies in constant memory, which kernels only read"
    )


def test_a_swap_of_elements_of_vectors() -> None:
    source = """
        @tb.kernel
        def k(kc: KernelContext, t: Table):
            t.v[0], t.v[1] = t.v[1], t.v[0]
            t.v[2].x, t.v[2].z = t.v[2].z, t.v[2].x
    """
    made = names()
    table = made["Table"].create(n=3)
    table.v.x[:], table.v.z[:] = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
    run(kernel(source, **made), 1, table)
    assert np.asarray(table.v.x).tolist() == [2.0, 1.0, 6.0]
    assert np.asarray(table.v.z).tolist() == [5.0, 4.0, 3.0]
