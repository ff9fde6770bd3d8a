"""`assert` and `print` in kernels: what they report, and what they leave alone."""

from typing import Any

import numpy as np
import pytest
from tests.conformance.running import Numbers, Size, launch
from tests.reflect.kernel_cases import kernel

import trilby as tb
from trilby import Accelerator, KernelContext, NDArray, NDRange, S32Array, f32, f64, i32, i64, u8
from trilby.errors import KernelAssertionError, UnsupportedSyntaxError
from trilby.reflect.functions import Kernel


class Pair(tb.Struct):
    low: i32
    high: i32


@tb.func
def checked(n: i32) -> i32:
    assert n != 40
    return n


@tb.func
def checked_pair(n: i32) -> Pair:
    assert n != 41, "no pair for it"
    return Pair(low=n, high=n + 1)


@tb.func
def check_only(a: S32Array, at: i32) -> None:
    assert a.array[at] < 100 or at > 900, "100% {too} big"


@tb.kernel
def careful(kc: KernelContext, a: S32Array) -> None:
    """Asserts in the kernel and in each kind of helper."""
    assert a.array[kc.x] >= 0
    check_only(a, kc.x)
    pair = checked_pair(a.array[kc.x])
    a.array[kc.x] = checked(a.array[kc.x]) + pair.high - pair.low


def finish(accelerator: Accelerator, size: Size, kernel: Kernel[...], *arguments: Any) -> None:
    """Launch a kernel and wait for it; whoever waits hears of a failure."""
    launch(accelerator, size, kernel, *arguments)
    accelerator.wait()


def interprets(accelerator: Accelerator) -> bool:
    """Whether a failure undoes the launch; elsewhere what other work items wrote stays."""
    return accelerator.device.kind == "software"


def failure(accelerator: Accelerator, numbers: list[int]) -> tuple[str, int, list[int]]:
    """What is said, the line it is said of, and what the host then has."""
    a = S32Array.of(numbers)
    with pytest.raises(KernelAssertionError) as caught:
        finish(accelerator, a.length, careful, a)
    assert caught.value.location is not None
    return caught.value.problem, caught.value.location.line, a.array.tolist()


def line_of(text: str) -> int:
    """The line of this file on which a text stands first."""
    with open(__file__, encoding="utf-8") as file:  # noqa: PTH123 -- as plain as it gets
        return next(number for number, line in enumerate(file, 1) if text in line)


def test_what_holds_says_nothing(accelerator: Accelerator) -> None:
    a = S32Array.of([1, 2, 3])
    launch(accelerator, 3, careful, a)
    assert a.array.tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("wrong", "says", "text"),
    [
        (-1, "`assert a.array[kc.x] >= 0` does not hold", "assert a.array[kc.x] >= 0"),
        (40, "`assert n != 40` does not hold", "assert n != 40"),
        (41, "`assert n != 41` does not hold: no pair for it", "assert n != 41"),
        (
            100,
            "`assert a.array[at] < 100 or at > 900` does not hold: 100% {too} big",
            "assert a.array[at] < 100",
        ),
    ],
)
def test_what_fails_is_named_with_its_work_item_and_line(
    accelerator: Accelerator, wrong: int, says: str, text: str
) -> None:
    numbers = [1, 2, wrong, 4]
    problem, line, afterwards = failure(accelerator, numbers)
    assert problem == f"{says}, in work item (2, 0, 0)"
    assert line == line_of(text)
    if interprets(accelerator):
        assert afterwards == numbers
    else:  # work items that run beside it may be ended with it
        assert afterwards[2] == wrong
        assert all(now - n in {0, 1} for n, now in zip(numbers, afterwards, strict=True))


def test_a_read_tells_of_a_failure_and_tells_it_once(accelerator: Accelerator) -> None:
    a = S32Array.of([1, -1])
    if interprets(accelerator):
        with pytest.raises(KernelAssertionError):
            launch(accelerator, 2, careful, a)
        return
    launch(accelerator, 2, careful, a)
    with pytest.raises(KernelAssertionError):
        a.array.tolist()
    assert a.array[1] == -1
    accelerator.wait()


