"""Kernels of the shapes that HAT tests itself with, against NumPy: from arrays to half floats."""

import math

import numpy as np
from tests.conformance.running import assert_near, launch

import trilby as tb
from trilby import (
    Accelerator,
    F16Array,
    F32Array,
    F32Array2D,
    KernelContext,
    NDArray,
    NDRange,
    S32Array,
    S32Array2D,
    f16,
    f32,
    i32,
    u8,
)

# ------------------------------------------------------------------------------- arrays


@tb.func
def squared(v: i32) -> i32:
    return v * v


@tb.kernel
def square_and_add(kc: KernelContext, a: S32Array, b: S32Array, c: S32Array) -> None:
    if kc.x < kc.max_x:
        c.array[kc.x] = squared(a.array[kc.x]) + b.array[kc.x]


def test_arrays(accelerator: Accelerator) -> None:
    n = np.arange(100)
    a, b, c = S32Array.of(n), S32Array.of(n[::-1]), S32Array.create(length=100)
    launch(accelerator, 100, square_and_add, a, b, c)
    assert c.array.tolist() == (n * n + n[::-1]).tolist()


@tb.kernel
def stencil(kc: KernelContext, source: F32Array2D, target: F32Array2D) -> None:
    x, y = kc.x, kc.y
    if 0 < x < source.width - 1 and 0 < y < source.height - 1:
        around = source.array[y - 1, x] + source.array[y + 1, x]
        around += source.array[y, x - 1] + source.array[y, x + 1]
        target.array[y, x] = around * 0.25
    else:
        target.array[y, x] = source.array[y, x]


def test_arrays_of_two_dimensions(accelerator: Accelerator) -> None:
    grid = np.random.default_rng(0).random((9, 13)).astype(np.float32)
    source, target = F32Array2D.of(grid), F32Array2D.create(width=13, height=9)
    launch(accelerator, (13, 9), stencil, source, target)
    expected = grid.copy()
    expected[1:-1, 1:-1] = (grid[:-2] + grid[2:])[:, 1:-1] + (grid[:, :-2] + grid[:, 2:])[1:-1]
    expected[1:-1, 1:-1] *= np.float32(0.25)
    assert_near(target.array, expected)


class Particles(tb.Buffer):
    class Particle(tb.Struct):
        class Motion(tb.Struct):
            speed: tb.f32x2
            spin: f32

        at: tb.f32x2
        motion: Motion
        trail: tb.Array[f32] = tb.array(4)

    n: i32
    particle: tb.Array[Particle] = tb.array("n")


@tb.kernel
def move(kc: KernelContext, particles: Particles, dt: f32) -> None:
    p = particles.particle[kc.x]
    for i in range(3, 0, -1):
        p.trail[i] = p.trail[i - 1]
    p.trail[0] = p.at.x
    p.at += p.motion.speed * dt
    if p.at.x > 1.0 or p.at.x < 0.0:
        p.motion.speed.x = -p.motion.speed.x
    p.motion.spin *= 0.5


def test_nested_structs(accelerator: Accelerator) -> None:
    rng = np.random.default_rng(2)
    at, speed = rng.random((2, 10, 2)).astype(np.float32)
    particles = Particles.create(n=10)
    particles.particle.at.x[:], particles.particle.at.y[:] = at.T
    particles.particle.motion.speed.x[:], particles.particle.motion.speed.y[:] = speed.T
    particles.particle.motion.spin[:] = 1.0
    dt = np.float32(0.3)
    for _ in range(5):
        launch(accelerator, 10, move, particles, 0.3)
    trail: list[np.ndarray] = []
    for _ in range(5):
        trail.insert(0, at[:, 0].copy())
        at += speed * dt
        speed[:, 0] *= np.where((at[:, 0] > 1) | (at[:, 0] < 0), -1, 1)
    assert_near(particles.particle.at.x, at[:, 0])
    assert_near(particles.particle.motion.speed.x, speed[:, 0])
    assert_near(particles.particle.trail, np.array(trail[:4]).T)
    assert (np.asarray(particles.particle.motion.spin) == 1 / 32).all()


# --------------------------------------------------------------- reductions and prefix sums


@tb.kernel
def reduce_local(kc: KernelContext, a: S32Array, sums: S32Array) -> None:
    shared = tb.local(i32, 16)
    shared[kc.local_x] = a.array[kc.x]
    offset = kc.local_max_x // 2
    while offset > 0:
        kc.barrier()
        if kc.local_x < offset:
            shared[kc.local_x] += shared[kc.local_x + offset]
        offset //= 2
    if kc.local_x == 0:
        sums.array[kc.group_x] = shared[0]


