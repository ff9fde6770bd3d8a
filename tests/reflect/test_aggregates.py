"""Structs as values: taken apart, put together for calls, and what cannot be done with them."""

import numpy as np
from tests.reflect.kernel_cases import kernel, lined, model, run, said
from tests.reflect.struct_cases import accepted, check_refusal, model_of, names, refusals, source_of

from trilby.errors import FieldError, KernelNameError, KernelTypeError

LANES = "its lanes are x, y, z; a swizzle names two to four of them"
COPY = "a parameter is a value: copy it first, `mine = {}`, and change the copy"
CONSTANT = "write `{}`; for computed places keep the numbers in a `tb.private` array"


def test_a_local_struct_is_a_variable_for_each_number() -> None:
    assert model_of("q = v\nq.y = q.x", "v: tb.f32x3") == lined("""
        %2 : f32 = unpack %1 @"x"
        %3 : f32 = unpack %1 @"y"
        %4 : f32 = unpack %1 @"z"
        %5 : Var<f32> = var %2 @"q.x"
        %6 : Var<f32> = var %3 @"q.y"
        %7 : Var<f32> = var %4 @"q.z"
        %8 : f32 = var.load %5
        var.store %6 %8
    """)


def test_the_place_of_a_struct_is_a_reference_and_that_of_a_vector_a_copy() -> None:
    assert model_of("r = t.point[n]\nr.x = t.v[n].y", "t: Table, n: i32") == lined("""
        %3 : Ref<Point> = place %1 %2 @"point[]"
        %4 : Var<Ref<Point>> = var %3 @"r"
        %5 : f32 = load %1 %2 @"v[].y"
        %6 : Ref<Point> = var.load %4
        store %6 %5 @"x"
    """)


def test_a_whole_element_is_copied_number_by_number() -> None:
    text = model_of("t.point[0] = t.point[n]", "t: Table, n: i32")
    assert text.count(" = load ") == text.count("store ") == 5
    assert text.index("store") > text.rindex("= load")  # all is read before anything is written


def test_structs_are_packed_for_calls_only() -> None:
    source = """
        @tb.func
        def moved(p: Point) -> Point:
            return Point(x=p.x + 1.0, n=p.n)

        @tb.kernel
        def k(kc: KernelContext, t: Table):
            t.point[0] = moved(moved(t.point[1]))
    """
    text = model(source, **names())
    assert text.count(" = pack ") == 1
    assert text.count(" = call ") == 2
    assert text.count(" = unpack ") == 5


def test_fields_are_kept_apart_by_their_whole_names() -> None:
    source = """
        class Inner(tb.Struct):
            a: f32
            ab: f32

        class Outer(tb.Struct):
            i: Inner
            ia: f32
            many: tb.Array[Inner] = tb.array(11)

        @tb.kernel
        def k(kc: KernelContext, r: NDArray[f32]):
            mine = Outer(i=Inner(a=1.0, ab=9.0), ia=2.0)
            mine.many[1].ab = 3.0
            mine.many[10] = Inner(a=4.0, ab=5.0)
            one = mine.many[1]
            r[0], r[1], r[2] = mine.i.a, mine.ia, one.ab
            r[3], r[4], r[5] = mine.many[10].a, Outer(i=mine.i, ia=6.0).i.ab, one.a
    """
    r = np.ones(6, np.float32)
    run(kernel(source), 1, r)
    assert r.tolist() == [1.0, 2.0, 3.0, 4.0, 9.0, 0.0]


def test_a_struct_that_changes_is_a_copy() -> None:
    source = """
        @tb.func
        def changed(p: Point) -> f32:
            mine = p
            mine.x += 1.0
            mine.w[2] = mine.x * 10.0
            p = mine
            p.x = 0.5
            return mine.w[2] + p.x

        @tb.kernel
        def k(kc: KernelContext, r: NDArray[f32]):
            q = Point(x=1.5, n=1)
            r[0] = changed(q)
            r[1] = q.x
    """
    r = np.zeros(2, np.float32)
    run(kernel(source, **names()), 1, r)
    assert r.tolist() == [25.5, 1.5]


def test_the_arms_of_a_ternary_may_be_a_value_and_a_place() -> None:
    accepted("q = p if n > 1 else t.point[0]\nq.x = 1.0")
    accepted("q = t.point[1] if n > 1 else t.point[0]\nq.x = 1.0")


