"""Math on whole vectors: the spellings of `tb`, and the accuracy that composed functions state."""

from typing import Any

import numpy as np
from tests.conformance.running import Numbers, assert_close, assert_near, filled
from tests.typing import vector_math_usage

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, f32
from trilby.model.composed import COMPOSED


def columns(array: Any, lanes: str) -> Numbers:
    """One row for each element."""
    return np.array([np.asarray(array[lane]) for lane in lanes]).T


def test_functions_lane_by_lane(accelerator: Accelerator) -> None:
    field = vector_math_usage.use_field(accelerator)
    at = np.array([[0.5 * i, 1.0, -1.5 * i] for i in range(3)])
    near = np.maximum(np.exp(-np.sqrt(np.abs(at))), 0.25)
    wave = np.minimum(np.minimum(near, np.sin(at) + 1.0), 0.75) * 2.0 ** np.floor(at)
    assert_near(columns(field.wave, "xyz"), wave)
    angle = np.arctan2(at[:, 1::-1], [1.0, 2.0]) + np.hypot(at[:, :2], 3.0)
    assert_near(columns(field.angle, "xy"), angle)
    # by hand: (0, 3), (1, 3), (2, 3), and the bits that are set in (0, 5), (1, 4), (2, 3)
    assert columns(field.cell, "xy").tolist() == [[0, 5], [2, 4], [3, 5]]
    assert columns(field.bits, "xy").tolist() == [[31, 23]] * 3
    assert field.level.tolist() == [6.0, 7.0, 7.0]


def test_the_host_computes_what_kernels_compute(accelerator: Accelerator) -> None:
    on_host = vector_math_usage.use_the_host()
    wave = vector_math_usage.use_field(accelerator).wave[1]
    assert_near([wave.x, wave.y, wave.z], [on_host.x, on_host.y, on_host.z])


@tb.kernel
def composed(kc: KernelContext, out: NDArray[f32], given: NDArray[f32]) -> None:
    i = kc.x
    a = tb.f32x3(given[i, 0], given[i, 1], given[i, 2])
    b = tb.f32x3(given[i, 3], given[i, 4], given[i, 5])
    out[i, 0] = tb.dot(a, b)
    out[i, 1] = tb.length(a)
    c = tb.cross(a, b)
    out[i, 2], out[i, 3], out[i, 4] = c.x, c.y, c.z
    n = tb.normalize(a)
    out[i, 5], out[i, 6], out[i, 7] = n.x, n.y, n.z
    m = tb.mix(a, b, given[i, 6])
    out[i, 8], out[i, 9], out[i, 10] = m.x, m.y, m.z
    out[i, 11] = tb.mix(a.x, b.x, given[i, 6])
    t = tb.transpose(tb.f32x2x2(a.xy, b.xy))
    out[i, 12], out[i, 13], out[i, 14], out[i, 15] = t[0, 0], t[0, 1], t[1, 0], t[1, 1]


def dot(a: Numbers, b: Numbers) -> Numbers:
    """Summed from left to right, each step in the type of the numbers."""
    return (a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1]) + a[:, 2] * b[:, 2]


def test_composed_functions_keep_the_accuracy_of_their_rows(accelerator: Accelerator) -> None:
    given = np.random.default_rng(11).normal(size=(256, 7)).astype(np.float32)
    found = filled(accelerator, 256, composed, np.zeros((256, 16), np.float32), given)
    a, b, t = given[:, :3], given[:, 3:6], given[:, 6:]
    length = np.sqrt(dot(a, a))
    turned = a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]
    rows = np.stack([a[:, :2], b[:, :2]], axis=1)
    expected: dict[str, list[tuple[Numbers, Numbers]]] = {
        "dot": [(found[:, 0], dot(a, b))],
        "length": [(found[:, 1], length)],
        "cross": [(found[:, 2:5], turned)],
        "normalize": [(found[:, 5:8], a / length[:, None])],
        "mix": [
            (found[:, 8:11], a + (b - a) * t),
            (found[:, 11], a[:, 0] + (b - a)[:, 0] * t[:, 0]),
        ],
        "transpose": [(found[:, 12:], rows.transpose(0, 2, 1).reshape(256, 4))],
    }
    assert expected.keys() == COMPOSED.keys()
    for name, pairs in expected.items():
        for one, other in pairs:
            assert other.dtype == np.float32
            assert_close(one, other, COMPOSED[name].ulps)
