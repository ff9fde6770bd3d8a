"""The program that checkers see also runs, and checkers see the mistakes in another one."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.typing import data_usage

MISTAKES = """\
import trilby as tb
from trilby import F32Array, S32Array, f32, i32

class Table(tb.Buffer):
    class Item(tb.Struct):
        x: f32
    count: tb.Atomic[i32]
    length: i32
    item: tb.Array[Item] = tb.array("length")

table = Table.create(length=3)
table.count = "many"              # wrong
table.cuont = 3                   # wrong
table.item[0].x = "text"          # wrong
table.item[0].z                   # wrong
table.item[0] = 3                 # wrong
Table.Item(x="text")              # wrong
Table.Item(z=1.0)                 # wrong
numbers: S32Array = F32Array.of([1.0])  # wrong
S32Array.create(lenght="3")       # wrong
class Odd(tb.Struct, aling=16):   # wrong
    x: f32
def square(v: i32) -> i32:
    return "no"                   # wrong
"""


def test_the_program_does_what_it_says() -> None:
    numbers = data_usage.use_numbers()
    # by hand: the odd places 3, 5, … keep their numbers, the even ones have half of them
    assert numbers.array[:6].tolist() == [4, 8, 3, 25, 4, 6]
    assert numbers.array[31] == 1
    assert data_usage.compute_with_numpy(numbers) > 0
    table = data_usage.use_structs()
    assert table.count == 2
    assert (table.result[1].x, table.result[1].y) == (8.0, 1.5)  # 1·0 + 2·1 + 3·2
    assert (table.result[4].x, table.result[4].y) == (1.0, 4.0)
    source = np.arange(12).reshape(3, 4)
    expected = (np.roll(source, 1, 1) + source + np.roll(source, -1, 1)) // 3
    assert np.array_equal(data_usage.use_two_dimensions(), expected)
    memory = bytearray(12)
    data_usage.use_own_memory(memory)
    assert memory == b"\2\0\0\0" + b"\0\0\0\0" + b"\1\0\0\0"
    assert data_usage.use_n_d_arrays().tolist() == [4.0] * 8
    assert data_usage.use_images().channels.tolist() == [[[100, 200, 0, 255]]]


def test_a_checker_sees_every_mistake_and_nothing_else(tmp_path: Path) -> None:
    program = tmp_path / "mistakes.py"
    program.write_text(MISTAKES, "utf-8")
    checker = Path(sys.executable).with_name("basedpyright")
    if not checker.exists():
        pytest.skip("basedpyright is not installed beside this Python")
    settings = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(Path(data_usage.__file__).parents[2] / "src")],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    done = subprocess.run(
        [checker, "--outputjson", "--pythonpath", sys.executable, "-p", tmp_path],
        capture_output=True,
        check=False,
        text=True,
    )
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = {entry["range"]["start"]["line"] for entry in found if entry["severity"] == "error"}
    wrong = {number for number, text in enumerate(MISTAKES.splitlines()) if "# wrong" in text}
    assert lines == wrong