def test_a_local_may_be_annotated() -> None:
    accepted("q: Point = p\nw: tb.f32x3 = t.v[0]\nr: Point = t.point[0]\nb: S32Array = a\nq: Point")


@refusals(
    ("w = v.xw", "v.xw", "`f32x3` has no lanes `xw`", LANES),
    ("w = v.xyzxy", "v.xyzxy", "`f32x3` has no lanes `xyzxy`", LANES),
    ("w = v.q", "v.q", "`f32x3` has no lanes `q`", LANES),
    ("w = t.v[n].xw", "t.v[n].xw", "`f32x3` has no lanes `xw`", LANES),
    ("t.v[n].xw = v.xy", "t.v[n].xw", "`f32x3` has no lanes `xw`", LANES),
    ("w = v\nw.q = 1.0", "w.q", "`f32x3` has no lanes `q`", LANES),
    ("x = p.q", "p.q", "`Point` has no field `q`", "it has `x`, `n`, `w`"),
)
def test_names_that_are_not_there(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice, FieldError)


AS_MANY = "assign a vector of the same type with as many lanes"


@refusals(
    ("w = v\nw.xx = v.xy", "w.xx", "`.xx` writes a lane twice", "name each lane once"),
    ("t.v[n].zz = v.xy", "t.v[n].zz", "`.zz` writes a lane twice", "name each lane once"),
    ("w = v\nw.xy = v", "w.xy", "`.xy` takes 2 lanes, and this is `f32x3`", AS_MANY),
    ("w = v\nw.xy = 1.0", "w.xy", "`.xy` takes 2 lanes, and this is the literal `1.0`", AS_MANY),
    ("t.v[n].xy = v", "t.v[n].xy", "`.xy` takes 2 lanes, and this is `f32x3`", AS_MANY),
    (
        "w = v\nw.xy = tb.i32x2(1, 2)",
        "w.xy",
        "`.xy` takes 2 lanes, and this is `i32x2`",
        AS_MANY,
    ),
)
def test_swizzles_that_are_written(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)


@refusals(
    ("p.x = 1.0", "p.x", "`p.x` cannot be assigned", COPY.format("p")),
    ("p.x += 1.0", "p.x", "`p.x` cannot be assigned", COPY.format("p")),
    ("p.w[0] = 1.0", "p.w[0]", "`p.w[0]` cannot be assigned", COPY.format("p")),
    ("v.xy = v.yx", "v.xy", "`v.xy` cannot be assigned", COPY.format("v")),
    ("v.z -= 1.0", "v.z", "`v.z` cannot be assigned", COPY.format("v")),
    ("m[0, 1] = 1.0", "m[0, 1]", "`m[0, 1]` cannot be assigned", COPY.format("m")),
)
def test_parameters_are_values(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)


def test_a_helper_does_not_change_its_parameter() -> None:
    source = """
        @tb.func
        def moved(p: Point) -> f32:
            p.x = 1.0
            return p.x

        @tb.kernel
        def k(kc: KernelContext, t: Table):
            x = moved(t.point[0])
    """
    assert said(KernelTypeError, source, **names()) == lined("""
        app.py:3: `p.x` cannot be assigned
          3 | p.x = 1.0
            | ^^^
          in `moved`, called at app.py:8
          help: a parameter is a value: copy it first, `mine = p`, and change the copy
    """)


@refusals(
    (
        "x = m[n, 0]",
        "m[n, 0]",
        "`m` is a value, and its places are constants within 2 by 2",
        "m[0, 1]",
    ),
    ("x = m[0]", "m[0]", "`m` is a value, and its places are constants within 2 by 2", "m[0, 1]"),
    (
        "x = m[0, 2]",
        "m[0, 2]",
        "`m` is a value, and its places are constants within 2 by 2",
        "m[0, 1]",
    ),
    (
        "q = m\nq[n, 0] = 1.0",
        "q[n, 0]",
        "`q` is a value, and its places are constants within 2 by 2",
        "q[0, 1]",
    ),
    ("x = p.w[n]", "p.w[n]", "`p.w` is a value, and its places are constants within 3", "p.w[0]"),
    ("x = p.w[3]", "p.w[3]", "`p.w` is a value, and its places are constants within 3", "p.w[0]"),
    (
        "q = p\nq.w[n] += 1.0",
        "q.w[n]",
        "`q.w` is a value, and its places are constants within 3",
        "q.w[0]",
    ),
)
def test_places_inside_of_values(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, CONSTANT.format(advice))


