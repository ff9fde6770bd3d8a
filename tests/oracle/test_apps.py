"""Programs whose minimal transfers are known, from the documents and from public benchmarks."""

import math

import pytest
from tests.oracle.runs import ELEMENT, Run, counts, nbytes

from trilby.oracle import Access, Trace, minimum

N = 12
"""Elements of an array."""
T = 7
"""Times a loop runs; odd, so that swapped buffers end swapped."""


def test_fill() -> None:
    run = Run(a=N)
    run.kernel(a="W")
    run.host(a="R")
    assert run.copies() == counts(run.ranged) == (0, 1)


def test_double_once() -> None:
    run = Run(a=N)
    run.host(a="W")
    run.kernel(a="RW")
    run.host(a="R")
    assert run.copies() == counts(run.ranged) == (1, 1)


def test_double_in_a_loop() -> None:
    run = Run(a=N)
    run.host(a="W")
    for _ in range(T):
        run.kernel(a="RW")
    run.host(a="R")
    assert run.copies() == counts(run.ranged) == (1, 1)


def test_printing_one_element_each_time() -> None:
    run = Run(a=N)
    run.host(a="W")
    for _ in range(T):
        run.kernel(a="RW")
        run.host(a=("R", 0, 1))
    run.host(a="R")
    assert run.copies() == counts(run.ranged) == (1, T)
    assert nbytes(run.ranged) == (N * ELEMENT, (T - 1) * ELEMENT + N * ELEMENT)


@pytest.mark.parametrize("generations", [6, 7])
def test_life_by_swapping(generations: int) -> None:
    run = Run(s1=N, s2=N)
    run.host(s1="W")
    source, target = "s1", "s2"
    for _ in range(generations):
        run.kernel(**{source: "R", target: "W"})
        source, target = target, source
    run.host(**{source: "R"})
    assert run.copies() == counts(run.ranged) == (1, 1)
    assert [buffer.uploads for buffer in minimum(run.trace).buffers] == [1, 0]


@pytest.mark.parametrize("every", [1, 2, 3, 10])
def test_life_with_a_display(every: int) -> None:
    run = Run(s1=N, s2=N)
    run.host(s1="W")
    source, target = "s1", "s2"
    for generation in range(T):
        run.kernel(**{source: "R", target: "W"})
        source, target = target, source
        if generation % every == 0:
            run.host(**{source: "R"})
    run.host(**{source: "R"})
    last_was_not_displayed = (T - 1) % every != 0
    expected = (1, math.ceil(T / every) + last_was_not_displayed)
    assert run.copies() == counts(run.ranged) == expected


def test_read_kernel_read_kernel_read() -> None:
    run = Run(a=N)
    run.host(a="W")
    run.host(a="R")
    for _ in range(2):
        run.kernel(a="RW")
        run.host(a="R")
    assert run.copies() == counts(run.ranged) == (1, 2)


def test_convergence_flag() -> None:
    run = Run(huge=100 * N, done=1)
    run.host(huge="W", done="W")
    for _ in range(T):
        run.kernel(huge="RW", done="w")
        run.host(done="R")
    run.host(huge="R")
    assert run.copies() == counts(run.ranged) == (2, T + 1)
    huge, done = minimum(run.trace).buffers
    assert (huge.uploads, huge.downloads) == (1, 1)
    assert (done.uploads, done.downloads) == (1, T)


def test_passes_on_the_device() -> None:
    run = Run(huge=100 * N)
    run.host(huge="W")
    for _ in range(T):
        run.kernel(huge="RW")
    run.host(huge="R")
    assert run.copies() == counts(run.ranged) == (1, 1)


