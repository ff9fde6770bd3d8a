"""Vectors on the host: layout, lanes, arithmetic against NumPy, and what they refuse."""

import ctypes
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import trilby as tb
from trilby import f32, i32, u8
from trilby.data.dtypes import SCALARS
from trilby.data.lanes import lane_names
from trilby.data.vector_types import vector_of, vector_type
from trilby.data.vectors import VECTORS, swizzle
from trilby.errors import ArgumentTypeError, FieldError

ALL = list(VECTORS.items())
UNCHECKED: Any = tb  # for what checkers refuse as well
ELEMENTS = ("f32", "i32", "u32", "u8", "f16")


def numbers_of(vector: object) -> list[Any]:
    return [getattr(vector, lane) for lane in lane_names(vector)]


@pytest.mark.parametrize(("key", "cls"), ALL)
def test_a_vector_is_aligned_to_its_size_and_three_lanes_take_the_room_of_four(
    key: tuple[str, int], cls: Any
) -> None:
    element, lanes = key
    room = SCALARS[element].size * (4 if lanes == 3 else lanes)
    assert cls.__layout__.size == cls.__layout__.align == room
    assert [cls.__layout__.slots[name].offset for name in "xyzw"[:lanes]] == [
        n * SCALARS[element].size for n in range(lanes)
    ]
    assert vector_of(cls.__schema__) == (SCALARS[element], lanes)
    assert vector_type(SCALARS[element], lanes) == cls.__schema__
    assert cls.__name__ == f"{element}x{lanes}"


def test_a_struct_with_vectors_is_laid_out_as_in_c() -> None:
    class Mote(tb.Struct):
        mass: f32
        at: tb.f32x3
        tag: u8
        color: tb.u8x4
        last: f32

    class Float3(ctypes.Structure):  # ctypes has no aligned structs before Python 3.13
        _fields_ = (("lanes", ctypes.c_float * 3), ("room", ctypes.c_float))

    class InC(ctypes.Structure):
        _fields_ = (
            ("mass", ctypes.c_float),
            ("before", ctypes.c_char * 12),
            ("at", Float3),
            ("tag", ctypes.c_uint8),
            ("between", ctypes.c_char * 3),
            ("color", ctypes.c_uint8 * 4),
            ("last", ctypes.c_float),
            ("behind", ctypes.c_char * 4),
        )

    for name in ("mass", "at", "tag", "color", "last"):
        assert Mote.__layout__.slots[name].offset == getattr(InC, name).offset
    assert Mote.__layout__.size == ctypes.sizeof(InC)


OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.add,
    operator.sub,
    operator.mul,
    lambda a, b: a // b,
    operator.mod,
]


@pytest.mark.parametrize("lanes", [2, 3, 4])
@pytest.mark.parametrize("element", ELEMENTS)
def test_arithmetic_is_that_of_numpy(element: str, lanes: int) -> None:
    cls = VECTORS[element, lanes]
    dtype = SCALARS[element].numpy
    left, right = (np.array(n[:lanes], dtype) for n in ([200, 7, 9, 11], [100, 2, 4, 3]))
    a, b = cls(*left.tolist()), cls(*right.tolist())
    with np.errstate(over="ignore"):
        for operation in OPERATORS:
            assert numbers_of(operation(a, b)) == operation(left, right).tolist()
            assert numbers_of(operation(a, 3)) == operation(left, dtype.type(3)).tolist()
            assert numbers_of(operation(3, b)) == operation(dtype.type(3), right).tolist()
        assert numbers_of(b**2) == (right**2).tolist()
        assert numbers_of(-a) == (-left).tolist()
    assert numbers_of(+a) == numbers_of(abs(a)) == left.tolist()
    assert type(a + b) is cls


def test_bits_of_integers_and_division_of_floats() -> None:
    a, b = tb.u8x2(0b1100, 255), tb.u8x2(0b1010, 1)
    assert a & b == tb.u8x2(0b1000, 1)
    assert a | 1 == tb.u8x2(0b1101, 255)
    assert a ^ b == tb.u8x2(0b0110, 254)
    assert (a << 1, a >> 2, ~b) == (tb.u8x2(24, 254), tb.u8x2(3, 63), tb.u8x2(245, 254))
    third = np.float32(1) / np.float32(3)
    assert tb.f32x2(1.0, 2.0) / 3.0 == tb.f32x2(float(third), float(np.float32(2) / np.float32(3)))
    assert 1.0 / tb.f32x2(3.0, 0.0) == tb.f32x2(float(third), float("inf"))


def test_lanes_are_read_and_written_by_name() -> None:
    v = tb.f32x4(1.0, 2.0, 3.0, 4.0)
    assert v.wzyx == tb.f32x4(4.0, 3.0, 2.0, 1.0)
    assert v.xx == tb.f32x2(1.0, 1.0)
    assert v.yzw == tb.f32x3(2.0, 3.0, 4.0)
    v.xw = v.wx
    v.y += 10.0
    v.zw *= 2.0
    assert v == tb.f32x4(4.0, 12.0, 6.0, 2.0)
    copy = v.xyzw
    copy.x = 0.0
    assert v.x == 4.0  # a swizzle is a copy


@pytest.mark.parametrize(
    ("name", "lanes", "picked"),
    [
        ("xy", 2, (0, 1)),
        ("zyx", 3, (2, 1, 0)),
        ("wwww", 4, (3, 3, 3, 3)),
        ("x", 4, None),
        ("xz", 2, None),
        ("xyzwx", 4, None),
        ("xq", 4, None),
        ("", 4, None),
    ],
)
def test_swizzles(name: str, lanes: int, picked: tuple[int, ...] | None) -> None:
    assert swizzle(name, lanes) == picked


