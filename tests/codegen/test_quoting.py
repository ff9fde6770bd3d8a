"""Names of files and functions that would end a comment or a string of generated code."""

import json
import linecache
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import trilby as tb
from trilby import Accelerator
from trilby.backend.failures import first_complaint
from trilby.codegen.ctext import Line, c_string, llvm_string, with_line_directives
from trilby.errors import BuildError, KernelAssertionError
from trilby.model.parse import named_types, parse
from trilby.model.text import to_text
from trilby.reflect.functions import Compute
from trilby.runtime.compile import analyse_kernel
from trilby.source import Location, printable
from trilby.tools.html.report import report_of
from trilby.tools.trace_events import trace_of

FILES = (
    "a\nb = 1 / 0.py",
    "a\n  ret void\n}.py",
    'a\n#error "no".py',
    "a\rb.py",
    'a"b.py',
    'a";#.py',
    "a\\",
    "a\\nb.py",
    "a??/",
    "a/*b*/c.py",
    "a%s{x}.py",
    "größe 変数.py",
    "a\u2028b\x85c\x0bd\x0ce.py",
    "a\x1b[0mb\x7f.py",
    "\udcff\udc80.py",
    "<script>&amp;.py",
    "a\tb 'c' `d` $(e).py",
)
"""Names that a file may have; the last but some have bytes that are no UTF-8."""

TEXT = """\
import trilby as tb

@tb.func
def squared(v: tb.i32) -> tb.i32:
    return v * v

@tb.kernel
def work(kc: tb.KernelContext, a: tb.NDArray[tb.i32]) -> None:
    assert a[kc.x] < 100
    a[kc.x] = squared(a[kc.x])

@tb.compute
def run(cc, a):
    cc.dispatch(a.shape[0], work, a)
"""


def loaded(file: str, text: str = TEXT) -> Any:
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType("odd_file")
    exec(compile(text, file, "exec"), module.__dict__)  # noqa: S102 -- our own text
    return module


def test_texts_in_the_quotes_of_c_and_llvm() -> None:
    assert c_string('a"b\\c\n??/ä\udcff') == '"a\\042b\\134c\\012\\077\\077/\\303\\244\\377"'
    assert llvm_string('a"b\\c\nä\udcff') == '"a\\22b\\5Cc\\0A\\C3\\A4\\FF"'


def test_texts_on_one_line() -> None:
    assert printable("größe.py") == "größe.py"
    assert printable("a\nb\r\0\x1b\u2028\udcff\\.py") == r"a\nb\r\x00\x1b\u2028\udcff\.py"
    assert str(Location("a\nb.py", 3)) == r"a\nb.py:3"
    assert Location("x\n/a\nb.py", 3).short == r"a\nb.py:3"


@pytest.mark.parametrize("file", FILES, ids=range(len(FILES)))
def test_a_line_directive_is_one_line_that_compilers_name_in_their_complaints(file: str) -> None:
    directive, line = with_line_directives([Line("int x;", Location(file, 7))])
    assert directive.isascii()
    assert directive.isprintable()
    log = f"error: {printable(file)}:7:3: no"
    _, location = first_complaint(log, f"{directive}\n{line}")
    assert location == Location(printable(file), 7)


def finish(accelerator: Accelerator, run: Compute[..., None], a: object) -> None:
    accelerator.compute(run, a)
    accelerator.wait()


@pytest.mark.parametrize("file", FILES, ids=range(len(FILES)))
@pytest.mark.parametrize("device", ["interpreter", "native", "opencl"])
def test_a_kernel_in_a_file_of_any_name(device: str, file: str) -> None:
    module = loaded(file)
    with Accelerator(device) as accelerator:
        a = accelerator.array(np.arange(5, dtype=np.int32))
        accelerator.compute(module.run, a)
        assert a.tolist() == [0, 1, 4, 9, 16]
        bad = accelerator.array(np.full(3, 1000, np.int32))
        with pytest.raises(KernelAssertionError) as caught:
            finish(accelerator, module.run, bad)
        assert caught.value.location is not None
        assert (caught.value.location.file, caught.value.location.line) == (file, 9)
        str(caught.value).encode()
        accelerator.source_of(module.work, 1).encode()


@pytest.mark.parametrize("file", FILES, ids=range(len(FILES)))
def test_reports_traces_and_models_name_it(file: str) -> None:
    module = loaded(file)
    with Accelerator("native", memory="discrete") as accelerator:
        a = accelerator.array(np.arange(5, dtype=np.int32))
        with accelerator.trace() as run, accelerator.record() as ledger:
            accelerator.compute(module.run, a)
            a.tolist()
    str(ledger).encode()
    page = report_of([run], printable(file))
    page.encode()
    assert "<script>&" not in page
    assert json.loads(json.dumps(trace_of([run])))
    function = analyse_kernel(module.work, (1,)).graph.entry
    text = to_text(function, locations=True)
    text.encode()
    assert text.splitlines() == text.split("\n")
    again = parse(text, named_types(function))
    assert to_text(again, locations=True) == text
    assert again.location.file == file


NAMES = (
    "a\nb",
    'a"b',
    "a b; ret void }",
    "a\udcffb",
    "größe",
    "a\n    raise SystemExit",
    "",
    "é\0",
)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
@pytest.mark.parametrize("device", ["interpreter", "native", "opencl"])
def test_functions_that_were_renamed(device: str, name: str) -> None:
    """Decorators and programs may set `__name__` and `__qualname__` to anything."""
    module = loaded("renamed.py")
    for thing in (module.squared, module.work):
        thing.function.__name__ = thing.function.__qualname__ = name + thing.function.__name__
    with Accelerator(device) as accelerator:
        a = accelerator.array(np.arange(5, dtype=np.int32))
        accelerator.compute(module.run, a)
        assert a.tolist() == [0, 1, 4, 9, 16]


@tb.raw(opencl="return x +;")
def broken(x: tb.f32) -> tb.f32:
    return x


@tb.kernel
def calls_broken(kc: tb.KernelContext, a: tb.NDArray[tb.f32]) -> None:
    a[kc.x] = broken(1.0)


def test_a_complaint_of_the_compiler_leads_to_its_line() -> None:
    @tb.compute
    def run(cc: tb.ComputeContext, a: tb.NDArray[tb.f32]) -> None:
        cc.dispatch(1, calls_broken, a)

    with Accelerator("opencl") as accelerator, pytest.raises(BuildError) as caught:
        accelerator.compute(run, accelerator.array(np.zeros(1, np.float32)))
    assert caught.value.location is not None
    assert Path(caught.value.location.file).name == Path(__file__).name


def test_a_file_of_the_system_with_bytes_that_are_no_text(tmp_path: Path) -> None:
    """A whole program, run from such a file with a report and a trace."""
    program = tmp_path / "a\nb\udcff.py"
    try:
        program.write_text(f"{TEXT}\nimport numpy as np\n{_MAIN}", "utf-8")
    except OSError:
        pytest.skip("this file system has no such names")
    done = subprocess.run(
        [sys.executable, "-m", "trilby", "run", "--trace", "t.json", "--report", "r.html", program],
        cwd=tmp_path,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"[0, 1, 4]\n"
    json.loads((tmp_path / "t.json").read_text("utf-8"))
    (tmp_path / "r.html").read_text("utf-8")


_MAIN = """
accelerator = tb.Accelerator("native", memory="discrete")
a = accelerator.array(np.arange(3, dtype=np.int32))
accelerator.compute(run, a)
print(a.tolist())
"""
