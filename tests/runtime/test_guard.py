"""`accelerator.guard()`, and the log that says what moves."""

import logging
import re
from pathlib import Path

import pytest
from tests.runtime.programs import (
    add,
    add_to,
    dispatch,
    number,
)

from trilby import Accelerator, S32Array
from trilby.errors import (
    GuardError,
)


def test_a_guard_lets_through_what_moves_nothing(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    discrete.compute(dispatch, 8, add_to, a, b)
    with discrete.guard():
        for _ in range(3):
            discrete.compute(dispatch, 8, add_to, a, b)
        assert b.array[3] == 3
    assert a.array.tolist() == [5 * i for i in range(8)]


def test_a_guard_refuses_a_copy_to_the_device(discrete: Accelerator) -> None:
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    discrete.compute(dispatch, 8, add_to, a, b)
    b.array[2] = 7
    with discrete.guard(), pytest.raises(GuardError) as caught:
        discrete.compute(dispatch, 8, add_to, a, b)
    text = str(caught.value)
    assert "`b` has to move inside of `accelerator.guard()`: add_to reads it" in text
    assert re.search(r"the host wrote it at test_guard\.py:\d+", text)
    assert caught.value.location is not None
    assert caught.value.location.short.startswith("programs.py:")
    discrete.compute(dispatch, 8, add_to, a, b)
    assert a.array.tolist() == [0, 3, 11, *(3 * i for i in range(3, 8))]


def test_a_guard_refuses_a_copy_to_the_host(discrete: Accelerator) -> None:
    a = S32Array.of(range(8))
    discrete.compute(dispatch, 8, add, a, 1)
    with discrete.guard():
        with pytest.raises(GuardError, match="the host reads it; add wrote it at programs") as one:
            a.array.tolist()
        with discrete.guard(), pytest.raises(GuardError):
            a.array[2]
        with pytest.raises(GuardError):  # an inner guard ends, the outer one does not
            a.array[2]
        a.array[:4] = 0  # a write needs nothing
    assert one.value.location is not None
    assert one.value.location.short.startswith("test_guard.py:")
    assert a.array.tolist() == [0, 0, 0, 0, 5, 6, 7, 8]


def test_a_guard_refuses_nothing_where_the_memory_is_the_hosts(shared: Accelerator) -> None:
    a = S32Array.of(range(8))
    with shared.guard():
        shared.compute(dispatch, 8, add, a, 1)
        assert a.array.tolist() == list(range(1, 9))


def test_the_log_says_per_argument_what_moved_and_why(
    discrete: Accelerator, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("trilby"), "propagate", True)
    a, b = S32Array.of(range(8)), S32Array.of(range(8))
    with caplog.at_level(logging.DEBUG, "trilby"):
        for _ in range(2):
            discrete.compute(dispatch, 8, add_to, a, b)
        discrete.compute(dispatch, 8, number, b)
        a.array.tolist()  # logged
    line = dispatch.location.line + 3
    launch, read = f"programs.py:{line}", f"test_guard.py:{line_of('# logged')}"
    assert [record.message for record in caplog.records if "launch" not in record.message] == [
        f"a: moved 32 bytes up, because add_to reads and writes it; the host wrote it ({launch})",
        f"b: moved 32 bytes up, because add_to reads it; the host wrote it ({launch})",
        "add_to: a is present",
        "add_to: b is present",
        "number: b needs nothing of it",
        f"a: moved 32 bytes down, because the host reads it; add_to wrote it at {launch} ({read})",
    ]


def line_of(text: str) -> int:
    """The line of this file that has some text."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return 1 + next(number for number, line in enumerate(lines) if text in line)
