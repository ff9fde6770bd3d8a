"""Backends of other packages: found by entry points, chosen by name, passed over if broken."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.messages import message
from tests.plugin_backend.install import HERE, add_to_path, install
from tests.runtime.programs import square_all

import trilby as tb
from trilby import Accelerator, ComputeContext, KernelContext, S32Array
from trilby.backend.registry import (
    PassedOver,
    as_preferences,
    open_backend,
    open_preferred,
    survey,
)
from trilby.cli import main
from trilby.errors import ArgumentValueError, DeviceUnavailableError, KernelAssertionError
from trilby.options import MemoryKind

PAGE = HERE.parents[1] / "docs" / "backends.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the plug-in of the documentation is installed."""
    return install(tmp_path_factory.mktemp("arrays"))


@pytest.fixture
def arrays(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plug-in is installed."""
    add_to_path(monkeypatch, folder)


def printed(folder: Path, *command: str, **variables: str) -> str:
    """What a command prints where the plug-in is installed."""
    env = {**os.environ, "PYTHONPATH": str(folder), **variables}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=True, env=env
    )
    return done.stdout


# -------------------------------------------------------------------- a plug-in that works


def test_devices_lists_it_as_the_documentation_says(folder: Path) -> None:
    shown = re.search(r"\$ trilby devices\n…\n\n(.*?)\n```", PAGE.read_text("utf-8"), re.DOTALL)
    assert shown is not None
    text = printed(folder, "-m", "trilby", "devices")
    assert (
        f"{shown[1]}\n" in text
    )  # drivers that cannot be used on this machine are listed after it


def test_devices_lists_it_for_programs(folder: Path) -> None:
    found = json.loads(printed(folder, "-m", "trilby", "devices", "--json"))
    last = found["devices"][-1]
    assert (last["spec"], last["outcome"]) == ("arrays:0", "passes")
    assert found["chosen"] == "native:0"
    assert "arrays" not in {one["name"] for one in found["absent"]}


def test_the_doctor_tests_it(folder: Path) -> None:
    text = printed(folder, "-m", "trilby", "doctor")
    assert "✓ arrays:0" in text
    assert "NumPy arrays (software, 1 unit): the test kernel passes" in text


@pytest.mark.usefixtures("arrays")
@pytest.mark.parametrize("spec", ["arrays", "arrays:0"])
def test_it_is_opened_by_name(spec: str) -> None:
    numbers = S32Array.of([3, 5])
    with Accelerator(spec) as accelerator:
        assert accelerator.device.spec == "arrays:0"
        assert accelerator.passed_over == ()
        accelerator.compute(square_all, numbers)
    assert numbers.array.tolist() == [9, 25]


def test_it_is_opened_by_the_variable(folder: Path) -> None:
    program = "import trilby; print(trilby.Accelerator().device.spec)"
    assert printed(folder, "-c", program) == "native:0\n"
    assert printed(folder, "-c", program, TRILBY_BACKEND="arrays") == "arrays:0\n"


@pytest.mark.usefixtures("arrays")
@pytest.mark.parametrize(
    ("prefer", "spec"),
    [
        ("arrays", "arrays:0"),
        ("ARRAYS:0", "arrays:0"),
        ("software shared_memory", "arrays:0"),
        ("example", "arrays:0"),  # its vendor
        ("software", "interpreter:0"),  # our own come first
        ("any", "native:0"),
    ],
)
def test_preferences_find_it_after_our_own(prefer: str, spec: str) -> None:
    with Accelerator(prefer=["gpu", prefer]) as accelerator:
        assert accelerator.device.spec == spec


@pytest.mark.usefixtures("arrays")
def test_a_compute_call_falls_back_on_it() -> None:
    @tb.raw(opencl="this is not OpenCL")
    def plus_one(v: tb.i32) -> tb.i32:
        return v + 1

    @tb.kernel
    def raise_kernel(kc: KernelContext, a: S32Array) -> None:
        a.array[kc.x] = plus_one(a.array[kc.x])

    @tb.compute
    def raise_all(cc: ComputeContext, a: S32Array) -> None:
        cc.dispatch(a.length, raise_kernel, a)

    numbers = S32Array.of([3, 5])
    with Accelerator("opencl", fallback=["arrays"]) as accelerator:
        accelerator.compute(raise_all, numbers)
        assert [one.used.spec for one in accelerator.fallbacks] == ["arrays:0"]
    assert numbers.array.tolist() == [4, 6]


@pytest.mark.usefixtures("arrays")
def test_a_device_that_it_does_not_have() -> None:
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend("arrays:1")
    assert message(caught.value) == (
        "there is no `arrays:1`: arrays has one device here\n"
        "  help: the last one is `arrays:0`; `trilby devices` lists them all"
    )


@pytest.mark.usefixtures("arrays")
def test_its_name_is_among_those_that_may_have_been_meant() -> None:
    with pytest.raises(ArgumentValueError) as caught:
        open_backend("array")
    assert message(caught.value) == (
        "there is no backend `array`\n"
        "  help: did you mean `arrays`? the backends are native, opencl, interpreter, null, arrays"
    )


@tb.kernel
def halve(kc: KernelContext, a: S32Array) -> None:
    even = a.array[kc.x] % 2 == 0
    a.array[kc.x] //= 2
    assert even


@tb.compute
def halve_all(cc: ComputeContext, a: S32Array, passes: int) -> None:
    cc.dispatch(a.length, halve, a, passes=passes)


@pytest.mark.usefixtures("arrays")
@pytest.mark.parametrize("memory", ["shared", "discrete"])
def test_a_run_that_fails_has_no_effect_and_those_before_it_have(
    memory: MemoryKind,
) -> None:
    numbers = S32Array.of([8, 4])
    with Accelerator("arrays", memory=memory) as accelerator:
        with pytest.raises(KernelAssertionError, match=r"work item \(1, 0, 0\)"):
            accelerator.compute(halve_all, numbers, 4)
        assert numbers.array.tolist() == [2, 1]


@pytest.mark.usefixtures("arrays")
def test_the_hand_off_of_the_documentation(
    declare: "Declare", capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.search(
        r"```python\n([^`]*class ReportingBackend.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
    assert found is not None
    family = (
        "class Odd(ArrayFamily):\n"
        "    name = 'odd'\n"
        "    devices = lambda self: [replace(DEVICE, backend='odd')]\n"
        "    open = lambda self, index: ReportingBackend()\n"
    )
    imports = "from dataclasses import replace\nfrom trilby_arrays import *\n"
    declare("odd", imports + found[1] + family)
    numbers = S32Array.of([3, 5])
    with Accelerator("odd") as accelerator:
        accelerator.compute(square_all, numbers)
    assert numbers.array.tolist() == [9, 25]
    assert "square_kernel" in capsys.readouterr().out


def test_who_names_our_own_does_not_look_for_plug_ins(folder: Path) -> None:
    program = (
        "import sys, trilby\n"
        "trilby.Accelerator().close()\n"
        "trilby.Accelerator('native').close()\n"
        "print('importlib.metadata' in sys.modules)\n"
        "import importlib.metadata as metadata\n"
        "look = metadata.entry_points\n"
        "metadata.entry_points = lambda **group: [print('looks'), *look(**group)][1:]\n"
        "trilby.Accelerator('native', fallback=['software']).close()\n"
        "trilby.Accelerator(prefer=['gpu opencl', 'cpu']).close()\n"
        "trilby.Accelerator('arrays').close()\n"
    )
    assert printed(folder, "-c", program) == "False\nlooks\n"


# ----------------------------------------------------------------------- those that do not

Declare: TypeAlias = Callable[..., None]


@pytest.fixture
def declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Declare:
    """Installs a distribution of a plug-in, with the code of its module."""

    def write(name: str, code: str = "", package: str = "tb-odd", family: str = "Odd") -> None:
        module = package.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(code, "utf-8")
        info = tmp_path / f"{module}-2.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 2.1\n")
        points = f"[trilby.backends]\n{name} = {module}:{family}\n"
        (info / "entry_points.txt").write_text(points, "utf-8")
        monkeypatch.delitem(sys.modules, module, raising=False)
        add_to_path(monkeypatch, tmp_path)

    return write


FAMILY = """
from trilby.backend.null import DEVICE, NullBackend
from dataclasses import replace

class Odd:
    name = "odd"
    def devices(self):
        return [replace(DEVICE, backend="odd", kind="gpu")]
    def open(self, index):
        return NullBackend()
"""
HALF = "device compute upload_queue download_queue allocate share free upload download close"
BAD_NAME = "a name is lower-case letters, digits, `-` and `_`, and no word such as `gpu` or `any`"


@pytest.mark.parametrize(
    ("name", "code", "reason", "advice"),
    [
        pytest.param(
            "odd",
            "import trilby_needs_cupid",
            "the plug-in of tb-odd 2.1 cannot be imported: ModuleNotFoundError: No module named "
            "'trilby_needs_cupid'",
            "update or uninstall that package",
            id="needs",
        ),
        pytest.param(
            "odd",
            "raise SystemExit(3)",
            "the plug-in of tb-odd 2.1 cannot be imported: SystemExit: 3",
            "update or uninstall that package",
            id="exits",
        ),
        pytest.param(
            "odd",
            "",
            "the plug-in of tb-odd 2.1 cannot be imported: AttributeError: module 'tb_odd' has no "
            "attribute 'Odd'",
            "update or uninstall that package",
            id="empty",
        ),
        pytest.param(
            "odd",
            "Odd = 'a string'",
            "the plug-in of tb-odd 2.1 has no whole `Family`: 'a string' lacks `name`, `devices`, "
            "`open`",
            "its author finds the protocol in `trilby.backend.base`",
            id="no_family",
        ),
        pytest.param(
            "even",
            FAMILY,
            "the plug-in of tb-odd 2.1 has the name `odd`, and its entry point `even`",
            "its author has to give both the same name",
            id="two_names",
        ),
        pytest.param(
            "odd",
            FAMILY.replace('backend="odd"', 'backend="null", index=3'),
            "the plug-in of tb-odd 2.1 lists the devices null:3, which should be odd:0",
            "its author has to correct `backend` and `index` of each `DeviceInfo`",
            id="devices_of_others",
        ),
        pytest.param(
            "odd",
            FAMILY.replace("return [", "return ['odd:0', "),
            "the plug-in of tb-odd 2.1 fails at listing its devices: TypeError: 'odd:0' is no "
            "`DeviceInfo`",
            "update or uninstall that package",
            id="no_device",
        ),
        pytest.param(
            "odd",
            FAMILY.replace("return [", "return [{}['chip'], "),
            "the plug-in of tb-odd 2.1 fails at listing its devices: KeyError: 'chip'",
            "update or uninstall that package",
            id="devices_raises",
        ),
        pytest.param(
            "odd",
            "from trilby.errors import DeviceUnavailableError\n"
            + FAMILY.replace("return [", "raise DeviceUnavailableError('no odd chip') #"),
            "no odd chip",
            "",
            id="no_devices",
        ),
        pytest.param(
            "native",
            FAMILY,
            "the plug-in of tb-odd 2.1 has the name of a built-in backend",
            "its author has to choose another name",
            id="takes_our_name",
        ),
        pytest.param(
            "gpu",
            FAMILY,
            "the plug-in of tb-odd 2.1 has a name that cannot be asked for",
            BAD_NAME,
            id="word_of_preferences",
        ),
        pytest.param(
            "Odd:One",
            FAMILY,
            "the plug-in of tb-odd 2.1 has a name that cannot be asked for",
            BAD_NAME,
            id="not_a_word",
        ),
    ],
)
def test_what_is_wrong_is_a_reason_to_pass_it_over(
    declare: Declare, name: str, code: str, reason: str, advice: str
) -> None:
    declare(name, code)
    found = survey()[-1]
    assert found.devices == ()
    assert found.absent == (PassedOver(name, reason, advice),)


def test_nobody_else_hears_of_a_broken_one(
    declare: Declare, capsys: pytest.CaptureFixture[str]
) -> None:
    declare("native", FAMILY)
    declare("odd", "import trilby_needs_cupid", package="tb-other")
    assert open_backend("native").backend.device.spec == "native:0"
    choice = open_preferred(as_preferences(["no such vendor", "native"], "prefer"))
    assert choice.backend.device.spec == "native:0"
    assert main(["devices"]) == 0
    text = capsys.readouterr().out
    assert "native:0 *" in text
    assert text.endswith(
        "\nnative: the plug-in of tb-odd 2.1 has the name of a built-in backend\n"
        "  help: its author has to choose another name\n"
        "\nodd: the plug-in of tb-other 2.1 cannot be imported: ModuleNotFoundError: No module "
        "named 'trilby_needs_cupid'\n"
        "  help: update or uninstall that package\n"
    )
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "the plug-in of tb-odd 2.1 has the name of a built-in backend" in text
    assert "Accelerator() opens native:0." in text


def test_who_names_a_broken_one_hears_why(declare: Declare) -> None:
    declare("odd", "import trilby_needs_cupid")
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend("odd")
    assert message(caught.value) == (
        "the plug-in of tb-odd 2.1 cannot be imported: ModuleNotFoundError: No module named "
        "'trilby_needs_cupid'\n"
        "  help: update or uninstall that package"
    )
    with pytest.raises(DeviceUnavailableError) as caught:
        open_preferred(as_preferences("odd", "prefer"))
    assert "odd: the plug-in of tb-odd 2.1 cannot be imported" in message(caught.value)


def test_two_of_one_name(declare: Declare) -> None:
    declare("odd", FAMILY)
    declare("odd", FAMILY, package="tb-other")
    first, second = survey()[-2:]
    assert [device.spec for device in first.devices] == ["odd:0"]
    reason = "the plug-in of tb-other 2.1 has the same name as that of tb-odd 2.1"
    assert second.absent == (PassedOver("odd", reason, "uninstall one of them"),)


@pytest.mark.parametrize(
    ("opened", "said"),
    [
        ("{}['chip']", "fails at opening `odd:0`: KeyError: 'chip'"),
        (
            f"type('Half', (), dict.fromkeys({HALF!r}.split()))",
            "has no whole `Backend`: <class 'tb_odd.Half'> lacks `compile`, `fill`, `prepare`",
        ),
    ],
)
def test_a_device_that_does_not_open(
    declare: Declare, capsys: pytest.CaptureFixture[str], opened: str, said: str
) -> None:
    declare("odd", FAMILY.replace("NullBackend()", opened))
    with pytest.raises(DeviceUnavailableError) as caught:
        open_backend("odd")
    assert caught.value.problem == f"the plug-in of tb-odd 2.1 {said}"
    assert main(["devices", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["devices"][-1]["outcome"] == "does not open"
    assert report["devices"][-1]["problem"] == caught.value.problem


def test_one_that_fails_at_the_test_kernel(
    declare: Declare, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a GPU, and still nothing that is opened without its name."""
    half = "type('Half', (NullBackend,), {'compile': None})()"
    declare("odd", FAMILY.replace("NullBackend()", half))
    assert main(["devices", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["devices"][-1]["outcome"] == "fails"
    assert "TypeError: 'NoneType' object is not callable" in report["devices"][-1]["problem"]
    assert report["chosen"] == "native:0"


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        ("[DeviceUnavailableError('chip 1 is odd', advice='take another')]", "chip 1 is odd"),
        (
            "[{}['chip']]",
            "the plug-in of tb-odd 2.1 fails at listing what it cannot use: KeyError: 'chip'",
        ),
    ],
)
def test_one_that_refuses_some_of_its_devices(declare: Declare, refused: str, said: str) -> None:
    code = f"    def refused(self):\n        return {refused}\n"
    declare("odd", f"from trilby.errors import DeviceUnavailableError\n{FAMILY}{code}")
    found = survey()[-1]
    assert [device.spec for device in found.devices] == ["odd:0"]
    assert [gap.reason for gap in found.absent] == [said]


def test_an_object_may_be_the_entry_point(declare: Declare) -> None:
    declare("odd", FAMILY + "family = Odd()", family="family")
    assert survey()[-1].devices[0].spec == "odd:0"