@tb.kernel
def careful_group(kc: KernelContext, a: NDArray[i32]) -> None:
    tile = tb.local(i32, 2, 2)
    tile[kc.local_y, kc.local_x] = a[kc.y, kc.x]
    assert a[kc.y, kc.x] != 7, "seven"
    kc.barrier()
    a[kc.y, kc.x] = tile[kc.local_x, kc.local_y]


def test_a_failure_before_a_barrier(accelerator: Accelerator) -> None:
    numbers = np.arange(16, dtype=np.int32).reshape(4, 4)
    a = accelerator.array(numbers.copy())
    with pytest.raises(AssertionError, match=r"seven, in work item \(3, 1, 0\)"):
        finish(accelerator, NDRange((4, 4), (2, 2)), careful_group, a)
    afterwards = numbers if interprets(accelerator) else tiles_turned(numbers)
    assert np.array_equal(np.asarray(a), afterwards)
    a[1, 3] = 0
    afterwards = np.where(afterwards == 7, np.int32(0), afterwards)
    launch(accelerator, NDRange((4, 4), (2, 2)), careful_group, a)  # the device still works
    assert np.array_equal(np.asarray(a), tiles_turned(afterwards))


def tiles_turned(numbers: Numbers) -> Numbers:
    """A matrix of four rows and columns, each of its four tiles transposed."""
    return numbers.reshape(2, 2, 2, 2).transpose(0, 3, 2, 1).reshape(4, 4)


@tb.func
def not_two(n: i32) -> i32:
    assert n != 2
    return n


@tb.kernel
def talk_in_groups(kc: KernelContext, a: NDArray[i32]) -> None:
    tile = tb.local(i32, 4)
    tile[kc.local_x] = not_two(a[kc.x])
    print("past it", kc.x)
    kc.barrier()
    a[kc.x] = tile[3 - kc.local_x]


def test_with_barriers_a_device_runs_on_and_the_interpreter_stops(
    accelerator: Accelerator, capfd: pytest.CaptureFixture[str]
) -> None:
    a = accelerator.array(np.arange(4, dtype=np.int32))
    with pytest.raises(KernelAssertionError) as caught:
        launch(accelerator, NDRange(4, 4), talk_in_groups, a)  # it prints, and is waited for
    stops = interprets(accelerator)
    assert ("past it 2" in capfd.readouterr().out) is not stops
    assert [name for name, _ in caught.value.calls] == (["not_two"] if stops else [])
    assert np.asarray(a).tolist() == ([0, 1, 2, 3] if stops else [3, 2, 1, 0])


@tb.kernel
def after_failure(kc: KernelContext, a: S32Array, index: i32) -> None:
    """What is guarded by an `assert` is not reached when it fails."""
    assert 0 <= index < a.length
    a.array[index] = 1


@tb.func
def within(index: i32, length: i32) -> i32:
    assert 0 <= index < length
    return index


@tb.func
def pair_within(index: i32, length: i32) -> Pair:
    """The failure of a helper ends its callers, too."""
    return Pair(low=within(index, length), high=index)


@tb.kernel
def after_failure_in_helper(kc: KernelContext, a: S32Array, index: i32) -> None:
    a.array[pair_within(index, a.length).high] = 1


def test_a_failed_assert_ends_the_work_item(accelerator: Accelerator) -> None:
    a = S32Array.create(length=4)
    for failing in (after_failure, after_failure_in_helper):
        with pytest.raises(KernelAssertionError):
            finish(accelerator, 1, failing, a, 1 << 30)
    assert a.array.tolist() == [0, 0, 0, 0]


@tb.func
def report(n: i32) -> i32:
    print("helper", n)
    return n


@tb.kernel
def talk(kc: KernelContext, x: f32, d: f64, big: i64, b: u8, flag: bool) -> None:
    print("numbers", kc.x, x, d, big, b, flag)
    print(f"{x}|{kc.x + 1}|{big}", 'and "quotes", 100% \\ {braces} {} µ\ttab')
    print()
    print(x > 1.0, 1.5, True, 7, -x)
    if report(3) > 2:
        print("done")


