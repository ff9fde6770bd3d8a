"""The kernels that checkers see also run, and checkers see the mistakes in other ones."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.conformance.running import assert_near
from tests.typing import kernel_usage

import trilby as tb
from trilby import Accelerator

MISTAKES = """\
import trilby as tb
from trilby import KernelContext, NDArray, S32Array, f32

class Point(tb.Struct):
    x: f32
    at: tb.f32x3

@tb.func
def shifted(p: Point) -> tb.f32x3:
    return p.at + 1.0

@tb.kernel
def wrong(kc: KernelContext, a: S32Array, f: NDArray[f32], p: Point, v: tb.f32x3) -> None:
    kc.barrier("locl")  # wrong: no scope
    tile = tb.local(f32, "16")  # wrong: no size
    own = tb.private(tb.f32x3, 4)
    own[0] = 1.0  # wrong: no vector
    own[1] = shifted(p)
    w = v + tb.f32x2(1.0, 2.0)  # wrong: other lanes
    i = tb.i32x2(1, 2) / 2  # wrong: integers do not divide
    b = v & v  # wrong: floats have no bits
    n = tb.f32x3(1.0, 2.0)  # wrong: a lane is missing
    k = tb.i32x2(1.5, 2)  # wrong: no integer
    q = Point(x=1.0)  # wrong: a member is missing
    r = Point(x=1.0, at=tb.f32x2(1.0, 2.0))  # wrong: another vector
    s = shifted(v)  # wrong: no point
    m = tb.f32x2x2(1.0, 2.0, 3.0, 4.0)
    t = m @ v  # wrong: another size
    u = m * m  # wrong: that is `@`
    c = tb.cross(v, v.xy) + tb.cross(v, tb.f32x2(1.0, 2.0))  # wrong: another vector
    d = tb.length(tb.i32x2(1, 2))  # wrong: no floats
    tb.atomic_add(a.array, 0, "1")  # wrong: no number
    old: str = tb.atomic_add(a.array, 0, 1)  # wrong: a number
    tb.atomic_max(a.array, "0", 1)  # wrong: no index
    a.array[0] = tb.popcount(1.5)  # wrong: no integer
    e = tb.sqrt(tb.i32x2(1, 2))  # wrong: no floats
    g = tb.min(v, "1")  # wrong: no number
    h = tb.atan2(v, v, v)  # wrong: one too many
    p.at = 1.0  # wrong: no vector
    p.at.x = "1"  # wrong: no number
    x: f32 = tb.dot(v, v)
    print(tile, w, i, b, n, k, q, r, s, t, u, c, d, e, g, h, old, x)
"""
WRONG = {number for number, text in enumerate(MISTAKES.splitlines(), 1) if "# wrong" in text}
SOURCE = Path(kernel_usage.__file__).parents[2] / "src"


def numbers_of(vector: tb.f32x3) -> list[float]:
    return [vector.x, vector.y, vector.z]


def test_bodies_attract_each_other(accelerator: Accelerator) -> None:
    world = kernel_usage.use_world(accelerator)
    x = np.array([*range(4), kernel_usage.GRAVITY])
    at = np.stack([x, 2 * x, -x], axis=1)
    mass, speed = np.array([1.0, 1.0, 1.0, 1.0, 2.0]), np.zeros((4, 3))
    turn = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    force = np.zeros((4, 3))
    for _ in range(2):
        d = at - at[:4, None]
        squared = (d * d).sum(axis=2) + 0.01
        force = (d * (mass / squared**1.5)[:, :, None]).sum(axis=1)
        speed += force * 0.5
        at[:4] = (at[:4] + speed) @ turn.T
    assert_near([numbers_of(one) for one in world.force], force, rtol=1e-3, atol=1e-4)
    assert_near([numbers_of(body.at) for body in world.body], at[:4], rtol=1e-3, atol=1e-4)
    assert_near(
        world.body.trace, np.pad(np.linalg.norm(at[:4], axis=1)[:, None], ((0, 0), (0, 3))), 1e-3
    )
    assert [body.color for body in world.body] == [tb.u8x4(3, 2, 3, 127)] * 4
    assert world.count == 8
    assert world.cell.hits.sum() == 8
    assert world.cell.heat.sum() == 4.0


def test_matrices_turn(accelerator: Accelerator) -> None:
    found = kernel_usage.use_turns(accelerator)
    m = np.array([[1.0, 1.5], [3.0, 4.0]])
    n = m.T @ m + m * 2.0 + m
    assert found[:2] == n.sum(axis=1).tolist()
    assert found[2] == 30 + 6  # 7 // 2 + 0, 9 // 2 + 2
    root = math.sqrt(0.5)
    assert_near(found[3:], [0.25 + root, 0.75 + root, 0.0])
    on_host, _ = kernel_usage.use_the_host()
    assert_near(found[3:], numbers_of(on_host))


def test_groups_smooth(accelerator: Accelerator) -> None:
    target, bins = kernel_usage.use_groups(accelerator)
    groups = np.arange(8.0).reshape(2, 4)
    padded = np.pad(groups, ((0, 0), (1, 1)), mode="edge")
    expected = 1 + (padded[:, :-2] + padded[:, 2:]) / 2 + 2
    assert_near(target.array, expected.ravel())
    assert bins.array.tolist() == [22, 22]


def test_counts(accelerator: Accelerator) -> None:
    grid, flags = kernel_usage.use_counts(accelerator)
    assert grid[1] == [5, 5, 5]
    assert grid[0] == [50, 5, 5]
    assert flags[0] == 0b111
    assert 31 < flags[1] <= 31 + 3  # zero bits before 1, and the flags that were seen


def tool(name: str) -> Path:
    found = Path(sys.executable).with_name(name)
    if not found.exists():
        pytest.skip(f"{name} is not installed beside this Python")
    return found


def test_pyright_sees_every_mistake_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(MISTAKES, "utf-8")
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(SOURCE)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    done = subprocess.run(
        [tool("basedpyright"), "--outputjson", "--pythonpath", sys.executable, "-p", tmp_path],
        capture_output=True,
        check=False,
        text=True,
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = {one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"}
    assert lines - {MISTAKES.count("\n")} == WRONG  # the last line uses what has no type


def test_mypy_sees_every_mistake_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(MISTAKES, "utf-8")
    done = subprocess.run(
        [tool("mypy"), "--strict", "--no-error-summary", "--cache-dir", tmp_path, "mistakes.py"],
        capture_output=True,
        check=False,
        text=True,
        cwd=tmp_path,
        env={"MYPYPATH": str(SOURCE)},
    )
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    assert lines == WRONG