def test_half_write() -> None:
    run = Run(a=N)
    run.host(a="W")
    run.kernel(a=("W", 0, N // 2))
    run.host(a="R")
    assert run.copies() == (1, 1)
    assert counts(run.ranged) == (0, 1)
    assert nbytes(run.ranged) == (0, N // 2 * ELEMENT)


def test_conditional_write() -> None:
    run = Run(a=N, b=N)
    run.host(a="W", b="W")
    run.kernel(a="w", b="R")
    run.host(a="R")
    assert run.copies() == counts(run.ranged) == (2, 1)


def test_mandel_with_a_host_access_before_the_dispatch() -> None:
    run = Run(a=N, palette=5)
    run.host(palette="W")
    run.host(a=("RW", 3, 4))
    run.kernel(a="W", palette="R")
    run.host(a="R")
    assert run.copies() == counts(run.ranged) == (1, 1)


@pytest.mark.parametrize("host_wrote_rows", [False, True])
def test_result_table_with_an_atomic_counter(*, host_wrote_rows: bool) -> None:
    rows, row, used = 100, 8, 3
    nbytes_of_all = 8 + rows * row
    trace = Trace()
    fields = [("count", 0, 4), ("result", 8, nbytes_of_all)]  # the length stands between
    table = trace.buffer("table", nbytes_of_all, fresh=True, fields=fields)
    count, results = [(0, 4)], [(8, nbytes_of_all)]
    if host_wrote_rows:
        trace.touch("host", {table: Access(writes=results, covers=results)})
    trace.touch("host", {table: Access(writes=count, covers=count)}, "table.count = 0")
    trace.touch("gpu", {table: Access(reads=count, writes=[*count, *results], covers=count)})
    trace.touch("host", {table: Access(reads=count)}, "table.count")
    trace.touch("host", {table: Access(reads=[(8, 8 + used * row)])}, "table.result[:count]")
    least = minimum(trace, "range")
    assert counts(least) == counts(minimum(trace)) == (1, 1)
    assert nbytes(least) == (4 + rows * row * host_wrote_rows, 4 + used * row)
    assert nbytes(minimum(trace)) == (4 + rows * row, 4 + rows * row)


def test_bfs() -> None:
    run = Run(nodes=2 * N, edges=5 * N, mask=N, upd=N, vis=N, cost=N, stop=1)
    run.host(nodes="W", edges="W", mask="W", upd="W", vis="W", cost="W")
    for _ in range(T):
        run.host(stop="W")
        run.kernel(nodes="R", edges="R", mask="Rw", upd="w", vis="R", cost="Rw")
        run.kernel(upd="Rw", mask="w", vis="w", stop="w")
        run.host(stop="R")
    run.host(cost="R")
    assert run.copies() == counts(run.ranged) == (6 + T, T + 1)


def test_hotspot() -> None:
    run = Run(temp=N, power=N, result=N)
    run.host(temp="W", power="W")
    source, target = "temp", "result"
    for _ in range(T):
        run.kernel(**{source: "R", "power": "R", target: "W"})
        source, target = target, source
    run.host(**{source: "R"})
    assert run.copies() == counts(run.ranged) == (2, 1)


def test_srad() -> None:
    region = 3
    run = Run(image=N, **{f"scratch{number}": N for number in range(5)})
    scratch = [f"scratch{number}" for number in range(5)]
    run.host(image="W")
    for _ in range(T):
        run.host(image=("R", 2, 2 + region))
        run.kernel(image="R", **dict.fromkeys(scratch, "W"))
        run.kernel(image="RW", **dict.fromkeys(scratch, "R"))
    run.host(image="R")
    assert run.copies() == counts(run.ranged) == (1, T)
    assert nbytes(run.ranged) == (N * ELEMENT, ((T - 1) * region + N) * ELEMENT)


def test_needleman_wunsch() -> None:
    run = Run(ref=N * N, items=N * N)
    run.host(ref="W", items="W")
    for _ in range(2 * N - 1):
        run.kernel(ref="R", items="Rw")
    run.host(items="R")
    assert run.copies() == counts(run.ranged) == (2, 1)


def test_backprop() -> None:
    run = Run(input=N, w=N, wtmp=N, pw=N, psum=N, hdelta=N)
    run.host(input="W", w="W", pw="W")
    run.kernel(w="R", wtmp="W")
    run.kernel(input="R", wtmp="Rw", psum="W")
    run.host(psum="R", hdelta="W")
    run.kernel(hdelta="R", input="R", w="RW", pw="RW")
    run.host(w="R")
    assert run.copies() == counts(run.ranged) == (4, 2)


def test_lu_decomposition() -> None:
    run = Run(m=N * N)
    run.host(m="W")
    for _ in range(3 * (N // 4 - 1) + 1):
        run.kernel(m="Rw")
    run.host(m="R")
    assert run.copies() == counts(run.ranged) == (1, 1)


def test_pathfinder() -> None:
    run = Run(wall=N * T, r0=N, r1=N)
    run.host(wall="W", r0="W")
    source, target = "r0", "r1"
    for row in range(T):
        run.kernel(**{"wall": ("R", row * N, (row + 1) * N), source: "R", target: "W"})
        source, target = target, source
    run.host(**{source: "R"})
    assert run.copies() == counts(run.ranged) == (2, 1)
    assert nbytes(run.ranged) == ((N * T + N) * ELEMENT, N * ELEMENT)


def test_accuracy() -> None:
    repeated = 3
    run = Run(label=N, data=10 * N, count=1)
    run.host(label="W", data="W")
    for _ in range(4):
        for _ in range(repeated):
            run.host(count="W")
            run.kernel(label="R", data="R", count="RW")
        run.host(count="R")
    assert run.copies() == counts(run.ranged) == (2 + 4 * repeated, 4)


def test_xsbench() -> None:
    tables = [f"table{number}" for number in range(6)]
    run = Run(**dict.fromkeys(tables, N), ver=N)
    run.host(**dict.fromkeys(tables, "W"))
    for _ in range(T):
        run.kernel(**dict.fromkeys(tables, "R"), ver="W")
    run.host(ver="R")
    assert run.copies() == counts(run.ranged) == (6, 1)


def test_jacobi() -> None:
    trace = Trace()
    a, b = (trace.buffer(name, N * N * ELEMENT) for name in "AB")  # the host wrote both
    rows = [(N * y, N * y + N) for y in range(N)]
    interior = [(ELEMENT * (low + 1), ELEMENT * (high - 1)) for low, high in rows[1:-1]]
    whole = [(0, N * N * ELEMENT)]
    new = Access(writes=interior, covers=interior)
    for _ in range(T):
        trace.touch("gpu", {a: Access(reads=whole), b: new}, "average")
        trace.touch("gpu", {b: Access(reads=interior), a: new}, "copy back")
    trace.touch("host", {a: Access(reads=whole)})
    assert counts(minimum(trace)) == (2, 1)
    least = minimum(trace, "range")
    assert counts(least) == (1, 1)
    assert nbytes(least) == (N * N * ELEMENT, (N - 2) ** 2 * ELEMENT)


def test_3mm() -> None:
    run = Run(**dict.fromkeys("ABCDEFG", N * N))
    run.host(A="W", B="W", C="W", D="W")
    run.kernel(A="R", B="R", E="W")
    run.kernel(C="R", D="R", F="W")
    run.kernel(E="R", F="R", G="W")
    run.host(G="R")
    assert run.copies() == counts(run.ranged) == (4, 1)


def test_covariance() -> None:
    run = Run(data=N * N, mean=N, sym=N * N)
    run.host(data="W")
    run.kernel(data="R", mean="W")
    run.kernel(data="RW", mean="R")
    run.kernel(data="R", sym="W")
    run.host(sym="R")
    assert run.copies() == counts(run.ranged) == (1, 1)
