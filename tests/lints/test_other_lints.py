"""Waste and slips in kernels, and what compute functions do with them."""

import numpy as np
import pytest
from tests.lints import other_programs as programs

import trilby as tb
from trilby import Accelerator, NDRange, S32Array, Transfers
from trilby.linting.findings import Report
from trilby.reflect.functions import Compute, Kernel


def ids(report: Report) -> set[str]:
    return {finding.lint for finding in report.findings}


@pytest.mark.parametrize(
    ("kernel", "lint"),
    [
        (programs.has_too_many, "unused-parameter"),
        (programs.hands_on_for_nothing, "unused-parameter"),
        (programs.writes_for_nobody, "write-unseen"),
        (programs.writes_twice, "write-unseen"),
        (programs.takes_no_turns, "pass-parity"),
        (programs.counts, "shared-counter"),
        (programs.slips_into_double, "f64-in-f32"),
        (programs.runs_down_columns, "strided-access"),
    ],
)
def test_waste_is_found(kernel: Kernel[...], lint: str) -> None:
    report = tb.lint(kernel)
    assert lint in ids(report), str(report)
    (finding,) = report.of(lint)
    assert finding.severity in {"warning", "hint"}
    assert finding.location.file == programs.__file__


def test_each_parameter_that_is_not_used_is_told() -> None:
    found = tb.lint(programs.has_far_too_many).of("unused-parameter")
    assert [finding.about for finding in found] == ["b", "n"]


@pytest.mark.parametrize(
    "kernel",
    [
        programs.takes_turns,
        programs.runs_along_rows,
        programs.add_one,
        programs.writes_and_corrects,
    ],
)
def test_what_is_fine_is_not_told(kernel: Kernel[...]) -> None:
    assert ids(tb.lint(kernel)) == set()


def test_groups_that_leave_lanes_idle() -> None:
    (finding,) = tb.lint(programs.add_one, range=NDRange(48, local=24)).findings
    assert finding.lint == "wasted-lanes"
    assert "8 of 32 lanes" in finding.message
    assert tb.lint(programs.add_one, range=NDRange(64, local=32)).findings == ()


# -- comments


def test_a_comment_silences_its_line() -> None:
    report = tb.lint(programs.silent_line)
    assert (report.verdict, report.silenced) == ("clean", 1)


def test_a_comment_silences_its_function() -> None:
    report = tb.lint(programs.silent_function)
    assert (report.verdict, report.silenced) == ("clean", 1)


def test_a_comment_with_another_id_silences_nothing() -> None:
    report = tb.lint(programs.silent_for_another)
    assert (report.verdict, report.silenced) == ("bug", 0)


# -- dispatches


@pytest.mark.parametrize(
    "function",
    [
        programs.adds,
        programs.differs_within,
        programs.hands_on_two,
        programs.never_the_same,
        programs.takes_turns_by_names,
        programs.rows_long_enough,
        programs.wraps_at_its_range,
    ],
)
def test_dispatches_that_fit(function: Compute[..., object]) -> None:
    report = tb.lint(function)
    assert report.verdict == "clean", str(report)


@pytest.mark.parametrize(
    ("function", "lint"),
    [
        (programs.rounds_up, "out-of-bounds"),
        (programs.differs_beyond, "out-of-bounds"),
        (programs.onto_itself, "race-read-write"),
        (programs.under_another_name, "race-read-write"),
        (programs.twice_from_a_list, "race-read-write"),
        (programs.hands_on_twice, "race-read-write"),
        (programs.rows_too_short, "race-write-write"),
        (programs.wraps_at_another_length, "race-write-write"),
        (programs.wraps_at_another_call, "race-write-write"),
        (programs.wraps_at_a_later_number, "race-write-write"),
        (programs.wraps_at_a_later_length, "race-write-write"),
    ],
)
def test_dispatches_that_do_not(function: Compute[..., object], lint: str) -> None:
    report = tb.lint(function)
    assert report.verdict == "bug", str(report)
    assert lint in ids(report)
    assert any(where.line > 0 for where in report.of(lint)[0].others)


@pytest.mark.parametrize(
    "function",
    [
        programs.perhaps_the_same,
        programs.perhaps_the_same_by_calls,
        programs.perhaps_the_same_later,
    ],
)
def test_two_arguments_that_may_be_one_buffer(function: Compute[..., object]) -> None:
    report = tb.lint(function)
    (finding,) = report.of("race-read-write")
    assert report.verdict == "unknown"
    assert finding.message.startswith("if `a` and `b` are one buffer here: work item ")


def test_what_a_dispatch_leaves_open_is_told() -> None:
    report = tb.lint(programs.as_long_as_another)
    assert report.verdict == "clean"
    assert report.assumptions == ("the range along x is no longer than `a.array[]`",)
    assert tb.lint(programs.adds).assumptions == ()


