"""Kernels and compute functions whose models the tests look at."""

from collections.abc import Callable
from typing import Any, Protocol

from trilby.data.kernel_context import KernelContext
from trilby.data.library import F32Array, S32Array
from trilby.data.library_2d import S32Array2D
from trilby.data.names import f32, i32
from trilby.data.ndarray import NDArray
from trilby.reflect import functions as tb
from trilby.reflect.raw import raw


@tb.kernel
def square_kernel(kc: KernelContext, s32: S32Array) -> None:
    s32.array[kc.x] = s32.array[kc.x] * s32.array[kc.x]


@tb.kernel
def scale_kernel(kc: KernelContext, s32: S32Array, by: i32) -> None:
    s32.array[kc.x] = s32.array[kc.x] * by


@tb.kernel
def life_kernel(kc: KernelContext, source: S32Array, to: S32Array) -> None:
    to.array[kc.x] = source.array[kc.x]


@tb.kernel
def mandel_kernel(kc: KernelContext, image: S32Array2D, x: f32, y: f32, scale: f32) -> None:
    image.array[kc.y, kc.x] = i32((x + kc.x) * (y + kc.y) * scale)


class Context(Protocol):
    """What the functions below need of a compute context."""

    def dispatch(
        self,
        size: object,
        kernel: Callable[[KernelContext], None] | tb.Kernel[...],
        /,
        *args: Any,
        **named: Any,
    ) -> None:
        """Launch a kernel."""
        ...


class Kernels:
    """Kernels may be kept in a class."""

    inner = square_kernel


def plain_function(_kc: object, _s32: S32Array) -> None:
    """Nothing that can be dispatched."""


@tb.func
def helper(v: i32) -> i32:
    return v


@raw(opencl="return v;")
def raw_helper(v: i32) -> i32:
    return v


@tb.compute
def square_all(cc: Context, s32: S32Array) -> None:
    cc.dispatch(s32.length, lambda kc: square_kernel(kc, s32))


@tb.compute
def double_and_show(cc: Context, s32: S32Array, count: int) -> None:
    for _i in range(count):
        cc.dispatch(s32.length, lambda kc: scale_kernel(kc, s32, 2))
        slot0 = s32.array[0]
        print("slot0", slot0)  # noqa: T201 -- as in the document that it is taken from


@tb.compute
def life_by_flipping(
    cc: Context, s1: S32Array, generations: int, display: Callable[[S32Array], None]
) -> None:
    s2 = S32Array.create(length=s1.length)
    for generation in range(generations):
        source = s1 if generation % 2 == 0 else s2
        to = s2 if generation % 2 == 0 else s1
        cc.dispatch(s1.length, lambda kc: life_kernel(kc, source, to))  # noqa: B023 -- read at once
        display(to)


@tb.compute
def life_by_swapping(cc: Context, s1: S32Array, s2: S32Array) -> None:
    cc.dispatch(s1.length, life_kernel, s1, s2)
    s1, s2 = s2, s1
    cc.dispatch(s1.length, life_kernel, to=s2, source=s1)


@tb.compute
def mandel(cc: Context, image: S32Array2D, x: float, y: float, scale: float) -> None:
    scale = scale * 2
    i = image.array[10, 10]
    image.array[10, 10] = i
    cc.dispatch((image.width, image.height), mandel_kernel, image, x, y, scale)


@tb.compute
def outer(cc: Context, s32: S32Array, f: F32Array, x: NDArray[f32]) -> Any:
    square_all(cc, s32=s32)
    try:
        cc.dispatch(x.shape, lambda kc: Kernels.inner(kc, s32))
    finally:
        f.array[:] = 0.0
    return x[0, 1] + x.shape[0]


@tb.compute
def in_passes(cc: Context, s32: S32Array, flags: S32Array) -> None:
    """Many passes, until a flag is raised."""
    cc.dispatch(s32.length, scale_kernel, s32, 2, passes=9, until=flags.array[1], check_every=2)
