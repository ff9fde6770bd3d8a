"""Chains of device functions: code is as long as the program, on every backend."""

import linecache
import math
from collections.abc import Callable
from itertools import count
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import trilby as tb
from trilby import (
    Accelerator,
    ComputeContext,
    KernelContext,
    NDArray,
    NDRange,
    S32Array,
    f32,
    i32,
)
from trilby.analysis.reach import DEEPEST, KernelGraph
from trilby.backend.interpreter.translate import translate
from trilby.backend.native.modules import generated as generate_llvm
from trilby.codegen.llvm.target import LlvmTarget
from trilby.codegen.opencl_c import generate as generate_opencl
from trilby.errors import BuildError, KernelAssertionError, RecursionRefusedError
from trilby.runtime.compile import analyse_kernel
from trilby.transform import inline_calls

TARGET = LlvmTarget(256, "x86_64-unknown-linux-gnu")
_NUMBERS = count()


def chain(depth: int, calls: int, *, extra: str = "", takes: str = "") -> Any:
    """Functions of which each calls the next so many times, and a kernel that calls the first."""
    passed = ", kc" if takes else ""
    lines = ["import trilby as tb", "@tb.func", f"def f0(v: tb.i32{takes}) -> tb.i32:"]
    lines += [f"    {extra}" if extra else "    pass", "    return v * 3 + 1"]
    for n in range(1, depth):
        parts = " + ".join(f"f{n - 1}(v + {k}{passed})" for k in range(calls))
        lines += ["@tb.func", f"def f{n}(v: tb.i32{takes}) -> tb.i32:", f"    return {parts} + {n}"]
    lines += [
        "@tb.kernel",
        "def k(kc: tb.KernelContext, a: tb.NDArray[tb.i32]) -> None:",
        f"    a[kc.x] = f{depth - 1}(a[kc.x]{passed})",
        "@tb.compute",
        "def run(cc, a):",
        "    cc.dispatch(tb.NDRange(a.shape[0], 1), k, a)",
    ]
    text, file = "\n".join(lines) + "\n", f"<chain {next(_NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = ModuleType("chain")
    exec(compile(text, file, "exec"), module.__dict__)  # noqa: S102 -- our own text
    return module


def graph_of(module: Any) -> KernelGraph:
    return analyse_kernel(module.k, (1,)).graph


def meant(v: int, depth: int, calls: int) -> int:
    """The same by Python, with the sum of a level from that of the one before."""
    # f_n(v) = scale * v + offset
    scale, offset = 3, 1
    for n in range(1, depth):
        scale, offset = scale * calls, offset * calls + scale * sum(range(calls)) + n
    return scale * v + offset


GENERATORS: list[Callable[[KernelGraph], str]] = [
    lambda graph: generate_llvm(graph, TARGET, lines=True).text,
    lambda graph: generate_opencl(graph).text,
    lambda graph: translate(graph).source,
]


@pytest.mark.parametrize("generate", GENERATORS, ids=["llvm", "opencl", "python"])
def test_code_is_as_long_as_the_program(generate: Callable[[KernelGraph], str]) -> None:
    short, long = (len(generate(graph_of(chain(depth, 3)))) for depth in (20, 40))
    assert long < 4 * short


@pytest.mark.parametrize("device", ["interpreter", "native", "opencl"])
@pytest.mark.parametrize(("depth", "calls"), [(13, 2), (40, 1)])
def test_chains_compute_what_python_computes(device: str, depth: int, calls: int) -> None:
    module = chain(depth, calls)
    with Accelerator(device) as accelerator:
        a = accelerator.array(np.arange(3, dtype=np.int32))
        accelerator.compute(module.run, a)
        expected = np.array([meant(v, depth, calls) for v in range(3)]).astype(np.int32)
        assert a.tolist() == expected.tolist()


def test_a_deep_chain_with_two_calls_each_on_the_native_device() -> None:
    module = chain(20, 2)
    with Accelerator("native") as accelerator:
        a = accelerator.array(np.arange(3, dtype=np.int32))
        accelerator.compute(module.run, a)
        expected = np.array([meant(v, 20, 2) for v in range(3)], np.int64).astype(np.int32)
        assert a.tolist() == expected.tolist()