# -- transfers


@pytest.mark.parametrize(
    ("function", "lint", "severity"),
    [
        (programs.looks_every_time, "copy-in-loop", "warning"),
        (programs.writes_every_time, "copy-in-loop", "warning"),
        (programs.forgets_the_result, "never-read-back", "warning"),
        (programs.keeps_a_raw_view, "raw-view-kept", "warning"),
    ],
)
def test_needless_copies_are_found(
    function: Compute[..., object], lint: str, severity: str
) -> None:
    report = tb.lint(function)
    assert lint in ids(report), str(report)
    assert report.of(lint)[0].severity == severity


def test_the_cost_of_a_turn_is_told() -> None:
    (finding,) = tb.lint(programs.looks_every_time).of("copy-in-loop")
    cost = "`a` (4 × length bytes) from the device"
    assert finding.message == f"every turn of this loop copies {cost}"
    assert "behind the loop" in finding.advice
    (finding,) = tb.lint(programs.looks_at_one_every_time).of("copy-in-loop")
    assert finding.message == (
        "every turn of this loop copies an element of `a` (4 bytes) from the device"
    )
    assert finding.severity == "hint"


@pytest.mark.parametrize(
    "function",
    [programs.looks_at_last, programs.gives_the_result, programs.lets_go_of_a_raw_view],
)
def test_what_costs_nothing_is_not_told(function: Compute[..., object]) -> None:
    assert ids(tb.lint(function)) == set()


@pytest.mark.parametrize(
    ("function", "call"),
    [(programs.puts_twice, "`put` of `a`"), (programs.gets_and_puts_back, "`put` of `b`")],
)
def test_a_transfer_right_behind_another_is_found(
    function: Compute[..., object], call: str
) -> None:
    (finding,) = tb.lint(function).of("transfer-repeated")
    assert finding.message.startswith(f"this {call} moves nothing")
    assert finding.severity == "warning"


@pytest.mark.parametrize("function", [programs.puts_what_is_there, programs.puts_what_has_changed])
def test_a_transfer_that_something_stands_before_is_not_told(
    function: Compute[..., object],
) -> None:
    assert tb.lint(function).of("transfer-repeated") == ()


# -- ledgers


def recorded(function: Compute[..., object], transfers: Transfers = Transfers.AUTO) -> Report:
    accelerator = Accelerator("interpreter", memory="discrete", transfers=transfers)
    a, b = (S32Array.of(np.arange(8, dtype=np.int32)) for _ in range(2))
    with accelerator.record() as ledger:
        accelerator.compute(function, a, b)
    return tb.lint(ledger)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (programs.puts_twice, ["this `put` of `a` moved nothing new"]),
        (
            programs.puts_what_is_there,
            [
                "this `put` of `a` moved nothing new, 2 times",
                "this `put` of `b` moved nothing new, 2 times",
            ],
        ),
        (programs.puts_what_has_changed, []),
    ],
)
def test_transfers_that_moved_nothing_are_told(
    function: Compute[..., object], told: list[str]
) -> None:
    found = recorded(function).of("transfer-redundant")
    assert [finding.message for finding in found] == told
    assert all(finding.location.file == programs.__file__ for finding in found)


def test_a_recorded_run_that_copies_just_in_case() -> None:
    accelerator = Accelerator("interpreter", transfers=Transfers.ALWAYS)
    a = S32Array.of(np.arange(8, dtype=np.int32))
    with accelerator.record() as ledger:
        accelerator.compute(programs.adds, a)
        accelerator.compute(programs.adds, a)
    assert ids(tb.lint(ledger)) & {"transfer-duplicate", "transfer-round-trip", "transfer-unused"}


def test_a_recorded_run_that_is_as_good_as_can_be() -> None:
    accelerator = Accelerator("interpreter")
    a = S32Array.of(np.arange(8, dtype=np.int32))
    with accelerator.record() as ledger:
        accelerator.compute(programs.adds, a)
        accelerator.compute(programs.adds, a)
        assert a.array[0] == 2
    assert ids(tb.lint(ledger)) == set()


def test_a_host_statement_that_had_better_be_a_kernel() -> None:
    accelerator = Accelerator("interpreter")
    a = S32Array.of(np.arange(64, dtype=np.int32))
    with accelerator.record() as ledger:
        accelerator.compute(programs.adds, a)
        a.array[:] = a.array[:] * 2
        accelerator.compute(programs.adds, a)
        assert a.array[1] == 5
    (finding,) = tb.lint(ledger).of("host-statement-to-kernel")
    assert "bytes" in finding.message
    assert finding.location.file == __file__
