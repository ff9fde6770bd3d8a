import io
import json
from collections.abc import Callable

import pytest
from rich.console import Console

from trilby.backend.base import Backend, DeviceInfo
from trilby.backend.registry import PassedOver, Survey, as_preferences
from trilby.errors import DeviceError
from trilby.tools.devices import (
    CheckedDevice,
    DevicesReport,
    Wish,
    as_json,
    devices_report,
    print_report,
)

CPU = DeviceInfo(
    backend="opencl",
    index=0,
    name="Some [bold] CPU",
    kind="cpu",
    vendor="Maker",
    driver="PoCL 3.0",
    memory_bytes=3 << 30,
    compute_units=2,
    max_group_items=4096,
    features=frozenset({"f64", "shared_memory"}),
)
ABSENT = PassedOver("cuda", "cuda-python is not installed", 'pip install "trilby[cuda]"')
REPORT = DevicesReport(
    chosen="opencl:0",
    devices=(CheckedDevice("opencl:0", CPU, "fails", "3 of 8 numbers are wrong"),),
    absent=(ABSENT,),
)


def passes(backend: Backend) -> str | None:
    """A check that is content with memory that holds what was put there."""
    memory = backend.allocate(4)
    backend.fill(memory, 0, 4, 7).wait()
    target = bytearray(4)
    backend.download(memory, 0, memoryview(target)).wait()
    return None if bytes(target) == b"\x07" * 4 else f"got {bytes(target)!r}"


def raises(backend: Backend) -> str | None:
    raise DeviceError(f"{backend.device.name} caught fire")


def wrong(backend: Backend) -> str | None:
    return f"wrong on {backend.device.spec}"


def test_every_backend_is_there_and_what_computes_is_checked() -> None:
    report = devices_report(passes)
    outcomes = {device.spec: device.outcome for device in report.devices}
    assert outcomes["opencl:0"] == "passes"
    assert outcomes["interpreter:0"] == "passes"
    assert outcomes["null:0"] == "not run"
    assert report.chosen == "native:0"


@pytest.mark.parametrize(
    ("check", "problem"),
    [(wrong, "wrong on interpreter:0"), (raises, "Python interpreter caught fire")],
)
def test_a_device_that_fails_is_listed_with_the_reason(
    check: Callable[[Backend], str | None], problem: str
) -> None:
    info = DeviceInfo("interpreter", 0, "Python interpreter", "software", "", "", 0, 1, 1)
    report = devices_report(check, [Survey("interpreter", True, (info,), ())])  # noqa: FBT003 -- it computes
    assert report.devices == (CheckedDevice("interpreter:0", info, "fails", problem),)
    assert report.chosen == "interpreter:0"


def test_a_device_that_does_not_open_is_not_the_default() -> None:
    gone = DeviceInfo("null", 3, "Gone", "gpu", "", "", 0, 1, 1)
    here = DeviceInfo("null", 0, "Here", "gpu", "", "", 0, 1, 1)
    found = Survey(name="null", computes=True, devices=(gone, here), absent=(ABSENT,))
    report = devices_report(lambda _: None, [found])
    assert [(device.spec, device.outcome) for device in report.devices] == [
        ("null:3", "does not open"),
        ("null:0", "passes"),
    ]
    assert report.devices[0].problem == "there is no `null:3`: null has one device here"
    assert report.chosen == "null:0"
    assert report.absent == (ABSENT,)


def test_a_plug_in_is_not_the_default() -> None:
    fast = DeviceInfo("null", 0, "Fast", "gpu", "", "", 0, 1, 1)
    slow = DeviceInfo("interpreter", 0, "Slow", "software", "", "", 0, 1, 1)
    plugin = Survey(name="null", computes=True, devices=(fast,), absent=(), is_plugin=True)
    own = Survey(name="interpreter", computes=True, devices=(slow,), absent=())
    report = devices_report(lambda _: None, [own, plugin])
    assert [device.outcome for device in report.devices] == ["passes", "passes"]
    assert report.chosen == "interpreter:0"
    assert devices_report(lambda _: None, [plugin]).chosen is None


def test_nothing_at_all() -> None:
    assert devices_report(passes, []) == DevicesReport(None, (), ())


def printed(report: DevicesReport, *, terminal: bool) -> str:
    out = io.StringIO()
    print_report(report, Console(file=out, force_terminal=terminal, width=160, color_system=None))
    return out.getvalue()


