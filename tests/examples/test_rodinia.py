"""The programs of Rodinia as one command; in small they also are among the apps."""

import pytest
import rodinia
from tests.examples.programs import call


def test_all_run_in_small(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    call("rodinia", "--small", "--backend", device)
    rows = capsys.readouterr().out.splitlines()[-len(rodinia.PROGRAMS) :]
    names = [row.split()[0] for row in rows]
    assert names == [*(n for n in rodinia.PROGRAMS if n != "srad"), "srad_v2"]
    assert all(float(row.split()[-1]) <= 1.0 for row in rows)


def test_small_ones_are_the_same_programs() -> None:
    assert rodinia.SMALL.keys() == rodinia.PROGRAMS.keys()


def test_a_program_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        call("rodinia", "hotspots")
    assert "no program is called hotspots: there are backprop, bfs" in capsys.readouterr().err


def test_a_wrong_result_ends_the_program() -> None:
    right = rodinia.SMALL["lud"]()
    wrong = type(right)(
        right.name, right.size, right.make, right.run, lambda: [1 + right.reference()[0]] * 2
    )
    with pytest.raises(AssertionError, match="lud"):
        rodinia.measure(rodinia.Accelerator("interpreter"), wrong)
