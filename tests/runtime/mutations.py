"""Takes single rules out of the code that moves data, and looks whether a test notices.

    python -m tests.runtime.mutations                 all modules; this takes a while
    python -m tests.runtime.mutations content room    some of them
    python -m tests.runtime.mutations --jobs 1 --only 120:180 residency

Each mutant is a copy of the package with one statement left out, one condition turned round or
one part of an expression dropped. It runs the fast tests of the runtime, in a process of its
own. Those that no test notices are listed at the end: each is a rule that nobody checks, or one
that makes no difference anybody could see.
"""

import argparse
import ast
import copy
import importlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import local
from typing import TypeAlias

ROOT = Path(__file__).parents[2]
FIRST = {
    "content": ("content", "contents"),
    "pieces": ("pieces",),
    "room": ("room",),
    "watch": ("watch", "asynchrony"),
    "replicas": ("asynchrony", "poison", "residency"),
    "residency": ("residency", "strategies", "asynchrony"),
    "recording": ("recording", "ledger"),
}
"""The modules, and the tests that are the most likely to notice."""
THEN = ("asynchrony", "room", "watch", "poison", "residency", "strategies", "recording")
LAST = ("ledger", "guard", "launches", "overlaps", "schedules", "hostile")
WITHOUT_DEVICES = "not opencl and not interrupt"
"""Tests that start a driver take longer than all others; what they check is elsewhere."""
MOST_SECONDS = 120

Change: TypeAlias = tuple[ast.AST, str, int | None, ast.AST | None]
"""A node, its field, the place in that field if it is a list, and what to put there instead."""


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    module: str
    line: int
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.module}.py:{self.line}: {self.what}"


def mutants_of(module: str, source: str) -> Iterator[Mutant]:
    """All mutants of a module."""
    tree = ast.parse(source)
    count = sum(1 for _ in _changes(tree))
    for number in range(count):
        changed = copy.deepcopy(tree)
        change = next(c for n, c in enumerate(_changes(changed)) if n == number)
        line, what = _described(change)
        _apply(change)
        yield Mutant(module, line, what, ast.unparse(ast.fix_missing_locations(changed)))


def _apply(change: Change) -> None:
    node, name, place, new = change
    if place is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[place] = new


def _described(change: Change) -> tuple[int, str]:
    node, name, place, new = change
    old = getattr(node, name) if place is None else getattr(node, name)[place]
    before = ast.unparse(old).split("\n")[0]
    after = "nothing" if isinstance(new, ast.Pass) else ast.unparse(new) if new else "nothing"
    return old.lineno, f"`{before}` became `{after}`"


