"""Whole texts: compared with the files in `tests/golden`, built without a warning, and run."""

import numpy as np
import pytest
from tests.codegen import golden_kernels
from tests.codegen.golden_kernels import FOLDER, GOLDEN, Particles, ResultTable, Scene
from tests.codegen.running import Array, build_log, graph_of, run_both, text_of

from trilby import F32Array, NDRange, S32Array, S32Array2D
from trilby.codegen.opencl_c import generate


@pytest.mark.parametrize("name", GOLDEN)
def test_the_text_is_the_one_that_was_read_and_kept(name: str) -> None:
    assert text_of(GOLDEN[name]) == (FOLDER / f"{name}.cl").read_text()


@pytest.mark.parametrize("name", GOLDEN)
def test_the_text_builds_without_a_word_of_the_compiler(name: str) -> None:
    assert build_log((FOLDER / f"{name}.cl").read_text()) == ""


@pytest.mark.parametrize("name", GOLDEN)
def test_the_same_kernel_gives_the_same_text(name: str) -> None:
    graph = graph_of(GOLDEN[name])
    assert generate(graph).text == generate(graph).text


@pytest.mark.parametrize("name", GOLDEN)
def test_the_text_ends_in_one_newline_and_has_no_loose_ends(name: str) -> None:
    text = text_of(GOLDEN[name])
    assert text.endswith("}\n")
    assert not text.endswith("\n\n")
    assert "\n\n\n" not in text
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_there_is_no_file_without_a_kernel() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(GOLDEN)


# -- running ------------------------------------------------------------------------------


def test_squares() -> None:
    numbers = np.array([0, 3, -4, 50_000], np.int32)
    outcome = run_both(golden_kernels.squares, 4, S32Array.of(numbers))
    for side in (outcome.interpreter, outcome.opencl):
        assert np.asarray(side[0]).tolist() == (numbers * numbers).tolist()


def test_result_table() -> None:
    points = np.random.default_rng(1).uniform(-1, 1, (200, 2)).astype(np.float32)
    inside = points[(points * points).sum(axis=1) <= np.float32(0.5) * np.float32(0.5)]
    args = F32Array.of(points[:, 0]), F32Array.of(points[:, 1]), 0.5, ResultTable.create(length=200)
    outcome = run_both(golden_kernels.result_table, 200, *args)
    for side in (outcome.interpreter, outcome.opencl):
        table = side[3]
        columns = (np.asarray(c)[: table.count] for c in (table.result.x, table.result.y))
        found: Array = np.stack([*columns], axis=1)
        assert sorted(found.tolist()) == sorted(inside.tolist())


def test_mandel() -> None:
    palette = S32Array.of(np.arange(1, 21, dtype=np.int32) * 7)
    image = S32Array2D.create(width=13, height=9)
    outcome = run_both(golden_kernels.mandel, (13, 9), image, palette, -2.0, -1.0, 0.25)
    expected = np.zeros((9, 13), np.int32)
    single = np.float32
    for y in range(9):
        for x in range(13):
            cx, cy = single(-2 + x * 0.25), single(-1 + y * 0.25)
            zx = zy = single(0)
            steps = 0
            while steps < 19 and zx * zx + zy * zy <= 4:
                zx, zy = zx * zx - zy * zy + cx, single(2) * zx * zy + cy
                steps += 1
            expected[y, x] = (steps + 1) * 7
    for side in (outcome.interpreter, outcome.opencl):
        assert np.array_equal(side[0].array[:], expected)


def test_saxpy() -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal(1000).astype(np.float32) for _ in range(2))
    outcome = run_both(golden_kernels.saxpy, 1000, 0.3, x, y, np.zeros_like(x))
    for side in (outcome.interpreter, outcome.opencl):
        assert np.array_equal(side[3], np.float32(0.3) * x + y)


@pytest.mark.parametrize("wraps", [False, True])
def test_stencil(wraps: bool) -> None:  # noqa: FBT001 -- a parameter of the test
    numbers = np.random.default_rng(3).integers(-100, 100, (7, 10)).astype(np.int32)
    padded = np.pad(numbers, 1, mode="wrap") if wraps else np.pad(numbers, 1)
    total = sum(padded[y : y + 7, x : x + 10] for y in range(3) for x in range(3))
    source = S32Array2D.of(numbers)
    target = S32Array2D.create(width=10, height=7)
    outcome = run_both(golden_kernels.stencil, (10, 7), source, target, wraps)
    for side in (outcome.interpreter, outcome.opencl):
        assert np.array_equal(side[1].array[:], total // 9)


def test_scene() -> None:
    made = Scene.create(n=3)
    made.fixed[0].alive = True
    made.fixed[1].corner[0, 1] = 2.5
    outcome = run_both(golden_kernels.scene, 3, made)
    for side in (outcome.interpreter, outcome.opencl):
        body = side[0].body
        assert [b.alive for b in body] == [False, True, False]
        assert [b.mass for b in body] == [0, 0.5, 1]
        assert [b.tag.real for b in body] == [0.5, 1.5, 2.5]
        halves = [int(np.array(x + 0.5, np.float32).view(np.uint32)) >> 16 for x in range(3)]
        assert [b.aligned for b in body] == halves
        assert [[int(t) for t in b.trace] for b in body] == [[0, 1, 2], [10, 11, 12], [20, 21, 22]]
        assert [float(b.corner[1, 0]) for b in body] == [-1, 2.5, -1]


def test_particles() -> None:
    made = Particles.create(n=4)
    made.alive[:] = [True, False, True, True]
    made.position[:] = np.arange(12).reshape(4, 3)
    made.kind[:] = [9, 9, 9, 9]
    outcome = run_both(golden_kernels.particles, 4, made)
    for side in (outcome.interpreter, outcome.opencl):
        expected = np.arange(12.0).reshape(4, 3)
        expected[[0, 2, 3]] *= 2
        assert np.array_equal(side[0].position[:], expected)
        assert side[0].count == 3
        assert side[0].total == 36


# -- the range ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "local"),
    [((1,), None), ((127,), None), ((129,), (8,)), ((17, 9), (8, 4)), ((5, 3, 2), (4, 2, 2))],
)
def test_work_items_beyond_the_range_do_nothing(
    size: tuple[int, ...], local: tuple[int, ...] | None
) -> None:
    """Groups are whole; the guard must leave out exactly what is too much."""
    shape: tuple[int, ...] = tuple(n + 9 for n in reversed((*size, 1, 1)[:3]))
    outcome = run_both(marks, NDRange(size, local), np.zeros(shape, np.int32))
    expected = np.zeros(shape, np.int32)
    x, y, z = (*size, 1, 1)[:3]
    expected[:z, :y, :x] = 1
    for side in (outcome.interpreter, outcome.opencl):
        assert np.array_equal(side[0], expected)


marks = golden_kernels.marks


def test_arrays_are_compared_whole() -> None:
    """A kernel that marks one item too many would be seen by the test above."""
    array: Array = np.zeros((10, 10, 10), np.int32)
    outcome = run_both(marks, (2, 1, 1), array)
    assert outcome.opencl[0].sum() == 2
