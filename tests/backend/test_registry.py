import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.messages import message

from trilby.backend import registry
from trilby.backend.base import Backend, DeviceInfo
from trilby.backend.null import NullBackend, NullFamily
from trilby.backend.preference import Preference
from trilby.backend.registry import (
    Entry,
    PassedOver,
    any_fits,
    as_preferences,
    has_driver_for_others,
    open_backend,
    open_family,
    open_preferred,
    survey,
)
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


class Fast(Flaky):
    """A CPU, and a GPU that cannot be opened, and one that can."""

    name = "fast"

    def devices(self) -> Sequence[DeviceInfo]:
        first, *others = [info("fast", n) for n in range(3)]
        return [first, *(replace(one, kind="gpu") for one in others)]

    def open(self, index: int) -> Backend:
        if index == 1:
            raise DeviceUnavailableError("device 1 is in use", advice="wait")
        return Opened(self.devices()[index])


NOWHERE = Entry("nowhere", HERE, "Nowhere")
FLAKY = Entry("flaky", HERE, "Flaky")
IDLE = Entry("idle", HERE, "NullFamily", computes=False)
NULL = Entry("null", HERE, "NullFamily", computes=False)
MISSING = Entry(
    "cuda", "trilby_needs_cupid", "Family", package="trilby_needs_cupid", install="cupid"
)


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
        PassedOver("cuda", "trilby_needs_cupid is not installed", "pip install cupid"),
        PassedOver("nowhere", "there is no such hardware", "buy some"),
        PassedOver("flaky:0", "device 0 is in use", "wait"),
    )


def test_a_gpu_comes_first_where_there_may_be_one(offer: Offer) -> None:
    fast = Entry("fast", HERE, "Fast", has_faster_devices=lambda: True)
    offer(FLAKY, fast)
    choice = open_backend()
    assert choice.backend.device.spec == "fast:2"
    assert choice.passed_over == (PassedOver("fast:1", "device 1 is in use", "wait"),)
    assert open_backend("fast").backend.device.spec == "fast:0"
    offer(FLAKY, replace(fast, has_faster_devices=lambda: False))
    assert open_backend().backend.device.spec == "flaky:1"


def test_a_driver_for_gpus_is_noticed(tmp_path: Path) -> None:
    assert not has_driver_for_others(tmp_path / "absent")
    (tmp_path / "pocl.icd").touch()
    (tmp_path / "readme.txt").touch()
    assert not has_driver_for_others(tmp_path)
    (tmp_path / "nvidia.icd").touch()
    assert has_driver_for_others(tmp_path)


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
    assert message(caught.value) == (
        "there is no `flaky:2`: flaky has 2 devices here\n"
        "  help: the last one is `flaky:1`; `trilby devices` lists them all"
    )


def test_a_named_family_that_is_absent_gives_its_own_reason(offer: Offer) -> None:
    offer(NOWHERE, FLAKY)
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend("nowhere")
    assert message(caught.value) == "there is no such hardware\n  help: buy some"


