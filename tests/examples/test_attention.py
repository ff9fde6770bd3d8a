"""Both ways of attention give the softmax of the definition."""

import attention
import numpy as np
import pytest

from trilby import Accelerator


@pytest.mark.parametrize("way", ["plain", "flash"])
def test_attention(accelerator: Accelerator, way: str) -> None:
    q, k, v = attention.some_heads(1, 64)
    few = q[:, : attention.TILE], k[:, : attention.TILE], v[:, : attention.TILE]
    found = attention.run(accelerator, way, few)
    np.testing.assert_allclose(found, attention.reference(*few), atol=5e-5)


def test_large_scores_do_not_overflow(device: str) -> None:
    q, k, v = attention.some_heads(1, attention.TILE)
    found = attention.run(Accelerator(device), "flash", (100 * q, k, v))
    np.testing.assert_allclose(found, attention.reference(100 * q, k, v), rtol=1e-3, atol=1e-3)


def test_a_query_that_asks_for_one_key_gets_its_value() -> None:
    k = np.eye(attention.WIDTH, dtype=np.float32)[None]
    v = np.arange(attention.WIDTH**2, dtype=np.float32).reshape(k.shape)
    got = attention.reference(1000 * k[:, 5:6], k, v)
    np.testing.assert_allclose(got[0, 0], v[0, 5])
