"""Takes single rules out of the code that moves data, and looks whether a test notices.

    python -m tests.runtime.mutations                 all modules; this takes an hour or more
    python -m tests.runtime.mutations content room    some of them
    python -m tests.runtime.mutations --only 120:180 residency

Each mutant is a copy of the package that lacks one rule. The tests that come by its line run
first; a mutant that they do not notice goes on to all that need no driver, and at last to all that
move data. One that hangs is stopped, and was noticed. What remains is a rule that nobody checks,
unless `equivalents.py` says why nobody could see a difference.
"""

import argparse
import importlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
from tests.runtime.equivalents import EQUIVALENTS
from tests.runtime.mutants import Mutant, change_here, mutants_of
from tests.runtime.reached import Follower, tests_by_line

ROOT = Path(__file__).parents[2]
MODULES = (
    *("content", "pieces", "room", "watch", "replicas", "residency", "recording"),
    *("order", "launches"),
)
QUICK_TESTS = (
    *("content", "contents", "pieces", "room", "watch", "residency", "recording", "launches"),
    *("asynchrony", "poison", "strategies", "ledger", "guard", "overlaps", "schedules", "hostile"),
    *("explicit", "collected", "context", "threads", "odd_programs"),
)
WITHOUT_DEVICES = ("-k", "not opencl and not interrupt")
"""Tests that start a driver take longer than all others, so they come last."""
LAST = ("tests/runtime", "tests/apps", "tests/property/test_found_programs.py")
NOT_ABOUT_DATA = ("typing", "compile", "callers", "choice", "accelerator", "selftest")
QUICK = ("-x", "-q", "-n0", "-p", "no:cacheprovider", "--hypothesis-profile=first_failure")
MOST_NEAR = 40
MOST_SECONDS = 60, 180, 900
PASSED, BROKEN, NEVER_RUN = 0, 3, 99
"""What pytest ends with where all is well, and at worst; between them are failures."""


class Trial:
    """Runs the tests that need no driver, in children that have imported everything already."""

    def __init__(self) -> None:
        self._files = [f"tests/runtime/test_{name}.py" for name in QUICK_TESTS]
        with redirect_stdout(StringIO()):
            pytest.main(["--collect-only", *QUICK, *self._files])
        with tempfile.TemporaryDirectory() as folder:
            recorded = Path(folder) / "recorded.json"
            follower = Follower([_path_of(module) for module in MODULES], recorded)
            if not _passes(lambda: _pytest(self._files, follower), MOST_SECONDS[-1]):
                sys.exit("the tests fail without any change")
            self._tests = tests_by_line(recorded)

    def survives(self, mutant: Mutant) -> bool:
        """Run the tests on a mutant, those first that come by its line and are fast."""
        nearest = self._tests.get((mutant.module, mutant.line), ())[:MOST_NEAR]
        both = zip((nearest, self._files), MOST_SECONDS, strict=False)
        return all(_passes(partial(_tried, mutant, tests), most) for tests, most in both if tests)


def _tried(mutant: Mutant, tests: Sequence[str]) -> int:
    change_here(mutant, importlib.import_module(f"trilby.runtime.{mutant.module}"))
    return _pytest(tests)


def _pytest(tests: Sequence[str], *plugins: object) -> int:
    return int(pytest.main([*QUICK, *WITHOUT_DEVICES, *tests], plugins))


def _passes(run: Callable[[], int], seconds: float) -> bool:
    """Run tests in a child, which is stopped if it takes too long."""
    child = os.fork()
    if not child:
        try:
            os.setsid()
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            os._exit(run())
        finally:
            os._exit(NEVER_RUN)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return _is_pass(os.waitstatus_to_exitcode(status))
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _path_of(module: str, root: Path = ROOT) -> Path:
    return root / "src" / "trilby" / "runtime" / f"{module}.py"


def _passes_all(mutant: Mutant | None) -> bool:
    """Run all tests that move data in a copy of everything: drivers must not be forked."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in ("src", "tests", "examples"):
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns(".*"))
        shutil.copy(ROOT / "pyproject.toml", place)
        if mutant is not None:
            _path_of(mutant.module, place).write_text(mutant.text, encoding="utf-8")
        ignored = [f"--ignore=tests/runtime/test_{name}.py" for name in NOT_ABOUT_DATA]
        path = os.pathsep.join((str(place / "src"), folder))
        with subprocess.Popen(
            [sys.executable, "-m", "pytest", *QUICK, f"--rootdir={place}", *ignored, *LAST],
            cwd=place,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                return _is_pass(process.wait(MOST_SECONDS[-1]))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return False


def _is_pass(code: int) -> bool:
    """Whether no test failed. A process that a signal ended was noticed."""
    if code > BROKEN:
        sys.exit(f"the tests could not be run: pytest ended with {code}")
    return code == PASSED


def main() -> int:
    """Run all mutants, and list those that no test noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("modules", nargs="*", default=list(MODULES))
    parser.add_argument("--only", default=":", help="lines, such as 120:180")
    parser.add_argument("--quick", action="store_true", help="only tests without a driver")
    given = parser.parse_args()
    low, _, high = str(given.only).partition(":")
    lines = range(int(low or 0), int(high or sys.maxsize))
    os.chdir(ROOT)
    trial = Trial()
    if not given.quick and not _passes_all(None):
        sys.exit("the tests fail without any change")
    lives = [_judged(trial, module, lines, quick=given.quick) for module in given.modules]
    return min(sum(lives), 1)


def _judged(trial: Trial, module: str, lines: range, *, quick: bool) -> int:
    """Try all mutants of a module, tell of each and of all, and count those that live."""
    known = EQUIVALENTS.get(module, {})
    source = _path_of(module).read_text(encoding="utf-8")
    mutants = [mutant for mutant in mutants_of(module, source) if mutant.line in lines]
    told = {"caught": 0, "same  ": 0, "LIVES ": 0}
    for number, mutant in enumerate(mutants, start=1):
        outcome = "same  " if mutant.name in known else "caught"
        if mutant.name not in known and trial.survives(mutant) and (quick or _passes_all(mutant)):
            outcome = "LIVES "
        told[outcome] += 1
        sys.stdout.write(f"{number:4}/{len(mutants)} {outcome} {mutant}\n")
        sys.stdout.flush()
    caught, same, lives = told.values()
    what = f"{caught} caught, {same} equivalents, {lives} survivors"
    sys.stdout.write(f"{module}: {len(mutants)} mutants, {what}\n")
    sys.stdout.flush()
    return lives


if __name__ == "__main__":
    sys.exit(main())
