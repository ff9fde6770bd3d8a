"""Both transforms give NumPy's."""

import fourier
import numpy as np
import pytest
from tests.examples.programs import call

from trilby import Accelerator


@pytest.mark.parametrize("way", fourier.WAYS)
@pytest.mark.parametrize("length", [2, 8, 16])
def test_a_transform(accelerator: Accelerator, way: str, length: int) -> None:
    random = np.random.default_rng(1)
    numbers = random.standard_normal((3, length)) + 1j * random.standard_normal((3, length))
    found = fourier.run(accelerator, way, numbers.astype(np.complex64))
    np.testing.assert_allclose(found, np.fft.fft(numbers), rtol=1e-4, atol=1e-5)


def test_a_length_that_cannot_be_halved_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call("fourier", "--length", 12)
    assert "--length is 12: give a power of two" in capsys.readouterr().err


def test_the_sound_rises_and_falls() -> None:
    spectrum = np.abs(np.fft.fft(fourier.pieces_of_a_sound(40, 128)))[:, :64]
    loudest = spectrum.argmax(axis=1)
    assert loudest[0] < 5
    assert (np.diff(loudest) >= 0).all()
    assert loudest[-1] > 20
