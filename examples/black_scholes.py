"""What options are worth, by Black and Scholes: a million of them, each a work item.

The prices are compared with NumPy's in double precision, and with a law that needs no formula: a
call less a put is worth the share less the discounted strike.
"""

import argparse
import math
import time
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, f32

Floats: TypeAlias = npt.NDArray[np.float32]
Doubles: TypeAlias = npt.NDArray[np.float64]


class Options(NamedTuple):
    """What is known of each: the share's price, the strike, and the years that remain."""

    share: Floats
    strike: Floats
    years: Floats


@tb.func
def below(x: f32) -> f32:
    """How likely a normal number is less than x."""
    return 0.5 * math.erfc(-x * f32(0.70710678))


@tb.kernel
def price(
    kc: KernelContext,
    share: F32Array,
    strike: F32Array,
    years: F32Array,
    rate: f32,
    volatility: f32,
    call: F32Array,
    put: F32Array,
) -> None:
    s, k, t = share.array[kc.x], strike.array[kc.x], years.array[kc.x]
    spread = volatility * math.sqrt(t)
    d1 = (math.log(s / k) + (rate + 0.5 * volatility * volatility) * t) / spread
    d2 = d1 - spread
    discounted = k * math.exp(-rate * t)
    call.array[kc.x] = s * below(d1) - discounted * below(d2)
    put.array[kc.x] = discounted * below(-d2) - s * below(-d1)


@tb.compute
def price_all(
    cc: ComputeContext,
    share: F32Array,
    strike: F32Array,
    years: F32Array,
    rate: f32,
    volatility: f32,
    call: F32Array,
    put: F32Array,
) -> None:
    cc.dispatch(share.length, price, share, strike, years, rate, volatility, call, put)


def some_options(count: int, seed: int = 1) -> Options:
    random = np.random.default_rng(seed)
    share, strike = random.uniform(5, 30, count), random.uniform(1, 100, count)
    years = random.uniform(0.25, 10, count)
    return Options(*(numbers.astype(np.float32) for numbers in (share, strike, years)))


def run(
    accelerator: Accelerator, options: Options, rate: float, volatility: float
) -> tuple[Floats, Floats]:
    """The prices of the calls and of the puts."""
    share, strike, years = (F32Array.of(numbers) for numbers in options)
    call = F32Array.create(accelerator, length=share.length)
    put = F32Array.create(accelerator, length=share.length)
    accelerator.compute(price_all, share, strike, years, rate, volatility, call, put)
    return np.asarray(call), np.asarray(put)


def reference(options: Options, rate: float, volatility: float) -> tuple[Doubles, Doubles]:
    """The same by NumPy in double precision."""
    share, strike, years = (numbers.astype(np.float64) for numbers in options)
    spread = volatility * np.sqrt(years)
    d1 = (np.log(share / strike) + (rate + volatility**2 / 2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    call = share * normal_below(d1) - discounted * normal_below(d1 - spread)
    return call, call - share + discounted


def normal_below(numbers: Doubles) -> Doubles:
    return np.array([0.5 + math.erf(x / math.sqrt(2)) / 2 for x in numbers.tolist()])


def check(
    options: Options, rate: float, volatility: float, call: Floats, put: Floats, sample: int
) -> float:
    """Compare some with NumPy's, and all with the law; gives the largest error in money."""
    some = Options(*(numbers[:sample] for numbers in options))
    expected = reference(some, rate, volatility)
    for computed, exact in zip((call, put), expected, strict=True):
        np.testing.assert_allclose(computed[:sample], exact, rtol=1e-4, atol=1e-4)
    share, strike, years = (numbers.astype(np.float64) for numbers in options)
    worth = share - strike * np.exp(-rate * years)
    np.testing.assert_allclose(call.astype(np.float64) - put, worth, rtol=1e-4, atol=1e-4)
    return float(np.abs(call[:sample] - expected[0]).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--options", type=int, default=1_000_000, help="how many")
    parser.add_argument("--rate", type=float, default=0.02, help="the interest of a year")
    parser.add_argument("--volatility", type=float, default=0.3, help="how much shares move")
    parser.add_argument("--sample", type=int, default=100_000, help="so many are compared")
    parser.add_argument("--backend", help="opencl, interpreter, …; by default the first that works")
    given = parser.parse_args()
    # With a memory of its own, as a graphics card has it; on the host's memory nothing moves.
    accelerator = Accelerator(given.backend, memory="discrete")
    options = some_options(given.options)
    started = time.perf_counter()
    with accelerator.record() as ledger:
        call, put = run(accelerator, options, given.rate, given.volatility)
    seconds = time.perf_counter() - started
    print(f"{given.options:,} options on {accelerator.device.name}, {seconds:.2f} s with compiling")
    error = check(options, given.rate, given.volatility, call, put, given.sample)
    print(f"the largest error of a call is {error:.1e}; every call less its put is worth what it")
    print("should be; every transfer and its reason:\n")
    print(ledger)


if __name__ == "__main__":
    main()