def test_an_assert_deep_in_a_chain_ends_the_work_item() -> None:
    module = chain(13, 2, extra="assert v != 7, 'seven'")
    with Accelerator("native") as accelerator:
        a = accelerator.array(np.array([-100, 3, 50], np.int32))
        accelerator.compute(module.run, a)
        with pytest.raises(KernelAssertionError, match="seven") as caught:
            accelerator.wait()
        assert "work item (1, 0, 0)" in str(caught.value)


def test_barriers_in_a_chain_are_copied_until_there_are_too_many() -> None:
    barrier = {"extra": "kc.barrier()", "takes": ", kc: tb.KernelContext"}
    module = chain(4, 2, **barrier)
    with Accelerator("native") as accelerator:
        a = accelerator.array(np.arange(3, dtype=np.int32))
        accelerator.compute(module.run, a)
        assert a.tolist() == [meant(v, 4, 2) for v in range(3)]
        with pytest.raises(BuildError, match="too long for the native device"):
            accelerator.compute(chain(40, 2, **barrier).run, a)


def test_calls_that_lie_too_deep_are_refused() -> None:
    with pytest.raises(RecursionRefusedError, match=f"more than {DEEPEST} deep"):
        graph_of(chain(DEEPEST + 2, 1))


class Pair(tb.Struct):
    low: i32
    high: f32


@tb.func
def early(v: i32, n: i32) -> i32:
    for k in range(n):
        if v + k == 9:
            return k
        if k > v:
            break
    return -v


@tb.func
def paired(v: i32, x: f32) -> Pair:
    if v % 3 == 0:
        return Pair(low=v, high=math.sqrt(abs(x)))
    return Pair(low=early(v, 5), high=x)


@tb.func
def kept(kc: KernelContext, v: i32) -> i32:
    own = tb.private(i32, 9)
    for k in range(9):
        own[k] = v * k + kc.x
    return own[abs(v) % 9] + kc.local_x * 100 + kc.group_x * 1000 + kc.max_x


@tb.func
def counted(counts: NDArray[i32], a: S32Array, at: i32) -> None:
    if a.array[at] > 3:
        tb.atomic_add(counts, a.array[at] % 4, 1)
        return
    a.array[at] += 100


@tb.kernel
def much(kc: KernelContext, a: S32Array, x: NDArray[f32], counts: NDArray[i32], n: i32) -> None:
    tile = tb.local(i32, 4)
    v = a.array[kc.x]
    tile[kc.local_x] = early(v, n)
    kc.barrier()
    pair = paired(tile[3 - kc.local_x] + v, x[kc.x])
    counted(counts, a, kc.x)
    kc.barrier()
    if pair.low > 2:
        a.array[kc.x] += kept(kc, pair.low) + early(pair.low, v)
    x[kc.x] = pair.high + f32(early(n, n))


@tb.compute
def run_much(
    cc: ComputeContext, a: S32Array, x: NDArray[f32], counts: NDArray[i32], n: i32
) -> None:
    cc.dispatch(NDRange(a.length, 4), much, a, x, counts, n)


def test_functions_that_stay_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """With barriers around the calls, early returns, structs, arrays and atomics in them."""
    monkeypatch.setattr(inline_calls, "DEEPEST", 0)
    found: list[list[list[float]]] = []
    for device in ("interpreter", "native"):
        with Accelerator(device) as accelerator:
            a = S32Array.of((np.arange(44, dtype=np.int32) * 7) % 13 - 4)
            x = accelerator.array(np.linspace(-3, 3, 44, dtype=np.float32))
            counts = accelerator.array(np.zeros(4, np.int32))
            accelerator.compute(run_much, a, x, counts, 6)
            found.append([a.array.tolist(), np.asarray(x).tolist(), counts.tolist()])
    assert found[0] == found[1]
    text = generate_llvm(analyse_kernel(much, (1, 1)).graph, TARGET, lines=True).text
    assert text.count("define internal i1 @tb_") == 4
