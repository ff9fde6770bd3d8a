"""Helpers with names that other modules have too."""

import trilby as tb
from trilby import i32


@tb.func
def scale(v: i32) -> i32:
    return v * 7


@tb.func
def clashing(v: i32) -> i32:
    return scale(v) + 1