def _changes(tree: ast.Module) -> Iterator[Change]:
    """Every change that is worth a try. The same tree gives the same ones in the same order."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.ClassDef):
            yield from _left_out(function)
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                for node in ast.walk(statement):
                    yield from _statements(node)
                    yield from _conditions(node)
                    yield from _parts(node)


def _left_out(function: ast.FunctionDef | ast.ClassDef) -> Iterator[Change]:
    """The statements of a body; of a class there are none that can go."""
    if isinstance(function, ast.ClassDef):
        return
    for place, statement in enumerate(function.body):
        if _can_go(statement) and len(function.body) > 1:
            yield function, "body", place, ast.Pass()


def _statements(node: ast.AST) -> Iterator[Change]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(node, ast.stmt) and isinstance(block, list):
            for place, statement in enumerate(block):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
                if isinstance(statement, ast.stmt) and _can_go(statement):
                    yield node, name, place, ast.Pass()


def _can_go(statement: ast.stmt) -> bool:
    """False for what has no effect, and for what the rest cannot be without."""
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Assign):
        return not all(isinstance(target, ast.Name) for target in statement.targets)
    return isinstance(statement, ast.AugAssign | ast.If | ast.For | ast.While | ast.Delete)


def _conditions(node: ast.AST) -> Iterator[Change]:
    """Conditions that turn round, or hold always."""
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node, "test", None, _at(node.test, ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.comprehension):
        for place, test in enumerate(node.ifs):
            yield node, "ifs", place, _at(test, ast.Constant(value=True))
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Compare | ast.BoolOp):
        yield node, "value", None, _at(node.value, ast.UnaryOp(ast.Not(), node.value))


def _parts(node: ast.AST) -> Iterator[Change]:
    """Of `a and b`, `a | b`, `a - b`, `a & b`: only one of the two."""
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.BoolOp):
            for place in range(len(value.values)):
                rest = [one for number, one in enumerate(value.values) if number != place]
                new = rest[0] if len(rest) == 1 else ast.BoolOp(value.op, rest)
                yield node, name, None, _at(value, new)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr | ast.BitAnd):
            yield node, name, None, value.left
            yield node, name, None, value.right
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
            yield node, name, None, value.left
        elif isinstance(value, ast.Tuple | ast.List) and isinstance(value.ctx, ast.Load):
            yield from _starred(value)


def _starred(value: ast.Tuple | ast.List) -> Iterator[Change]:
    """Of `(*a, *b)`: one of them becomes empty."""
    for place, entry in enumerate(value.elts):
        if isinstance(entry, ast.Starred):
            nothing = ast.Starred(ast.Tuple([], ast.Load()), ast.Load())
            yield value, "elts", place, _at(entry, nothing)


def _at(old: ast.AST, new: ast.expr) -> ast.expr:
    return ast.copy_location(new, old)


class Copies:
    """Copies of code and tests as they are now, one for each thread that runs mutants."""

    def __init__(self, folder: Path) -> None:
        self.original = folder / "original"
        hidden = shutil.ignore_patterns(".*")
        for name in ("src", "tests/runtime"):
            shutil.copytree(ROOT / name, self.original / name, ignore=hidden)
        for name in ("tests/conftest.py", "pyproject.toml"):
            shutil.copy(ROOT / name, self.original / name)
        self._folder = folder
        self._mine = local()

    def place(self) -> Path:
        """The copy of this thread."""
        if not hasattr(self._mine, "place"):
            self._mine.place = Path(tempfile.mkdtemp(dir=self._folder)) / "copy"
            shutil.copytree(self.original, self._mine.place)
        return self._mine.place

    def mutants(self, module: str) -> Iterator[Mutant]:
        """All mutants of a module."""
        path = _path_of(self.original, module)
        return mutants_of(module, path.read_text(encoding="utf-8"))

    def are_sound(self) -> bool:
        """Whether the tests pass when nothing is changed."""
        return _passes(self.original, "")

    def survives(self, mutant: Mutant) -> bool:
        """Run the tests on a mutant: true where they all pass."""
        target = _path_of(self.place(), mutant.module)
        original = target.read_text(encoding="utf-8")
        target.write_text(mutant.text, encoding="utf-8")
        try:
            return _passes(self.place(), mutant.module)
        finally:
            target.write_text(original, encoding="utf-8")


def _path_of(place: Path, module: str) -> Path:
    return place / "src" / "trilby" / "runtime" / f"{module}.py"


def _passes(place: Path, module: str) -> bool:
    """Run the tests in children that have all the slow imports already."""
    first = FIRST.get(module, ())
    rest = [name for name in (*THEN, *LAST) if name not in first]
    return all(_passes_some(place, names) for names in (first, rest) if names)


def _passes_some(place: Path, names: Sequence[str]) -> bool:
    child = os.fork()
    if not child:
        os._exit(_run(place, names))
    _, status = os.waitpid(child, 0)
    return status == 0


def _run(place: Path, names: Sequence[str]) -> int:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    signal.alarm(MOST_SECONDS)
    os.chdir(place)
    sys.path.insert(0, str(place / "src"))
    sys.dont_write_bytecode = True
    import pytest  # noqa: PLC0415 -- it is imported already, by `main`

    files = [f"tests/runtime/test_{name}.py" for name in names]
    options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", "-k", WITHOUT_DEVICES]
    return int(pytest.main([*options, f"--rootdir={place}", *files]))


def main() -> int:
    """Run all mutants, and list those that no test noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("modules", nargs="*", default=list(FIRST))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default=":", help="lines, such as 120:180")
    given = parser.parse_args()
    low, _, high = str(given.only).partition(":")
    lines = range(int(low or 0), int(high or sys.maxsize))
    for name in ("numpy", "pytest"):
        importlib.import_module(name)  # children find them imported
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        copies = Copies(Path(folder))
        if not copies.are_sound():
            sys.exit("the tests fail without any change")
        found = (mutant for module in given.modules for mutant in copies.mutants(module))
        mutants = [mutant for mutant in found if mutant.line in lines]
        outcomes = zip(mutants, pool.map(copies.survives, mutants), strict=True)
        survivors = list(_told(outcomes, len(mutants)))
    sys.stdout.write(f"\n{len(mutants)} mutants, {len(survivors)} of which no test notices\n")
    sys.stdout.writelines(f"  {mutant}\n" for mutant in survivors)
    return min(len(survivors), 1)


def _told(outcomes: Iterable[tuple[Mutant, bool]], count: int) -> Iterator[Mutant]:
    """Those that live; all are shown as they come."""
    for number, (mutant, lives) in enumerate(outcomes, start=1):
        sys.stdout.write(f"{number:4}/{count} {'LIVES' if lives else 'dies '} {mutant}\n")
        sys.stdout.flush()
        if lives:
            yield mutant


if __name__ == "__main__":
    sys.exit(main())
