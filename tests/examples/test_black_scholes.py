"""Prices of options."""

import black_scholes
import numpy as np
import pytest

from trilby import Accelerator


def test_prices(accelerator: Accelerator) -> None:
    options = black_scholes.some_options(100)
    call, put = black_scholes.run(accelerator, options, 0.02, 0.3)
    assert black_scholes.check(options, 0.02, 0.3, call, put, 100) < 1e-4


def test_a_price_from_a_textbook() -> None:
    """Hull, Options, Futures and Other Derivatives: a call of 4.76 and a put of 0.81."""
    one = black_scholes.Options(*(np.array([x], np.float32) for x in (42, 40, 0.5)))
    call, put = black_scholes.reference(one, 0.1, 0.2)
    assert call[0] == pytest.approx(4.76, abs=0.005)
    assert put[0] == pytest.approx(0.81, abs=0.005)


def test_wrong_prices_are_noticed() -> None:
    options = black_scholes.some_options(10)
    exact = [prices.astype(np.float32) for prices in black_scholes.reference(options, 0.02, 0.3)]
    black_scholes.check(options, 0.02, 0.3, exact[0], exact[1], 10)
    with pytest.raises(AssertionError):
        black_scholes.check(options, 0.02, 0.3, exact[0] + 1, exact[1], 10)
