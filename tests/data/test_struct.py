import copy
import ctypes
import pickle
from typing import Any, cast

import numpy as np
import pytest

from trilby.data.buffer import Buffer
from trilby.data.markers import Atomic, array, pad
from trilby.data.names import f32, f64, i16, i32, u8, u32
from trilby.data.struct import Struct, Union
from trilby.data.views import Array
from trilby.errors import ArgumentTypeError, ArgumentValueError, FieldError, ReleasedError


class Vec(Struct):
    x: f32
    y: f32


class Bits(Union):
    number: f32
    pattern: u32
    octet: Array[u8] = array(4)


class Body(Struct):
    kind: u8
    _: Any = pad(3)
    at: Vec
    bits: Bits
    hits: Atomic[i32]
    alive: bool
    trace: Array[i16] = array(2, 3)
    corner: Array[Vec] = array(2)


class Scene(Buffer):
    time: f64
    length: i32
    main: Body
    body: Array[Body] = array("length")


class CVec(ctypes.Structure):
    _fields_ = (("x", ctypes.c_float), ("y", ctypes.c_float))


class CBits(ctypes.Union):
    _fields_ = (
        ("number", ctypes.c_float),
        ("pattern", ctypes.c_uint32),
        ("octet", ctypes.c_uint8 * 4),
    )


class CBody(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_uint8),
        ("pad", ctypes.c_char * 3),
        ("at", CVec),
        ("bits", CBits),
        ("hits", ctypes.c_int32),
        ("alive", ctypes.c_bool),
        ("trace", (ctypes.c_int16 * 3) * 2),
        ("corner", CVec * 2),
    )


def test_what_is_written_here_is_read_there() -> None:
    scene = Scene.create(length=3)
    body = scene.body[2]
    body.kind = 7
    body.at.x = 1.5
    body.at.y = -2.5
    body.bits.number = 1.0
    body.hits = 4
    body.hits += 1
    body.alive = True
    body.trace[1, 2] = -3
    body.corner[1].y = 0.25
    place = scene.layout.slots["body"].offset + 2 * ctypes.sizeof(CBody)
    c_body = CBody.from_buffer(cast("Any", scene.segment.memory), place)
    assert (c_body.kind, c_body.at.x, c_body.at.y) == (7, 1.5, -2.5)
    assert (c_body.bits.pattern, c_body.hits, c_body.alive) == (0x3F800000, 5, True)
    assert c_body.trace[1][2] == -3
    assert c_body.corner[1].y == 0.25
    c_body.at.x = 8.0
    c_body.bits.octet[3] = 0
    assert body.at.x == 8.0
    assert body.bits.pattern == 0x00800000


def test_members_are_python_numbers() -> None:
    scene = Scene.create(length=1)
    assert type(scene.time) is float
    assert type(scene.main.kind) is int
    assert type(scene.main.alive) is bool
    assert isinstance(scene.main.at, Vec)


def test_a_struct_object_is_an_accessor_and_shares_memory() -> None:
    scene = Scene.create(length=2)
    at = scene.body[1].at
    scene.body[1].at.x = 3.0
    assert at.x == 3.0
    scene.body.at.x[:] = 4.0
    assert at.x == 4.0


def test_a_struct_of_its_own() -> None:
    vec = Vec(x=1, y=2)
    vec.x += 0.5
    assert (vec.x, vec.y) == (1.5, 2.0)
    scene = Scene.create(length=1)
    scene.main.at = vec
    vec.x = 9.0
    assert scene.main.at.x == 1.5
    scene.main.at = cast("Any", (5, 6))
    scene.body[0].at = cast("Any", {"y": 8, "x": 7})
    assert (scene.main.at.x, scene.body[0].at.y) == (5.0, 8.0)


def test_arrays_may_be_left_out_and_given() -> None:
    vec = Vec(x=0, y=0)
    bits = Bits(pattern=1)
    body = Body(kind=1, at=vec, bits=bits, hits=0, alive=False)
    assert body.trace.tolist() == [[0, 0, 0], [0, 0, 0]]
    numbers: Any = [[1, 2, 3], [4, 5, 6]]
    body = Body(kind=1, at=vec, bits=bits, hits=0, alive=False, trace=numbers)
    assert body.trace[1, 2] == 6
    with pytest.raises(ArgumentValueError, match="do not fit into shape"):
        Body(kind=1, at=vec, bits=bits, hits=0, alive=False, trace=numbers[0][:2])


