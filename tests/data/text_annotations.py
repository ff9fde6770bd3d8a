"""Declarations whose annotations are text, as the future import makes them."""

from __future__ import annotations

from trilby.data.buffer import Buffer
from trilby.data.markers import Atomic, array
from trilby.data.names import f32, i32  # noqa: TC001 -- evaluated when the class is made
from trilby.data.struct import Struct
from trilby.data.views import Array  # noqa: TC001 -- see above


class ResultTable(Buffer):
    class Result(Struct):
        x: f32
        y: f32

    count: Atomic[i32]
    length: i32
    result: Array[Result] = array("length")


def local_buffer() -> type[Buffer]:
    class Point(Struct):
        x: f32

    class Cloud(Buffer):
        class Origin(Struct):
            at: Point

        n: i32
        point: Array[Point] = array("n")
        origin: Origin

    return Cloud
