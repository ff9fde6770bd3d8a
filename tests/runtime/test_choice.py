"""The device that an accelerator begins with, as its constructor was told."""

import logging

import pytest
from tests.runtime.simulated import CPU, GPU, Simulated, machine

from trilby import Accelerator
from trilby.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DeviceUnavailableError,
    MissingFeatureError,
)


@pytest.fixture(autouse=True)
def devices(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, Simulated(GPU), Simulated(CPU))


@pytest.mark.parametrize(
    ("prefer", "chosen"),
    [
        (["gpu", "cpu"], "sim:0"),
        (["cpu", "gpu"], "sim:1"),
        (["accelerator", "cpu"], "sim:1"),
        (["gpu f64", "f64"], "sim:1"),
        (["NVIDIA"], "sim:0"),
        (["steady"], "sim:1"),
        (["sim:1"], "sim:1"),
        (["interpreter", "gpu"], "interpreter:0"),
        (("any",), "sim:0"),
        ("cpu f64", "sim:1"),
        ([], "sim:0"),
    ],
)
def test_the_first_device_that_fits_the_first_entry_that_any_fits(
    prefer: list[str], chosen: str
) -> None:
    with Accelerator(prefer=prefer) as accelerator:
        assert accelerator.device.spec == chosen
        assert accelerator.fallbacks == ()


def test_it_says_what_it_chose_and_which_wish_was_not_met(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "trilby"), Accelerator(prefer=["sim gpu f64", "cpu"]) as it:
        assert [passed.name for passed in it.passed_over] == ["sim gpu f64"]
    passed_over, using = (record.getMessage() for record in caplog.records)
    assert passed_over == (
        "sim gpu f64 was passed over: none fits: sim:0 (Speedster 9000): it has no f64; "
        "sim:1 (Steady CPU): its kind is cpu, not gpu"
    )
    assert using == "using sim:1 (Steady CPU)"


def test_what_was_set_in_the_environment_counts_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRILBY_BACKEND", "interpreter")
    with Accelerator() as default, Accelerator(prefer=["cpu"]) as preferred:
        assert (default.device.spec, preferred.device.spec) == ("interpreter:0", "sim:1")


def test_nothing_is_taken_that_does_not_fit() -> None:
    with pytest.raises(DeviceUnavailableError, match="no device fits `gpu f64` or `accelerator`"):
        Accelerator(prefer=["gpu f64", "accelerator"])


def test_a_name_and_a_preference_are_too_much() -> None:
    with pytest.raises(ArgumentValueError) as caught:
        Accelerator("sim", prefer=["gpu"])
    assert caught.value.problem == (
        "`sim` is asked for by its name, and `prefer` is given beside it"
    )
    assert caught.value.advice == 'leave one of them out, or write `prefer=["sim", …]`'


def test_preferences_are_texts() -> None:
    wrong: object = [1]
    with pytest.raises(ArgumentTypeError, match="`prefer` is a list of texts, and 1 is int"):
        Accelerator(prefer=wrong)  # pyright: ignore[reportArgumentType] -- that is what is tested
    with pytest.raises(ArgumentTypeError, match="`fallback` is a list of texts"):
        Accelerator(fallback={"cpu": 1})  # pyright: ignore[reportArgumentType] -- as above


def test_shared_memory_is_there_or_refused() -> None:
    with pytest.raises(MissingFeatureError, match="Speedster 9000 cannot work on the host's"):
        Accelerator(prefer=["gpu"], memory="shared")


def test_a_fallback_that_is_not_there_is_told_at_once(caplog: pytest.LogCaptureFixture) -> None:
    with Accelerator(prefer=["gpu"], fallback=["accelerator", "sim:0"]):
        assert "there is nothing to fall back on: no other device fits accelerator, sim:0" in (
            caplog.text
        )
