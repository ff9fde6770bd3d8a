"""Kernels and lambdas in the cells of real notebooks, run by a real kernel of Jupyter.

A notebook compiles a cell statement by statement, so that the byte code of a function differs
from that of the same text in a module: `math.sqrt` is then no attribute of an imported module.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

SETUP = """
import trilby as tb
from trilby import Accelerator, ComputeContext, F32Array, KernelContext, NDArray, f32, i32
accelerator = Accelerator("interpreter")

def fours(n=3):
    return F32Array.of([4.0] * n)

def shown(a):
    print([round(float(x), 3) for x in a.array])
"""

KERNEL = """
@tb.kernel
def {name}(kc: KernelContext, a: F32Array) -> None:
    if kc.x < a.length:
        a.array[kc.x] = {result}

@tb.compute
def {name}_all(cc: ComputeContext, a: F32Array) -> None:
    cc.dispatch(a.length, {name}, a)
"""


def kernel(name: str, result: str) -> str:
    """A kernel that changes every element, and a compute function that dispatches it."""
    return KERNEL.format(name=name, result=result)


ROOT = kernel("root", "math.sqrt(a.array[kc.x])")

HALVES = """
import math
@tb.func
def half(x: f32) -> f32:
    return math.sqrt(x) / 2
class Kernels:
    @tb.kernel
    def halve(kc: KernelContext, a: F32Array) -> None:
        a.array[kc.x] = half(a.array[kc.x]) + math.fabs(a.array[kc.x])
@tb.compute
def halves(cc: ComputeContext, a: F32Array) -> None:
    cc.dispatch(a.length, Kernels.halve, a)
