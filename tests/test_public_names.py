"""The front door: every name is there, and opening it costs next to nothing."""

import builtins
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import trilby

LATE = ("Accelerator", "ComputeContext", "Ledger", "Profile", "lint")
"""What is loaded when it is first used."""


def in_a_new_process(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout


FREE_THREADED = "3.14.1 free-threading build (main, Dec  2 2025, 13:41:21) [GCC 14.2.0]"


def test_a_build_of_python_without_its_lock_is_rejected() -> None:
    program = f"""
import sys
sys.version = {FREE_THREADED!r}
try:
    import trilby
except ImportError as error:
    print(error)
"""
    assert in_a_new_process(program) == (
        "Trilby does not support free-threaded builds of Python yet, and this is one: 3.14.1\n"
        "  help: use the ordinary build: python3.14, without a `t`\n"
    )


@pytest.mark.parametrize("name", trilby.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(trilby, name) is not None


def test_names_are_listed_once_and_in_order() -> None:
    assert len(set(trilby.__all__)) == len(trilby.__all__)
    assert set(LATE) <= set(trilby.__all__)


def test_all_of_them_can_be_imported_at_once() -> None:
    names: dict[str, object] = {}
    exec("from trilby import *", names)  # noqa: S102 -- the way that users do it
    assert set(trilby.__all__) <= set(names)


def test_import_star_leaves_the_builtins_alone() -> None:
    assert set(trilby.__all__).isdisjoint(dir(builtins))
    assert {"max", "min", "pow"} <= set(dir(trilby))
    assert trilby.min is not builtins.min


def test_dir_has_the_names_that_are_not_loaded_yet() -> None:
    program = "import trilby; print(*dir(trilby))"
    listed = in_a_new_process(program).split()
    assert set(trilby.__all__) <= set(listed)
    assert len(set(listed)) == len(listed)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'trilby' has no attribute 'Acelerator'"):
        _ = trilby.Acelerator  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    assert not hasattr(trilby, "__path_to_nowhere__")


def test_what_is_loaded_late_is_what_its_module_has() -> None:
    modules = [f"runtime.{name}" for name in ("accelerator", "context", "ledger", "profile")]
    for name, module in zip(LATE, [*modules, "linting.lint"], strict=True):
        loaded = importlib.import_module(f"trilby.{module}")
        assert getattr(trilby, name) is getattr(loaded, name)


def test_importing_loads_no_backend_and_no_runtime() -> None:
    program = "import sys, trilby; print(*sys.modules)"
    loaded = in_a_new_process(program).split()
    heavy = ("pyopencl", "rich", "PIL", "trilby.backend", "trilby.runtime", "trilby.codegen")
    heavy += ("trilby.tools", "trilby.cli", "trilby.analysis", "trilby.oracle", "trilby.linting")
    heavy += ("difflib",)
    assert [name for name in loaded if name.startswith(heavy)] == []


def test_declaring_kernels_loads_no_driver(tmp_path: Path) -> None:
    program = tmp_path / "declares.py"
    kernels = Path(__file__).parent / "runtime" / "other_kernels.py"
    report = "import sys; print(*sys.modules)"
    program.write_text(f"{kernels.read_text('utf-8')}\n{report}\n", "utf-8")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    heavy = ("pyopencl", "rich", "trilby.backend.opencl", "trilby.backend.interpreter")
    assert [name for name in done.stdout.split() if name.startswith(heavy)] == []


def test_the_version_is_the_packages_own() -> None:
    metadata = importlib.import_module("importlib.metadata")
    assert trilby.__version__ == metadata.version("trilby")
