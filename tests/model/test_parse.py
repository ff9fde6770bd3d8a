import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.samples import ALL_CONTROL, LOCAL_CLASS, S32_ARRAY, SQUARE, SQUARE_KERNEL, TYPES

from trilby.data.dtypes import F32, F64, I32, SCALARS, U8, Type
from trilby.data.schema import ArrayType, NDArrayType
from trilby.errors import ModelError
from trilby.model.host_code import HostCode
from trilby.model.op import Block, Func, Op, Raw, RawBody, roles, walk
from trilby.model.ops import OPS
from trilby.model.ops.core import Constant
from trilby.model.ops.memory import Load
from trilby.model.parse import named_types, parse, parse_all
from trilby.model.text import to_text
from trilby.model.value import (
    COMPUTE_CONTEXT,
    KERNEL_CONTEXT,
    NONE,
    OBJECT,
    NamedType,
    RefType,
    Value,
    VarType,
)
from trilby.source import NOWHERE, Location

# Random models. They make no sense, but have every op, with whatever its fields can hold.
# Hypothesis draws what is written as text; `Random` only puts the parts together, which
# keeps a model of all ops fast to draw.

SOME_TYPES: tuple[Type, ...] = (
    *SCALARS.values(),
    *TYPES.values(),
    KERNEL_CONTEXT,
    COMPUTE_CONTEXT,
    OBJECT,
    NDArrayType(F32, 3),
    ArrayType(F64, (16, 4)),
    VarType(NDArrayType(U8, 1)),
    VarType(RefType(LOCAL_CLASS)),
    RefType(LOCAL_CLASS, "constant"),
    NDArrayType(F32, 2, is_constant=True),
    VarType(replace(S32_ARRAY, is_constant=True)),
)


@dataclass(frozen=True)
class Pool:
    """What literals are taken from."""

    texts: list[str]
    integers: list[int]
    floats: list[float]

    def literal(self, random: Random, annotation: object) -> object:
        if annotation is str:
            return random.choice(self.texts)
        if annotation is HostCode:
            return HostCode(random.choice(self.texts))
        if annotation is bool:
            return random.random() < 0.5
        if annotation is int:
            return random.choice(self.integers)
        if annotation == tuple[str, ...]:
            return tuple(random.choices(self.texts, k=random.randrange(3)))
        assert annotation == bool | int | float, "say how to make a literal of this type"
        return random.choice([True, False, *self.integers, *self.floats])


class Maker:
    """Makes a model that holds every op once, at any depth."""

    def __init__(self, random: Random, pool: Pool) -> None:
        self.random = random
        self.pool = pool
        self.kinds = random.sample(list(OPS.values()), len(OPS))
        self.values: list[Value] = []

    def new_value(self) -> Value:
        self.values.append(Value(self.random.choice(SOME_TYPES)))
        return self.values[-1]

    def new_values(self, most: int) -> tuple[Value, ...]:
        return tuple(self.new_value() for _ in range(self.random.randrange(most + 1)))

    def location(self) -> Location:
        if self.random.random() < 0.2:
            return NOWHERE
        file = self.random.choice(["app.py", *self.pool.texts])
        return Location(file, *(self.random.randrange(1000) for _ in range(4)))

    def block(self, go_on: float) -> Block:
        params = self.new_values(2) if go_on < 1 else ()
        ops: list[Op] = []
        while self.kinds and self.random.random() < go_on:
            ops.append(self.op(self.kinds.pop()))
        return Block(tuple(ops), params)

    def op(self, kind: type[Op]) -> Op:
        annotations = {f.name: f.type for f in fields(kind)}
        made: dict[str, Any] = {}
        # Operands stand before blocks in the text, so they are chosen before.
        for name, role in sorted(roles(kind), key=lambda item: item[1] == "block"):
            if role == "operand":
                made[name] = self.random.choice(self.values)
            elif role == "operands":
                made[name] = tuple(self.random.choices(self.values, k=self.random.randrange(4)))
            elif role == "block":
                made[name] = self.block(0.7)
            else:
                made[name] = self.pool.literal(self.random, annotations[name])
        if "inputs" in made:
            made["code"] = HostCode(made["code"].text, len(made["inputs"]))
        result = self.new_value() if self.random.random() < 0.7 else None
        return kind(**made, result=result, location=self.location())

    def function(self) -> Func:
        params = (self.new_value(), *self.new_values(3))
        return Func(
            self.random.choice(self.pool.texts),
            params,
            self.random.choice((NONE, *SOME_TYPES)),
            self.block(1),
            self.random.choice(["func", "kernel", "compute"]),
            self.location(),
            self.raw() if self.random.random() < 0.5 else None,
        )

    def raw(self) -> Raw:
        names = [self.pool.literal(self.random, tuple[str, ...]) for _ in range(3)]
        bodies = tuple(
            RawBody(
                self.random.choice(self.pool.texts),
                self.random.choice(self.pool.texts),
                self.location(),
            )
            for _ in range(self.random.randrange(3))
        )
        return Raw(cast("Any", names[0]), bodies, cast("Any", names[1]), cast("Any", names[2]))


