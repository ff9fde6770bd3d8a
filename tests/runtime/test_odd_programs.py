"""Odd programs: those that are meant to work do, the others are refused and change nothing."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from tests.runtime.odd_programs import PREAMBLE, REFUSED, REFUSED_PREAMBLE, WORKING

from trilby import Accelerator, TrilbyError


def load(file: Path, accelerator: Accelerator) -> ModuleType:
    spec = importlib.util.spec_from_file_location("odd_program", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module)["accelerator"] = accelerator
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", WORKING)
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"], ids=["", "text"])
def test_a_program_works(name: str, future: str, accelerator: Accelerator, tmp_path: Path) -> None:
    text, expected = WORKING[name]
    file = tmp_path / "program.py"
    file.write_text(future + PREAMBLE + text, "utf-8")
    assert load(file, accelerator).result == expected


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_is_refused(name: str, accelerator: Accelerator, tmp_path: Path) -> None:
    call, body, problem, advice = REFUSED[name]
    compute = f"@tb.compute\ndef f(cc, a):\n    {body}\n"
    file = tmp_path / "program.py"
    file.write_text(f"{REFUSED_PREAMBLE}\n{compute}\ndef run():\n    {call}\n", "utf-8")
    module = load(file, accelerator)
    with accelerator.record() as ledger, pytest.raises(TrilbyError) as caught:
        module.run()
    error = caught.value
    assert error.problem.startswith(problem)
    assert error.advice.startswith(advice)
    assert error.location is not None
    assert error.location.file == str(file)
    assert str(error).startswith(f"{file}:{error.location.line}: {problem}")
    assert "^" in str(error)
    assert "\n  help: " in str(error)
    assert module.a.array.tolist() == [1, 2, 3]
    assert ledger.downloads == ()
