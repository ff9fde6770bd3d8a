import subprocess
import sys
from collections.abc import Sequence

import pytest

from trilby.backend import registry
from trilby.backend.base import Backend, DeviceInfo
from trilby.backend.null import NullBackend, NullFamily
from trilby.backend.registry import Entry, PassedOver, open_backend, open_family, survey
from trilby.errors import ArgumentTypeError, ArgumentValueError, DeviceUnavailableError

HERE = "made_up_backends"


def info(name: str, index: int) -> DeviceInfo:
    return DeviceInfo(name, index, f"{name} device {index}", "cpu", "Maker", "1.0", 1, 1, 1)


class Opened(NullBackend):
    def __init__(self, device: DeviceInfo) -> None:
        super().__init__()
        self.device = device


class Nowhere:
    """A family without devices."""

    name = "nowhere"

    def devices(self) -> Sequence[DeviceInfo]:
        raise DeviceUnavailableError("there is no such hardware", advice="buy some")

    def open(self, index: int) -> Backend:
        raise AssertionError(index)


class Flaky:
    """Two devices, of which the first does not open, and a driver that was refused."""

    name = "flaky"

    def devices(self) -> Sequence[DeviceInfo]:
        return [info("flaky", 0), info("flaky", 1)]

    def refused(self) -> Sequence[DeviceUnavailableError]:
        return [DeviceUnavailableError("the third is asleep", advice="wake it")]

    def open(self, index: int) -> Backend:
        if index == 0:
            raise DeviceUnavailableError("device 0 is in use", advice="wait")
        return Opened(info("flaky", index))


NOWHERE = Entry("nowhere", HERE, "Nowhere")
FLAKY = Entry("flaky", HERE, "Flaky")
IDLE = Entry("idle", HERE, "NullFamily", computes=False)
MISSING = Entry("cuda", "trilby_needs_cupid", "Family", package="trilby_needs_cupid")


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> "Offer":
    monkeypatch.setitem(sys.modules, HERE, sys.modules[__name__])
    return Offer(monkeypatch)