@tb.kernel
def reduce_global(kc: KernelContext, a: S32Array, sums: S32Array) -> None:
    """The same in global memory."""
    offset = kc.local_max_x // 2
    while offset > 0:
        if kc.local_x < offset:
            a.array[kc.x] += a.array[kc.x + offset]
        kc.barrier("global")
        offset //= 2
    if kc.local_x == 0:
        sums.array[kc.group_x] = a.array[kc.x]


def test_reductions(accelerator: Accelerator) -> None:
    numbers = np.random.default_rng(4).integers(-1000, 1000, 128)
    for kernel in (reduce_local, reduce_global):
        sums = S32Array.create(length=8)
        launch(accelerator, NDRange(128, 16), kernel, S32Array.of(numbers), sums)
        assert sums.array.tolist() == numbers.reshape(8, 16).sum(axis=1).tolist()


@tb.kernel
def prefix_sum(kc: KernelContext, a: S32Array) -> None:
    """Hillis and Steele: inclusive, with two halves of one local array that change places."""
    two = tb.local(i32, 2, 32)
    me = kc.local_x
    two[0, me] = a.array[kc.x]
    kc.barrier("local")
    here, step = 0, 1
    while step < kc.local_max_x:
        there = 1 - here
        two[there, me] = two[here, me] + (two[here, me - step] if me >= step else 0)
        kc.barrier("local")
        here, step = there, step * 2
    a.array[kc.x] = two[here, me]


@tb.kernel
def blelloch(kc: KernelContext, a: S32Array, n: i32) -> None:
    """Exclusive, in place: up the tree, and down again; two elements for each work item."""
    tree = tb.local(i32, 64)
    me = kc.local_x
    base = kc.group_x * n
    tree[2 * me] = a.array[base + 2 * me]
    tree[2 * me + 1] = a.array[base + 2 * me + 1]
    offset = 1
    d = n // 2
    while d > 0:
        kc.barrier()
        if me < d:
            tree[offset * (2 * me + 2) - 1] += tree[offset * (2 * me + 1) - 1]
        offset *= 2
        d //= 2
    if me == 0:
        tree[n - 1] = 0
    d = 1
    while d < n:
        offset //= 2
        kc.barrier()
        if me < d:
            left, right = offset * (2 * me + 1) - 1, offset * (2 * me + 2) - 1
            tree[left], tree[right] = tree[right], tree[right] + tree[left]
        d *= 2
    kc.barrier()
    a.array[base + 2 * me] = tree[2 * me]
    a.array[base + 2 * me + 1] = tree[2 * me + 1]


def test_prefix_sums(accelerator: Accelerator) -> None:
    numbers = np.random.default_rng(6).integers(0, 50, 96)
    a = S32Array.of(numbers)
    launch(accelerator, NDRange(96, 32), prefix_sum, a)
    assert a.array.tolist() == numbers.reshape(3, 32).cumsum(axis=1).ravel().tolist()
    b = S32Array.of(numbers)
    launch(accelerator, NDRange(48, 16), blelloch, b, 32)
    parts = numbers.reshape(3, 32)
    assert b.array.tolist() == (parts.cumsum(axis=1) - parts).ravel().tolist()


# ------------------------------------------------------------ private memory, atomics, half


@tb.kernel
def median(kc: KernelContext, source: S32Array2D, target: S32Array2D) -> None:
    """Sort the nine neighbours in private memory."""
    near = tb.private(i32, 9)
    for i in range(9):
        x = tb.clamp(kc.x + i % 3 - 1, 0, source.width - 1)
        y = tb.clamp(kc.y + i // 3 - 1, 0, source.height - 1)
        near[i] = source.array[y, x]
    for i in range(1, 9):
        value = near[i]
        j = i - 1
        while j >= 0 and near[j] > value:
            near[j + 1] = near[j]
            j -= 1
        near[j + 1] = value
    target.array[kc.y, kc.x] = near[4]


def test_private_memory(accelerator: Accelerator) -> None:
    picture = np.random.default_rng(8).integers(0, 255, (7, 11))
    target = S32Array2D.create(width=11, height=7)
    launch(accelerator, (11, 7), median, S32Array2D.of(picture), target)
    around = np.pad(picture, 1, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3))
    assert target.array.tolist() == np.median(windows, axis=(2, 3)).astype(int).tolist()