a = fours()
accelerator.compute(halves, a)
shown(a)
"""

LAMBDAS = "; ".join(f"accelerator.compute(lambda cc: root_all(cc, {name}))" for name in "ab")

LAYOUTS = {
    "the import in the cell of the kernel": (
        ["import math\n" + ROOT + "a = fours()\naccelerator.compute(root_all, a)\nshown(a)"],
        "[2.0, 2.0, 2.0]",
    ),
    "a lambda in the same cell": (
        [
            "import math\n"
            + ROOT
            + "a = fours()\naccelerator.compute(lambda cc: root_all(cc, a))\nshown(a)"
        ],
        "[2.0, 2.0, 2.0]",
    ),
    "the import below the kernel": (
        [ROOT + "import math\na = fours()\naccelerator.compute(root_all, a)\nshown(a)"],
        "[2.0, 2.0, 2.0]",
    ),
    "the import in another cell": (
        ["import math", ROOT, "a = fours()\naccelerator.compute(root_all, a)", "shown(a)"],
        "[2.0, 2.0, 2.0]",
    ),
    "an import under another name": (
        [
            "import math as m, trilby as other\n"
            + kernel("wave", "m.sin(a.array[kc.x]) + other.sqrt(1.0)")
            + "a = fours()\naccelerator.compute(wave_all, a)\nshown(a)"
        ],
        "[0.243, 0.243, 0.243]",
    ),
    "two kernels in one cell": (
        [
            "import math\n"
            + kernel("one", "math.sqrt(a.array[kc.x])")
            + kernel("two", "math.floor(a.array[kc.x]) + 0.5")
            + "a = fours()\naccelerator.compute(one_all, a)\n"
            + "accelerator.compute(two_all, a)\nshown(a)"
        ],
        "[2.5, 2.5, 2.5]",
    ),
    "two lambdas in one line": (
        [
            "import math\n" + ROOT,
            "a = fours(); b = fours(2)\n" + LAMBDAS + "\nshown(a)\nshown(b)",
        ],
        "[2.0, 2.0, 2.0]\n[2.0, 2.0]",
    ),
    "everything in one line": (
        [
            ROOT,
            "import math; a, b = fours(int(math.sqrt(9))), fours(1); " + LAMBDAS + "; shown(a)",
        ],
        "[2.0, 2.0, 2.0]",
    ),
    "a lambda in a dispatch": (
        [
            "import math\n" + ROOT + "@tb.compute\n"
            "def quoted(cc: ComputeContext, a: F32Array) -> None:\n"
            "    cc.dispatch(a.length, lambda kc: root(kc, a))\n"
            "a = fours()\naccelerator.compute(quoted, a)\nshown(a)"
        ],
        "[2.0, 2.0, 2.0]",
    ),
    "a device function, and a class": (
        [
            HALVES,
        ],
        "[5.0, 5.0, 5.0]",
    ),
    "a kernel inside of a function and of an if": (
        [
            "import math\n"
            "def make():\n"
            + "\n".join(f"    {line}" for line in ROOT.splitlines())
            + "\n    return root_all\n"
            "if True:\n"
            "    made = make()\n"
            "a = fours()\naccelerator.compute(made, a)\nshown(a)"
        ],
        "[2.0, 2.0, 2.0]",
    ),
    "a cell that is run again after an edit": (
        [
            "import math\n" + ROOT + "a = fours()\naccelerator.compute(root_all, a)\nshown(a)",
            "import math\n"
            + kernel("root", "math.sqrt(a.array[kc.x]) + 1.0")
            + "a = fours()\naccelerator.compute(root_all, a)\nshown(a)",
            "import math\n" + ROOT + "a = fours()\naccelerator.compute(root_all, a)\nshown(a)",
        ],
        "[2.0, 2.0, 2.0]\n[3.0, 3.0, 3.0]\n[2.0, 2.0, 2.0]",
    ),
    "after magics, comments and a future": (
        [
            "# a comment\n%matplotlib --list\nfrom __future__ import annotations\nimport math\n"
            + ROOT.replace("def root(", "def root(  # of each\n    ")
            + "a = fours()\naccelerator.compute(root_all, a)\nshown(a)"
        ],
        "[2.0, 2.0, 2.0]",
    ),
    "a cell that awaits": (
        [
            "import asyncio, math\nawait asyncio.sleep(0)\n"
            + ROOT
            + "a = fours()\nawait asyncio.sleep(0)\n"
            + "accelerator.compute(lambda cc: root_all(cc, a))\nshown(a)"
        ],
        "[2.0, 2.0, 2.0]",
    ),
    "%%capture keeps the source": (
        [
            "import math\n" + ROOT,
            "%%capture\na = fours()\naccelerator.compute(lambda cc: root_all(cc, a))",
            "shown(a)",
        ],
        "[2.0, 2.0, 2.0]",
    ),
    "magics that time, with the direct form": (
        [
            "import math\n" + ROOT,
            "a = fours()\nb = fours()\nc = fours()",
            "%time accelerator.compute(root_all, a)",
            "%%time\naccelerator.compute(root_all, b)",
            "%timeit -n 1 -r 1 accelerator.compute(root_all, c)",
            "shown(a), shown(b), shown(c)",
        ],
        "[2.0, 2.0, 2.0]\n[2.0, 2.0, 2.0]\n[2.0, 2.0, 2.0]",
    ),
}

NO_SOURCE = {
    "%time": "%time accelerator.compute(lambda cc: root_all(cc, a))",
    "%%time": "%%time\naccelerator.compute(lambda cc: root_all(cc, a))\n",
    "%timeit": "%timeit -n 1 -r 1 accelerator.compute(lambda cc: root_all(cc, a))",
    "exec": "exec('accelerator.compute(lambda cc: root_all(cc, a))')",
    "a kernel in %%time": "%%time\n" + kernel("timed", "1.0") + "accelerator.compute(timed_all, a)",
    "a kernel in exec": f"exec({kernel('made', '1.0')!r})\naccelerator.compute(made_all, a)",
}
"""Code that is compiled from a text which nobody keeps."""


class Notebook:
    """A notebook that is open, and its kernel."""

    def __init__(self, client: NotebookClient) -> None:
        self._client = client

    def run(self, cell: str) -> str:
        """Run a cell: what it printed, or the text of its error."""
        notebook = self._client.nb
        empty: dict[str, object] = {"metadata": {}, "outputs": [], "execution_count": None}
        source = {"cell_type": "code", "source": cell, "id": f"cell-{len(notebook.cells)}"}
        notebook.cells.append(NotebookNode({**source, **empty}))
        done = self._client.execute_cell(notebook.cells[-1], len(notebook.cells) - 1)
        outputs = done["outputs"]
        errors = [f"{one['ename']}: {one['evalue']}" for one in outputs if "ename" in one]
        return errors[0] if errors else "".join(one.get("text", "") for one in outputs)


@pytest.fixture(scope="module", params=["", "1"], ids=["columns", "no columns"])
def notebook(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Notebook]:
    home = str(tmp_path_factory.mktemp("jupyter"))
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "PYTHONNODEBUGRANGES": request.param}
    environment |= {"TRILBY_LOG": "error", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    empty = NotebookNode({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    client = NotebookClient(empty, kernel_name="python3", timeout=600, allow_errors=True)
    with pytest.MonkeyPatch.context() as patch:
        for folder in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
            patch.setenv(folder, home)
            environment[folder] = home
        with client.setup_kernel(env=environment):
            opened = Notebook(client)
            assert opened.run(SETUP) == ""
            yield opened


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cells(layout: str, notebook: Notebook) -> None:
    cells, printed = LAYOUTS[layout]
    said = [notebook.run(cell) for cell in cells]
    assert not [text for text in said if "Error: " in text]
    lines = [line for text in said for line in text.splitlines() if line.startswith("[")]
    assert lines == printed.splitlines()


@pytest.mark.parametrize("way", NO_SOURCE)
def test_cells_that_leave_no_source(way: str, notebook: Notebook) -> None:
    assert notebook.run("import math\n" + ROOT + "a = fours()") == ""
    said = notebook.run(NO_SOURCE[way])
    assert said.startswith("SourceError: ")
    assert "has no source that can be read" in said
    advice = "without `%%time`" if "kernel" in way else "accelerator.compute(function, args…)"
    assert advice in said
    assert notebook.run("accelerator.compute(root_all, a)\nshown(a)") == "[2.0, 2.0, 2.0]\n"


def test_an_error_in_a_cell_shows_its_line(notebook: Notebook) -> None:
    said = notebook.run("a = fours()\nF32Array.create(accelerator, 32)")
    assert said.startswith("BindingError: ")
    assert ":2: " in said
    assert "  2 | F32Array.create(accelerator, 32)" in said


def test_the_kernel_is_this_python(notebook: Notebook) -> None:
    assert notebook.run("import sys\nprint(sys.executable)").strip() == sys.executable
