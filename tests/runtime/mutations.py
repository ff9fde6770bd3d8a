"""Takes single rules out of the code that moves data, and looks whether a test notices.

    python -m tests.runtime.mutations                 all modules; this takes an hour or more
    python -m tests.runtime.mutations content watch   some of them
    python -m tests.runtime.mutations --only 120:180 residency

Each mutant is a copy of the package that lacks one rule. The tests that come by its line and need
no driver run first, fast ones before slow ones; a mutant that they do not notice goes on to all
that move data. One that hangs is stopped, and was noticed. What remains is a rule that nobody
checks, unless `equivalents.py` says why nobody could see a difference.
"""

import argparse
import ast
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from tests.runtime.equivalents import EQUIVALENTS
from tests.runtime.mutants import Mutant, change_here, mutants_of
from tests.runtime.reached import Place, follow

ROOT = Path(__file__).parents[2]
MODULES = (
    *("content", "watch", "replicas", "residency", "recording", "launches"),
    *("prepared_launch", "launch_buffers", "put_get"),
)
QUICK_TESTS = (
    *("content", "contents", "room", "watch", "residency", "recording", "launches"),
    *("asynchrony", "poison", "strategies", "ledger", "guard", "overlaps", "schedules", "hostile"),
    *("explicit", "collected", "context", "threads", "odd_programs"),
    *("replicas", "fallback", "passes", "passes_midway", "early_copies", "interrupts", "in_place"),
    *("other_parts", "profile", "lost_launches", "prefetches", "passes_again"),
)
WITHOUT_DEVICES = (
    "-k",
    "not opencl and not interrupt_in_a_kernel and not during_a_wait and not of_a_hot_loop",
)
"""Tests that start a driver take longer than all others, so they come last.

Those that send signals or trace every step do not go with what counts the lines they reach.
"""
LAST = ("tests/runtime", "tests/apps", "tests/property/test_found_programs.py")
NOT_ABOUT_DATA = ("typing", "compile", "callers", "choice", "accelerator", "selftest")
QUICK = ("-x", "-q", "-n0", "-p", "no:cacheprovider", "--hypothesis-profile=first_failure")
MOST_CPU_SECONDS = 900
MOST_NEAR_SECONDS = 8.0
"""What all tests without a driver may take, and those that try one mutant."""
IDLE_SECONDS = 30.0
"""Who has not used the processor for so long waits for something that never comes."""
MOST_SECONDS = 1800
PASSED, BROKEN, NEVER_RUN = 0, 3, 99
"""What pytest ends with where all is well, and at worst; between them are failures."""


class Trials:
    """A plugin of pytest that tries mutants with the tests, in the place of running these.

    Every mutant has a child of the process that has collected them, so that it costs little more
    than the first test that notices.
    """

    def __init__(self, judge: "Callable[[Trials], None]") -> None:
        self._judge = judge
        self._items: list[pytest.Item] = []
        self._near: dict[Place, list[tuple[float, int]]] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """What pytest calls when it has collected all tests."""
        self._items = session.items
        with tempfile.TemporaryDirectory() as folder:
            recorded = Path(folder) / "recorded.json"
            if not _passes(lambda: self._follow(recorded), MOST_CPU_SECONDS):
                sys.exit("the tests fail without any change")
            found: list[tuple[float, int, list[Place]]]
            found = json.loads(recorded.read_text(encoding="utf-8"))
            for seconds, number, places in sorted(found):
                for module, line in places:
                    self._near.setdefault((module, line), []).append((seconds, number))
        self._judge(self)
        return True

    def _follow(self, target: Path) -> int:
        """Run all tests, and write down what each takes and what it comes by."""
        reached = follow(MODULES)
        found: list[tuple[float, int, list[Place]]] = []
        for number, item in enumerate(self._items):
            following = self._items[number + 1 :][:1]
            reached.clear()
            started = time.process_time()
            if not _passes_test(item, following):
                return 1
            found.append((time.process_time() - started, number, sorted(reached.copy())))
        target.write_text(json.dumps(found), encoding="utf-8")
        return 0

    def survive(self, mutant: Mutant) -> bool:
        """Run the fastest of the tests that come by the line of a mutant: true if they pass."""
        near: list[pytest.Item] = []
        left = MOST_NEAR_SECONDS
        for seconds, number in self._near.get((mutant.module, mutant.line), ()):
            left -= seconds
            if left > 0 or not near:
                near.append(self._items[number])
        return _passes(lambda: _tried(mutant, near), 5 * MOST_NEAR_SECONDS)