@tb.kernel
def histogram(kc: KernelContext, a: NDArray[u8], bins: S32Array) -> None:
    """Counted in local memory first, then added up in global memory."""
    near = tb.local(i32, 16)
    if kc.local_x < 16:
        near[kc.local_x] = 0
    kc.barrier("local")
    tb.atomic_inc(near, i32(a[kc.x]) // 16)
    kc.barrier("local")
    if kc.local_x < 16:
        tb.atomic_add(bins.array, kc.local_x, near[kc.local_x])


def test_histogram(accelerator: Accelerator) -> None:
    numbers = np.random.default_rng(10).integers(0, 256, 320).astype(np.uint8)
    bins = S32Array.create(length=16)
    launch(accelerator, NDRange(320, 32), histogram, accelerator.array(numbers), bins)
    assert bins.array.tolist() == np.bincount(numbers // 16, minlength=16).tolist()


@tb.kernel
def half_steps(kc: KernelContext, a: F16Array, b: F16Array, out: F16Array, factor: f16) -> None:
    total = a.array[kc.x] * factor + b.array[kc.x]
    out.array[kc.x] = total / (b.array[kc.x] + 1.5) + f16(kc.x)


def test_half(accelerator: Accelerator) -> None:
    a, b = np.random.default_rng(12).random((2, 64)).astype(np.float16)
    out = F16Array.create(length=64)
    launch(accelerator, 64, half_steps, F16Array.of(a), F16Array.of(b), out, 0.3)
    factor = np.float16(0.3)
    expected = (a * factor + b) / (b + np.float16(1.5)) + np.arange(64).astype(np.float16)
    assert np.asarray(out.array).tolist() == expected.tolist()


# ----------------------------------------------------------------- Black-Scholes and DFT


@tb.func
def cumulative(x: f32) -> f32:
    """The normal distribution, by the polynomial of Abramowitz and Stegun."""
    k = 1.0 / (1.0 + 0.2316419 * abs(x))
    poly = k * (
        0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )
    tail = math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * poly
    return 1.0 - tail if x >= 0.0 else tail


RATE = 0.02
VOLATILITY = 0.3


@tb.kernel
def black_scholes(
    kc: KernelContext, price: F32Array, strike: F32Array, years: F32Array, call: F32Array
) -> None:
    s, x, t = price.array[kc.x], strike.array[kc.x], years.array[kc.x]
    root = VOLATILITY * math.sqrt(t)
    d1 = (math.log(s / x) + (RATE + VOLATILITY * VOLATILITY / 2.0) * t) / root
    d2 = d1 - root
    call.array[kc.x] = s * cumulative(d1) - x * math.exp(-RATE * t) * cumulative(d2)


def test_black_scholes(accelerator: Accelerator) -> None:
    rng = np.random.default_rng(14)
    price, strike = rng.uniform(50, 150, (2, 64)).astype(np.float32)
    years = rng.uniform(0.25, 3, 64).astype(np.float32)
    call = F32Array.create(length=64)
    given = (F32Array.of(price), F32Array.of(strike), F32Array.of(years))
    launch(accelerator, 64, black_scholes, *given, call)
    s, x, t = (a.astype(float) for a in (price, strike, years))
    d1 = (np.log(s / x) + (RATE + VOLATILITY**2 / 2) * t) / (VOLATILITY * np.sqrt(t))
    d2 = d1 - VOLATILITY * np.sqrt(t)
    n1, n2 = ([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in d] for d in (d1, d2))
    assert_near(call.array, s * n1 - x * np.exp(-RATE * t) * n2, rtol=2e-4, atol=2e-4)


class Signal(tb.Buffer):
    n: i32
    sample: tb.Array[tb.f32x2] = tb.array("n")


@tb.func
def product(a: tb.f32x2, b: tb.f32x2) -> tb.f32x2:
    """Of complex numbers."""
    return tb.f32x2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)


@tb.kernel
def dft(kc: KernelContext, signal: Signal, spectrum: Signal) -> None:
    total = tb.f32x2(0.0, 0.0)
    for i in range(signal.n):
        angle = -2.0 * math.pi * f32(i * kc.x % signal.n) / f32(signal.n)
        total += product(signal.sample[i], tb.f32x2(math.cos(angle), math.sin(angle)))
    spectrum.sample[kc.x] = total


def test_dft(accelerator: Accelerator) -> None:
    rng = np.random.default_rng(16)
    given = rng.normal(size=32) + 1j * rng.normal(size=32)
    signal, spectrum = Signal.create(n=32), Signal.create(n=32)
    signal.sample.x[:], signal.sample.y[:] = given.real, given.imag
    launch(accelerator, 32, dft, signal, spectrum)
    found = np.asarray(spectrum.sample.x) + 1j * np.asarray(spectrum.sample.y)
    assert_near(found, np.fft.fft(given), rtol=1e-4, atol=1e-4)


# --------------------------------------------------------------------- math and constants


@tb.kernel
def waves(kc: KernelContext, a: F32Array) -> None:
    x = a.array[kc.x]
    a.array[kc.x] = math.sqrt(math.sin(x) ** 2 + math.cos(x) ** 2) + math.atan2(x, math.tau)


def test_math(accelerator: Accelerator) -> None:
    x = np.linspace(-10, 10, 50).astype(np.float32)
    a = F32Array.of(x)
    launch(accelerator, 50, waves, a)
    assert_near(a.array, 1 + np.arctan2(x.astype(float), math.tau))
