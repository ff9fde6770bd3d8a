"""What many passes touch, beside what they really do, byte by byte, on the interpreter."""

from random import Random

import numpy as np
import pytest
from tests.analysis.recorded_accesses import Launched, as_set, launched_passes
from tests.analysis.test_footprint import elements
from tests.reflect.kernel_cases import analysed, indented, kernel

from trilby.analysis.footprint import LaunchNumbers
from trilby.analysis.pass_footprints import FEW_PASSES, PassFootprints
from trilby.analysis.reach import KernelGraph
from trilby.data.touched import Touched

LENGTH, N, PASSES = 16, 3, 13
PARAMS = "a: NDArray[i32], b: NDArray[i32], n: i32"
SIZE = 8


def graph_of(lines: str) -> KernelGraph:
    text = f"@tb.kernel\ndef k(kc: KernelContext, {PARAMS}):\n{indented(lines)}"
    return analysed(kernel(text), (1, 1)).graph


def told(lines: str, passes: int = 1000, part: range | None = None) -> tuple[Touched, ...]:
    text = f"@tb.kernel\ndef k(kc: KernelContext, {PARAMS}):\n{indented(lines)}"
    numbers = LaunchNumbers((SIZE, 1, 1), None, ((LENGTH,), (LENGTH,), N))
    found = PassFootprints(analysed(kernel(text), (1, 1)).footprint, numbers, passes)
    return found.all if part is None else found.over(part)


def sets(found: Touched) -> tuple[set[int], set[int], set[int]]:
    return elements(found.reads), elements(found.writes), elements(found.covers)


NONE: set[int] = set()
FRONT = set(range(SIZE))
ALL = set(range(LENGTH))

FLIP = """
if kc.pass_id % 2 == 0:
    b[kc.x] = a[kc.x]
else:
    a[kc.x] = b[kc.x]
"""


def test_flipping_needs_one_of_two_buffers() -> None:
    a, b = told(FLIP)
    assert sets(a) == (FRONT, FRONT, FRONT)
    assert sets(b) == (NONE, FRONT, FRONT)


def test_flipping_from_an_odd_pass_on_needs_the_other() -> None:
    a, b = told(FLIP, part=range(7, 90))
    assert (sets(a)[0], sets(b)[0]) == (NONE, FRONT)


def test_a_single_pass_is_only_itself() -> None:
    a, b = told(FLIP, part=range(4, 5))
    assert sets(a) == (FRONT, NONE, NONE)
    assert sets(b) == (NONE, FRONT, FRONT)


@pytest.mark.parametrize(
    "condition",
    [
        "kc.pass_id == 0",
        "0 == kc.pass_id",
        "kc.pass_id < 1",
        "kc.pass_id <= 0",
        "not kc.pass_id != 0",
        "kc.pass_id + 5 == 5",
        "kc.pass_id - n == -3",
        "kc.pass_id * 1 == 0",
        "i64(kc.pass_id) == 0",
    ],
)
def test_a_first_pass_that_sets_everything_leaves_nothing_to_be_read(condition: str) -> None:
    lines = f"""
    if {condition}:
        a[kc.x] = 1
    else:
        b[kc.x] = a[kc.x]
    """
    a, b = told(lines)
    assert sets(a) == (NONE, FRONT, FRONT)
    assert sets(b) == (NONE, FRONT, FRONT)


def test_a_later_pass_that_sets_everything_comes_too_late() -> None:
    a, _ = told("if kc.pass_id == 500:\n    a[kc.x] = 1\nelse:\n    b[kc.x] = a[kc.x]")
    assert sets(a) == (FRONT, FRONT, FRONT)


def test_what_a_pass_may_leave_is_needed_though_a_later_one_sets_it() -> None:
    """The run may be stopped in between."""
    lines = """
    if kc.pass_id == 3:
        a[kc.x] = 1
    elif b[kc.x] > 0:
        a[kc.x] = 2
    """
    a, _ = told(lines)
    assert sets(a) == (FRONT, FRONT, FRONT)
    a, _ = told(lines, part=range(3))
    assert sets(a) == (NONE, FRONT, NONE)


def test_every_kind_of_pass_counts() -> None:
    """Only every seventh pass from the hundredth on reads `b`."""
    lines = "if kc.pass_id >= 100 and kc.pass_id % 7 == 2:\n    a[kc.x] = b[kc.x]"
    assert sets(told(lines, part=range(100))[1])[0] == NONE
    assert sets(told(lines, part=range(100, 107))[1])[0] == FRONT
    assert sets(told(lines)[1])[0] == FRONT


def test_a_row_for_each_pass_is_may_be_any_of_them() -> None:
    """So many passes are not told apart by an index: what any may write, and what none surely."""
    a, _ = told("a[kc.pass_id] = 1", passes=LENGTH)
    reads, writes, covers = sets(a)
    assert writes == ALL
    assert covers == {0}
    assert reads == NONE
    few, _ = told("a[kc.pass_id] = 1", passes=FEW_PASSES)
    assert sets(few) == (NONE, set(range(FEW_PASSES)), set(range(FEW_PASSES)))


