"""What is computed: the arguments of each kernel, and what NumPy makes of them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from peers.peer import Argument, Numbers

TILE = 16
BLOCK = 1024
RATE = 0.02
VOLATILITY = 0.3


@dataclass(frozen=True)
class Problem:
    """One row of the table.

    `arguments` makes what a kernel is given, for a fraction of the size where asked; `written` are
    the places of the arrays that it fills, and `expected` what they hold after the first run, or
    the beginning of it. A `share` of the numbers may be beyond `tolerance`.
    """

    title: str
    arguments: Callable[[bool], tuple[Argument, ...]]
    written: tuple[int, ...]
    expected: Callable[..., list[Numbers]]
    tolerance: float = 0.0
    share: float = 0.0

    def check(self, results: list[Numbers], expected: list[Numbers]) -> str:
        """What is wrong with a result, or nothing."""
        for found, right in zip(results, expected, strict=True):
            part = found[: len(right)]
            is_off = ~np.isclose(part, right, rtol=self.tolerance, atol=self.tolerance)
            if is_off.mean() > self.share:
                return f"{is_off.mean():.1%} of the numbers differ from NumPy's"
        return ""


def _random(*shape: int) -> Numbers:
    return np.random.default_rng(1).random(shape, np.float32)


def _mandelbrot(image: Numbers, limit: int) -> list[Numbers]:
    height, width = image.shape
    scale = np.float32(3.0) / np.float32(width)
    cx = np.float32(-2.0) + np.arange(width, dtype=np.float32) * scale
    cy = np.float32(-1.5) + np.arange(height, dtype=np.float32)[:, None] * scale
    x, y = np.zeros((2, height, width), np.float32)
    steps = np.zeros((height, width), np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(limit):
            inside = x * x + y * y <= 4
            steps += inside
            x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, 2 * x * y + cy, y)
    return [steps]


def _nbody(pos: Numbers, _acc: Numbers) -> list[Numbers]:
    """The pull on the first bodies."""
    wide = pos.astype(np.float64)
    rows: list[Numbers] = []
    for body in wide[:64]:
        d = wide[:, :3] - body[:3]
        pull = wide[:, 3] * ((d * d).sum(axis=1) + 0.01) ** -1.5
        rows.append(np.append((d * pull[:, None]).sum(axis=0), 0.0))
    return [np.array(rows)]


def _matmul(a: Numbers, b: Numbers, _c: Numbers) -> list[Numbers]:
    return [a @ b]


def _life(now: Numbers, later: Numbers) -> list[Numbers]:
    height, width = now.shape
    parts = [now[y : height - 2 + y, x : width - 2 + x] for y in range(3) for x in range(3)]
    middle = parts.pop(4)
    around = sum(parts[1:], parts[0])
    expected = later.copy()
    expected[1:-1, 1:-1] = (around == 3) | ((around == 2) & (middle == 1))
    return [expected]


def _normal(numbers: Numbers) -> Numbers:
    return np.array([0.5 + 0.5 * math.erf(x / math.sqrt(2.0)) for x in numbers.tolist()])


def _black_scholes(
    price: Numbers, strike: Numbers, years: Numbers, _call: Numbers, _put: Numbers
) -> list[Numbers]:
    """The first options."""
    s, k, t = (numbers[:2000].astype(np.float64) for numbers in (price, strike, years))
    spread = VOLATILITY * np.sqrt(t)
    d1 = (np.log(s / k) + (RATE + 0.5 * VOLATILITY**2) * t) / spread
    d2 = d1 - spread
    later = k * np.exp(-RATE * t)
    return [
        s * _normal(d1) - later * _normal(d2),
        later * _normal(-d2) - s * _normal(-d1),
    ]


def _saxpy(x: Numbers, y: Numbers, a: float) -> list[Numbers]:
    return [np.float32(a) * x + y]


def _stencil(image: Numbers, weights: Numbers, out: Numbers) -> list[Numbers]:
    height, width = image.shape
    expected = out.copy()
    expected[2:-2, 2:-2] = sum(
        weights[j, i] * image[j : height - 4 + j, i : width - 4 + i]
        for j in range(5)
        for i in range(5)
    )
    return [expected]


def _histogram(numbers: Numbers, bins: Numbers) -> list[Numbers]:
    return [np.bincount(numbers, minlength=len(bins))]


def _prefix_sum(numbers: Numbers, _sums: Numbers, _totals: Numbers) -> list[Numbers]:
    return [np.cumsum(numbers, dtype=np.int32)]


def _image(quick: bool) -> tuple[Argument, ...]:  # noqa: FBT001 -- so are all of its kind
    side = 256 if quick else 1024
    return np.zeros((side, side), np.int32), 256


def _bodies(quick: bool) -> tuple[Argument, ...]:  # noqa: FBT001
    pos = _random(1024 if quick else 8192, 4)
    return pos, np.zeros_like(pos)


def _matrices(quick: bool) -> tuple[Argument, ...]:  # noqa: FBT001
    a = _random(128 if quick else 512, 128 if quick else 512)
    return a, a[::-1].copy(), np.zeros_like(a)


def _cells(quick: bool) -> tuple[Argument, ...]:  # noqa: FBT001
    side = 256 if quick else 2048
    now = (_random(side, side) < 1 / 3).astype(np.uint8)
    return now, np.zeros_like(now)


def _options(quick: bool) -> tuple[Argument, ...]:  # noqa: FBT001
    columns = _random(3, 1 << (14 if quick else 22))
    price, strike, years = 5 + 25 * columns[0], 1 + 99 * columns[1], 0.25 + 9.75 * columns[2]
    return price, strike, years, np.zeros_like(price), np.zeros_like(price)


def _rows(quick: bool) -> tuple[Argument, ...]:  # noqa: FBT001
    pair = _random(2, 1 << (16 if quick else 24))
    return pair[0].copy(), pair[1].copy(), 2.5


def _picture(quick: bool) -> tuple[Argument, ...]:  # noqa: FBT001
    image = _random(256 if quick else 2048, 256 if quick else 2048)
    return image, _random(5, 5), np.zeros_like(image)


def _numbers(quick: bool) -> tuple[Argument, ...]:  # noqa: FBT001
    random = np.random.default_rng(1)
    numbers = random.normal(128, 30, 1 << (16 if quick else 24)).clip(0, 255).astype(np.uint8)
    return numbers, np.zeros(256, np.int32)


def _terms(quick: bool) -> tuple[Argument, ...]:  # noqa: FBT001
    numbers = np.random.default_rng(1).integers(0, 100, 1 << (16 if quick else 22), np.int32)
    return numbers, np.zeros_like(numbers), np.zeros(len(numbers) // BLOCK, np.int32)


PROBLEMS: Mapping[str, Problem] = {
    "mandelbrot": Problem("Mandelbrot 1024²", _image, (0,), _mandelbrot, 0.0, 0.01),
    "nbody": Problem("n-body 8192", _bodies, (1,), _nbody, 1e-2),
    "matmul": Problem("matmul 512, naive", _matrices, (2,), _matmul, 1e-3),
    "tiled_matmul": Problem("matmul 512, tiled", _matrices, (2,), _matmul, 1e-3),
    "life": Problem("life 2048²", _cells, (1,), _life),
    "black_scholes": Problem("Black–Scholes 4M", _options, (3, 4), _black_scholes, 1e-3),
    "saxpy": Problem("saxpy 16M", _rows, (1,), _saxpy, 1e-5),
    "stencil": Problem("stencil 5×5, 2048²", _picture, (2,), _stencil, 1e-4),
    "histogram": Problem("histogram 16M", _numbers, (1,), _histogram),
    "prefix_sum": Problem("prefix sum 4M", _terms, (1,), _prefix_sum),
}
"""The rows, in the order of the table."""