class Offer:
    """Replaces the families that there are."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, *entries: Entry) -> None:
        self._monkeypatch.setattr(registry, "ENTRIES", entries)


def test_the_first_that_works_is_opened_and_the_others_are_not_forgotten(offer: Offer) -> None:
    offer(MISSING, NOWHERE, FLAKY)
    choice = open_backend()
    assert choice.backend.device == info("flaky", 1)
    assert choice.passed_over == (
        PassedOver("cuda", "trilby_needs_cupid is not installed", 'pip install "trilby[cuda]"'),
        PassedOver("nowhere", "there is no such hardware", "buy some"),
        PassedOver("flaky:0", "device 0 is in use", "wait"),
    )


def test_what_does_not_compute_is_opened_only_by_name(offer: Offer) -> None:
    offer(IDLE, FLAKY)
    assert open_backend().backend.device.backend == "flaky"
    assert isinstance(open_backend("idle").backend, NullBackend)


def test_a_family_by_name_opens_its_first_device_that_works(offer: Offer) -> None:
    offer(NOWHERE, FLAKY)
    choice = open_backend("flaky")
    assert choice.backend.device.index == 1
    assert [passed.name for passed in choice.passed_over] == ["flaky:0"]


def test_a_device_by_number_is_that_device_or_an_error(offer: Offer) -> None:
    offer(FLAKY)
    choice = open_backend("flaky:1")
    assert choice.backend.device.index == 1
    assert choice.passed_over == ()
    with pytest.raises(DeviceUnavailableError, match="device 0 is in use"):
        open_backend("flaky:0")


def test_a_number_that_is_too_high(offer: Offer) -> None:
    offer(FLAKY)
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend("flaky:2")
    assert str(caught.value) == (
        "there is no `flaky:2`: flaky has 2 devices here\n"
        "  help: the last one is `flaky:1`; `trilby devices` lists them all"
    )


def test_a_named_family_that_is_absent_gives_its_own_reason(offer: Offer) -> None:
    offer(NOWHERE, FLAKY)
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend("nowhere")
    assert str(caught.value) == "there is no such hardware\n  help: buy some"


def test_if_nothing_works_every_reason_is_told(offer: Offer) -> None:
    offer(MISSING, NOWHERE)
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend()
    assert str(caught.value) == (
        "no device can be opened\n"
        '  cuda: trilby_needs_cupid is not installed (pip install "trilby[cuda]")\n'
        "  nowhere: there is no such hardware (buy some)\n"
        "  help: `trilby devices` tells more"
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param(
            "openCL",
            "there is no backend `openCL`\n"
            "  help: did you mean `opencl`? the backends are opencl, interpreter, null",
        ),
        pytest.param(
            "interpeter:0",
            "there is no backend `interpeter`\n"
            "  help: did you mean `interpreter`? the backends are opencl, interpreter, null",
        ),
        (
            "",
            "there is no backend ``\n  help: the backends are opencl, interpreter, null",
        ),
        pytest.param(
            "opencl:",
            "`opencl:` names no device: after the colon comes its number\n"
            "  help: write `opencl:0`; `trilby devices` lists them all",
        ),
        pytest.param(
            "null:-1",
            "`null:-1` names no device: after the colon comes its number\n"
            "  help: write `null:0`; `trilby devices` lists them all",
        ),
    ],
)
def test_names_that_mean_nothing(spec: str, message: str) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        open_backend(spec)
    assert str(caught.value) == message


def test_a_backend_is_named_by_a_string() -> None:
    wrong: object = 1
    with pytest.raises(ArgumentTypeError, match="a backend is named by a string, and 1 is int"):
        open_backend(wrong)  # pyright: ignore[reportArgumentType] -- that is what is tested


def test_a_broken_backend_of_ours_is_not_taken_for_a_missing_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "trilby.backend.null", None)
    with pytest.raises(ModuleNotFoundError, match=r"trilby\.backend\.null"):
        open_family(Entry("null", "trilby.backend.null", "NullFamily", package="pyopencl"))


def test_without_pyopencl_the_advice_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "trilby.backend.opencl", raising=False)
    monkeypatch.delitem(sys.modules, "trilby.backend.opencl_device", raising=False)
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend("opencl")
    assert str(caught.value) == ('pyopencl is not installed\n  help: pip install "trilby[opencl]"')


def test_a_survey_opens_nothing_and_hides_nothing(offer: Offer) -> None:
    offer()
    found = survey((MISSING, NOWHERE, FLAKY, IDLE))
    assert [(each.name, each.computes) for each in found] == [
        ("cuda", True),
        ("nowhere", True),
        ("flaky", True),
        ("idle", False),
    ]
    cuda, nowhere, flaky, idle = found
    assert [gap.reason for gap in cuda.absent] == ["trilby_needs_cupid is not installed"]
    assert nowhere.absent == (PassedOver("nowhere", "there is no such hardware", "buy some"),)
    assert flaky.devices == (info("flaky", 0), info("flaky", 1))
    assert flaky.absent == (PassedOver("flaky", "the third is asleep", "wake it"),)
    assert idle.devices == tuple(NullFamily().devices())
    assert idle.absent == ()


@pytest.mark.parametrize("spec", ["opencl", "opencl:0", "interpreter", "interpreter:0", "null"])
def test_the_real_ones_open(spec: str) -> None:
    choice = open_backend(spec)
    assert choice.backend.device.backend == spec.partition(":")[0]
    assert choice.passed_over == ()
    choice.backend.close()


def test_the_names_of_the_entries_are_the_names_of_the_families() -> None:
    for entry in registry.ENTRIES:
        assert open_family(entry).name == entry.name


def test_the_registry_alone_loads_no_backend() -> None:
    program = (
        "import sys, trilby.backend.registry\n"
        "loaded = {name.rpartition('.')[2] for name in sys.modules}\n"
        "print(sorted(loaded & {'pyopencl', 'opencl', 'interpreter', 'null', 'rich'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
