"""Names that mean something elsewhere, for everything that a user names, on every backend.

The generated code must build without a word of the compiler and compute what Python computes:
a kernel `fmodf` must not be what `%` calls.
"""

import linecache
import re
from collections.abc import Iterator, Sequence
from itertools import count
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.codegen.odd_names import ALL, FAMILIES

from trilby import Accelerator
from trilby.backend.native.modules import generated as generate_llvm
from trilby.codegen.llvm.target import LlvmTarget
from trilby.codegen.opencl_c import generate as generate_opencl
from trilby.runtime.compile import analyse_kernel

_NUMBERS = count()
TARGET = LlvmTarget(256, "x86_64-unknown-linux-gnu")
_MANY = 250
"""How many names are given to things of one kernel."""

HEAD = """\
import math as mathematics
import trilby as tb

@tb.func
def used(n: tb.i32, out: tb.NDArray[tb.i32]) -> tb.i32:
    v = tb.f32(9 + out[1])
    assert n > 0
    total = mathematics.sqrt(v) + v % 1.5 + v // 0.7 + mathematics.fmod(v, 2.5) + v ** 1.5
    total += mathematics.sin(v) * 0 + mathematics.exp(v) * 0 + tb.f32(tb.f16(v))
    return tb.i32(total) + n // 3 + n % 5 + n ** 2 + min(n, 7) + abs(-n) + tb.atomic_add(out, 0, 1)
"""
"""A device function that uses much of what generated code calls, on a number that nobody knows."""


def loaded(text: str) -> Any:
    """A program as a module whose source can be found."""
    file = f"<odd names {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType("odd_names_program")
    exec(compile(text, file, "exec"), module.__dict__)  # noqa: S102 -- our own text
    return module


def parts_of(names: Sequence[str]) -> Iterator[list[str]]:
    for begin in range(0, len(names), _MANY):
        yield list(names[begin : begin + _MANY])


BATCHES = [
    pytest.param(part, id=f"{family}{number}")
    for family, names in FAMILIES.items()
    for number, part in enumerate(parts_of(names))
]


@pytest.fixture(scope="module", params=["interpreter", "native", "opencl"])
def accelerator(request: pytest.FixtureRequest) -> Iterator[Accelerator]:
    with Accelerator(str(request.param)) as made:
        yield made


def total_of_used() -> int:
    total = np.sqrt(9.0) + 9.0 % 1.5 + 9.0 // np.float32(0.7) + np.fmod(9.0, 2.5) + 27 + 9
    return int(total) + 4 // 3 + 4 % 5 + 4**2 + 4 + 4


def run(accelerator: Accelerator, module: Any, *args: Any) -> list[int]:
    out = np.zeros(2, np.int32)
    accelerator.compute(module.run, accelerator.array(out), *args)
    return out.tolist()


RUN = "def run(cc, out{more}):\n    cc.dispatch(1, {kernel}, out{more})\nrun = tb.compute(run)\n"


@pytest.mark.parametrize("names", BATCHES)
def test_device_functions(accelerator: Accelerator, names: list[str]) -> None:
    functions = "".join(
        f"    @tb.func\n    def {name}(v: tb.i32) -> tb.i32:\n        return v * 3 + {number}\n"
        for number, name in enumerate(names)
    )
    calls = " + ".join(f"{name}({number})" for number, name in enumerate(names))
    text = (
        f"{HEAD}\ndef made():\n{functions}\n    @tb.kernel\n"
        "    def calling(work: tb.KernelContext, result: tb.NDArray[tb.i32]) -> None:\n"
        f"        result[1] = used(4, result) + {calls}\n"
        f"    return calling\ncalling = made()\n{RUN.format(more='', kernel='calling')}"
    )
    expected = total_of_used() + sum(range(len(names))) * 4
    assert run(accelerator, loaded(text)) == [1, expected]


@pytest.mark.parametrize("names", BATCHES)
def test_variables_and_counters(accelerator: Accelerator, names: list[str]) -> None:
    kept = [name for name in names if name not in {"used", "range"}]
    lines = [f"    {name} = tb.i32({number})" for number, name in enumerate(kept)]
    loops = [f"    for {name} in range(3):\n        total += {name}" for name in kept[:10]]
    body = "\n".join([*lines, f"    total = {' + '.join(kept)}", *loops])
    text = (
        f"{HEAD}\n@tb.kernel\n"
        "def holding(work: tb.KernelContext, result: tb.NDArray[tb.i32]) -> None:\n"
        f"{body}\n    result[1] = used(4, result) + total\n"
        f"{RUN.format(more='', kernel='holding')}"
    )
    expected = total_of_used() + sum(range(len(kept))) + 3 * len(kept[:10])
    assert run(accelerator, loaded(text)) == [1, expected]


