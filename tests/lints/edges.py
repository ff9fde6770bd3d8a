"""Kernels of the corpus: indices at the edges of arrays."""

from tests.lints.cases import Corpus

import trilby as tb
from trilby import F32Array, F32Array2D, KernelContext, NDRange, S32Array, f32, i32

corpus = Corpus()


@corpus.bug(
    "out-of-bounds",
    16,
    sees="nothing",
    disagrees="what lies left of the first element is the length, inside of the buffer's bytes",
    a=16,
    b=16,
)
@tb.kernel
def one_to_the_left(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[kc.x - 1]


@corpus.bug("out-of-bounds", 16, sees="bounds", a=16, b=16)
@tb.kernel
def one_to_the_right(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[kc.x + 1]


@corpus.clean(16, a=16, b=16)
@tb.kernel
def clamps_both_sides(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    left = a.array[max(kc.x - 1, 0)]
    right = a.array[min(kc.x + 1, a.length - 1)]
    b.array[kc.x] = left + right


@corpus.clean(16, a=16, b=16)
@tb.kernel
def skips_the_edges(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if 0 < kc.x < a.length - 1:
        b.array[kc.x] = a.array[kc.x - 1] + a.array[kc.x + 1]


@corpus.bug("out-of-bounds", 20, sees="bounds", a=16, b=20)
@tb.kernel
def a_guard_one_too_far(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    if kc.x <= a.length:
        b.array[kc.x] = a.array[kc.x]


@corpus.clean(20, a=16)
@tb.kernel
def a_guard_that_fits(kc: KernelContext, a: S32Array) -> None:
    if kc.x < a.length:
        a.array[kc.x] = 1


@corpus.bug("out-of-bounds", 16, sees="bounds", a=16, b=16)
@tb.kernel
def from_the_end_and_one(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[a.length - kc.x]


@corpus.clean(16, a=16, b=16)
@tb.kernel
def from_the_end(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[a.length - 1 - kc.x]


@corpus.bug("out-of-bounds", NDRange(32, local=16), sees="bounds", a=32, b=32)
@tb.kernel
def a_tile_one_too_small(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    tile = tb.local(f32, 16)
    tile[kc.local_x] = a.array[kc.x]
    kc.barrier("local")
    b.array[kc.x] = tile[kc.local_x] + tile[kc.local_x + 1]


@corpus.clean(NDRange(32, local=16), a=32, b=32)
@tb.kernel
def a_tile_that_wraps(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    tile = tb.local(f32, 16)
    tile[kc.local_x] = a.array[kc.x]
    kc.barrier("local")
    b.array[kc.x] = tile[kc.local_x] + tile[(kc.local_x + 1) % 16]


@corpus.bug("out-of-bounds", (8, 8), sees="bounds", a=(8, 8), b=(8, 8))
@tb.kernel
def a_stencil_without_edges(kc: KernelContext, a: F32Array2D, b: F32Array2D) -> None:
    total = 0.0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            total += a.array[kc.y + dy, kc.x + dx]
    b.array[kc.y, kc.x] = total


@corpus.clean((8, 8), a=(8, 8), b=(8, 8))
@tb.kernel
def a_stencil_with_edges(kc: KernelContext, a: F32Array2D, b: F32Array2D) -> None:
    total = 0.0
    for y in range(max(kc.y - 1, 0), min(kc.y + 2, a.height)):
        for x in range(max(kc.x - 1, 0), min(kc.x + 2, a.width)):
            total += a.array[y, x]
    b.array[kc.y, kc.x] = total


@corpus.bug("out-of-bounds", 16, sees="bounds", a=16, b=16)
@tb.kernel
def a_loop_one_too_long(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    total = 0.0
    for i in range(a.length + 1):
        total += a.array[i]
    b.array[kc.x] = total


@corpus.clean(16, a=16, b=16)
@tb.kernel
def a_loop_over_all(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    total = 0.0
    for i in range(a.length):
        total += a.array[i]
    b.array[kc.x] = total


@corpus.clean(8, a=16, b=8)
@tb.kernel
def pairs(kc: KernelContext, a: F32Array, b: F32Array) -> None:
    b.array[kc.x] = a.array[2 * kc.x] + a.array[2 * kc.x + 1]


@corpus.bug("out-of-bounds", 8, sees="bounds", a=8)
@tb.kernel
def a_private_array_too_small(kc: KernelContext, a: S32Array) -> None:
    kept = tb.private(i32, 4)
    for i in range(5):
        kept[i] = i
    a.array[kc.x] = kept[kc.x % 4]


@corpus.unknown("out-of-bounds", 8, a=8, b=8, places=[1] * 8)
@tb.kernel
def gathers_anywhere(kc: KernelContext, a: S32Array, b: S32Array, places: S32Array) -> None:
    a.array[kc.x] = b.array[places.array[kc.x]]


@corpus.bug("out-of-bounds", 16, sees="bounds", a=16, b=16, radius=2)
@tb.kernel
def a_radius_without_edges(kc: KernelContext, a: F32Array, b: F32Array, radius: i32) -> None:
    total = 0.0
    for i in range(kc.x - radius, kc.x + radius + 1):
        total += a.array[i]
    b.array[kc.x] = total
