"""Raw device code: its text on a device, its Python body everywhere else."""

import math

import numpy as np
from tests.conformance.running import filled, launch

import trilby as tb
from trilby import (
    Accelerator,
    BF16Array,
    F32Array,
    KernelContext,
    NDArray,
    S32Array,
    f32,
    i32,
    u8,
    u32,
)


@tb.raw(opencl="return native_sin(x);", cuda="return __sinf(x);")
def fast_sin(x: f32) -> f32:
    return math.sin(x)


@tb.kernel
def sines(kc: KernelContext, out: NDArray[f32], a: NDArray[f32]) -> None:
    out[kc.x] = fast_sin(a[kc.x]) * 2.0


def test_an_intrinsic_of_the_device(accelerator: Accelerator) -> None:
    numbers = np.linspace(-3, 3, 50, dtype=np.float32)
    found = filled(accelerator, 50, sines, np.zeros(50, np.float32), numbers)
    assert np.allclose(found, 2 * np.sin(numbers), atol=1e-5)


def test_on_the_host_it_is_python() -> None:
    assert fast_sin(1.0) == math.sin(1.0)
    assert fast_sin.name == "fast_sin"
    assert "raw" in repr(fast_sin)


@tb.raw(opencl="return 1;")
def which() -> i32:
    return 2


@tb.kernel
def tell(kc: KernelContext, out: NDArray[i32]) -> None:
    out[kc.x] = which()


def test_a_device_of_its_language_runs_the_text_and_others_the_python(
    accelerator: Accelerator,
) -> None:
    found = filled(accelerator, 2, tell, np.zeros(2, np.int32))
    assert found.tolist() == ([1, 1] if accelerator.device.backend == "opencl" else [2, 2])


class Box(tb.Struct):
    low: i32
    high: i32
    flag: bool


@tb.raw(
    opencl="""
        // what each kind of parameter is in C
        Box_t made = box;
        made.low = low > box.low ? low : box.low;
        made.flag = !box.flag;
        return made;
    """
)
def narrowed(box: Box, low: i32) -> Box:
    return Box(low=max(low, box.low), high=box.high, flag=not box.flag)


@tb.raw(opencl="return (x << n) | (x >> (8 - n));")
def rotated(x: u8, n: u32) -> u8:
    return (x << u8(n)) | (x >> u8(8 - n))


@tb.raw(opencl="return is_negative ? -x : x;")
def turned(x: f32, is_negative: bool) -> f32:
    return -x if is_negative else x


@tb.kernel
def values(kc: KernelContext, out: NDArray[f32], box: Box) -> None:
    made = narrowed(box, kc.x)
    out[kc.x, 0] = f32(made.low)
    out[kc.x, 1] = f32(made.high)
    out[kc.x, 2] = turned(1.0, made.flag)
    out[kc.x, 3] = f32(rotated(u8(129), 1))


def test_structs_bools_and_small_integers(accelerator: Accelerator) -> None:
    out = np.zeros((3, 4), np.float32)
    found = filled(accelerator, 3, values, out, Box(low=1, high=9, flag=True))
    assert found.tolist() == [[1, 9, 1, 3], [1, 9, 1, 3], [2, 9, 1, 3]]


@tb.raw(
    opencl="""
        int last = a_length - 1;
        for (int i = 0; i < a_shape; i++)
            S32Array_array(target)[i] = S32Array_array(a)[last - i] + weights[i * weights_shape1];

        BF16Array_array(halves)[0] = 0x4000;
        target->length; // the header is there as well
    """,
    reads=("a", "weights"),
    writes=("target", "halves"),
)
def reversed_into(
    a: S32Array, target: S32Array, weights: NDArray[i32], halves: BF16Array, a_shape: i32
) -> None:
    for i in range(a_shape):
        target.array[i] = a.array[a.length - 1 - i] + weights[i, 0]
    halves.array[0] = 2.0


@tb.kernel
def reverse(
    kc: KernelContext, a: S32Array, target: S32Array, weights: NDArray[i32], halves: BF16Array
) -> None:
    if kc.x == 0:
        reversed_into(a, target, weights, halves, a.length)


def test_buffers_and_n_d_arrays(accelerator: Accelerator) -> None:
    a, target, halves = S32Array.of([1, 2, 3]), S32Array.create(length=3), BF16Array.of([1.0])
    weights = accelerator.array(np.array([[10, 0], [20, 0], [30, 0]], np.int32))
    launch(accelerator, 4, reverse, a, target, weights, halves)
    assert np.asarray(target).tolist() == [13, 22, 31]
    assert halves.array[0] == 2.0
    assert np.asarray(a).tolist() == [1, 2, 3]


@tb.raw(
    opencl="""
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        return kc->local_max_x * 100 + kc->group_x;
    """,
)
def where(kc: KernelContext) -> i32:
    kc.barrier()
    return kc.local_max_x * 100 + kc.group_x


@tb.kernel
def places(kc: KernelContext, out: NDArray[i32]) -> None:
    out[kc.x] = where(kc)


def test_the_kernel_context_has_all_its_fields(accelerator: Accelerator) -> None:
    found = filled(accelerator, tb.NDRange(8, local=4), places, np.zeros(8, np.int32))
    assert found.tolist() == [400] * 4 + [401] * 4


@tb.raw(opencl="return (x + y) / 2;")
def middle(x: f32, y: f32) -> f32:
    return (x + y) / 2


@tb.func
def checked(x: f32) -> f32:
    assert x < 100.0, "too large"
    return middle(x, 2.0)


@tb.kernel
def nested(kc: KernelContext, a: F32Array) -> None:
    a.array[kc.x] = checked(a.array[kc.x]) + middle(middle(1.0, 3.0), 4.0)


def test_helpers_call_raw_code_and_nest_it(accelerator: Accelerator) -> None:
    a = F32Array.of([0.0, 4.0])
    launch(accelerator, 2, nested, a)
    assert np.asarray(a).tolist() == [1.0 + 3.0, 3.0 + 3.0]
