"""What a compute function has done for good when it has come to some line."""

from typing import Any

import pytest
from tests.analysis.effect_programs import (
    calls,
    calls_another,
    changes,
    counts_down,
    hides_names,
    in_order,
    leaves_nothing,
    moves_data_itself,
    sets_a_global,
    writes,
    writes_by_functions,
)

from trilby.analysis.host.visible_effects import visible_effects
from trilby.reflect.functions import Compute
from trilby.runtime.compile import analyse_compute
from trilby.source import Location, line_text

WRITES = "writes to a buffer"
CHANGES = "may change an object from outside"
CALLS = "calls code that is not known"
SETS = "sets a name of an outer scope"


def found(function: Compute[..., Any], line: int | None = None, *fixed: str) -> list[str]:
    graph = analyse_compute(function).graph
    effects = visible_effects(graph, line, fixed)
    return [f"{line_text(effect.location).strip()}: {effect.what}" for effect in effects]


def all_are(function: Compute[..., Any], what: str, *left_out: str) -> None:
    """Every line of a function does that, but for some."""
    lines = [entry.rpartition(": ")[0] for entry in found(function)]
    assert {entry.rpartition(": ")[2] for entry in found(function)} == {what}
    code = function.function.__code__
    source = {line for _, _, line in code.co_lines() if line and line > code.co_firstlineno + 1}
    texts = [line_text(Location(code.co_filename, line)).strip() for line in sorted(source)]
    assert [text for text in texts if text not in lines] == list(left_out)


def test_writes_to_buffers() -> None:
    all_are(writes, WRITES)


def test_writes_by_functions_of_numpy() -> None:
    all_are(writes_by_functions, WRITES)


def test_changes_of_objects() -> None:
    all_are(changes, CHANGES, "pass")


def test_calls_of_code_that_is_not_known() -> None:
    all_are(calls, CALLS, "pass", "sum(first, ordered)")


def test_a_global_name() -> None:
    (effect,) = found(sets_a_global)
    assert effect.endswith(SETS)


def test_names_that_mean_something_else() -> None:
    assert found(hides_names) == [
        f"len(): {CALLS}",
        f"[log.append(1) for log in things]: {CALLS}",
        f"other.append(1): {CALLS}",
        f"last.append(1): {CALLS}",
        f"log.append(1): {CALLS}",
    ]


def test_what_is_made_and_kept_inside_leaves_no_trace() -> None:
    assert found(leaves_nothing) == []


def test_copies_that_the_run_time_knows_leave_no_trace() -> None:
    assert found(moves_data_itself) == []


def test_numbers_are_not_changed_in_place() -> None:
    assert found(counts_down) == [f"n -= 1: {CHANGES}"]
    assert found(counts_down, None, "n") == []


def test_another_compute_function_counts_as_it_is_reached() -> None:
    assert len(found(calls_another)) == 3
    first = calls_another.function.__code__.co_firstlineno + 2
    assert found(calls_another, first) == []


@pytest.mark.parametrize(
    ("line", "reached"),
    [
        (2, []),
        (3, ["f(1)"]),
        (5, ["f(1)", "f(2),", "f(3)"]),
        (10, ["f(1)", "f(2),", "f(3)"]),
        (11, ["f(1)", "f(2),", "f(3)", "f(4),"]),
        (16, ["f(1)", "f(2),", "f(3)", "f(4),", "f(5)"]),
        (None, ["f(1)", "f(2),", "f(3)", "f(4),", "f(5)"]),
    ],
)
def test_what_comes_later_was_not_done(line: int | None, reached: list[str]) -> None:
    first = in_order.function.__code__.co_firstlineno
    effects = found(in_order, None if line is None else first + line)
    assert effects == [f"{text}: {CALLS}" for text in reached]