@pytest.mark.parametrize("names", BATCHES)
def test_parameters(accelerator: Accelerator, names: list[str]) -> None:
    """Of a kernel, and of a device function with the same ones."""
    kept = [name for name in names if name not in {"used", "out"}]
    params = ", ".join(f"{name}: tb.i32" for name in kept)
    more = "".join(f", n{number}" for number in range(len(kept)))
    text = (
        f"{HEAD}\n@tb.func\ndef added({params}) -> tb.i32:\n    return {' + '.join(kept)}\n"
        "@tb.kernel\n"
        f"def taking(work: tb.KernelContext, result: tb.NDArray[tb.i32], {params}) -> None:\n"
        f"    result[1] = used(4, result) + added({', '.join(kept)})\n"
        f"{RUN.format(more=more, kernel='taking')}"
    )
    expected = total_of_used() + sum(range(len(kept)))
    assert run(accelerator, loaded(text), *range(len(kept))) == [1, expected]


@pytest.mark.parametrize("names", BATCHES)
def test_fields(accelerator: Accelerator, names: list[str]) -> None:
    kept = [name for name in names if not name.startswith("_")]
    fields = "".join(f"    {name}: tb.i32\n" for name in kept)
    text = (
        f"{HEAD}\nclass Row(tb.Struct):\n    first_of_all: tb.i32\n{fields}\n"
        "class Table(tb.Buffer):\n    rows: tb.i32\n    row: tb.Array[Row] = tb.array('rows')\n"
        "@tb.kernel\n"
        "def reading(kc: tb.KernelContext, result: tb.NDArray[tb.i32], t: Table) -> None:\n"
        f"    result[1] = used(4, result) + {' + '.join(f't.row[0].{n}' for n in kept)}\n"
        f"{RUN.format(more=', t', kernel='reading')}"
    )
    module = loaded(text)
    table = module.Table.create(rows=1)
    for number, name in enumerate(kept):
        setattr(table.row[0], name, number)
    assert run(accelerator, module, table) == [1, total_of_used() + sum(range(len(kept)))]


@pytest.mark.parametrize("names", BATCHES)
def test_buffers_and_structs(accelerator: Accelerator, names: list[str]) -> None:
    """Each name is that of a buffer's class, and of the struct in it."""
    kept = names[::6]
    classes = "".join(
        f"    class {name}(tb.Buffer):\n        class {name}(tb.Struct):\n            x: tb.i32\n"
        f"        n: tb.i32\n        row: tb.Array[{name}] = tb.array('n')\n"
        f"    found.append({name})\n"
        for name in kept
    )
    params = ", ".join(f"b{number}: found[{number}]" for number in range(len(kept)))
    reads = " + ".join(f"b{number}.row[0].x" for number in range(len(kept)))
    more = "".join(f", b{number}" for number in range(len(kept)))
    text = (
        f"{HEAD}\nfound = []\ndef made():\n{classes}\nmade()\n@tb.kernel\n"
        f"def reading(kc: tb.KernelContext, result: tb.NDArray[tb.i32], {params}) -> None:\n"
        f"    result[1] = used(4, result) + {reads}\n{RUN.format(more=more, kernel='reading')}"
    )
    module = loaded(text)
    buffers = [one.create(n=1) for one in module.found]
    for number, buffer in enumerate(buffers):
        buffer.row[0].x = number
    assert run(accelerator, module, *buffers) == [1, total_of_used() + sum(range(len(kept)))]


WORST = ("fmodf", "sinf", "expf", "powf", "printf", "malloc", "main", "half", "dot", "llvm", "int")


@pytest.mark.parametrize("name", WORST)
def test_kernels(accelerator: Accelerator, name: str) -> None:
    check_kernel(accelerator, name)


def test_kernels_with_names_of_python() -> None:
    with Accelerator("interpreter") as accelerator:
        for name in (*FAMILIES["python"], *FAMILIES["unicode"]):
            check_kernel(accelerator, name)


def test_no_function_has_a_name_that_is_not_ours() -> None:
    """Whatever a kernel is called, its symbol is none that a library could have."""
    for name in ALL:
        module = loaded(kernel_text(name, "work.x"))
        graph = analyse_kernel(module.called, (1,)).graph
        entries = generate_opencl(graph).entry, generate_llvm(graph, TARGET).entry
        assert all(re.fullmatch(r"tb_[a-zA-Z0-9_]+", entry) for entry in entries), entries


def kernel_text(name: str, value: str) -> str:
    return (
        f"{HEAD}\ndef made():\n    @tb.kernel\n"
        f"    def {name}(work: tb.KernelContext, result: tb.NDArray[tb.i32]) -> None:\n"
        f"        result[1] = {value}\n"
        f"    return {name}\ncalled = made()\n{RUN.format(more='', kernel='called')}"
    )


def check_kernel(accelerator: Accelerator, name: str) -> None:
    assert run(accelerator, loaded(kernel_text(name, "used(4, result)"))) == [
        1,
        total_of_used(),
    ], name