seeds = st.integers(0, 2**32)
pools = st.builds(
    Pool,
    st.lists(st.text(), min_size=1),
    st.lists(st.integers(), min_size=1),
    st.lists(st.floats(), min_size=1),
)


def function_of(seed: int, pool: Pool) -> Func:
    return Maker(Random(seed), pool).function()  # noqa: S311 -- no secret


def flat(func: Func) -> Iterator[object]:
    """All that a function is, in order, with values by the place of their first mention."""
    seen: dict[Value, int] = {}

    def value(one: Value) -> tuple[int, str]:
        return seen.setdefault(one, len(seen)), repr(one.type)

    def block(one: Block) -> Iterator[object]:
        yield [value(param) for param in one.params]
        for op in one.ops:
            yield type(op), op.result and value(op.result), op.location
            for name, role in roles(type(op)):
                yield from field(getattr(op, name), role)

    def field(thing: Any, role: str) -> Iterator[object]:
        if role == "block":
            yield from block(thing)
        elif role == "attribute":
            yield repr(thing)
        else:
            yield [value(one) for one in (thing if role == "operands" else (thing,))]

    yield func.name, func.kind, repr(func.result), func.location, func.raw
    yield [value(param) for param in func.params]
    yield from block(func.body)


@given(seeds, pools)
def test_print_parse_print_is_the_identity_on_models_of_all_ops(seed: int, pool: Pool) -> None:
    func = function_of(seed, pool)
    assert {type(op) for op in walk(func.body)} == set(OPS.values())
    text = to_text(func)
    assert to_text(parse(text, named_types(func))) == text


@given(seeds, pools)
def test_with_locations_nothing_at_all_is_lost(seed: int, pool: Pool) -> None:
    func = function_of(seed, pool)
    text = to_text(func, locations=True)
    again = parse(text, named_types(func))
    assert to_text(again, locations=True) == text
    assert list(flat(again)) == list(flat(func))


@pytest.mark.parametrize("text", [SQUARE_KERNEL, SQUARE, ALL_CONTROL])
def test_texts_that_people_write_come_back(text: str) -> None:
    assert to_text(parse(text, TYPES)) == text


def test_the_parsed_model_is_what_the_text_says() -> None:
    func = parse(SQUARE_KERNEL, TYPES)
    assert (func.name, func.kind, func.result) == ("squares.square_kernel", "kernel", NONE)
    assert [param.type for param in func.params] == [KERNEL_CONTEXT, S32_ARRAY]
    grid, load, _, store, _ = func.body.ops
    assert isinstance(load, Load)
    assert load.value.type is I32
    assert (load.base, load.indices, load.path) == (func.params[1], (grid.value,), "array[]")
    assert store.result is None


def test_margins_comments_blank_lines_and_layout_mean_nothing() -> None:
    text = """
    // squares a number

    func @"squares.square" (%0: i32)->i32 { // two ops
    ! %1 : i32 = mul %0 %0

        return %1 }
    """
    assert to_text(parse(text, {})) == SQUARE