def _tried(mutant: Mutant, tests: Sequence[pytest.Item]) -> int:
    change_here(mutant, importlib.import_module(f"trilby.runtime.{mutant.module}"))
    for number, item in enumerate(tests):
        if not _passes_test(item, tests[number + 1 :][:1]):
            return 1
    return 0


def _passes_test(item: pytest.Item, following: Sequence[pytest.Item]) -> bool:
    reports = runtestprotocol(item, log=False, nextitem=next(iter(following), None))
    return not any(report.failed for report in reports)


def _passes(run: Callable[[], int], most: float) -> bool:
    """Run tests in a child, which is stopped if it takes too long or waits for ever."""
    child = os.fork()
    if not child:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(most), int(most)))
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            os._exit(run())
        finally:
            os._exit(NEVER_RUN)
    used = idle = 0.0
    before = time.monotonic()
    while idle < IDLE_SECONDS:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return _is_pass(os.waitstatus_to_exitcode(status))
        now = time.clock_gettime((~child << 3) | 2)  # the processor time of that process
        asleep, before = time.monotonic() - before, time.monotonic()
        idle = 0.0 if now > used else idle + min(asleep, 1.0)  # or both were stopped
        used = now
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _path_of(module: str, root: Path = ROOT) -> Path:
    return root / "src" / "trilby" / "runtime" / f"{module}.py"


def source_of(module: str) -> str:
    """The text of a module of the runtime."""
    return _path_of(module).read_text(encoding="utf-8")


def _passes_all(mutant: Mutant | None) -> bool:
    """Run all tests that move data in a copy of everything: drivers must not be forked."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in ("src", "tests", "examples"):
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns(".*"))
        shutil.copy(ROOT / "pyproject.toml", place)
        if mutant is not None:
            _path_of(mutant.module, place).write_text(ast.unparse(mutant.tree), encoding="utf-8")
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
                return _is_pass(process.wait(MOST_SECONDS))
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
    if not given.quick and not _passes_all(None):
        sys.exit("the tests fail without any change")
    survivors: list[Mutant] = []

    def judge(trials: Trials) -> None:
        for module in given.modules:
            survivors.extend(_judged(trials, module, lines, quick=given.quick))

    files = [f"tests/runtime/test_{name}.py" for name in QUICK_TESTS]
    pytest.main([*QUICK, "-s", *WITHOUT_DEVICES, *files], [Trials(judge)])
    return min(len(survivors), 1)


def _judged(trials: Trials, module: str, lines: range, *, quick: bool) -> list[Mutant]:
    """Try all mutants of a module, tell of each and of all, and give those that live."""
    known = EQUIVALENTS.get(module, {})
    mutants = [one for one in mutants_of(module, source_of(module)) if one.line in lines]
    survivors: list[Mutant] = []
    same = 0
    for number, mutant in enumerate(mutants, start=1):
        outcome = "caught"
        if mutant.name in known:
            outcome, same = "same  ", same + 1
        elif trials.survive(mutant) and (quick or _passes_all(mutant)):
            outcome = "LIVES "
            survivors.append(mutant)
        sys.stdout.write(f"{number:4}/{len(mutants)} {outcome} {mutant}\n")
        sys.stdout.flush()
    caught = len(mutants) - same - len(survivors)
    what = f"{caught} caught, {same} equivalents, {len(survivors)} survivors"
    sys.stdout.write(f"{module}: {len(mutants)} mutants, {what}\n")
    sys.stdout.flush()
    return survivors


if __name__ == "__main__":
    sys.exit(main())
