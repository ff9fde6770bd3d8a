"""Local and private arrays, barriers, `print` and `assert`: their models and what they refuse."""

import numpy as np
from tests.reflect.kernel_cases import error_of, kernel, lined, run, said
from tests.reflect.struct_cases import accepted, check_refusal, model_of, names, refusals

from trilby.data.ndrange import NDRange
from trilby.errors import FieldError, KernelDivergenceError, KernelTypeError, UnsupportedSyntaxError

CONSTANT = "use a number, or a constant of the module"
ELEMENTS = "use a scalar type or a tb.Struct"


def test_arrays_are_references_to_their_memory() -> None:
    lines = "s = tb.local(f32, 4, SIZE)\nown = tb.private(Point, 2)\nown[1].x = s[n, 0]"
    assert model_of(lines.replace("SIZE", "2 * 3"), "n: i32") == lined("""
        %2 : Ref<f32[4, 6], local> = local
        %3 : Ref<Point[2], private> = private
        %4 : i32 = constant @0
        %5 : f32 = load %2 %1 %4 @"[]"
        %6 : i32 = constant @1
        store %3 %6 %5 @"[].x"
    """)


def test_a_reference_into_an_array_keeps_its_space() -> None:
    text = model_of("own = tb.private(Point, 2)\nr = own[n]\nr.n = 1", "n: i32")
    assert ': Ref<Point, private> = place %2 %1 @"[]"' in text


def test_sizes_may_be_constants_of_the_module() -> None:
    source = """
        SIZE = 3

        @tb.kernel
        def k(kc: KernelContext, a: S32Array):
            own = tb.private(i32, SIZE * 2, SIZE - 1)
            own[5, 1] = 7
            a.array[0] = own[5, 1]
    """
    a = names()["S32Array"].of([0])
    run(kernel(source), 1, a)
    assert a.array.tolist() == [7]


@refusals(
    (
        "s = tb.local(f32, n)",
        "n",
        "the size of a local array is a constant from 1 on, and this is `i32`",
        CONSTANT,
    ),
    (
        "s = tb.private(f32, 2, kc.x)",
        "kc.x",
        "the size of a private array is a constant from 1 on, and this is `i32`",
        CONSTANT,
    ),
    (
        "s = tb.local(f32, 0)",
        "0",
        "the size of a local array is a constant from 1 on, and this is the literal `0`",
        CONSTANT,
    ),
    (
        "s = tb.local(f32, 2.5)",
        "2.5",
        "the size of a local array is a constant from 1 on, and this is the literal `2.5`",
        CONSTANT,
    ),
    (
        "s = tb.local(f32)",
        "tb.local(f32)",
        "`tb.local` takes an element type and sizes",
        "write `tb.local(f32, 16)`",
    ),
    (
        "s = tb.private(f32, dims=3)",
        "tb.private(f32, dims=3)",
        "`tb.private` takes an element type and sizes",
        "write `tb.private(f32, 16)`",
    ),
    (
        "s = tb.local(3, 16)",
        "3",
        "the literal `3` is no type for the elements of an array",
        ELEMENTS,
    ),
    (
        "s = tb.local(S32Array, 16)",
        "S32Array",
        "`S32Array` is no type for the elements of an array",
        ELEMENTS,
    ),
    (
        "s = tb.local(f32, 4)\ns[0, 1] = 1.0",
        "s[0, 1]",
        "an array of 1 dimension is given 2 indices",
        "write `[i]`",
    ),
)
def test_arrays_that_cannot_be(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)


@refusals(
    ("if n > 1:\n    s = tb.local(f32, 4)", "tb.local(f32, 4)", "", ""),
    ("for i in range(3):\n    s = tb.local(f32, 4)", "tb.local(f32, 4)", "", ""),
    ("while n > 1:\n    s = tb.local(f32, 4)", "tb.local(f32, 4)", "", ""),
)
def test_local_arrays_belong_to_the_kernel(
    lines: str, part: str, problem: str, advice: str
) -> None:
    problem = problem or "local arrays are made at the top of a kernel"
    advice = advice or "make it in the kernel itself, outside of `if` and loops"
    check_refusal(lines, part, problem, advice, UnsupportedSyntaxError)
    accepted(lines.replace("local", "private"))


def test_helpers_make_no_local_arrays() -> None:
    source = """
        @tb.func
        def helper() -> f32:
            s = tb.local(f32, 3)
            return s[0]

        @tb.kernel
        def k(kc: KernelContext):
            x = helper()
    """
    assert said(UnsupportedSyntaxError, source) == lined("""
        app.py:3: local arrays are made at the top of a kernel
          3 | s = tb.local(f32, 3)
            |     ^^^^^^^^^^^^^^^^
          in `helper`, called at app.py:8
          help: make it in the kernel itself, outside of `if` and loops
    """)


def test_an_array_has_one_name() -> None:
    problem = "`s` names an array, and is set more than once or used outside of this block"
    source = "@tb.kernel\ndef k(kc: KernelContext):\n    s = tb.local(f32, 4)\n    s = 1\n"
    error = error_of(KernelTypeError, source)
    assert error.problem == problem
    assert error.advice == "give every array a name of its own, in the block that uses it"


