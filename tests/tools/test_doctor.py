"""What `trilby doctor` finds, and how it ends."""

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from trilby.backend.registry import PassedOver
from trilby.cli import main
from trilby.tools import doctor
from trilby.tools.devices import CheckedDevice, DevicesReport, check_device, devices_report
from trilby.tools.doctor import Diagnosis, diagnose, diagnosis_as_json, print_diagnosis


@pytest.fixture(scope="module")
def devices() -> DevicesReport:
    return devices_report(check_device)


def state_of(diagnosis: Diagnosis, name: str) -> str:
    return next(one.state for one in diagnosis.findings if one.name == name)


def text_of(diagnosis: Diagnosis) -> str:
    output = io.StringIO()
    print_diagnosis(diagnosis, Console(file=output, width=200))
    return output.getvalue()


def test_a_machine_on_which_all_is_well(devices: DevicesReport, tmp_path: Path) -> None:
    diagnosis = diagnose(replace(devices, absent=()), tmp_path)
    assert diagnosis.is_usable
    assert {one.state for one in diagnosis.findings} == {"ok"}
    assert "Accelerator() opens native:0." in text_of(diagnosis)
    assert "help:" not in text_of(diagnosis)


def test_a_package_that_is_missing(
    devices: DevicesReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = ("no-such-package", "nothing", "pip install nothing")
    monkeypatch.setattr(doctor, "PACKAGES", (package,))
    diagnosis = diagnose(devices, tmp_path)
    assert state_of(diagnosis, "no-such-package") == "missing"
    text = text_of(diagnosis)
    assert "not installed; it is for nothing" in text
    assert "help: pip install nothing" in text


def test_a_device_that_computes_wrongly_and_one_that_is_absent(
    devices: DevicesReport, tmp_path: Path
) -> None:
    wrong: list[CheckedDevice] = [
        replace(one, outcome="fails", problem="3 of 100 numbers are wrong")
        for one in devices.devices
    ]
    gone = PassedOver("opencl", "pyopencl is not installed", 'pip install "trilby[opencl]"')
    diagnosis = diagnose(DevicesReport("native:0", tuple(wrong), (gone,)), tmp_path)
    assert not diagnosis.is_usable
    assert state_of(diagnosis, "native:0") == "broken"
    assert state_of(diagnosis, "opencl") == "missing"
    text = text_of(diagnosis)
    assert "the test kernel fails: 3 of 100 numbers are wrong" in text
    assert "Nothing here can run a kernel." in text


def test_the_cache(devices: DevicesReport, tmp_path: Path) -> None:
    assert state_of(diagnose(devices, tmp_path / "not" / "yet"), "kernels") == "ok"
    assert state_of(diagnose(devices, None), "kernels") == "missing"
    file = tmp_path / "file"
    file.touch()
    assert state_of(diagnose(devices, file / "below"), "kernels") == "broken"


def test_a_cache_that_others_may_write_to(devices: DevicesReport, tmp_path: Path) -> None:
    tmp_path.chmod(0o770)
    diagnosis = diagnose(devices, tmp_path)
    assert state_of(diagnosis, "kernels") == "broken"
    text = text_of(diagnosis)
    assert f"{tmp_path} is not used: others may write to it, or own it" in text
    assert f"help: chmod 700 {tmp_path}" in text


def test_a_cache_that_is_a_link(devices: DevicesReport, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    diagnosis = diagnose(devices, tmp_path / "link")
    assert state_of(diagnosis, "kernels") == "broken"
    assert "is not used: a link, or not a folder" in text_of(diagnosis)


def test_a_cache_that_may_only_be_read(
    devices: DevicesReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType] -- the tests may run as root
    diagnosis = diagnose(devices, tmp_path)
    assert state_of(diagnosis, "kernels") == "ok"
    assert f"{tmp_path} may only be read" in text_of(diagnosis)
    assert state_of(diagnose(devices, tmp_path / "missing"), "kernels") == "broken"


def test_programs_get_json(devices: DevicesReport, tmp_path: Path) -> None:
    found = json.loads(diagnosis_as_json(diagnose(devices, tmp_path)))
    assert found["usable"] is True
    assert found["chosen"] == "native:0"
    assert {"part", "name", "state", "what", "advice"} == set(found["findings"][0])


def test_colours_are_for_terminals(devices: DevicesReport, tmp_path: Path) -> None:
    diagnosis = diagnose(devices, tmp_path)
    assert "\x1b[" not in text_of(diagnosis)
    output = io.StringIO()
    print_diagnosis(diagnosis, Console(file=output, force_terminal=True, color_system="standard"))
    assert "\x1b[" in output.getvalue()


def test_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(os.environ, "TRILBY_CACHE", str(tmp_path))
    assert main(["doctor", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["usable"] is True

    def nothing(_check: object) -> DevicesReport:
        return DevicesReport(None, (), ())

    monkeypatch.setattr("trilby.cli.devices_report", nothing)
    assert main(["doctor"]) == 1
    assert "Nothing here can run a kernel." in capsys.readouterr().out
