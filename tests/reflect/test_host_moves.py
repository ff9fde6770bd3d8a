"""`put`, `get` and chains of them: no number is read, and dispatches are seen."""

from typing import Any

import pytest
from tests.runtime.programs import Table, add, collect

import trilby as tb
from trilby import ComputeContext, S32Array
from trilby.codegen.python import to_python
from trilby.model.ops.host import Dispatch
from trilby.reflect.functions import Compute
from trilby.reflect.host_functions import reflect_compute


@tb.compute
def chained(cc: ComputeContext, a: S32Array, table: Table) -> None:
    cc.put(a, table.count).dispatch(a.length, collect, a, table).get(table.count)
    (
        cc.put(a)
        .dispatch(a.length, add, a, 1)
        .get(a.array[0], a.array[:2], table.row[1], table.row[a.length - 1].key)
    )


@tb.compute
def given_away(cc: ComputeContext, holder: Any, buffers: list[S32Array], key: str) -> Any:
    cc.get(holder.buffer, buffers[0], holder.table[key, 1])
    return [cc.get(*buffers)]


@tb.compute
def with_a_block(cc: ComputeContext, a: S32Array) -> None:
    with cc.explicit():
        cc.dispatch(a.length, add, a, 1)


@tb.compute(explicit=True)
def all_a_block(cc: ComputeContext, a: S32Array) -> None:
    cc.dispatch(a.length, add, a, 1)


@tb.compute
def automatic(cc: ComputeContext, a: S32Array, words: dict[str, int]) -> int | None:
    cc.dispatch(a.length, add, a, 1)
    return words.get("a")


def test_numbers_are_given_by_their_place() -> None:
    first, second = to_python(reflect_compute(chained).func).splitlines()[1:3]
    assert first.strip() == (
        "cc.put(a, cc.field(table, 'count')).dispatch(a.length, collect, a, table)"
        ".get(cc.field(table, 'count'))"
    )
    assert second.strip() == (
        "cc.put(a).dispatch(a.length, add, a, 1).get(cc.field(a.array, 0), a.array[:2], "
        "cc.field(table.row, 1), cc.field(table.row[a.length - 1], 'key'))"
    )


def test_what_no_type_is_known_of_is_looked_up_when_it_runs() -> None:
    text = to_python(reflect_compute(given_away).func)
    assert "cc.get(cc.field(holder, 'buffer'), cc.field(buffers, 0)," in text
    assert "cc.field(holder.table, (key, 1)))" in text
    assert "[cc.get(*buffers)]" in text


def test_dispatches_in_a_chain_are_in_the_model_with_their_own_line() -> None:
    start = chained.location.line
    found = [op for op in reflect_compute(chained).func.body.ops if isinstance(op, Dispatch)]
    assert [op.location.line - start for op in found] == [2, 5]
    assert [op.kernel.rpartition(".")[2] for op in found] == ["collect", "add"]


@pytest.mark.parametrize("function", [chained, given_away, with_a_block, all_a_block])
def test_functions_that_say_what_moves(function: Compute[..., Any]) -> None:
    assert reflect_compute(function).says_what_moves


def test_a_get_of_something_else_says_nothing() -> None:
    reflected = reflect_compute(automatic)
    assert not reflected.says_what_moves
    assert "words.get('a')" in to_python(reflected.func).replace('"', "'")
