"""Numbers of a work item that lie side by side: loaded and stored together, as if one by one."""

import ctypes
import mmap
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.codegen.llvm_run import call, compiled, host_target, run_llvm
from tests.codegen.running import graph_of
from tests.reflect.kernel_cases import kernel

from trilby.backend.native.modules import generated as generate

DTYPES = {"f32": "f4", "f64": "f8", "i16": "i2", "u8": "u1"}


def made(lines: list[str], type_: str = "f32") -> Any:
    """A kernel of some lines, with two arrays."""
    body = "".join(f"    {line}\n" for line in lines)
    return kernel(
        f"@tb.kernel\n"
        f"def k(kc: KernelContext, out: NDArray[{type_}], a: NDArray[{type_}]) -> None:\n{body}"
    )


def by_python(lines: list[str], count: int, out: Any, a: Any) -> None:
    """The same lines, for one work item after the other."""
    names: dict[str, Any] = {}
    body = "".join(f"    {line}\n" for line in lines)
    exec(f"def k(kc, out, a):\n{body}", names)  # noqa: S102 -- the lines stand in this file
    for x in range(count):
        names["k"](SimpleNamespace(x=x), out, a)


def moves(step: int, members: list[int]) -> list[str]:
    """Read some members, and write what is next to the one before."""
    reads = [f"v{n} = a[kc.x * {step} + {member}]" for n, member in enumerate(members)]
    last = len(members) - 1
    writes = [f"out[kc.x * {step} + {m}] = v{last - n}" for n, m in enumerate(members)]
    return [*reads, *writes]


@pytest.mark.parametrize(
    ("type_", "width"),
    [("f32", 128), ("f32", 256), ("f32", 512), ("f64", 256), ("i16", 256), ("u8", 256)],
)
@pytest.mark.parametrize(
    ("step", "members"),
    [
        (2, [1, 0]),
        (3, [0, 1, 2]),
        (3, [2, 0]),
        (4, [3, 1, 2, 0]),
        (4, [0, 1, 2]),
        (4, [1, 2, 3]),
        (5, [0, 1, 2, 3, 4]),
    ],
)
def test_members(step: int, members: list[int], type_: str, width: int) -> None:
    """Those that a kernel does not write stay what they are."""
    count = 77
    lines = moves(step, members)
    a = np.random.default_rng(1).integers(0, 200, count * step).astype(DTYPES[type_])
    out = np.full(count * step, 7, DTYPES[type_])
    found = run_llvm(made(lines, type_), count, out, a, target=host_target(width))[0]
    by_python(lines, count, out, a)
    assert np.array_equal(found, out)


HAZARDS = {
    "what was stored is read": [
        "out[kc.x * 2] = a[kc.x * 2] + 1",
        "out[kc.x * 2 + 1] = out[kc.x * 2] * 2",
    ],
    "a number is stored twice": [
        "out[kc.x * 2] = 1",
        "out[kc.x * 2] = 2",
        "out[kc.x * 2 + 1] = 3",
        "out[kc.x * 2 + 1] = 4",
    ],
    "each number takes the place of the one before": [
        "out[kc.x * 4] = a[kc.x * 4 + 1]",
        "out[kc.x * 4 + 1] = a[kc.x * 4 + 2]",
        "out[kc.x * 4 + 2] = a[kc.x * 4 + 3]",
        "out[kc.x * 4 + 3] = a[kc.x * 4]",
    ],
    "a branch between": [
        "v = a[kc.x * 2]",
        "if v > 100:",
        "    a[kc.x * 2 + 1] = 5",
        "out[kc.x * 2] = v",
        "if v < 50:",
        "    out[kc.x * 2] = 9",
        "out[kc.x * 2 + 1] = a[kc.x * 2 + 1]",
    ],
    "some leave between": [
        "out[kc.x * 2] = a[kc.x * 2]",
        "if a[kc.x * 2] > 100:",
        "    return",
        "out[kc.x * 2 + 1] = a[kc.x * 2 + 1]",
    ],
    "farther apart than a step": [
        "v = a[kc.x * 2] + a[kc.x * 2 + 1] + a[kc.x * 2 + 3]",
        "out[kc.x * 2] = v",
        "out[kc.x * 2 + 1] = v + 1",
    ],
}


READS_OF_OTHERS = {"farther apart than a step"}
"""Those in which a work item reads what another would write, were both arrays the same."""


@pytest.mark.parametrize(
    ("name", "is_one_array"),
    [
        *((name, False) for name in HAZARDS),
        *((name, True) for name in HAZARDS if name not in READS_OF_OTHERS),
    ],
)
def test_order_within_a_work_item(name: str, *, is_one_array: bool) -> None:
    """Also where both arrays are the same one."""
    count = 75
    lines = HAZARDS[name]
    given = np.random.default_rng(2).integers(0, 200, count * 4 + 4).astype(np.int32)
    out = given if is_one_array else np.zeros_like(given)
    found = run_llvm(made(lines, "i32"), count, out, given, target=host_target(256))[0]
    expected = out.copy()
    by_python(lines, count, expected, expected if is_one_array else given.copy())
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("step", [2, 3, 4])
def test_whole_vectors_are_stored(step: int) -> None:
    graph = graph_of(made(moves(step, [*range(step)])), (1, 1))
    text = generate(graph, host_target(256)).text
    whole = text[text.index("define") : text.index("rest")]
    assert "store float" not in whole
    assert "extractelement" not in whole


@pytest.mark.parametrize(
    ("step", "members"), [(2, [0, 1]), (3, [0, 1]), (4, [0, 1, 2]), (4, [1, 2])]
)
def test_nothing_is_touched_outside_of_the_array(step: int, members: list[int]) -> None:
    """The numbers end where memory ends that can be read."""
    page = mmap.PAGESIZE
    count = page // 4 // step
    area = mmap.mmap(-1, 2 * page)
    whole = np.frombuffer(area, np.float32)
    missing = step - 1 - max(members)
    inner = whole[page // 4 - count * step + missing : page // 4]
    inner[:] = np.arange(len(inner))
    out = np.zeros(count * step, np.float32)
    lines = moves(step, members)
    expected = out.copy()
    by_python(lines, count, expected, inner.copy())
    graph = graph_of(made(lines), (1, 1))
    built = compiled(graph, host_target(256))
    libc = ctypes.CDLL(None, use_errno=True)
    behind = ctypes.c_void_p(whole.ctypes.data + page)
    try:
        assert libc.mprotect(behind, page, 0) == 0
        call(built, graph, count, [out, inner])
    finally:
        libc.mprotect(behind, page, mmap.PROT_READ | mmap.PROT_WRITE)
    assert np.array_equal(out, expected)
