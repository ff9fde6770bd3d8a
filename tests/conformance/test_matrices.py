"""Matrices of 2 by 2 to 4 by 4, as values and in buffers, against NumPy."""

import numpy as np
from tests.conformance.running import assert_near, launch

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, f32, i32


class Space(tb.Buffer):
    class Body(tb.Struct):
        tag: i32
        turn: tb.f32x3x3
        at: tb.f32x3

    n: i32
    body: tb.Array[Body] = tb.array("n")
    two: tb.Array[tb.f32x2x2] = tb.array("n")
    four: tb.Array[tb.f32x4x4] = tb.array("n")
    where: tb.Array[tb.f32x4] = tb.array("n")


@tb.func
def scaled(m: tb.f32x3x3, by: f32) -> tb.f32x3x3:
    m = m * by
    m[0, 0] += 1.0
    return 1.0 * m


@tb.kernel
def work(kc: KernelContext, s: Space, by: tb.f32x2x2) -> None:
    i = kc.x
    m = s.two[i]
    s.two[i] = (m @ by + m - by) * 2.0
    m[1, 0] = m[0, 1] * 3.0
    s.two[i + 3] = -tb.transpose(m)
    s.body[i].at = s.body[i].turn @ s.body[i].at
    turn = scaled(s.body[i].turn, 0.5) @ s.body[i].turn
    s.body[i + 3].turn = turn
    s.where[i] = tb.transpose(s.four[i]) @ s.where[i]
    total = 0.0
    for row in range(4):
        total += s.four[i][row, row]  # any place of a matrix in memory
    s.four[i + 3] = s.four[i] @ s.four[i]
    s.four[i + 3][3, i] = total
    s.four[i + 3][0, 0] *= 2.0


def test_matrices(accelerator: Accelerator) -> None:
    rng = np.random.default_rng(9)
    two, three, four = (rng.normal(size=(3, r, r)).astype(np.float32) for r in (2, 3, 4))
    at, where = (rng.normal(size=(3, r)).astype(np.float32) for r in (3, 4))
    by = np.array([[1, 2], [3, 4]], np.float32)
    s = Space.create(n=6)
    for i in range(3):
        s.two[i] = tb.f32x2x2(*two[i].ravel().tolist())
        s.body[i] = Space.Body(
            tag=i, turn=tb.f32x3x3(*three[i].ravel().tolist()), at=tb.f32x3(*at[i].tolist())
        )
        s.four[i].m[:] = four[i]
        s.where[i] = tb.f32x4(*where[i].tolist())
    launch(accelerator, 3, work, s, tb.f32x2x2(*by.ravel().tolist()))

    for i in range(3):
        assert_near(s.two[i].m, (two[i] @ by + two[i] - by) * 2)
        changed = two[i].copy()
        changed[1, 0] = changed[0, 1] * 3
        assert_near(s.two[i + 3].m, -changed.T)
        turned = [s.body[i].at.x, s.body[i].at.y, s.body[i].at.z]
        assert_near(turned, three[i] @ at[i])
        factor = three[i] * np.float32(0.5)
        factor[0, 0] += 1
        assert_near(s.body[i + 3].turn.m, factor @ three[i])
        place = s.where[i]
        moved = [place.x, place.y, place.z, place.w]
        assert_near(moved, four[i].T @ where[i])
        square = four[i] @ four[i]
        square[3, i] = np.trace(four[i])
        square[0, 0] *= 2
        assert_near(s.four[i + 3].m, square)
        assert s.body[i].tag == i


@tb.kernel
def on_device_only(kc: KernelContext, out: NDArray[f32]) -> None:
    tile = tb.local(tb.f32x2x2, 4)
    own = tb.private(tb.f32x3x3, 2)
    tile[kc.local_x] = tb.f32x2x2(f32(kc.x), 1.0, 0.0, 2.0)
    kc.barrier()
    near = tile[kc.local_x] @ tile[(kc.local_x + 1) % 4]
    own[1] = tb.f32x3x3(near[0, 0], 0.0, 0.0, 0.0, near[0, 1], 0.0, 0.0, 0.0, near[1, 1])
    own[0] = own[1] + own[1]
    v = own[0] @ tb.f32x3(1.0, 1.0, 1.0)
    out[kc.x, 0], out[kc.x, 1], out[kc.x, 2] = v.x, v.y, v.z


def test_matrices_in_device_memory(accelerator: Accelerator) -> None:
    out = accelerator.array(np.zeros((4, 3), np.float32))
    launch(accelerator, 4, on_device_only, out)
    for i, row in enumerate(out.tolist()):
        mine, next_ = (np.array([[float(n), 1], [0, 2]]) for n in (i, (i + 1) % 4))
        near = mine @ next_
        assert row == [2 * near[0, 0], 2 * near[0, 1], 2 * near[1, 1]]