def test_wrong_members_of_a_new_struct() -> None:
    anyhow = cast("Any", Vec)
    with pytest.raises(ArgumentTypeError, match="`Vec` lacks a value for `y`"):
        anyhow(x=1)
    with pytest.raises(FieldError, match="`Vec` has no field `z`"):
        anyhow(x=1, y=2, z=3)
    with pytest.raises(ArgumentTypeError, match="is a union and takes one member"):
        Bits(number=1.0, pattern=1)
    with pytest.raises(OverflowError):
        Body(kind=256, at=Vec(x=0, y=0), bits=Bits(), hits=0, alive=False)


def test_wrong_values_for_a_struct() -> None:
    scene = Scene.create(length=1)
    for value, kind in (
        ((1, 2, 3), ArgumentValueError),
        ((1, "a"), ArgumentTypeError),
        (3, ArgumentTypeError),
        (Bits(), ArgumentTypeError),
        ({"x": 1}, ArgumentTypeError),
        ({"x": 1, "z": 2}, FieldError),
    ):
        with pytest.raises(kind):
            scene.main.at = cast("Any", value)
    with pytest.raises(ArgumentTypeError):
        scene.main.bits = cast("Any", (1, 2, 3))
    scene.main.bits = cast("Any", {"pattern": 0x3F800000})
    assert scene.main.bits.number == 1.0


def test_text() -> None:
    assert repr(Vec(x=1, y=0.5)) == "Vec(x=1.0, y=0.5)"
    scene = Scene.create(length=1)
    scene.main.trace[0, 1] = 7
    assert repr(scene.main) == (
        "Body(kind=0, at=Vec(x=0.0, y=0.0), bits=Bits(number=0.0, pattern=0, "
        "octet=[0 0 0 0]), hits=0, alive=False, "
        "trace=[[0 7 0] [0 0 0]], corner=[(0., 0.) (0., 0.)])"
    )
    main = scene.main
    scene.release()
    assert repr(main) == "Body(released)"
    with pytest.raises(ReleasedError):
        _ = main.kind


def test_equality_is_by_content() -> None:
    assert Vec(x=1, y=2) == Vec(x=1, y=2)
    assert Vec(x=1, y=2) != Vec(x=1, y=3)
    assert Vec(x=1, y=2) != (1, 2)
    scene = Scene.create(length=2)
    assert scene.body[0] == scene.body[1]
    scene.body[1].trace[1, 1] = 1
    assert scene.body[0] != scene.body[1]
    with pytest.raises(TypeError, match="unhashable"):
        hash(Vec(x=1, y=2))


def test_unknown_names() -> None:
    scene = Scene.create(length=1)
    with pytest.raises(FieldError) as caught:
        _ = cast("Any", scene.main).alife
    assert caught.value.advice == "did you mean `alive`?"
    with pytest.raises(FieldError, match="`Vec` has no field `z`") as caught:
        cast("Any", scene.main.at).z = 1
    assert caught.value.advice == "its fields: x, y"
    with pytest.raises(FieldError):
        cast("Any", scene.main)._ = 1
    with pytest.raises(FieldError, match="`trace` is an array and cannot be replaced"):
        scene.main.trace = cast("Any", [1])
    scene.main.trace += 1
    assert scene.main.trace[0, 0] == 1
    assert not hasattr(scene.main, "__array_interface__")


def test_copies_are_structs_of_their_own() -> None:
    scene = Scene.create(length=1)
    scene.main.at.x = 1.0
    for taken in (
        copy.copy(scene.main.at),
        copy.deepcopy(scene.main.at),
        pickle.loads(pickle.dumps(scene.main.at)),  # noqa: S301 -- our own
    ):
        assert taken == Vec(x=1, y=0)
        taken.x = 5.0
    assert scene.main.at.x == 1.0
    snapshot = np.asarray(scene.main.at)
    assert snapshot.shape == ()
    assert snapshot["x"] == 1.0
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(scene.main.at, copy=False)


def test_own_properties_may_be_assigned() -> None:
    class Polar(Struct):
        x: f32

        @property
        def double(self) -> float:
            return 2 * self.x

        @double.setter
        def double(self, value: float) -> None:
            self.x = value / 2

    polar = Polar(x=1.0)
    polar.double = 6.0
    assert polar.x == 3.0
