"""Which functions a kernel or a compute function reaches."""

from dataclasses import replace

import pytest
from tests.reflect.kernel_cases import analysed, kernel, said

from trilby.analysis.reach import KernelGraph, as_on_device, compute_graph, kernel_graph
from trilby.errors import RecursionRefusedError
from trilby.model.build import Builder
from trilby.model.op import Func, Raw
from trilby.model.ops.core import Call, Return
from trilby.model.ops.host import Dispatch, HostCall
from trilby.model.value import NONE, OBJECT, Value
from trilby.source import Location


def function(name: str, *calls: str, kind: str = "func") -> Func:
    """A function that calls others, each on a line of its own."""
    b = Builder()
    for line, callee in enumerate(calls, start=1):
        b.run(Call, (), callee, location=Location(f"{name}.py", line))
    b.run(Return, ())
    return Func(name, (), NONE, b.block(), kind)


def graph(*functions: Func) -> list[str]:
    """The order in which a graph lists the functions that the first one reaches."""
    by_name = {f.name: f for f in functions}
    return [f.name for f in kernel_graph(functions[0], by_name.__getitem__).functions]


def test_a_kernel_alone() -> None:
    assert graph(function("k")) == ["k"]


def test_devices_do_not_see_what_only_raw_functions_call() -> None:
    raw = replace(function("raw", "meaning", "both"), raw=Raw((), ()))
    functions = (function("meaning"), function("both"), raw, function("k", "raw", "both"))
    seen = as_on_device(KernelGraph(functions)).functions
    assert [f.name for f in seen] == ["both", "raw", "k"]
    assert [len(f.body.ops) for f in seen] == [1, 0, 3]


def test_a_graph_without_raw_functions_is_seen_as_it_is() -> None:
    whole = KernelGraph((function("a"), function("k", "a")))
    assert as_on_device(whole) is whole


def test_callees_come_before_callers_and_once() -> None:
    found = graph(
        function("k", "a", "b"),
        function("a", "c"),
        function("b", "c", "a"),
        function("c"),
        function("unused"),
    )
    assert found == ["c", "a", "b", "k"]


def test_a_function_is_resolved_once() -> None:
    asked: list[str] = []
    functions = {f.name: f for f in (function("a", "c", "c"), function("c"))}

    def resolve(symbol: str) -> Func:
        asked.append(symbol)
        return functions[symbol]

    kernel_graph(function("k", "a", "c", "a"), resolve)
    assert asked == ["a", "c"]


def test_a_long_ladder_of_calls_is_walked_once() -> None:
    """Each step calls the next one twice: as paths there are 2**60."""
    steps = [function(f"f{i}", f"f{i + 1}", f"f{i + 1}") for i in range(60)]
    assert len(graph(*steps, function("f60"))) == 61


def test_a_function_is_found_by_its_symbol() -> None:
    a, k = function("a"), function("k", "a")
    made = KernelGraph((a, k))
    assert made.entry is k
    assert made.function("a") is a


@pytest.mark.parametrize(
    ("functions", "names", "place"),
    [
        ([function("k", "m.a"), function("m.a", "m.a")], "`a` → `a`", "m.a.py:1"),
        (
            [
                function("k", "m.a"),
                function("m.a", "m.b"),
                function("m.b", "m.c", "m.a"),
                function("m.c"),
            ],
            "`a` → `b` → `a`",
            "m.b.py:2",
        ),
        (
            [
                function("k", "m.x"),
                function("m.x", "m.a[1,2]"),
                function("m.a[1,2]", "m.b#2"),
                function("m.b#2", "m.a[1,2]"),
            ],
            "`a` → `b` → `a`",
            "m.b#2.py:1",
        ),
    ],
)
def test_recursion_names_the_circle(functions: list[Func], names: str, place: str) -> None:
    with pytest.raises(RecursionRefusedError) as caught:
        graph(*functions)
    assert str(caught.value).splitlines()[0] == (
        f"{place}: recursion cannot run on a device: {names}"
    )


