"""What `trilby explain` says."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.reflect.host_samples import helper
from tests.runtime.programs import square_all, square_kernel
from tests.runtime.test_handoff import outer, raised
from tests.runtime.test_transforms import adding, announced
from tests.transform.golden_tracking import life_displayed, mandel

from trilby.cli import main
from trilby.errors import ArgumentValueError
from trilby.options import Transfers
from trilby.reflect.functions import Reflectable
from trilby.runtime.compile import analyse_kernel
from trilby.tools.explanation import explanation_of


def explain(function: Reflectable, transfers: Transfers, **options: Any) -> str:
    return str(explanation_of(function, transfers, **options))


def test_a_compute_function_before_and_after() -> None:
    text = explain(mandel, Transfers.TRACKED)
    parts = [text.index(part) for part in ("BEFORE\n", "AFTER inject_tracking\n", "PYTHON\n")]
    assert parts == sorted(parts)
    assert text.index("track.pre_access %0 %19") > parts[1]
    assert "    cc.pre_access(s32)\n" in text[parts[2] :]


def test_the_tables_of_the_kernels_follow() -> None:
    text = explain(square_all, Transfers.ALWAYS)
    analysed = analyse_kernel(square_kernel)
    assert f"\n\n{analysed.access}\n\n{analysed.footprint}\n\nMODEL" in text
    assert "\n\nAFTER" not in text


def test_a_kernel_after_each_of_its_transforms() -> None:
    text = explain(square_kernel, Transfers.AUTO, transforms=[adding])
    parts = [
        text.index(f'MODEL "square_kernel"{part}\n')
        for part in ("", " AFTER adding", " AFTER inline_calls on native")
    ]
    assert parts == sorted(parts)
    adds, inlines = text[parts[1] : parts[2]], text[parts[2] :]
    assert "- %1 : i32 = mul %0 %0\n+ %1 : i32 = add %0 %0" in adds
    assert "+ %4 : i32 = inlined @" in inlines
    assert "AFTER forward_variables on native\nno change" in inlines


def test_transforms_of_users_come_before_those_of_the_strategy() -> None:
    text = explain(mandel, Transfers.TRACKED, transforms=[announced])
    assert text.index("AFTER announced\n") < text.index("AFTER inject_tracking\n")


def test_device_functions_that_the_host_calls_are_shown() -> None:
    text = explain(outer, Transfers.AUTO)
    assert f'CALLED\nfunc @"{raised.symbol}"' in text


def test_a_kernel_has_tables_only() -> None:
    text = explain(square_kernel, Transfers.AUTO)
    assert text.startswith(str(analyse_kernel(square_kernel).access))
    assert "BEFORE" not in text


def test_one_kernel_can_be_chosen() -> None:
    assert 'conway"\n' in explain(life_displayed, Transfers.TRACKED, kernel="conway")
    with pytest.raises(ArgumentValueError, match=r"(?s)no kernel called `conwy` .*there is conway"):
        explain(life_displayed, Transfers.TRACKED, kernel="conwy")


def test_a_helper_moves_no_data() -> None:
    with pytest.raises(ArgumentValueError, match="only compute functions and kernels move data"):
        explain(helper, Transfers.AUTO)


# ----------------------------------------------------------------- the source and its margin

PROGRAM = """\
import trilby as tb
from trilby import ComputeContext, KernelContext, S32Array


@tb.kernel
def double(kc: KernelContext, a: S32Array, b: S32Array) -> None:
    b.array[kc.x] = a.array[kc.x] * 2


@tb.compute
def doubled(cc: ComputeContext, numbers: S32Array, twice: S32Array) -> int:
    cc.dispatch(numbers.length, double, numbers, twice)

    return int(twice.array[0])


def run(accelerator):
    numbers = S32Array.of(range(100))
    return accelerator.compute(doubled, numbers, S32Array.create(length=100))
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "doubling.py"
    path.write_text(PROGRAM, "utf-8")
    return f"{path}:doubled"


def test_the_margin_says_what_moves(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", program, "--transfers", "planned"]) == 0
    section = capsys.readouterr().out.split("\n\n")[1].splitlines()
    assert section[0] == "SOURCE doubling.py"
    assert section[1] == "10 | @tb.compute"
    dispatch = section.index("12 |     cc.dispatch(numbers.length, double, numbers, twice)")
    assert section[dispatch + 1 : dispatch + 4] == [
        "   :     → numbers goes to the device unless it is there: a launch surely needs it",
        "   :     ▶ double reads numbers and writes twice",
        "13 |",
    ]
    assert section[dispatch + 5].startswith("   :     ← twice.array[] comes to the host")


@pytest.mark.parametrize(
    ("transfers", "notes"),
    [
        (
            "always",
            ["→ numbers and twice before it, needed", "← numbers and twice after it, needed"],
        ),
        ("by_access", ["→ numbers before it, because", "← twice after it, because it writes"]),
        ("tracked", ["? pre_access(twice)"]),
    ],
)
def test_the_margin_of_other_strategies(
    transfers: str, notes: list[str], program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", program, "--transfers", transfers]) == 0
    out = capsys.readouterr().out
    assert [note for note in notes if note not in out] == []


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_a_run_is_compared_with_the_optimum(
    backend: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["--run", "run(accelerator)", "--backend", backend]
    assert main(["explain", program, *run]) == 0
    out = capsys.readouterr().out
    assert "⇒ numbers.array, once, 400 bytes: " in out or "⇒ a.array, once, 400 bytes: " in out
    assert "⇐ b.array, once, 4 bytes: " in out
    assert f"RUN on {backend}:0" in out
    # 100 numbers go up and one comes back; in whole buffers 100 would.
    assert "404 bytes moved, and 800 is the least in whole buffers: 0.51\n" in out


def test_an_explanation_for_programs(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--transfers", "planned", "--run", "run(accelerator)", "--json"]
    assert main(["explain", program, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["name"] == "doubled"
    assert found["transfers"] == "planned"
    (function,) = found["functions"]
    kinds = [note["kind"] for line in function["lines"] for note in line["notes"]]
    assert {"launch", "up", "ran-up", "ran-down"} <= set(kinds)
    (kernel,) = found["kernels"]
    assert kernel["access"] == {"a": {"array[]": "reads"}, "b": {"array[]": "writes"}}
    assert "__kernel void tb_double" in kernel["opencl"]
    (run,) = found["runs"]
    assert (run["bytes_up"], run["bytes_down"], run["least_bytes"]) == (400, 4, 800)


def test_an_expression_that_fails(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", program, "--run", "runs(accelerator)"]) == 1
    assert "`runs(accelerator)` fails: NameError" in capsys.readouterr().err
