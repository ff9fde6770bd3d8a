"""The shape of the source: what `pyproject.toml` cannot say to import-linter or ruff."""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"

MODULE_LINES = 900
FUNCTION_LINES = 100
"""Alarms: what is longer is rethought, not cut."""

OWNERS = {
    "ast": (
        "trilby.syntax",
        "trilby.reflect",
        "trilby.codegen.python",
        "trilby.model.host_code",
        "trilby.analysis.host",
        "trilby.linting.dispatches",
        "trilby.linting.rules.explicit_mode",
        "trilby.linting.rules.transfers",
        "trilby.analysis.transfers.transfer_needs",
    ),
    "llvmlite": ("trilby.backend.native.llvm",),
    "ml_dtypes": ("trilby.data.dtypes",),
    "pygments": ("trilby.tools.html.code",),
    "pyopencl": ("trilby.backend.opencl",),
    "rich": ("trilby.tools", "trilby.cli"),
    "z3": ("trilby.linting.decide.z3_terms",),
}
"""Who alone may import a package: modules whose name begins so."""

LATE_IMPORTS = {
    "trilby.analysis.footprint": "few people look at the text of one",
    "trilby.analysis.needs": "few people look at the text of one",
    "trilby.backend.opencl": "pyopencl takes a while to load and may be missing",
    "trilby.backend.registry": "a backend is loaded when it is asked for",
    "trilby.backend.native.device": "few programs have passes, or kernels that assert or print",
    "trilby.backend.native.linking": "few ask for files that debuggers can read",
    "trilby.backend.native.modules": "the generator is loaded when there is something to generate",
    "trilby.backend.native.toolchain": "LLVM is loaded when there is something to compile",
    "trilby.backend.work_memory": "Windows has no `resource`",
    "trilby.cli": "a command loads only what it needs",
    "trilby.codegen.llvm.mathematics": "few kernels need a formula",
    "trilby.model.rules": "many kernels have no math",
    "trilby.reflect.expressions": "what can be called is loaded by kernels with calls",
    "trilby.reflect.kernels": "few kernels have raw code",
    "trilby.runtime.accelerator": "ledgers and profiles are loaded when somebody wants one",
    "trilby.runtime.compile": "few people look at the text of a model",
    "trilby.runtime.context": "few programs dispatch a lambda",
    "trilby.runtime.fallback": "few programs start again on another device",
    "trilby.runtime.launches": "many passes are loaded by programs that have some",
    "trilby.data.dtypes": "only `bf16` needs ml_dtypes",
    "trilby.arguments": "only mistakes need difflib",
    "trilby.transform.pipelines": "a strategy loads what it has; few models are verified",
}
"""The modules that may import inside a function, and why."""

EMPTY_NAMES = {"utils", "util", "helpers", "misc", "common", "manager", "impl"}


@dataclass(frozen=True)
class Module:
    path: Path

    @property
    def name(self) -> str:
        parts = self.path.relative_to(SOURCE).with_suffix("").parts
        return ".".join(parts).removesuffix(".__init__")

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, str(self.path))

    @property
    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


MODULES = [Module(path) for path in sorted(SOURCE.rglob("*.py"))]


def offences(find: Callable[[Module], Iterable[object]]) -> list[str]:
    """Everything that a rule finds, as `trilby.model.op: 12`, over all modules."""
    return [f"{module.name}: {found}" for module in MODULES for found in find(module)]


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The module and the line of each import; a relative one is `.`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield ("." if node.level else node.module or ""), node.lineno


def test_there_is_source_to_look_at() -> None:
    assert {"trilby", "trilby.source", "trilby.model.op"} <= {module.name for module in MODULES}


def test_modules_are_short() -> None:
    def find(module: Module) -> Iterator[str]:
        lines = len(module.text.splitlines())
        if lines > MODULE_LINES:
            yield f"{lines} lines"

    assert offences(find) == []


def test_functions_fit_on_a_screen() -> None:
    def find(module: Module) -> Iterator[str]:
        for function in module.functions:
            lines = (function.end_lineno or function.lineno) - function.lineno + 1
            if lines > FUNCTION_LINES:
                yield f"{function.name} has {lines} lines"

    assert offences(find) == []


def test_modules_say_what_they_are_for() -> None:
    def find(module: Module) -> Iterator[str]:
        if module.text.strip() and not ast.get_docstring(module.tree):
            yield "no docstring"

    assert offences(find) == []


def test_module_names_say_something() -> None:
    assert offences(lambda module: EMPTY_NAMES.intersection(module.name.split("."))) == []


def test_packages_are_imported_only_by_their_owners() -> None:
    def find(module: Module) -> Iterator[str]:
        for name, line in imports(module.tree):
            owners = OWNERS.get(name.partition(".")[0])
            if owners and not module.name.startswith(owners):
                yield f"line {line} imports {name}"

    assert offences(find) == []


def test_names_come_from_the_module_that_defines_them() -> None:
    """The front door of the package is for users: going through it would hide the layers."""

    def find(module: Module) -> Iterator[str]:
        for name, line in imports(module.tree):
            if name in {"trilby", "."}:
                yield f"line {line}"

    assert offences(find) == []


def test_imports_stand_at_the_top() -> None:
    def find(module: Module) -> Iterator[str]:
        if not module.name.startswith(tuple(LATE_IMPORTS)):
            for function in module.functions:
                for name, line in imports(function):
                    yield f"line {line} imports {name} in {function.name}"

    assert offences(find) == []


def test_only_options_reads_the_environment() -> None:
    def find(module: Module) -> Iterator[str]:
        if module.name != "trilby.options":
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Attribute) and node.attr in {"environ", "getenv"}:
                    yield f"line {node.lineno}"

    assert offences(find) == []


def test_importing_trilby_loads_no_optional_package() -> None:
    optional = "{'llvmlite', 'pyopencl', 'rich', 'z3'}"
    program = f"import sys, trilby; print(*sorted({optional} & set(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == []
