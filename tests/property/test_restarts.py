"""Random programs whose device fails: they start again and give what NumPy says, or say why not.

A call that starts again has left no trace: nothing that the host wrote is written twice, and no
object of the program was asked twice.
"""

import gc
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, product

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.property.program_running import Loaded, difference, loaded
from tests.property.program_texts import HEAD, Program, program, programs
from tests.runtime.simulated import GPU, Simulated, machine

from trilby import Accelerator, Transfers
from trilby.errors import DeviceError

IS_SEARCH = not settings().derandomize
PROGRAMS = settings().max_examples // 10
FAILURES = (("run", 0), ("later", 1), ("run", 3), ("lost", 7))
"""How the device fails, and after how many launches."""
STRATEGIES = cycle(Transfers)


@pytest.fixture
def patched() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def run(one: Loaded, failure: tuple[str, int], patch: pytest.MonkeyPatch) -> str:
    """How a program ends on a device that fails: `right`, `again`, `refused`; or what is wrong."""
    machine(patch, Simulated(GPU, *failure))
    accelerator = Accelerator("sim:0", fallback=["interpreter"], poison=True)
    try:
        with accelerator.strategy(next(STRATEGIES)):
            buffers = one.run(accelerator, accelerator)
            told = difference(one.expected, one.outcome(buffers))
    except DeviceError as error:
        is_told = "was not started again" in error.advice or error.problem == "the device is lost"
        return "refused" if is_told else str(error)
    finally:
        with suppress(DeviceError):  # a device that is lost says so once more
            accelerator.close()
    return told or ("again" if accelerator.fallbacks else "right")


def ends(text: str, patch: pytest.MonkeyPatch) -> set[str]:
    """How a program ends with each failure."""
    with loaded(text) as one:
        found = {run(one, failure, patch) for failure in FAILURES}
    gc.collect()  # lost devices have something to say, and Python 3.11 cannot parse meanwhile
    return found


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_programs_agree_that_start_again(patched: pytest.MonkeyPatch) -> None:
    @settings(
        max_examples=PROGRAMS,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(program=programs("again", calm=True))
    def check(program: Program) -> None:
        wrong = ends(program.text, patched) - {"right", "again", "refused"}
        assert not wrong, f"{wrong}\n\n{HEAD}{program.text}\n\n{program}"

    if IS_SEARCH:
        check()
    found: set[str] = set()
    for number, calm in product(range(36, 60), [True, False]):
        if calm is (number % 4 != 0):
            found |= ends(program(f"restart {number}", calm=calm).text, patched)
    assert found == {"right", "again", "refused"}
