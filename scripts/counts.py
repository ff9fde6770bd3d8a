"""How many ideas the source has: files, classes, names, and the calls of a first launch.

    python scripts/counts.py            # the counts of the source
    python scripts/counts.py --calls    # and of the Python calls of a first compute call

`tests/arch/test_counts.py` lets the counts of the source fall, and never rise.
"""

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType

SOURCE = Path(__file__).parents[1] / "src"

FRAGMENT_LINES = 60
"""A module of fewer lines that one other module imports is a part of that one."""

PLAN = re.compile(r"/trilby/(analysis/transfers/(?!overlap)\w+|transform/place_transfers)\.py$")
"""The modules of the transfer plan, without the one that asks whether a plan is worth making."""

MAKERS = {"list", "dict", "set", "deque", "defaultdict", "WeakSet", "WeakKeyDictionary", "Counter"}


@dataclass(frozen=True)
class Module:
    """A file of the source."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @property
    def is_package(self) -> bool:
        """True for the `__init__.py` of a folder."""
        return self.name.endswith("__init__")

    @property
    def lines(self) -> int:
        """All lines, also empty ones."""
        return self.text.count("\n")

    @property
    def classes(self) -> Iterator[str]:
        """The classes at the top of the file."""
        return (node.name for node in self.tree.body if isinstance(node, ast.ClassDef))

    @property
    def imported(self) -> set[str]:
        """The names of modules that it may import, wherever it does."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
        return found

    @property
    def state(self) -> Iterator[str]:
        """Names at the top of the file that are lower case or private, and can be changed."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and _is_mutable(node.value):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (name.id for name in targets if isinstance(name, ast.Name))


def _is_mutable(value: ast.expr | None) -> bool:
    """True for an empty container, which is there to be filled."""
    if isinstance(value, ast.Call):
        maker = value.func.value if isinstance(value.func, ast.Subscript) else value.func
        name = maker.attr if isinstance(maker, ast.Attribute) else getattr(maker, "id", "")
        return name in MAKERS and (not value.args or name == "defaultdict")
    if isinstance(value, ast.Dict):
        return not value.keys
    return isinstance(value, ast.List) and not value.elts


def modules(source: Path = SOURCE) -> list[Module]:
    """All files of the source, in the order of their names."""
    return [
        Module(".".join(path.relative_to(source).with_suffix("").parts), path.read_text("utf-8"))
        for path in sorted(source.rglob("*.py"))
    ]


def repeated_classes(found: list[Module]) -> dict[str, list[str]]:
    """Class names that several modules use, and these modules."""
    users: defaultdict[str, list[str]] = defaultdict(list)
    for module in found:
        for name in module.classes:
            users[name.lstrip("_")].append(module.name)
    return {name: places for name, places in users.items() if len(places) > 1}


def repeated_modules(found: list[Module]) -> dict[str, list[str]]:
    """File names that several folders use, and these files."""
    users: defaultdict[str, list[str]] = defaultdict(list)
    for module in found:
        if not module.is_package:
            users[module.name.rpartition(".")[2].lstrip("_")].append(module.name)
    return {name: places for name, places in users.items() if len(places) > 1}


def fragments(found: list[Module]) -> dict[str, str]:
    """Short modules with one importer, and that one."""
    users: defaultdict[str, set[str]] = defaultdict(set)
    for module in found:
        for name in module.imported:
            users[name].add(module.name)
    return {
        module.name: next(iter(users[module.name]))
        for module in found
        if module.lines < FRAGMENT_LINES
        if len(users[module.name]) == 1 and not module.is_package
    }


def mutable_state(found: list[Module]) -> list[str]:
    """Empty containers at the top of modules, which are there to be filled."""
    return [f"{module.name}.{name}" for module in found for name in module.state]


def counts(found: list[Module]) -> dict[str, int]:
    """All counts of the source by their names."""
    return {
        "files": len(found),
        "classes": sum(len(list(module.classes)) for module in found),
        "lines": sum(module.lines for module in found),
        "class names with several meanings": len(repeated_classes(found)),
        "module names with several meanings": len(repeated_modules(found)),
        "modules of under 60 lines with one importer": len(fragments(found)),
        "containers at the top of modules": len(mutable_state(found)),
    }


# ---------------------------------------------------------------------------------- calls


class Calls:
    """Python calls inside Trilby while something is done, and those into another package."""

    def __init__(self) -> None:
        self.by_package: Counter[str] = Counter()
        self.changes = 0
        self.in_plan = 0
        """Calls while a transfer plan is loaded, made or put into a function."""
        self._planning: FrameType | None = None

    def count(self, act: Callable[[], object]) -> None:
        """Do something, and count."""
        sys.setprofile(self._see)
        try:
            act()
        finally:
            sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        if event == "return" and frame is self._planning:
            self._planning = None
        package = _package(frame)
        if event == "call" and package:
            self.by_package[package] += 1
            caller = frame.f_back and _package(frame.f_back)
            self.changes += caller != package
            if self._planning is None and PLAN.search(frame.f_code.co_filename):
                self._planning = frame
            self.in_plan += self._planning is not None


def _package(frame: FrameType) -> str:
    match = re.search(r"/trilby/(\w+)(/|\.py$)", frame.f_code.co_filename)
    return match[1] if match else ""


def calls_of_a_first_compute(backend: str) -> dict[str, Calls]:
    """A first compute call, a second one, and a host read, on memory of the device's own."""
    import numpy as np  # noqa: PLC0415 -- counts of the source need neither of these

    import trilby as tb  # noqa: PLC0415
    from trilby import Accelerator, ComputeContext, KernelContext, NDArray, i32  # noqa: PLC0415

    @tb.kernel
    def double(kc: KernelContext, a: NDArray[i32], b: NDArray[i32]) -> None:
        b[kc.x] = a[kc.x] * 2

    @tb.compute
    def double_all(cc: ComputeContext, a: NDArray[i32], b: NDArray[i32]) -> None:
        cc.dispatch(a.shape[0], double, a, b)

    @tb.compute
    def double_twice(cc: ComputeContext, a: NDArray[i32], b: NDArray[i32]) -> None:
        cc.dispatch(a.shape[0], double, a, b)
        cc.dispatch(a.shape[0], double, b, a)

    accelerator = Accelerator(backend, memory="discrete")
    a = accelerator.array(np.arange(1000, dtype=np.int32))
    b = accelerator.array(np.zeros(1000, np.int32))
    acts: dict[str, Callable[[], object]] = {
        "first compute": lambda: accelerator.compute(double_all, a, b),
        "host read": lambda: b[0],
        "second compute": lambda: accelerator.compute(double_all, a, b),
        "first compute of two launches": lambda: accelerator.compute(double_twice, a, b),
    }
    found: dict[str, Calls] = {}
    queue = accelerator.residency.backend.compute
    for name, act in acts.items():
        queue.wait(queue.submitted)  # else the calls of a host read are those of waiting for it
        found[name] = Calls()
        found[name].count(act)
    return found


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--calls", action="store_true", help="also count the calls of a launch")
    parser.add_argument("--names", action="store_true", help="also list what is counted")
    options = parser.parse_args()
    found = modules()
    for name, count in counts(found).items():
        print(f"{count:7,}  {name}")
    if options.names:
        for names in (repeated_classes(found), repeated_modules(found), fragments(found)):
            print()
            for name, places in names.items():
                print(f"{name}: {places if isinstance(places, str) else ', '.join(places)}")
        print("\n" + "\n".join(mutable_state(found)))
    for backend in ("native", "opencl") if options.calls else ():
        for name, calls in calls_of_a_first_compute(backend).items():
            packages = ", ".join(f"{part} {n:,}" for part, n in calls.by_package.most_common(9))
            total = calls.by_package.total()
            plan = f", {calls.in_plan / total:.0%} for the transfer plan" if calls.in_plan else ""
            changes = f"{calls.changes:,} into another package"
            print(f"\n{backend}, {name}: {total:,} calls, {changes}{plan}")
            print(f"    {packages}")


if __name__ == "__main__":
    main()
