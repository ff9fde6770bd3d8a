"""Pieces of text: parentheses, and the way back from a generated line to the Python line."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.codegen.running import graph_of, run_both

import trilby as tb
from trilby import KernelContext, NDArray, S32Array, i32
from trilby.backend.opencl import OpenCLFamily
from trilby.codegen.ctext import MEMORY, PRODUCT, SUM, Line, Text, reads_of, with_line_directives
from trilby.codegen.opencl_c import generate
from trilby.errors import BuildError
from trilby.source import Location

HERE = Path(__file__)


def test_parentheses_stand_where_an_operand_binds_more_loosely() -> None:
    total = Text("a + b", SUM)
    assert total.within(SUM) == "a + b"
    assert total.within(PRODUCT) == "(a + b)"


def test_a_text_depends_on_what_its_parts_read() -> None:
    parts = [Text("a"), Text("b[0]", reads=frozenset({MEMORY}))]
    assert reads_of(parts) == {MEMORY}


def test_a_directive_stands_where_counting_on_would_lose_the_line() -> None:
    lines = [
        Line("typedef int t;"),
        Line("int f() {", Location("app.py", 10)),
        Line("    a;", Location("app.py", 11)),
        Line("    b;", Location("app.py", 11)),
        Line("}"),
        Line("c;", Location('odd "name"\\.py', 3)),
    ]
    assert list(with_line_directives(lines)) == [
        "typedef int t;",
        '#line 10 "app.py"',
        "int f() {",
        "    a;",
        '#line 11 "app.py"',
        "    b;",
        "}",
        '#line 3 "odd \\042name\\042\\134.py"',
        "c;",
    ]


# -- whole programs -----------------------------------------------------------------------
# Every statement has a number of its own, which leads from the generated line to this file.


@tb.func
def weigh(v: i32, out: NDArray[i32]) -> i32:
    if v > 1001:
        return v - 1002
    out[3] = v * 1003
    return max(
        v,
        1004,
    )


@tb.kernel
def marked(kc: KernelContext, out: NDArray[i32], a: S32Array) -> None:
    first = 1101
    out[0] = first * 1102
    kept = a.array[0] * 1103

    a.array[0] = 1104  # what is kept must be read before this, and has the line above
    out[1] = kept + 1105
    if kc.x > 1106:
        out[2] = 1107
    elif weigh(kc.x + 1108, out) > 1109:
        out[2] = 1110
    else:
        out[2] = 1111 if kc.x < 1112 else weigh(1113, out)
    for i in range(1114, kc.x + 1115, 1116):
        out[3] += i * 1117
    while out[4] < 1118 and weigh(1119, out) > 1120:
        out[4] += 1121
        if out[4] == 1122:
            continue
        break
    out[5] = max(
        a.array[1] + 1123,
        1124,
    )
    a.array[1], a.array[2] = a.array[2] + 1125, a.array[1] + 1126


SOURCE = HERE.read_text().splitlines()
MARKS = {
    int(mark): number
    for number, text in reversed(list(enumerate(SOURCE, 1)))  # the first place counts
    for mark in re.findall(r"\b1[01][0-2][0-9]\b", text.partition("#")[0])
}
# An expression of several lines belongs to the line where the statement, or the part of it
# that an op was made of, begins.
SPREAD = {1004: MARKS[1004] - 2, 1123: MARKS[1123] - 1, 1124: MARKS[1124] - 2}


def origins(text: str) -> list[tuple[str, str, int]]:
    """Each line of a generated text with the file and line that a compiler would name."""
    found: list[tuple[str, str, int]] = []
    file, number = "", 0
    for line in text.splitlines():
        directive = re.fullmatch(r'#line (\d+) "(.*)"', line)
        if directive:
            file, number = directive[2], int(directive[1])
        else:
            found.append((line, file, number))
            number += 1
    return found


def test_every_statement_leads_to_its_python_line() -> None:
    text = generate(graph_of(marked)).text
    seen: set[int] = set()
    for line, file, number in origins(text):
        for mark in (int(m) for m in re.findall(r"\b1[01][0-2][0-9]\b", line)):
            seen.add(mark)
            assert file == str(HERE)
            first, last = SPREAD.get(mark, MARKS[mark]), MARKS[mark]
            assert first <= number <= last, line
    assert seen == set(MARKS)


def test_the_marked_kernel_runs() -> None:
    """So that the lines above are not those of a text that nobody could build."""
    a = S32Array.of(np.array([2, 3, 4], np.int32))
    outcome = run_both(marked, 2, np.zeros(6, np.int32), a)
    assert outcome.interpreter[0].tolist()[:2] == outcome.opencl[0].tolist()[:2]


@pytest.mark.parametrize("mark", [1003, 1101, 1104, 1109, 1117, 1120, 1125])
def test_an_error_of_the_devices_compiler_names_the_python_line(mark: int) -> None:
    backend = OpenCLFamily().open(0)
    generated = generate(graph_of(marked))
    broken = re.sub(rf"\b{mark}\b", "no_such_name", generated.text)
    with pytest.raises(BuildError) as caught:
        backend.build(replace(generated, text=broken))
    backend.close()
    location = caught.value.location
    assert location is not None
    assert (location.file, location.line) == (str(HERE), MARKS[mark])


def test_lines_can_be_left_out() -> None:
    assert "#line" not in generate(graph_of(marked), lines=False).text