def test_helpers_return_no_buffers() -> None:
    source = """
        @tb.func
        def same(a: S32Array) -> S32Array:
            return a

        @tb.kernel
        def k(kc: KernelContext, a: S32Array):
            b = same(a)
    """
    assert said(KernelTypeError, source) == lined("""
        app.py:2: `same` returns `S32Array`, which a kernel's function cannot
          2 | def same(a: S32Array) -> S32Array:
            |                          ^^^^^^^^
          in `same`, called at app.py:7
          help: return a number (`i32`, `f32`, …), a struct, a vector, or None
    """)


# --------------------------------------------------------------------------------- barriers


def test_barriers_and_their_scopes() -> None:
    assert model_of(
        'kc.barrier()\nkc.barrier("local")\nkc.barrier(scope="global")', "n: i32"
    ) == lined(
        """
        barrier %0 @"both"
        barrier %0 @"local"
        barrier %0 @"global"
    """
    )


SCOPES = 'use one of "local", "global", "both"'


@refusals(
    ('kc.barrier("everything")', 'kc.barrier("everything")', "a barrier takes one scope", SCOPES),
    (
        'kc.barrier("local", "global")',
        'kc.barrier("local", "global")',
        "a barrier takes one scope",
        SCOPES,
    ),
    ("kc.barrier(n)", "kc.barrier(n)", "a barrier takes one scope", SCOPES),
    ("x = kc.barrier()", "kc.barrier()", "`None` is not a number", ""),
)
def test_scopes_that_do_not_exist(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)


def test_only_the_context_has_barriers() -> None:
    check_refusal(
        "a.barrier()",
        "a.barrier",
        "`S32Array` has no `barrier`",
        "barriers belong to the kernel context: `kc.barrier()`",
        FieldError,
    )


def divergence(lines: str, size: NDRange) -> str:
    """What the interpreter says of work items that do not meet."""
    source = "@tb.kernel\ndef k(kc: KernelContext, a: NDArray[i32]):\n" + lines
    try:
        run(kernel(source), size, np.zeros(8, np.int32))
    except KernelDivergenceError as error:
        return str(error)
    raise AssertionError(lines)


ADVICE = (
    "  help: let all work items of a group reach the same barriers: move it out of the `if` or "
    "loop, and put no `return` before it"
)


def test_work_items_that_end_before_a_barrier_are_named() -> None:
    lines = "    if kc.x % 4 == 2:\n        return\n    kc.barrier()\n"
    assert divergence(lines, NDRange(8, 4)) == (
        "app.py:5: the work items of a group part at a barrier: work item (0, 0, 0) waits at "
        "app.py:5, work item (2, 0, 0) has ended\n"
        "  5 | kc.barrier()\n"
        "    | ^^^^^^^^^^^^\n" + ADVICE
    )


def test_work_items_at_different_barriers_are_named() -> None:
    lines = "    if kc.y == 0:\n        kc.barrier()\n    else:\n        kc.barrier()\n"
    assert divergence(lines, NDRange((2, 2), (2, 2))) == (
        "app.py:4: the work items of a group part at a barrier: work item (0, 0, 0) waits at "
        "app.py:4, work item (0, 1, 0) waits at app.py:6\n"
        "  4 | kc.barrier()\n"
        "    | ^^^^^^^^^^^^\n" + ADVICE
    )


# -------------------------------------------------------------------------- print and assert


def test_print_is_a_form_and_numbers() -> None:
    lines = "print('n', n, f'{n + 1}|', '{} 100%')\nprint()\nassert n > 0, 'no n'\nassert n"
    assert model_of(lines, "n: i32") == lined("""
        %2 : i32 = constant @1
        %3 : i32 = add %1 %2
        print %1 %3 @"n {} {}| {{}} 100%"
        print @""
        %4 : i32 = constant @0
        %5 : bool = gt %1 %4
        assert %5 @"`assert n > 0` does not hold: no n"
        %6 : i32 = constant @0
        %7 : bool = ne %1 %6
        assert %7 @"`assert n` does not hold"
    """)


FORMATS = "leave out what stands behind `:` or `!`"
CONSTANT_TEXT = "the message of an `assert` in a kernel is a constant text"
EXAMPLE = 'write `assert x > 0, "x is positive"`'


@refusals(
    ('print(f"{n:3d}")', 'f"{n:3d}"', "`print` in a kernel has no formats", FORMATS),
    ('print(f"{n!r}")', 'f"{n!r}"', "`print` in a kernel has no formats", FORMATS),
    (
        'print(n, end="")',
        'print(n, end="")',
        "`print` in a kernel takes no keywords",
        "give texts and numbers only",
    ),
    ('assert n > 0, f"{n}"', 'f"{n}"', CONSTANT_TEXT, EXAMPLE),
    ("assert n > 0, n", "n", CONSTANT_TEXT, EXAMPLE),
)
def test_texts_that_are_computed(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice, UnsupportedSyntaxError)


@refusals(
    ("print(v)", "v", "`f32x3` is not a number", "use one of its fields or elements"),
    ("print(a)", "a", "`S32Array` is not a number", "use one of its fields or elements"),
    ("assert v", "v", "`f32x3` is not a number", "use one of its fields or elements"),
)
def test_only_numbers_are_printed(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)