def test_vectors_are_made_of_numbers_and_vectors() -> None:
    xy = tb.f32x2(1.0, 2.0)
    whole = tb.f32x4(1.0, 2.0, 3.0, 4.0)
    assert tb.f32x4(xy, 3.0, 4.0) == tb.f32x4(1.0, tb.f32x2(2.0, 3.0), 4.0) == whole
    assert tb.f32x4(xy, tb.f32x2(3.0, 4.0)) == tb.f32x4(tb.f32x3(xy, 3.0), 4.0) == whole
    copy = tb.f32x2(xy)
    copy.x = 9.0
    assert xy.x == 1.0


def test_functions_of_whole_vectors() -> None:
    a, b = np.array([1.5, -2.0, 0.25], np.float32), np.array([3.0, 0.5, -1.0], np.float32)
    v, w = tb.f32x3(*a.tolist()), tb.f32x3(*b.tolist())
    assert tb.dot(v, w) == float(a @ b)
    assert numbers_of(tb.cross(v, w)) == np.cross(a, b).tolist()
    assert tb.length(tb.f32x2(3.0, 4.0)) == 5.0
    assert tb.normalize(tb.f32x2(3.0, 4.0)) == tb.f32x2(0.6, 0.8)
    assert tb.dot(tb.u8x2(100, 100), tb.u8x2(2, 2)) == 144  # 400 at eight bits


def test_a_vector_is_a_struct() -> None:
    v = tb.i32x3(1, 2, 3)
    assert repr(v) == "i32x3(x=1, y=2, z=3)"
    assert v == tb.i32x3(1, 2, 3) != tb.i32x3(1, 2, 4)
    assert pickle.loads(pickle.dumps(v)) == v  # noqa: S301 -- our own bytes
    assert np.asarray(v).tolist() == (1, 2, 3)

    class Track(tb.Buffer):
        n: i32
        at: tb.Array[tb.i32x3] = tb.array("n")

    track = Track.create(n=2)
    track.at[1] = v + 1
    track.at[0].z = 5
    track.at[0].xy = track.at[1].yx
    assert np.asarray(track.at.x).tolist() == [3, 2]
    assert [numbers_of(one) for one in track.at] == [[3, 2, 5], [2, 3, 4]]


@pytest.mark.parametrize(
    ("wrong", "problem", "advice"),
    [
        (
            lambda: UNCHECKED.i32x2(1, 2) / 2,
            "`/` of `i32x2` would leave its integer lanes",
            "use `//`, or a vector of floats",
        ),
        (
            lambda: UNCHECKED.f32x2(1.0, 2.0) + UNCHECKED.f32x3(1.0, 2.0, 3.0),
            "`f32x2` and `f32x3` do not compute with each other",
            "make one of the other: a vector is made of numbers and of vectors",
        ),
        (
            lambda: UNCHECKED.i32x2(1, 2) * 1.5,
            "a lane of `i32x2` is `i32`, and 1.5 is a float",
            "use a whole number, or a vector of floats",
        ),
        (
            lambda: UNCHECKED.f32x3(1.0),
            "`f32x3` has 3 numbers, and 1 is given",
            "give 3 numbers, or vectors that have as many lanes together",
        ),
        (
            lambda: UNCHECKED.f32x2(UNCHECKED.f32x3(1.0, 2.0, 3.0)),
            "`f32x2` has 2 numbers, and 3 are given",
            "give 2 numbers, or vectors that have as many lanes together",
        ),
        (
            lambda: setattr(UNCHECKED.f32x2(1.0, 2.0), "xx", UNCHECKED.f32x2(1.0, 2.0)),
            "`.xx` writes a lane twice",
            "name each lane once",
        ),
        (
            lambda: setattr(UNCHECKED.f32x2(1.0, 2.0), "yx", 1.0),
            "`.yx` takes 2 lanes, and this is float",
            "assign a vector with as many lanes",
        ),
        (
            lambda: setattr(UNCHECKED.f32x3(1.0, 2.0, 3.0), "yx", UNCHECKED.f32x3(1.0, 2.0, 3.0)),
            "`.yx` takes 2 lanes, and this is f32x3",
            "assign a vector with as many lanes",
        ),
    ],
)
def test_what_vectors_refuse(wrong: Callable[[], object], problem: str, advice: str) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        wrong()
    assert (caught.value.problem, caught.value.advice) == (problem, advice)


def test_lanes_that_do_not_exist() -> None:
    v = tb.f32x2(1.0, 2.0)
    with pytest.raises(FieldError, match="`f32x2` has no field `z`"):
        _ = v.z
    with pytest.raises(FieldError, match="`f32x2` has no field `xz`"):
        v.xz = v.xy


class Points(tb.Buffer):
    n: i32
    at: tb.Array[tb.f32x3] = tb.array("n")


def test_vectors_in_arrays_are_given_as_tuples_and_dicts() -> None:
    points: Any = Points.create(n=3)
    points.at[:] = (1, 2, 3)
    points.at[1] = {"x": 4, "y": 5, "z": 6}
    assert np.asarray(points.at).tolist() == [(1, 2, 3), (4, 5, 6), (1, 2, 3)]
    points.at[:] = [(7, 8, 9), tb.f32x3(1, 1, 1), {"x": 0, "y": 0, "z": 2}]
    assert np.asarray(points.at).tolist() == [(7, 8, 9), (1, 1, 1), (0, 0, 2)]
    with pytest.raises(ArgumentTypeError, match="`f32x3` lacks a value for `y`"):
        points.at[0] = {"x": 1}
