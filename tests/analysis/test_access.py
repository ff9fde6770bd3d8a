"""The access table: per parameter and field, through calls, aliases and references."""

from dataclasses import fields
from typing import Any

import pytest
from tests.reflect.kernel_cases import analysed, indented, kernel, lined

from trilby.analysis.access import AccessMode, access_table
from trilby.analysis.reach import KernelGraph
from trilby.data.dtypes import I32
from trilby.data.schema import NDArrayType
from trilby.model.build import Builder
from trilby.model.op import Func, Op, roles
from trilby.model.ops import OPS
from trilby.model.ops.core import Constant
from trilby.model.ops.host import HostView
from trilby.model.ops.memory import Load, Place, Store
from trilby.model.value import KERNEL_CONTEXT, NONE, Value

TABLE = """
class Cell(tb.Struct):
    x: f32
    hits: i32

class Table(tb.Buffer):
    count: tb.Atomic[i32]
    total: i32
    length: i32
    cell: tb.Array[Cell] = tb.array("length")
    spare: tb.Array[Cell] = tb.array(4)
"""
PARAMS = "a: S32Array, b: S32Array, t: Table, m: NDArray[f32], n: i32"


def table(lines: str, helpers: str = "") -> str:
    """The table of a kernel around some lines, without its heading."""
    source = f"{TABLE}{lined(helpers)}\n@tb.kernel\ndef k(kc: KernelContext, {PARAMS}):\n"
    made = analysed(kernel(source + indented(lines)))
    heading, *rest = str(made.access).splitlines()
    assert heading == 'access @"app.k"'
    return "\n".join(line[2:] for line in rest)


def touched(lines: str, helpers: str = "") -> dict[str, str]:
    """What is done with each field of each parameter, as `parameter.path`."""
    found: dict[str, str] = {}
    name = ""
    for line in table(lines, helpers).splitlines():
        if line.startswith("  "):
            path, _, access = line.strip().partition(": ")
            found[f"{name}.{path}" if not path.startswith("[") else f"{name}{path}"] = access
        else:
            name = line.partition(" ")[0]
    return found


def test_the_text_lists_every_buffer_also_the_untouched() -> None:
    assert table("a.array[0] = t.cell[n].hits\nt.cell[0].hits += 1") == lined("""
        a : S32Array writes
          array[]: writes
        b : S32Array untouched
        t : Table both
          cell[].hits: both
        m : NDArray<f32, 1> untouched
    """)


def test_fields_have_their_own_rows() -> None:
    assert touched("t.total = t.cell[0].hits\nt.spare[1].x = m[n]") == {
        "t.cell[].hits": "reads",
        "t.total": "writes",
        "t.spare[].x": "writes",
        "m[]": "reads",
    }


def test_an_augmented_assignment_does_both() -> None:
    assert touched("m[0] += 1.0") == {"m[]": "both"}


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("tb.atomic_add(t.count, 1)", "t.count"),
        ("slot = tb.atomic_add(a.array, n, 1)", "a.array[]"),
        ("tb.atomic_add(m, n, 1.0)", "m[]"),
        ("atomics.atomic_compare_exchange(t.count, 1, 2)", "t.count"),
        ("atomics.atomic_exchange(t.total, 1)", "t.total"),
    ],
)
def test_atomics_do_both(line: str, place: str) -> None:
    assert touched(line) == {place: "both"}


def test_lengths_and_shapes_are_no_data() -> None:
    assert touched("x = a.length + t.length + m.shape[0] + m.size") == {}


def test_a_length_is_no_data_through_a_helper() -> None:
    helpers = """
        @tb.func
        def size(a: S32Array) -> i32:
            return a.length
    """
    assert touched("m[0] = size(b)", helpers) == {"m[]": "writes"}


def test_an_index_is_read() -> None:
    assert touched("a.array[b.array[n]] = 1") == {"b.array[]": "reads", "a.array[]": "writes"}


def test_code_that_never_runs_touches_nothing() -> None:
    lines = """
        if False:
            a.array[0] = 1
        while False:
            b.array[0] = 1
        return
        m[0] = 1.0
    """
    assert touched(lines) == {}


def test_names_for_buffers_lead_to_them() -> None:
    lines = """
        c = a
        d = c
        d.array[0] = 1
        e = b if n > 0 else d
        x = e.array[1]
    """
    assert touched(lines) == {"a.array[]": "both", "b.array[]": "reads"}


def test_a_ternary_that_is_used_at_once() -> None:
    assert touched("(a if n > 0 else b).array[0] = 1") == {
        "a.array[]": "writes",
        "b.array[]": "writes",
    }


def test_a_ternary_with_a_constant_condition_is_one_buffer() -> None:
    assert touched("(a if True else b).array[0] = 1") == {"a.array[]": "writes"}


def test_buffers_that_a_loop_carries_around() -> None:
    lines = """
        source = a
        target = b
        for i in range(n):
            target.array[0] = source.array[0]
            source, target = target, source
    """
    assert touched(lines) == {"a.array[]": "both", "b.array[]": "both"}


def test_a_long_way_around_a_loop() -> None:
    """Each turn hands the buffer one name on, so it takes several to reach the first."""
    lines = """
        c = a
        d = a
        e = a
        for i in range(n):
            c.array[0] = 1
            c = d
            d = e
            e = b
    """
    assert touched(lines) == {"a.array[]": "writes", "b.array[]": "writes"}


