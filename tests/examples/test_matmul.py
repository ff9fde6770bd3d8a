"""Every step of the product gives NumPy's."""

import matmul
import numpy as np
import pytest
from tests.examples.programs import call, opened

from trilby import Accelerator


@pytest.mark.parametrize("step", matmul.STEPS)
def test_a_product(accelerator: Accelerator, step: str) -> None:
    left, right = matmul.matrices(64)
    product = matmul.run(accelerator, step, left[:, :16], right[:16])
    exact = left[:, :16].astype(np.float64) @ right[:16]
    np.testing.assert_allclose(product, exact, rtol=1e-5)


def test_the_table_has_a_row_for_each_step() -> None:
    lines = matmul.table(matmul.measure(opened("opencl", poison=False), 128, 1)).splitlines()
    assert [line[:12].strip() for line in lines[1:]] == [*matmul.STEPS, "NumPy"]


def test_a_size_that_does_not_fit_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call("matmul", "--size", 100)
    assert "--size is 100: give a multiple of 64" in capsys.readouterr().err