def test_if_nothing_works_every_reason_is_told(offer: Offer) -> None:
    offer(MISSING, NOWHERE)
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend()
    assert message(caught.value) == (
        "no device can be opened\n"
        "  cuda: trilby_needs_cupid is not installed (pip install cupid)\n"
        "  nowhere: there is no such hardware (buy some)\n"
        "  help: `trilby devices` tells more"
    )


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param(
            "openCL",
            "there is no backend `openCL`\n"
            "  help: did you mean `opencl`? the backends are native, opencl, interpreter, null",
        ),
        pytest.param(
            "interpeter:0",
            "there is no backend `interpeter`\n"
            "  help: did you mean `interpreter`? the backends are native, opencl, interpreter, "
            "null",
        ),
        (
            "",
            "there is no backend ``\n  help: the backends are native, opencl, interpreter, null",
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
def test_names_that_mean_nothing(spec: str, said: str) -> None:
    with pytest.raises(ArgumentValueError) as caught:
        open_backend(spec)
    assert message(caught.value) == said


def test_a_number_of_thousands_of_digits_names_no_device() -> None:
    with pytest.raises(ArgumentValueError, match="after the colon comes its number"):
        open_backend("native:" + "9" * 5000)


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
    monkeypatch.delitem(sys.modules, "trilby.backend.opencl.opencl_device", raising=False)
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend("opencl")
    assert message(caught.value) == (
        'pyopencl is not installed\n  help: pip install "trilby[opencl]"'
    )


def test_without_llvmlite_the_advice_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("trilby.backend.native")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend("native")
    assert message(caught.value) == "llvmlite is not installed\n  help: pip install llvmlite"


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


# ------------------------------------------------------------------------------- preferences


def wanted(*entries: str) -> tuple[Preference, ...]:
    return as_preferences(list(entries), "prefer")


def test_what_fits_is_tried_in_order_until_one_opens(offer: Offer) -> None:
    offer(MISSING, NOWHERE, FLAKY, IDLE)
    choice = open_preferred(wanted("gpu", "flaky", "cpu"))
    assert choice.backend.device == info("flaky", 1)
    gpu, unopened = choice.passed_over
    assert gpu == PassedOver(
        "gpu",
        "none fits: flaky:0 (flaky device 0): its kind is cpu, not gpu; flaky:1 (flaky device 1): "
        "its kind is cpu, not gpu; cuda: trilby_needs_cupid is not installed (pip install "
        "cupid); nowhere: there is no such hardware (buy some); flaky: the third is "
        "asleep (wake it)",
        "`trilby devices` lists what there is",
    )
    assert unopened == PassedOver("flaky:0", "device 0 is in use", "wait")


def test_what_does_not_compute_has_to_be_named(offer: Offer) -> None:
    offer(NULL, FLAKY)
    assert open_preferred(wanted("software", "any")).backend.device == info("flaky", 1)
    assert isinstance(open_preferred(wanted("null software")).backend, NullBackend)


def test_if_nothing_fits_it_says_what_there_was(offer: Offer) -> None:
    offer(MISSING, FLAKY, NULL)
    with pytest.raises(DeviceUnavailableError) as caught:
        open_preferred(wanted("gpu f64", "flaky:0", "flaky:7"))
    assert message(caught.value) == (
        "no device fits `gpu f64` or `flaky:0` or `flaky:7`\n"
        "  flaky:0 (flaky device 0): its kind is cpu, not gpu, device 0 is in use, it is flaky:0, "
        "not flaky:7\n"
        "  flaky:1 (flaky device 1): its kind is cpu, not gpu, it is flaky:1, not flaky:0, it is "
        "flaky:1, not flaky:7\n"
        "  cuda: trilby_needs_cupid is not installed (pip install cupid)\n"
        "  flaky: the third is asleep (wake it)\n"
        '  help: `trilby devices` shows what can be asked for; "any" takes what there is'
    )


def test_devices_that_failed_are_left_out(offer: Offer) -> None:
    offer(FLAKY)
    assert any_fits(wanted("cpu"), {"flaky:0"})
    assert not any_fits(wanted("cpu"), {"flaky:0", "flaky:1"})
    with pytest.raises(DeviceUnavailableError, match=r"flaky:1 .*: it has failed before"):
        open_preferred(wanted("cpu"), {"flaky:1"})


def test_only_backends_that_are_named_are_looked_at(offer: Offer) -> None:
    offer(Entry("broken", "trilby_has_no_such_module", "Family"), FLAKY)
    assert open_preferred(wanted("flaky:1")).backend.device == info("flaky", 1)
    with pytest.raises(ModuleNotFoundError):
        open_preferred(wanted("cpu"))


TWO_DEVICES = """
from trilby import Accelerator

for wish in (["opencl:1"], ["gpu", "opencl:1 cpu"], ["cpu"]):
    with Accelerator(prefer=wish) as accelerator:
        print(accelerator.device.spec)
with Accelerator("opencl:0", fallback=["opencl"]) as accelerator:
    print(accelerator.device.spec, accelerator.fallbacks)
"""


def test_two_real_devices_of_one_driver() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "POCL_DEVICES": "pthread pthread", "TRILBY_LOG": "warning"},
    )
    assert done.stdout == "opencl:1\nopencl:1\nnative:0\nopencl:0 ()\n"
    assert "nothing to fall back on" not in done.stderr


@pytest.mark.parametrize("spec", ["native", "opencl:0", "interpreter", "interpreter:0", "null"])
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