@refusals(
    ("x = p.w", "p.w", "`f32[3]` is a whole array, not a value", "index it: `array[i]`"),
    (
        "q = p\nq.w = 1.0",
        "q.w",
        "`q.w` is `f32[3]` and cannot be assigned as a whole",
        "assign each of its numbers",
    ),
    (
        "q = p\nq.x = v",
        "v",
        "`q.x` is `f32`, and this is `f32x3`",
        "use one of its fields or elements",
    ),
    (
        "q = Pair(p=p, v=v)\nq.p = v",
        "v",
        "`q.p` is `Point`, and this is `f32x3`",
        "assign a `Point`, or each of its numbers",
    ),
    (
        "t.point[0] = v",
        "v",
        "`t.point[0]` is `Point`, and this is `f32x3`",
        "assign a `Point`, or each of its numbers",
    ),
    (
        "t.v[0] = 1.0",
        "1.0",
        "`t.v[0]` is `f32x3`, and this is the literal `1.0`",
        "assign a `f32x3`, or each of its numbers",
    ),
    ("w = v\nw = 1", "1", "`w` is `f32x3`, and this is the literal `1`", "use another name"),
    ("w = 1\nw = v", "v", "`w` is `i32`, and this is `f32x3`", "use another name"),
    ("w = v\nw = v.xy", "v.xy", "`w` is `f32x3`, and this is `f32x2`", "use another name"),
    ("r = t.point[0]\nr = p", "p", "`r` is `Ref<Point>`, and this is `Point`", "use another name"),
    ("w: tb.f32x2 = v", "v", "`w` is declared `f32x2`, and this is `f32x3`"),
    (
        "x = t.point[0] if n > 1 else v",
        "t.point[0] if n > 1 else v",
        "the arms of this expression are `Ref<Point>` and `f32x3`",
        "both arms need one type",
    ),
    ("x = v[0]", "v[0]", "`f32x3` cannot be indexed", "name a lane: `v.x`"),
    ("x = p[0]", "p[0]", "`Point` cannot be indexed", "name one of its fields"),
)
def test_types_that_do_not_fit(lines: str, part: str, problem: str, advice: str) -> None:
    check_refusal(lines, part, problem, advice)


@refusals(
    ("if v == v:\n    n = 1", "v", "`f32x3` is not a number", ""),
    ("x = v.x if p else 1.0", "p", "`Point` is not a number", ""),
    ("x = -p", "p", "`Point` is not a number", ""),
    ("x = p + 1", "p", "`Point` is not a number", ""),
    ("x = f32(v)", "v", "`f32x3` is not a number", ""),
)
def test_structs_are_no_numbers(lines: str, part: str, problem: str, advice: str) -> None:
    text = said(KernelTypeError, source_of(lines), **names())
    first = lines.splitlines()[0]
    marked = " " * (first.index(part) if "==" in first else first.rindex(part)) + "^" * len(part)
    assert text == (
        f"app.py:3: {problem}\n  3 | {first}\n    | {marked}\n"
        f"  help: use one of its fields or elements{advice}"
    )


def test_a_struct_that_is_not_set_on_every_path() -> None:
    check_refusal(
        "if n > 1:\n    w = v\nx = w.x",
        "w",
        "`w` may be used before it is set",
        "set `w` on every path that leads here, for example before the `if` or loop",
        KernelNameError,
    )


def test_a_union_inside_of_a_value_is_read_only() -> None:
    accepted("t.cell[1] = t.cell[0]\nt.cell[0].bits.number = 1.0\nx = t.cell[0].bits.pattern")
    source = """
        @tb.func
        def changed(c: Cell) -> f32:
            mine = c
            mine.bits.number = 1.0
            return mine.bits.number

        @tb.kernel
        def k(kc: KernelContext, t: Table):
            x = changed(t.cell[0])
    """
    assert said(KernelTypeError, source, **names()) == lined("""
        app.py:4: `Bits` is a union, and inside of a value its members share no bytes
          4 | mine.bits.number = 1.0
            | ^^^^^^^^^^^^^^^^
          in `changed`, called at app.py:9
          help: write it in a buffer
    """)