@pytest.mark.parametrize(
    ("lines", "surely"),
    [
        ("for i in range(kc.pass_id % 20):\n    if i < 16:\n        a[i] = 1", ALL),
        ("for i in range(kc.pass_id):\n    if i < 16:\n        a[i] = 1", {0}),
        ("i = kc.pass_id // 64\nif i < 16:\n    a[i] = 1", {0}),
        ("if kc.x < kc.pass_id:\n    a[kc.x + 8] = 1\n    a[kc.x] = 1", NONE),
    ],
)
def test_passes_that_reach_further_and_further_are_not_taken_for_the_first(
    lines: str, surely: set[int]
) -> None:
    a, _ = told(lines)
    _, writes, covers = sets(a)
    assert writes == ALL
    assert covers == surely


def test_a_number_that_wraps_is_not_followed() -> None:
    lines = "if i32(i8(kc.pass_id)) == -1:\n    a[kc.x] = b[kc.x]"
    assert sets(told(lines, passes=100)[1])[0] == NONE
    assert sets(told(lines, passes=300)[1])[0] == FRONT


# ------------------------------------------------------------------------- against the truth

CONDITIONS = (
    "kc.pass_id % 2 == 0",
    "kc.pass_id % 3 == 1",
    "kc.pass_id & 1",
    "(kc.pass_id + 1) % n == 0",
    "kc.pass_id == 0",
    "kc.pass_id < 3",
    "kc.pass_id >= 9",
    "kc.pass_id != n",
    "kc.x < kc.pass_id",
    "kc.x == kc.pass_id",
    "b[0] > kc.pass_id",
    "kc.pass_id // 2 % 2 == 0",
    "kc.x > 4",
)
INDICES = (
    "kc.x",
    "kc.x + 8",
    "(kc.x + kc.pass_id) % 16",
    "kc.pass_id",
    "2 * kc.x",
    "kc.pass_id % 2 * 8 + kc.x",
    "0",
    "min(kc.x, kc.pass_id)",
)


def some_lines(random: Random, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for _ in range(random.randint(1, 3)):
        kind = random.random()
        target, source = random.sample("ab", 2)
        if kind < 0.35 and depth < 2:
            condition = random.choice(CONDITIONS)
            condition = f"{condition} != 0" if "&" in condition else condition
            lines += [f"if {condition}:", *inner(random, depth)]
            if random.random() < 0.5:
                lines += ["else:", *inner(random, depth)]
        elif kind < 0.5 and depth < 2:
            bound = random.choice(["kc.pass_id % 3", "2", "kc.pass_id", "n"])
            lines += [f"for i in range(min({bound}, 4)):", f"    {target}[i] = i"]
        else:
            index, other = random.choice(INDICES), random.choice(INDICES)
            lines.append(f"{target}[{index}] = {source}[{other}] + 1")
    return lines


def inner(random: Random, depth: int) -> list[str]:
    return [f"    {line}" for line in some_lines(random, depth + 1)]


@pytest.mark.parametrize("seed", range(60))
def test_no_pass_does_what_was_not_told(seed: int) -> None:
    random = Random(seed)  # noqa: S311 -- the same in every run
    lines = "\n".join(some_lines(random))
    numbers = np.arange(LENGTH, dtype=np.int32)
    ran = launched_passes(graph_of(lines), SIZE, PASSES, numbers, numbers, N)
    launch = LaunchNumbers((SIZE, 1, 1), None, ran[0].numbers.arguments)
    found = PassFootprints(ran[0].footprint, launch, PASSES)
    first = random.randint(0, PASSES - 1)
    for part in (range(PASSES), range(first, PASSES), range(first + 1)):
        for number, one in enumerate(found.over(part)):
            problem = problems(one, [ran[p] for p in part], number)
            assert not problem, f"{part} of\n{lines}\n{'ab'[number]} {problem}"
        assert_prefixes_are_whole(found, part)


def problems(one: Touched, passes: list[Launched], number: int) -> str:
    """How a footprint is wrong about passes that were run."""
    written: set[int] = set()
    reads, writes, covers = as_set(one.reads), as_set(one.writes), as_set(one.covers)
    for ran in passes:
        recorded = ran.buffers[number].recorded
        if recorded.reads - written - reads:
            return "is read, and that is not said"
        written |= recorded.writes
    if written - writes:
        return "is written, and that is not said"
    return "is not written, though that was sure" if covers - written else ""


def assert_prefixes_are_whole(found: PassFootprints, part: range) -> None:
    """What is brought for all passes is enough for those up to any of them."""
    brought = [as_set(one.reads | (one.writes - one.covers)) for one in found.over(part)]
    for stop in range(part.start + 1, part.stop + 1):
        for one, there in zip(found.over(range(part.start, stop)), brought, strict=True):
            assert as_set(one.reads | (one.writes - one.covers)) <= there