SAID = """\
numbers 0 1.5 0.1 -1099511627776 200 True
1.5|1|-1099511627776 and "quotes", 100% \\ {braces} {} µ\ttab

True 1.5 True 7 -1.5
helper 3
done
"""


def test_print(accelerator: Accelerator, capfd: pytest.CaptureFixture[str]) -> None:
    launch(accelerator, 1, talk, 1.5, 0.1, -(2**40), 200, True)
    assert capfd.readouterr().out == SAID


@tb.kernel
def talk_everywhere(kc: KernelContext) -> None:
    print("item", kc.x, "of group", kc.group_x)


def test_every_work_item_prints(
    accelerator: Accelerator, capfd: pytest.CaptureFixture[str]
) -> None:
    launch(accelerator, NDRange(6, 3), talk_everywhere)
    lines = sorted(capfd.readouterr().out.splitlines())
    assert lines == [f"item {n} of group {n // 3}" for n in range(6)]


@tb.kernel
def talk_of_bools(kc: KernelContext, flags: NDArray[bool], n: i32, flag: bool) -> None:
    print(flags[kc.x], f"{not flag}|{n > 2 and flag}|{n == 3 or flag}", flag if n > 5 else n < 2)
    kept = flags[kc.x]
    kept = kept and n > 0
    print("kept", kept, bool(n), i32(kept), 1 < n < 5)


def test_a_bool_is_printed_as_python_prints_it(
    accelerator: Accelerator, capfd: pytest.CaptureFixture[str]
) -> None:
    launch(accelerator, 1, talk_of_bools, accelerator.array(np.array([True])), 3, False)
    expected = "True True|False|True False\nkept True True 1 True\n"
    assert capfd.readouterr().out == expected


@tb.kernel
def talk_of_floats(kc: KernelContext, a: NDArray[f32], b: NDArray[f64]) -> None:
    for k in range(8):
        print(a[k], b[k])


def test_floats_at_the_ends_of_their_range(
    accelerator: Accelerator, capfd: pytest.CaptureFixture[str]
) -> None:
    a = np.array([np.nan, np.inf, -np.inf, -0.0, 3.4e38, 1e-38, 123456.7, 1e6], np.float32)
    b = np.array([np.nan, np.inf, -np.inf, -0.0, 1.7e308, 2.3e-308, 1e16, 0.1])
    launch(accelerator, 1, talk_of_floats, accelerator.array(a), accelerator.array(b))
    expected = "".join(f"{x:g} {y:g}\n" for x, y in zip(a.tolist(), b.tolist(), strict=True))
    assert capfd.readouterr().out == expected


TEXTS = (
    "??/",
    "what??! ??= ??( ??) ??< ??> ??' ??- ???/",
    "100% %d %s %n %% %",
    "\\ \\n \\0 \\x41 \\",
    "\"quoted\" 'both'",
    "{} {0} {{}} }{ {x!r:>5}",
    "tab\tnewline\nbell\a\x1b[0m\x7f\x01",
    "größe π 変数 😀 \u2028\x85 \u202e",
    "*/ // # ; \n#line 1",
    "\x011\x002"[:2] + "7",
    "x" * 5000,
)
"""Texts that mean something to C, to `printf` or to `str.format`."""


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_a_text_is_printed_as_it_is(
    accelerator: Accelerator, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    made = kernel(
        f"@tb.kernel\ndef k(kc: KernelContext, n: i32) -> None:\n    print({text!r}, n, {text!a})\n"
    )
    launch(accelerator, 1, made, 5)
    assert capfd.readouterr().out == f"{text} 5 {text}\n"


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_no_device_can_print_is_refused(accelerator: Accelerator, text: str) -> None:
    made = kernel(f"@tb.kernel\ndef k(kc: KernelContext) -> None:\n    print({text!a})\n")
    with pytest.raises(UnsupportedSyntaxError, match="cannot write the character") as caught:
        launch(accelerator, 1, made)
    assert caught.value.location is not None
