"""What a group computes once between barriers, and what it asks for on behalf of the next one."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.codegen.llvm_run import host_target, run_llvm
from tests.codegen.running import graph_of
from tests.reflect.kernel_cases import kernel

from trilby.backend.native.modules import generated as generate
from trilby.data.ndrange import NDRange
from trilby.reflect.functions import Kernel

GROUP = 40


def waiting(*lines: str) -> Kernel[...]:
    """A kernel of groups with an array `part`, in which each work item `i` has put its number."""
    body = "".join(f"    {line}\n" for line in lines)
    return kernel(
        f"@tb.kernel\n"
        f"def k(kc: KernelContext, out: NDArray[i32], a: NDArray[i32]) -> None:\n"
        f"    part = tb.local(i32, {GROUP})\n"
        f"    i = kc.local_x\n"
        f"    part[i] = a[kc.x]\n"
        f"    kc.barrier()\n{body}"
    )


SUMS = (
    "step = 1",
    f"while step < {GROUP}:",
    "    before = part[i - step] if i >= step else 0",
    "    kc.barrier()",
    "    part[i] += before",
    "    kc.barrier()",
    "    step *= 2",
    "out[kc.x] = part[i]",
)


@pytest.mark.parametrize(("count", "width"), [(GROUP, 128), (3 * GROUP, 256), (3 * GROUP, 512)])
def test_a_counter_of_the_group(count: int, width: int) -> None:
    a = np.random.default_rng(1).integers(0, 100, count).astype(np.int32)
    size = NDRange(count, local=GROUP)
    out = np.zeros_like(a)
    found = run_llvm(waiting(*SUMS), size, out, a, target=host_target(width))[0]
    assert np.array_equal(found, np.cumsum(a.reshape(-1, GROUP), axis=1).ravel())


def _turns(number: int) -> int:
    for turn in range(4):
        number += turn
        if number > 50:
            return turn
    return 4


ALONE: dict[str, tuple[tuple[str, ...], Callable[[int], int]]] = {
    "set in a loop without barriers": (
        ("n = 0", "for j in range(4):", "    n += j", "kc.barrier()", "out[kc.x] = part[i] + n"),
        lambda number: number + 6,
    ),
    "read in a branch, and set behind it": (
        (
            "n = 1",
            "for turn in range(3):",
            "    if part[i] % 2 == 0:",
            "        part[i] += n",
            "    n = n + 2",
            "    kc.barrier()",
            "out[kc.x] = part[i] * 10 + n",
        ),
        lambda number: (number + 1 if number % 2 == 0 else number) * 10 + 7,
    ),
    "from memory": (
        ("n = a[0]", "kc.barrier()", "n = n * 2", "kc.barrier()", "out[kc.x] = part[i] - n"),
        lambda number: number - 2 * 7,
    ),
    "some leave": (
        (
            "turn = 0",
            "while turn < 4:",
            "    part[i] += turn",
            "    if part[i] > 50:",
            "        break",
            "    kc.barrier()",
            "    turn += 1",
            "out[kc.x] = turn",
        ),
        _turns,
    ),
    "one of two": (
        (
            "n = 3 if kc.group_x % 2 == 0 else 4",
            "if kc.max_x > 1:",
            "    kc.barrier()",
            "    n += 1",
            "kc.barrier()",
            "out[kc.x] = part[i] + n - (1 - kc.group_x % 2) * 3 - kc.group_x % 2 * 4",
        ),
        lambda number: number + 1,
    ),
}


@pytest.mark.parametrize("name", [*ALONE])
def test_variables_of_work_items_that_look_at_nobody_else(name: str) -> None:
    lines, meaning = ALONE[name]
    a = np.random.default_rng(1).integers(0, 60, 2 * GROUP + 5).astype(np.int32)
    a[0] = 7
    size = NDRange(len(a), local=GROUP)
    out = np.zeros_like(a)
    found = run_llvm(waiting(*lines), size, out, a, target=host_target(256))[0]
    assert found.tolist() == [meaning(number) for number in a.tolist()]


def test_the_counter_is_kept_once() -> None:
    """Its test is not in a loop over vectors: it stands between the label and the branch."""
    text = generate(graph_of(waiting(*SUMS), (1, 1)), host_target(256)).text
    loop = text[text.index("\nloop") :]
    test = loop[: loop.index("br i1")].splitlines()
    assert [line.split("= ")[1].split()[0] for line in test if "=" in line] == ["load", "icmp"]


def test_what_is_read_once_is_asked_for_ahead() -> None:
    loop = waiting(
        "for turn in range(4):",
        "    part[i] += a[kc.x + turn]",
        "    kc.barrier()",
        "out[kc.x] = part[i]",
    )
    text = generate(graph_of(loop, (1, 1)), host_target(256)).text
    asked = [line for line in text.splitlines() if "call void @llvm.prefetch" in line]
    assert [line.split("i32 ")[1][0] for line in asked] == ["0", "1"]