def test_the_report_in_a_pipe() -> None:
    assert printed(REPORT, terminal=False) == (
        "device    opencl:0 *\n"
        "name      Some [bold] CPU\n"
        "kind      cpu\n"
        "vendor    Maker\n"
        "driver    PoCL 3.0\n"
        "memory    3.0 GiB\n"
        "units     2\n"
        "group     4096\n"
        "features  f64 shared_memory\n"
        "test      fails: 3 of 8 numbers are wrong\n"
        "\n"
        "cuda: cuda-python is not installed\n"
        '  help: pip install "trilby[cuda]"\n'
    )


def test_the_report_on_a_terminal() -> None:
    text = printed(REPORT, terminal=True)
    (row,) = (line for line in text.splitlines() if "opencl:0" in line)
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    assert cells == [
        "opencl:0 *",
        "Some [bold] CPU",
        "cpu",
        "Maker",
        "PoCL 3.0",
        "3.0 GiB",
        "2",
        "4096",
        "f64 shared_memory",
        "fails: 3 of 8 numbers are wrong",
    ]
    assert 'help: pip install "trilby[cuda]"' in text


def test_the_report_for_programs() -> None:
    assert json.loads(as_json(REPORT)) == {
        "chosen": "opencl:0",
        "devices": [
            {
                "spec": "opencl:0",
                "info": {
                    "backend": "opencl",
                    "index": 0,
                    "name": "Some [bold] CPU",
                    "kind": "cpu",
                    "vendor": "Maker",
                    "driver": "PoCL 3.0",
                    "memory_bytes": 3221225472,
                    "compute_units": 2,
                    "max_group_items": 4096,
                    "features": ["f64", "shared_memory"],
                    "buffer_bytes": 0,
                    "constant_bytes": 0,
                    "constant_arguments": 0,
                    "clock": "device",
                },
                "outcome": "fails",
                "problem": "3 of 8 numbers are wrong",
            }
        ],
        "absent": [
            {
                "name": "cuda",
                "reason": "cuda-python is not installed",
                "advice": 'pip install "trilby[cuda]"',
            }
        ],
        "wishes": [],
    }


GONE = DeviceInfo("null", 3, "Gone", "gpu", "Maker", "", 0, 1, 1, frozenset({"f64"}))
HERE = DeviceInfo("null", 0, "Here", "gpu", "Maker", "", 0, 1, 1)
IDLE = DeviceInfo("interpreter", 0, "Idle", "software", "Maker", "", 0, 1, 1)


def preferring(*entries: str) -> DevicesReport:
    found = [
        Survey(name="null", computes=True, devices=(GONE, HERE), absent=()),
        Survey(name="interpreter", computes=False, devices=(IDLE,), absent=()),
    ]
    return devices_report(lambda _: None, found, as_preferences(list(entries), "prefer"))


def test_what_a_preference_comes_to() -> None:
    report = preferring("gpu f64", "software", "gpu", "interpreter")
    assert report.chosen == "null:0"
    gpu_f64, software, gpu, interpreter = report.wishes
    gone = "it does not open: there is no `null:3`: null has one device here"
    assert gpu_f64 == Wish(
        "gpu f64",
        (),
        (
            ("null:3", gone),
            ("null:0", "it has no f64"),
            ("interpreter:0", "its kind is software, not gpu"),
        ),
    )
    assert software.fits == ()
    assert software.passed_over[-1] == (
        "interpreter:0",
        "it computes nothing, and is taken only by its name",
    )
    assert gpu.fits == ("null:0",)
    assert gpu.passed_over[0] == ("null:3", gone)
    assert interpreter.fits == ("interpreter:0",)


def test_a_preference_that_comes_to_nothing() -> None:
    report = preferring("accelerator")
    assert report.chosen is None
    assert printed(report, terminal=False).endswith(
        "\n"
        'Accelerator(prefer=["accelerator"]) opens nothing\n'
        "  accelerator: no device fits\n"
        "    not null:3: its kind is gpu, not accelerator\n"
        "    not null:0: its kind is gpu, not accelerator\n"
        "    not interpreter:0: its kind is software, not accelerator\n"
    )


def test_what_is_preferred_has_the_star() -> None:
    text = printed(preferring("gpu"), terminal=True)
    assert "null:0 *" in text
    assert "* is what Accelerator(prefer=[…]) opens" in text