def test_recursion_in_a_kernel() -> None:
    source = """
        @tb.func
        def factorial(n: i32) -> i32:
            if n < 2:
                return 1
            return n * factorial(n - 1)

        @tb.kernel
        def k(kc: KernelContext, a: S32Array):
            a.array[kc.x] = factorial(kc.x)
    """
    assert said(RecursionRefusedError, source) == (
        "app.py:5: recursion cannot run on a device: `factorial` → `factorial`\n"
        "  5 | return n * factorial(n - 1)\n"
        "    |            ^^^^^^^^^^^^^^^^\n"
        "  in `factorial`, called at app.py:9\n"
        "  help: devices have no call stack: write a loop, or keep a small stack in a private "
        "array"
    )


def test_mutual_recursion_in_a_kernel() -> None:
    source = """
        @tb.func
        def even(n: i32) -> bool:
            return n == 0 or odd(n - 1)

        @tb.func
        def odd(n: i32) -> bool:
            return n != 0 and even(n - 1)

        @tb.kernel
        def k(kc: KernelContext, a: S32Array):
            a.array[kc.x] = 1 if even(kc.x) else 0
    """
    assert said(RecursionRefusedError, source) == (
        "app.py:7: recursion cannot run on a device: `even` → `odd` → `even`\n"
        "  7 | return n != 0 and even(n - 1)\n"
        "    |                   ^^^^^^^^^^^\n"
        "  in `odd`, called at app.py:3\n"
        "  in `even`, called at app.py:11\n"
        "  help: devices have no call stack: write a loop, or keep a small stack in a private "
        "array"
    )


def test_recursion_with_arrays_does_not_hang() -> None:
    source = """
        @tb.func
        def walk(m: NDArray[f32], n: i32) -> f32:
            return walk(m, n - 1)

        @tb.kernel
        def k(kc: KernelContext, m: NDArray[f32]):
            x = walk(m, 3)
    """
    assert "`walk` → `walk`" in said(RecursionRefusedError, source)


def test_helpers_of_helpers_in_a_kernel() -> None:
    source = """
        @tb.func
        def one() -> i32:
            return 1
        @tb.func
        def two() -> i32:
            return one() + one()
        @tb.kernel
        def k(kc: KernelContext, a: S32Array):
            a.array[0] = two() * one()
    """
    made = analysed(kernel(source))
    assert [f.name for f in made.graph.functions] == ["app.one", "app.two", "app.k"]
    assert [f.kind for f in made.graph.functions] == ["func", "func", "kernel"]


# ----------------------------------------------------------------------- compute functions


def host_function(name: str, *steps: str) -> Func:
    """A compute function; a step with `!` dispatches a kernel, others call."""
    b = Builder()
    context = Value(OBJECT)
    for step in steps:
        if step.endswith("!"):
            b.run(Dispatch, context, context, (), step[:-1])
        else:
            b.run(HostCall, (context,), step)
    return Func(name, (context,), NONE, b.block(), "compute")


def test_compute_functions_may_call_each_other_in_circles() -> None:
    functions = {
        f.name: f
        for f in (
            host_function("main", "a", "x!", "b"),
            host_function("a", "b", "y!"),
            host_function("b", "a", "main", "x!"),
        )
    }
    kernels = {name: KernelGraph((function(name, kind="kernel"),)) for name in "xy"}
    made = compute_graph(functions["main"], functions.__getitem__, kernels.__getitem__)
    assert [f.name for f in made.functions] == ["b", "a", "main"]
    assert made.entry is functions["main"]
    assert made.kernels == {"x": kernels["x"], "y": kernels["y"]}


def test_device_functions_of_compute_functions_are_listed_once() -> None:
    functions = {f.name: f for f in (host_function("main", "a"), host_function("a"))}
    named = {"main": (function("x"), function("y", "x")), "a": (function("x"),)}
    made = compute_graph(
        functions["main"], functions.__getitem__, lambda _: KernelGraph(()), named.__getitem__
    )
    assert [f.name for f in made.device_functions] == ["x", "y"]
