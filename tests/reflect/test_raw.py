"""What `@tb.raw` takes, what it refuses, and what becomes of it in a model."""

import pytest
from tests.reflect.kernel_cases import analysed, kernel, lined, said

import trilby as tb
from trilby import KernelContext, NDArray, f32, i32
from trilby.errors import ArgumentTypeError, KernelTypeError
from trilby.model.text import to_text
from trilby.reflect.raw import RawHelper, raw

SCALE = """
@tb.raw(opencl="a[i] = b[i];"{declared})
def copied(a: NDArray[f32], b: NDArray[f32], i: i32) -> None:
    a[i] = b[i]

@tb.kernel
def k(kc: KernelContext, a: NDArray[f32], b: NDArray[f32]) -> None:
    copied(a, b, kc.x)
"""


@tb.raw(opencl="return rsqrt(x);", cuda="return rsqrtf(x);")
def inverse(x: f32) -> f32:
    return tb.rsqrt(x)


@tb.kernel
def use(kc: KernelContext, a: NDArray[f32]) -> None:
    a[kc.x] = inverse(a[kc.x])


def test_the_model_has_the_ops_and_the_texts() -> None:
    helper = analysed(use).graph.functions[0]
    assert to_text(helper).splitlines()[0] == (
        'func @"tests.reflect.test_raw.inverse" (%0 : f32) -> f32 raw @("x") @() @() '
        '@("opencl", "return rsqrt(x);") @("cuda", "return rsqrtf(x);") {'
    )
    assert helper.raw is not None
    assert [body.location.line for body in helper.raw.bodies] == [inverse.location.line] * 2


def test_declared_names_may_be_one_or_several() -> None:
    for declared in (', reads="b", writes=["a"]', ', reads=("b",), writes=("a",)'):
        helper = analysed(kernel(SCALE.format(declared=declared))).graph.functions[0]
        assert helper.raw is not None
        assert (helper.raw.reads, helper.raw.writes) == (("b",), ("a",))


def test_a_buffer_that_nobody_speaks_of_is_refused() -> None:
    text = said(KernelTypeError, SCALE.format(declared=', reads="b"'))
    assert text == lined(
        """
        app.py:1: nothing says what the device code of `copied` does with `a`
          1 | @tb.raw(opencl="a[i] = b[i];", reads="b")
            |  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          in `copied`, called at app.py:7
          help: add `reads=("a",)` or `writes=("a",)`, or both, to @tb.raw
        """
    )


def test_the_python_body_may_not_do_more_than_is_declared() -> None:
    text = said(KernelTypeError, SCALE.format(declared=', reads=("a", "b")'))
    assert text == lined(
        """
        app.py:2: the Python body of `copied` writes `a[]`, and its @tb.raw does not say so
          2 | def copied(a: NDArray[f32], b: NDArray[f32], i: i32) -> None:
            | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          help: add `writes=("a",)`: what moves to and from a device follows from it
        """
    )
    text = said(KernelTypeError, SCALE.format(declared=', writes=("a", "b")'))
    assert "the Python body of `copied` reads `b[]`, and its @tb.raw does not say so" in text


def test_what_helpers_do_counts_as_well() -> None:
    text = said(
        KernelTypeError,
        """
        @tb.func
        def put(a: S32Array, i: i32) -> None:
            a.array[i] = 1

        @tb.raw(opencl=";", reads="a")
        def quiet(a: S32Array) -> None:
            put(a, 0)

        @tb.kernel
        def k(kc: KernelContext, a: S32Array) -> None:
            quiet(a)
        """,
    )
    assert "the Python body of `quiet` writes `a.array[]`" in text


@pytest.mark.parametrize(
    ("declared", "advice"),
    [
        (', reads=("b", "aa"), writes="a"', "did you mean `a`? its buffers are `a`, `b`"),
        (', reads=("b", "i"), writes="a"', "its buffers are `a`, `b`"),
    ],
)
def test_only_buffer_parameters_can_be_declared(declared: str, advice: str) -> None:
    text = said(KernelTypeError, SCALE.format(declared=declared))
    assert "which is no buffer parameter of `copied`" in text
    assert text.endswith(f"  help: {advice}")


def test_a_function_without_buffers_declares_nothing() -> None:
    text = said(
        KernelTypeError,
        """
        @tb.raw(opencl="return x;", reads="x")
        def same(x: f32) -> f32:
            return x

        @tb.kernel
        def k(kc: KernelContext, a: F32Array) -> None:
            a.array[0] = same(1.0)
        """,
    )
    assert text.endswith("  help: it has none: leave `reads` and `writes` out")


def test_constant_memory_is_not_written() -> None:
    text = said(
        KernelTypeError,
        """
        @tb.raw(opencl=";", writes="a")
        def put(a: tb.Constant[S32Array]) -> None:
            pass

        @tb.kernel
        def k(kc: KernelContext, a: tb.Constant[S32Array]) -> None:
            put(a)
        """,
    )
    assert "`a` lies in constant memory, and @tb.raw says that it is written" in text


def test_the_table_has_what_is_declared_not_what_is_seen() -> None:
    made = kernel(
        """
        class Pair(tb.Buffer):
            n: i32
            total: i32
            a: tb.Array[i32] = tb.array("n")
            b: tb.Array[i32] = tb.array(4)

        @tb.raw(opencl=";", reads=("p", "q"), writes="q")
        def quiet(p: Pair, q: NDArray[f32]) -> None:
            pass

        @tb.kernel
        def k(kc: KernelContext, p: Pair, q: NDArray[f32], r: S32Array) -> None:
            quiet(p, q)
        """
    )
    assert str(analysed(made).access) == lined(
        """
        access @"app.k"
          p : Pair reads
            total: reads
            a[]: reads
            b[]: reads
          q : NDArray<f32, 1> both
            []: both
          r : S32Array untouched
        """
    )


def test_no_text_is_no_raw_code() -> None:
    with pytest.raises(ArgumentTypeError, match="`plain` has no device code") as caught:

        @tb.raw(opencl="  ")
        def plain(x: f32) -> f32:  # pyright: ignore[reportUnusedFunction]
            return x

    assert caught.value.advice == 'give some: `@tb.raw(opencl="return …;")`, or use @tb.func'


def test_only_functions_can_be_raw() -> None:
    with pytest.raises(ArgumentTypeError, match="takes a function, and this is `inverse`"):
        raw(opencl="return x;")(inverse)


def plain_function(x: i32) -> i32:
    return x + 1


def test_the_decorator_may_stand_elsewhere() -> None:
    made = raw(opencl="return x + 1;")(plain_function)
    assert isinstance(made, RawHelper)
    using = kernel(
        """
        @tb.kernel
        def k(kc: KernelContext, a: S32Array) -> None:
            a.array[kc.x] = made(kc.x)
        """,
        made=made,
    )
    helper = analysed(using).graph.functions[0]
    assert helper.raw is not None
    assert helper.raw.bodies[0].location.line == plain_function.__code__.co_firstlineno