def test_values_may_have_names_which_become_hints() -> None:
    func = parse('func @"f" (%total : i32, %1 : i32) -> None { return }', {})
    assert [param.hint for param in func.params] == ["total", ""]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i32", I32),
        ("None", NONE),
        ("S32Array", S32_ARRAY),
        ("test_it.<locals>.Pair", LOCAL_CLASS),
        ("Var<Ref<test_it.<locals>.Pair>>", VarType(RefType(LOCAL_CLASS))),
        ("NDArray<f32, 2>", NDArrayType(F32, 2)),
        ("f32[16, 16]", ArrayType(F32, (16, 16))),
        ("i32[height, 4][2]", ArrayType(ArrayType(I32, ("height", 4)), (2,))),
    ],
)
def test_types(text: str, expected: Type) -> None:
    func = parse(f'func @"f" (%0 : {text}) -> {text} {{}}', TYPES)
    assert func.params[0].type == expected
    assert func.result == expected
    assert str(expected) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7), ("-7", -7), ("7.0", 7.0), ("1e+16", 1e16), ("True", True), ("-inf", -math.inf)],
)
def test_numbers_keep_their_type(text: str, expected: float) -> None:
    func = parse(f'func @"f" () -> None {{ %0 : i32 = constant @{text} }}', {})
    (op,) = func.body.ops
    assert isinstance(op, Constant)
    assert (type(op.literal), op.literal) == (type(expected), expected)


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("rav @()", "`rav` has no meaning here"),
        ("raw @() @()", "`@` should stand here instead of `{`"),
        ("raw @(1) @() @()", "a string should stand here instead of `1`"),
        ('raw @() @() @() @("opencl")', "a body has two texts, not 1"),
    ],
)
def test_raw_code_that_cannot_be_read(head: str, problem: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse(f'func @"f" () -> None {head} {{}}', {})
    assert caught.value.problem.splitlines()[0] == problem


def test_several_functions_are_read_in_order() -> None:
    both = parse_all(f"{SQUARE}\n\n{SQUARE_KERNEL}\n", TYPES)
    assert [to_text(func) for func in both] == [SQUARE, SQUARE_KERNEL]
    assert parse_all(" \n", {}) == ()


def test_one_function_is_not_two() -> None:
    with pytest.raises(ModelError, match=r"(?s)has 2 functions, .*\n  help: .*parse_all"):
        parse(f"{SQUARE}\n{SQUARE}", {})


def test_named_types_are_those_that_a_text_cannot_say() -> None:
    shape = NamedType("Shape")
    params = (Value(VarType(S32_ARRAY)), Value(NDArrayType(F32, 1)), Value(shape))
    func = Func("f", params, RefType(LOCAL_CLASS), Block())
    expected = {"S32Array": S32_ARRAY, "Shape": shape, str(LOCAL_CLASS): LOCAL_CLASS}
    assert named_types(func) == expected


BROKEN = [
    ("%1 : i32 = addd %0 %0", "addd", "`addd` is not an op", "did you mean `add`?"),
    ("%1 : i32 = zzzzzz", "zzzzzz", "`zzzzzz` is not an op", "the ops are constant, var"),
    ("%1 : i32 = add %0 %7", "%7", "`%7` is not defined", "results of ops further up"),
    ("%1 : i32 = add %1 %0", "%1 %0", "`%1` is not defined", "results of ops further up"),
    ("%0 : i32 = neg %0", "%0 :", "`%0` is defined twice", "each value is defined once"),
    ("%1 : i32 = add %0", "add", "`add` takes 2 operands, not 1", "its operands are: left, right"),
    (
        'store %0 @"array[]"',
        "store",
        "`store` takes at least 2 operands, not 1",
        "its operands are: base, indices…, stored",
    ),
    ("break %0", "break", "`break` takes 0 operands, not 1", "it has no operands"),
    ("%1 : i32 = grid %0", "grid", "`grid` takes 1 attribute, not 0", "its attributes are: field"),
    ("if %0 {}", "if", "`if` takes 2 blocks, not 1", "its blocks are: then, otherwise"),
    ("%1 : i32 = grid %0 @3", "grid", "`field` of `grid` cannot be 3", "its type is str"),
    (
        '%1 : i32 = constant @"3"',
        "constant",
        "`literal` of `constant` cannot be '3'",
        "its type is bool | int | float",
    ),
    (
        'host.run @"x" @"x" @()',
        "host.run",
        "`uses` of `host.run` cannot be 'x'",
        "its type is tuple[str, ...]",
    ),
    ("%1 : S32Aray = neg %0", "S32Aray", "`S32Aray` is not a known type", "mean `S32Array`?"),
    ("%1 : Vra<i32> = neg %0", "Vra", "`Vra` is not a known type", "given to parse"),
    ("%1 : NDArray<i32> = neg %0", "> =", "`,` should stand here instead of `>`", "scalar and a"),
    ("%1 : i32[ = neg %0", "= neg", "a name should stand here instead of `=`", "a dimension is"),
    ("%1 = neg %0", "= neg", "`:` should stand here instead of `=`", "declared with its type"),
    ("%1 : i32 neg %0", "neg", "`=` should stand here instead of `neg`", "is declared like"),
    ("return ]", "]", "the end of the line should stand here instead of `]`", "an op is its"),
    ("return ?", "?", "`?` has no meaning here", "remove it"),
    ("@3", "@3", "a name should stand here instead of `@`", "begins with its mnemonic"),
    ('host.run @"\\z"', '"\\z"', "cannot be read: Invalid", "as in JSON"),
    ("%1 : i32 = constant @three", "three", "`(` should stand here", "an attribute is"),
]


@pytest.mark.parametrize(("line", "marked", "problem", "advice"), BROKEN)
def test_errors_show_the_line_with_a_caret_and_say_what_to_do(
    line: str, marked: str, problem: str, advice: str
) -> None:
    text = f'func @"f" (%0 : i32) -> None {{\n  {line}\n}}\n'
    with pytest.raises(ModelError) as caught:
        parse(text, TYPES)
    first, shown, carets, last = str(caught.value).splitlines()
    assert first.startswith("<model>:2: ")
    assert problem in first
    assert shown == f"  2 |   {line}"
    assert carets.index("^") == shown.index(marked, len("  2 | "))
    assert last.startswith("  help: ")
    assert advice in last


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("7", "a name should stand here instead of `7`"),
        ("func square", "`@` should stand here instead of `square`"),
        ('func @"f" () {}', "`->` should stand here instead of `{`"),
        ('func @"f" (%0 : i32 %1 : i32) -> None {}', "`,` should stand here instead of `%1`"),
        ('func @"f" () -> None {', "a name should stand here instead of the end of the text"),
        ('func @"f" () -> None {} {}', "the end of the line should stand here instead of `{`"),
        ('func @"f" () -> None {} rest', "the end of the line should stand here instead of `rest`"),
    ],
)
def test_broken_functions(text: str, problem: str) -> None:
    with pytest.raises(ModelError) as caught:
        parse(text, {})
    assert caught.value.problem.splitlines()[0] == problem
    assert caught.value.location is not None
    assert caught.value.location.line == 1
    assert caught.value.advice