def test_a_parameter_that_is_set_anew() -> None:
    lines = "if n > 0:\n    a = b\na.array[0] = 1"
    assert touched(lines) == {"a.array[]": "writes", "b.array[]": "writes"}


def test_references_to_structs() -> None:
    lines = """
        c = t.cell[n]
        d = c if n > 0 else t.spare[1]
        d.hits = 3
        x = c.x
    """
    assert touched(lines) == {
        "t.cell[].hits": "writes",
        "t.spare[].hits": "writes",
        "t.cell[].x": "reads",
    }


def test_names_for_arrays() -> None:
    assert touched("cells = t.cell\ncells[0].x = cells[1].x") == {"t.cell[].x": "both"}


def test_helpers_touch_what_they_are_given() -> None:
    helpers = """
        @tb.func
        def copy(source: S32Array, target: S32Array, i: i32) -> None:
            target.array[i] = source.array[i]

        @tb.func
        def both_ways(p: S32Array, q: S32Array) -> None:
            copy(p, q, 0)
            copy(source=q, target=p, i=1)

        @tb.func
        def count(t: Table) -> i32:
            return tb.atomic_add(t.count, 1)
    """
    assert touched("copy(b, a, n)", helpers) == {"b.array[]": "reads", "a.array[]": "writes"}
    assert touched("both_ways(a, b)", helpers) == {"a.array[]": "both", "b.array[]": "both"}
    assert touched("copy(a, a, n)", helpers) == {"a.array[]": "both"}
    assert touched("copy(a if n > 0 else b, b, n)", helpers) == {
        "a.array[]": "reads",
        "b.array[]": "both",
    }
    assert touched("x = count(t)", helpers) == {"t.count": "both"}


def test_nd_arrays_through_helpers() -> None:
    helpers = """
        @tb.func
        def fill(target: NDArray[f32], value: f32) -> None:
            for i in range(target.shape[0]):
                target[i] = value
    """
    assert touched("fill(m, 1.0)", helpers) == {"m[]": "writes"}


def test_the_order_of_fields_does_not_depend_on_the_run() -> None:
    """Which struct a reference stands for is a set; its order must not show."""
    lines = "c = t.spare[0] if n > 0 else t.cell[0]\nc.x = 1.0"
    assert list(touched(lines)) == ["t.cell[].x", "t.spare[].x"]


def test_whole_is_the_sum_of_all_fields() -> None:
    source = f"{TABLE}\n@tb.kernel\ndef k(kc: KernelContext, {PARAMS}):\n"
    made = analysed(kernel(source + "    t.total = 1\n    x = t.cell[0].x\n    y = a.array[0]\n"))
    wholes = {parameter.name: parameter.whole for parameter in made.access.parameters}
    assert wholes == {
        "a": AccessMode.READS,
        "b": AccessMode.UNTOUCHED,
        "t": AccessMode.BOTH,
        "m": AccessMode.UNTOUCHED,
    }
    assert [str(access) for access in AccessMode.BOTH] == ["reads", "writes"]
    assert str(AccessMode.UNTOUCHED) == "untouched"
    assert str(AccessMode.READS | AccessMode.WRITES) == "both"


def test_numbers_have_no_row() -> None:
    made = analysed(kernel("@tb.kernel\ndef k(kc: KernelContext, n: i32, f: f32):\n    pass\n"))
    assert made.access.parameters == ()
    assert str(made.access) == 'access @"app.k"'


MEMORY_OPS = [
    kind
    for kind in OPS.values()
    if {"base", "path"} <= {f.name for f in fields(kind)} and kind not in {Place, HostView}
]
"""The ops that touch a place; a reference or a view is no access by itself."""


def made_of(kind: type[Op], array: Value) -> Op:
    """An op on element 0 of an array; every other operand is that 0."""
    b = Builder()
    zero = b.value(Constant, 0, type=I32)
    values: dict[str, object] = {"operand": zero, "operands": (zero,), "attribute": "add"}
    given: dict[str, Any] = {name: values.get(role) for name, role in roles(kind)}
    given.update(base=array, path="[]")
    return kind(**given, result=Value(I32))


@pytest.mark.parametrize("kind", MEMORY_OPS, ids=lambda kind: kind.mnemonic)
def test_every_op_on_a_place_is_seen(kind: type[Op]) -> None:
    array = Value(NDArrayType(I32, 1), "a")
    b = Builder()
    b.emit(made_of(kind, array))
    entry = Func("k", (Value(KERNEL_CONTEXT), array), NONE, b.block(), "kernel")
    (found,) = access_table(KernelGraph((entry,))).parameters
    known: dict[type[Op], AccessMode] = {Load: AccessMode.READS, Store: AccessMode.WRITES}
    wanted = known.get(kind, AccessMode.BOTH)
    assert found.fields == {"[]": wanted}


def test_a_thousand_names_are_no_trouble() -> None:
    names = "\n".join(f"x{i} = x{i - 1} if n > {i} else b" for i in range(1, 300))
    assert touched(f"x0 = a\n{names}\nx299.array[0] = 1") == {
        "a.array[]": "writes",
        "b.array[]": "writes",
    }
