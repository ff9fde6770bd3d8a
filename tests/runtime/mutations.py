"""Takes single rules out of the code that moves data, and looks whether a test notices.

    python -m tests.runtime.mutations                 all modules; this takes an hour or more
    python -m tests.runtime.mutations content room    some of them
    python -m tests.runtime.mutations --only 120:180 residency

Each mutant is a copy of the package that lacks one rule. The tests that are the most likely to
notice run first; a mutant that they do not notice goes on to more of them, and at last to all
that move data. One that hangs is stopped, and was noticed. What remains is a rule that nobody
checks, unless `equivalents.py` says why nobody could see a difference.
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
from collections.abc import Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from tests.runtime.equivalents import EQUIVALENTS
from tests.runtime.mutants import Mutant, change_here, mutants_of

ROOT = Path(__file__).parents[2]
FIRST = {
    "content": ("content", "contents"),
    "pieces": ("pieces",),
    "room": ("room",),
    "watch": ("watch", "asynchrony"),
    "replicas": ("asynchrony", "poison", "residency"),
    "residency": ("residency", "strategies", "asynchrony"),
    "recording": ("recording", "ledger"),
    "order": ("launches", "asynchrony"),
    "launches": ("launches", "asynchrony"),
}
"""The modules, and the tests that are the most likely to notice."""
THEN = (
    *("asynchrony", "room", "watch", "poison", "residency", "strategies", "recording"),
    *("ledger", "guard", "launches", "overlaps", "schedules", "hostile", "contents", "pieces"),
)
WITHOUT_DEVICES = ("-k", "not opencl and not interrupt")
"""Tests that start a driver take longer than all others, so they come last."""
LAST = ("tests/runtime", "tests/apps", "tests/property/test_found_programs.py")
NOT_ABOUT_DATA = ("typing", "compile", "callers", "choice", "accelerator", "selftest")
QUICK = ("-x", "-q", "-n0", "-p", "no:cacheprovider", "--hypothesis-profile=first_failure")
MOST_SECONDS = 60, 120, 600
PASSED, BROKEN, NEVER_RUN = 0, 3, 99
"""What pytest ends with where all is well, and at worst; between them are failures."""


def survives(mutant: Mutant, *, to_the_end: bool) -> bool:
    """Run the tests on a mutant, the quick ones first: true where they all pass."""
    return _passes_quickly(mutant.module, mutant) and (not to_the_end or _passes_all(mutant))


def _passes_quickly(module: str, mutant: Mutant | None) -> bool:
    """Run the tests that need no driver."""
    first = FIRST[module]
    rest = [name for name in THEN if name not in first]
    both = zip((first, rest), MOST_SECONDS, strict=False)
    return all(_passes_some(names, seconds, mutant) for names, seconds in both)


def _passes_some(names: Iterable[str], seconds: float, mutant: Mutant | None) -> bool:
    """Run some tests in a child that has imported everything already."""
    child = os.fork()
    if not child:
        try:
            os._exit(_run(names, mutant))
        finally:
            os._exit(NEVER_RUN)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return _is_pass(os.waitstatus_to_exitcode(status))
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _run(names: Iterable[str], mutant: Mutant | None) -> int:
    os.setsid()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    if mutant is not None:
        change_here(mutant, importlib.import_module(f"trilby.runtime.{mutant.module}"))
    return int(pytest.main([*QUICK, *WITHOUT_DEVICES, *_files(names)]))


def _files(names: Iterable[str]) -> list[str]:
    return [f"tests/runtime/test_{name}.py" for name in names]


def _passes_all(mutant: Mutant | None) -> bool:
    """Run all tests that move data in a copy of everything: drivers must not be forked."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in ("src", "tests", "examples"):
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns(".*"))
        shutil.copy(ROOT / "pyproject.toml", place)
        if mutant is not None:
            target = place / "src" / "trilby" / "runtime" / f"{mutant.module}.py"
            target.write_text(mutant.text, encoding="utf-8")
        ignored = [f"--ignore={file}" for file in _files(NOT_ABOUT_DATA)]
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
    parser.add_argument("modules", nargs="*", default=list(FIRST))
    parser.add_argument("--only", default=":", help="lines, such as 120:180")
    parser.add_argument("--quick", action="store_true", help="only tests without a driver")
    given = parser.parse_args()
    low, _, high = str(given.only).partition(":")
    lines = range(int(low or 0), int(high or sys.maxsize))
    os.chdir(ROOT)
    all_names = {name for names in (*FIRST.values(), THEN) for name in names}
    with redirect_stdout(StringIO()):
        pytest.main(["--collect-only", *QUICK, *_files(all_names)])  # children find all imported
    if not given.quick and not _passes_all(None):
        sys.exit("the tests fail without any change")
    survivors = 0
    for module in given.modules:
        if not _passes_quickly(module, None):
            sys.exit("the tests fail without any change")
        survivors += _judged(module, lines, to_the_end=not given.quick)
    return min(survivors, 1)


def _judged(module: str, lines: range, *, to_the_end: bool) -> int:
    """Try all mutants of a module, tell of each and of all, and count those that live."""
    known = EQUIVALENTS.get(module, {})
    source = (ROOT / "src" / "trilby" / "runtime" / f"{module}.py").read_text(encoding="utf-8")
    mutants = [mutant for mutant in mutants_of(module, source) if mutant.line in lines]
    told = {"caught": 0, "same  ": 0, "LIVES ": 0}
    for number, mutant in enumerate(mutants, start=1):
        outcome = "same  " if mutant.name in known else "caught"
        if mutant.name not in known and survives(mutant, to_the_end=to_the_end):
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
