"""The kernels of docs/native-code.md, which shows what LLVM is given for them."""

import trilby as tb
from trilby import F32Array, F32Array2D, KernelContext, S32Array, S32Array2D, f32, i32


@tb.kernel
def saxpy(kc: KernelContext, a: f32, x: F32Array, y: F32Array) -> None:
    y.array[kc.x] = a * x.array[kc.x] + y.array[kc.x]


@tb.kernel
def escape(kc: KernelContext, turns: S32Array2D, scale: f32, most: i32) -> None:
    cx = f32(kc.x) * scale - 2.0
    cy = f32(kc.y) * scale - 1.0
    x = f32(0.0)
    y = f32(0.0)
    n = i32(0)
    while n < most and x * x + y * y < 4.0:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        n += 1
    turns.array[kc.y, kc.x] = n


@tb.kernel
def product(kc: KernelContext, a: F32Array2D, b: F32Array2D, c: F32Array2D, n: i32) -> None:
    total = f32(0.0)
    for k in range(n):
        total += a.array[kc.y, k] * b.array[k, kc.x]
    c.array[kc.y, kc.x] = total


@tb.kernel
def group_sums(kc: KernelContext, a: F32Array, sums: F32Array) -> None:
    part = tb.local(f32, 64)
    part[kc.local_x] = a.array[kc.x]
    kc.barrier()
    step = i32(32)
    while step > 0:
        if kc.local_x < step:
            part[kc.local_x] += part[kc.local_x + step]
        kc.barrier()
        step //= 2
    if kc.local_x == 0:
        sums.array[kc.group_x] = part[0]


@tb.kernel
def histogram(kc: KernelContext, keys: S32Array, bin_of: S32Array, counts: S32Array) -> None:
    tb.atomic_add(counts.array, bin_of.array[keys.array[kc.x]], 1)


KERNELS = (saxpy, escape, product, group_sums, histogram)
