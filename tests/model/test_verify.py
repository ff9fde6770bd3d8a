from dataclasses import replace
from pathlib import Path

import pytest
from tests.model.samples import ALL_CONTROL, SQUARE, SQUARE_KERNEL, TYPES

from trilby.data.dtypes import BOOL, I32
from trilby.errors import ModelError
from trilby.model.build import Builder
from trilby.model.op import Block, Func, Op, walk
from trilby.model.ops import OPS
from trilby.model.ops.arith import Neg, Unary
from trilby.model.ops.control import Break, If
from trilby.model.ops.core import Constant, Return
from trilby.model.parse import parse, parse_all
from trilby.model.text import to_text
from trilby.model.value import NONE, Value
from trilby.model.verify import verify
from trilby.source import Location

ARITHMETIC = """\
func @"arithmetic" (%i : i32, %f : f32, %b : bool) -> f32 {
  %1 : i32 = add %i %i
  %2 : i32 = sub %1 %i
  %3 : f32 = mul %f %f
  %4 : f32 = truediv %f %f
  %5 : i32 = floordiv %i %i
  %6 : f32 = mod %f %f
  %7 : i32 = pow %i %i
  %8 : i32 = shl %i %i
  %9 : i32 = shr %i %i
  %10 : bool = and %b %b
  %11 : i32 = or %i %i
  %12 : i32 = xor %i %i
  %13 : bool = lt %i %i
  %14 : bool = le %f %f
  %15 : bool = gt %f %f
  %16 : bool = ge %f %f
  %17 : bool = eq %b %b
  %18 : bool = ne %b %b
  %19 : f32 = neg %f
  %20 : i32 = invert %i
  %21 : bool = not %b
  %22 : f32 = cast %i
  %23 : f32 = math %22 %f @"hypot"
  %24 : i32 = math %i %i @"max"
  %25 : bool = or_else %b {
    yield %b
  }
  %26 : f32 = constant @inf
  %27 : bool = constant @True
  return %26
}"""

MEMORY = """\
kernel @"memory" (%0 : KernelContext, %1 : ResultTable, %2 : f32[16, 16], %3 : f32) -> None {
  %4 : i32 = constant @1
  %5 : i32 = atomic %1 %4 @"count" @"add"
  %6 : Ref<ResultTable.Result> = place %1 %5 @"result[]"
  %7 : Var<Ref<ResultTable.Result>> = var %6 @"r"
  %8 : Ref<ResultTable.Result> = var.load %7
  store %8 %3 @"x"
  %9 : f32 = load %8 @"y"
  %10 : f32 = load %1 %4 @"result[].y"
  store %2 %4 %4 %10 @"[]"
  %11 : i32 = load %1 @"length"
}"""

INLINED = """\
kernel @"inlined" (%0 : KernelContext, %1 : i32, %2 : bool) -> None {
  %3 : i32 = inlined @"chosen" {
    if %2 {
      return %1
    } {}
    %4 : i32 = neg %1
    return %4
  }
  inlined @"nothing" {
    return
  }
  return
}"""

GROUPS = """\
kernel @"groups" (%0 : KernelContext, %1 : ResultTable, %2 : i32, %3 : f32) -> None {
  %4 : Ref<f32[16, 16], local> = local
  %5 : Ref<ResultTable.Result[4], private> = private
  store %4 %2 %2 %3 @"[]"
  barrier %0 @"local"
  %6 : Ref<ResultTable.Result, private> = place %5 %2 @"[]"
  %7 : f32 = load %6 @"y"
  %8 : ResultTable.Result = pack %7 %3
  %9 : f32 = unpack %8 @"y"
  %10 : i32 = compare_exchange %1 %2 %2 @"count"
  %11 : bool = lt %9 %7
  assert %11 @"it grows"
  print %9 %10 @"{} and {}"
  return
}"""

HOST = """\
compute @"host" (%0 : ComputeContext, %1 : S32Array, %2 : object) -> object {
  %3 : object = host.value %2 @"{0} + 1" @()
  host.value %0 @"{0}.wait()" @()
  host.run @"import os" @() @("os")
  %4 : object = host.view %1 %3 @"array[]"
  %5 : i32 = load %1 %3 @"array[]"
  store %1 %3 %2 @"array[]"
  host.if %2 {
    dispatch %0 %3 %1 @"squares.square_kernel"
    dispatch.passes %0 %3 %1 %3 @"squares.square_kernel" @("passes")
  } {}
  host.while {
    yield %2
  } {
    host.for %3 @"i" @("i") {
      continue
    } {
      break
    }
  } {}
  host.with %2 @"f" @("f") {
    %6 : object = host.call %0 %1 @"other"
    %7 : Var<object> = var %1 @"any"
    var.store %7 %6
  }
  return %2
}"""

TRANSFERS = """\
compute @"transfers" (%0 : ComputeContext, %1 : ResultTable, %2 : NDArray<f32, 2>, %3 : i64, \
%4 : Ref<ResultTable.Result>, %5 : object) -> None {
+ track.pre_access %0 %1
+ track.post_access %0 %2
+ track.pre_mutate %0 %4
+ track.post_mutate %5 %5
+ transfer.to_device %0 %1 @True
+ transfer.to_host %0 %1 @"" @False
+ transfer.to_host %0 %1 %3 @"result[].x" @True
+ transfer.to_host %0 %1 @"result[].x" @False
+ transfer.to_host %0 %1 @"count" @False
+ transfer.to_host %0 %2 %3 %5 @"[]" @False
+ transfer.to_host %0 %4 @"x" @False
+ transfer.to_host %0 %5 @"" @False
+ transfer.to_device %0 %2 @False
  return
}"""


def callable_functions() -> dict[str, Func]:
    return {func.name: func for func in parse_all(SQUARE, {})}


@pytest.mark.parametrize(
    "text",
    [SQUARE, SQUARE_KERNEL, ALL_CONTROL, ARITHMETIC, MEMORY, GROUPS, INLINED, HOST, TRANSFERS],
)
def test_whole_models_pass(text: str) -> None:
    verify(parse(text, TYPES), callable_functions())


def test_what_transforms_put_in_is_marked() -> None:
    assert to_text(parse(TRANSFERS, TYPES)) == TRANSFERS


def test_raw_code_has_the_parameters_of_its_function() -> None:
    text = 'func @"f" (%0 : i32) -> None raw @({}) @() @() {{\nreturn\n}}'
    verify(parse(text.format('"x"'), {}))
    with pytest.raises(ModelError, match="its raw code has other parameters than the function"):
        verify(parse(text.format(""), {}))


def test_the_models_above_have_every_op() -> None:
    texts = [SQUARE_KERNEL, ALL_CONTROL, ARITHMETIC, MEMORY, GROUPS, INLINED, HOST, TRANSFERS]
    functions = parse_all("\n".join(texts), TYPES)
    found = {type(op) for func in functions for op in walk(func.body)}
    assert {kind.mnemonic for kind in OPS.values()} == {kind.mnemonic for kind in found}


HEAD = (
    'kernel @"broken" (%kc : KernelContext, %a : S32Array, %nd : NDArray<f32, 2>, '
    "%i : i32, %f : f32, %b : bool, %v : Var<i32>, %t : ResultTable, "
    "%c : Constant<ResultTable>) -> None {\n"
)

BROKEN = {
    # structure
    "of another block": "if %b {\n%1 : i32 = neg %i\n} {}\n%2 : i32 = neg %1",
    "there is no loop around it": "if %b {\nbreak\n} {}",
    "the function returns `i32`, not `f32`": '%1 : i32 = inlined @"f" {\nreturn %f\n}',
    "it follows `return` and never runs": "return\n%1 : i32 = neg %i",
    "it follows `yield` and never runs": (
        "%1 : i32 = ternary %b {\nyield %i\nyield %i\n} {\nyield %i\n}"
    ),
    "its block `otherwise` does not end in a `yield`": ("%1 : i32 = ternary %b {\nyield %i\n} {}"),
    "its block `rest` does not end in a `yield`": "%1 : bool = and_then %b {\nbreak\n}",
    "its block `test` does not end in a `yield`": "while {} {}",
    "nothing waits for the value": "yield %i",
    "it has no result": "%1 : i32 = var.store %v %i",
    "it must have a result": "add %i %i",
    # arithmetic
    "several types: `i32`, `f32`, `i32`": "%1 : i32 = add %i %f",
    "several types: `i32`, `i32`, `f32`": "%1 : f32 = add %i %i",
    "it does not exist for `bool`": "%1 : bool = add %b %b",
    "it does not exist for `S32Array`": "%1 : S32Array = add %a %a",
    "it does not exist for `i32`": "%1 : i32 = truediv %i %i",
    "it does not exist for `f32`": "%1 : f32 = shl %f %f",
    "compares `i32`, `f32`": "%1 : bool = lt %i %f",
    "compares `S32Array`, `S32Array`": "%1 : bool = eq %a %a",
    "its result is `i32`, not `bool`": "%1 : i32 = lt %i %i",
    "several types: `i32`, `bool`": "%1 : bool = not %i",
    "only numbers can be converted, not `S32Array`": "%1 : i32 = cast %a",
    "300 is not a value of `u8`": "%1 : u8 = constant @300",
    "True is not a value of `i32`": "%1 : i32 = constant @True",
    "1 is not a value of `f32`": "%1 : f32 = constant @1",
    "1.0 is not a value of `i32`": "%1 : i32 = constant @1.0",
    "a constant is a number, not `object`": "%1 : object = constant @1",
    "there is no function `sqr`": '%1 : f32 = math %f @"sqr"',
    "`hypot` takes 2 operands, not 1": '%1 : f32 = math %f @"hypot"',
    "several types: `i32`, `f32`": '%1 : f32 = math %i @"sqrt"',
    # variables and calls
    "its result is `i32`, not a variable": '%1 : i32 = var %i @"n"',
    "a variable begins with one value, not 2": '%1 : Var<i32> = var %i %i @"n"',
    "a `Var<i32>` cannot begin with `f32`": '%1 : Var<i32> = var %f @"n"',
    "`i32` is not a variable": "%1 : i32 = var.load %i",
    "a `Var<i32>` does not hold `f32`": "%1 : f32 = var.load %v",
    "a `Var<i32>` does not hold `bool`": "var.store %v %b",
    "there is no function `cube`": '%1 : i32 = call %i @"cube"',
    "`squares.square` takes `i32`, not `f32`": '%1 : i32 = call %f @"squares.square"',
    "`squares.square` takes `i32`, not nothing": '%1 : i32 = call @"squares.square"',
    "`squares.square` gives `i32`, not `f32`": '%1 : f32 = call %i @"squares.square"',
    "the function returns `None`, not `i32`": "return %i",
    # control flow
    "its condition is `i32`, not `bool`": "if %i {} {}",
    "its condition is `f32`, not `bool`": "%1 : i32 = ternary %f {\nyield %i\n} {\nyield %i\n}",
    "a block yields `f32`, not `i32`": "%1 : i32 = ternary %b {\nyield %i\n} {\nyield %f\n}",
    "a block yields `i32`, not `bool`": "%1 : bool = or_else %b {\nyield %i\n}",
    "its result is `f32`, not `bool`": "%1 : f32 = and_then %b {\nyield %b\n}",
    "a block yields `f32`, not `bool`": "while {\nyield %f\n} {}",
    "its bounds are `i32`, `f32`, `i32`": "for %i %f %i (%n : i32) {}",
    "its bounds are `f32`, `f32`, `f32`": "for %f %f %f (%n : f32) {}",
    "its body takes nothing, not one `i32`": "for %i %i %i {}",
    "its body takes `i64`, not one `i32`": "for %i %i %i (%n : i64) {}",
    # memory
    '`S32Array` has no place "data"': '%1 : i32 = load %a @"data"',
    '"[]" takes 2 indices, not 1': '%1 : f32 = load %nd %i @"[]"',
    "indices are integers, not `f32`": '%1 : i32 = load %a %f @"array[]"',
    '"array[]" holds `i32`, not `f32`': '%1 : f32 = load %a %i @"array[]"',
    '"result[]" holds `ResultTable.Result`, not a number': '%1 : i32 = load %t %i @"result[]"',
    '"array[]" holds `i32`, not `bool`': 'store %a %i %b @"array[]"',
    '"length" is a length': 'store %a %i @"length"',
    "`Constant<ResultTable>` lies in constant memory": 'store %c %i @"length"',
    "lies in constant memory, which is never": '%1 : i32 = atomic %c %i @"count" @"add"',
    "a `Ref<ResultTable.Result>` refers to something else": (
        '%1 : Ref<ResultTable.Result> = place %c %i @"result[]"'
    ),
    '"length" is a length, which': '%1 : i32 = atomic %t %i @"length" @"add"',
    '"count" holds `i32`, not `f32`': '%1 : i32 = atomic %t %f @"count" @"add"',
    '"count" holds `i32`, and a `Ref<ResultTable>` refers': (
        '%1 : Ref<ResultTable> = place %t @"count"'
    ),
    '"result[]" holds `ResultTable.Result`, and a `f32`': '%1 : f32 = place %t %i @"result[]"',
    "`swap` is no way to change a place": '%1 : i32 = atomic %t %i @"count" @"swap"',
    '"count" holds `i32`, not `bool`': '%1 : i32 = compare_exchange %t %b %i @"count"',
    "it makes a local array, not `Ref<i32[4], private>`": "%1 : Ref<i32[4], private> = local",
    "it makes a private array, not `i32`": "%1 : i32 = private",
    "a size known beforehand, not `i32[n]`": "%1 : Ref<i32[n], local> = local",
    "a size known beforehand, not `i32`": "%1 : Ref<i32, local> = local",
    "it makes a struct, not `f32`": "%1 : f32 = pack %f",
    "is not made of `f32`, `i32`": "%1 : ResultTable.Result = pack %f %i",
    "`f32` is not a struct": '%1 : f32 = unpack %f @"x"',
    "has no `z` of type `f32`": ('%1 : ResultTable.Result = pack %f %f\n%2 : f32 = unpack %1 @"z"'),
    "`everywhere` is no scope of a barrier": 'barrier %kc @"everywhere"',
    "`f32` is not the kernel context": 'barrier %f @"local"',
    "its condition is `f32`, not `bool`\n  in `assert": 'assert %f @"no"',
    "has no places for 2 numbers": 'print %f %i @"{}"',
    "it prints numbers, not `S32Array`": 'print %a @"{}"',
    "`S32Array` is not an n-d array": "%1 : i32 = extent %a @0",
    "`NDArray<f32, 2>` has no axis 2": "%1 : i32 = extent %nd @2",
    "its result is `f32`, not an integer": "%1 : f32 = extent %nd @1",
    "`i32` is not the kernel context": '%1 : i32 = grid %i @"x"',
    "the kernel context has no field `w`": '%1 : i32 = grid %kc @"w"',
    "its result is `bool`, not an integer": '%1 : bool = grid %kc @"x"',
}


@pytest.mark.parametrize(("problem", "body"), BROKEN.items(), ids=list(BROKEN))
def test_each_rule_can_be_broken(problem: str, body: str) -> None:
    func = parse(f"{HEAD}{body}\n}}", TYPES)
    with pytest.raises(ModelError) as caught:
        verify(func, callable_functions())
    assert caught.value.problem.startswith("the model of `broken` is broken: ")
    assert problem in caught.value.problem
    assert "to_text" in caught.value.advice


COMPUTE_HEAD = 'compute @"broken" (%cc : ComputeContext, %a : S32Array, %i : i32, %o : object) '

BROKEN_TRANSFERS = {
    "`i32` is not the compute context": "track.pre_access %i %a",
    "`i32` is not a buffer, nor a part of one": "transfer.to_device %cc %i @False",
    "`ComputeContext` is not a buffer": "transfer.to_device %cc %cc @True",
    '`S32Array` has no place "data[]"': 'transfer.to_host %cc %a %i @"data[]" @False',
    '`object` has no place "array[]"': 'transfer.to_host %cc %o %i @"array[]" @False',
    '"length" takes no indices, and 1 are given': 'transfer.to_host %cc %a %i @"length" @False',
    "it has no result": "%1 : i32 = track.post_mutate %cc %a",
}


@pytest.mark.parametrize(("problem", "body"), BROKEN_TRANSFERS.items(), ids=list(BROKEN_TRANSFERS))
def test_each_rule_of_transfers_can_be_broken(problem: str, body: str) -> None:
    with pytest.raises(ModelError) as caught:
        verify(parse(f"{COMPUTE_HEAD}-> None {{\n{body}\n}}", TYPES))
    assert problem in caught.value.problem


def test_kernels_move_nothing() -> None:
    with pytest.raises(ModelError, match="it belongs to compute functions"):
        verify(parse(f"{HEAD}track.pre_access %kc %a\n}}", TYPES))


def test_calls_are_checked_only_where_the_callees_are_known() -> None:
    func = parse(f'{HEAD}%1 : f32 = call %f @"elsewhere"\n}}', TYPES)
    verify(func)
    with pytest.raises(ModelError, match="there is no function `elsewhere`"):
        verify(func, {})


def test_a_function_with_a_result_returns_one() -> None:
    func = parse('func @"f" (%0 : i32) -> i32 {\nreturn\n}', {})
    with pytest.raises(ModelError, match="the function returns `i32`, not nothing"):
        verify(func)


def test_break_leaves_a_loop_from_its_body_and_not_from_its_test() -> None:
    loop = 'func @"f" (%b : bool) -> None {{\nwhile {{\n{}yield %b\n}} {{\n{}}}\n}}'
    leave = "if %b {\nbreak\n} {}\n"
    verify(parse(loop.format("", leave), {}))
    with pytest.raises(ModelError, match="there is no loop around it"):
        verify(parse(loop.format(leave, ""), {}))


def function_of(*ops: Op, params: tuple[Value, ...] = ()) -> Func:
    return Func("f", params, NONE, Block(ops))


def test_a_value_is_not_used_before_its_definition() -> None:
    n = Value(I32)
    use = Neg(n, result=Value(I32))
    with pytest.raises(ModelError, match="it uses a value before it is defined"):
        verify(function_of(use, Constant(1, result=n)))


def test_an_op_does_not_use_its_own_result() -> None:
    n = Value(I32)
    with pytest.raises(ModelError, match="it uses a value before it is defined"):
        verify(function_of(Neg(n, result=n)))


def test_a_value_is_defined_once() -> None:
    n = Value(I32)
    with pytest.raises(ModelError, match="a value is defined twice"):
        verify(function_of(Constant(1, result=n), Constant(2, result=n)))
    with pytest.raises(ModelError, match="a value is defined twice"):
        verify(function_of(params=(n, n)))


def test_two_blocks_do_not_define_the_same_value() -> None:
    condition = Value(BOOL)
    shared = Block((Constant(1, result=Value(I32)),))
    with pytest.raises(ModelError, match="a value is defined twice"):
        verify(function_of(If(condition, shared, shared), params=(condition,)))


def test_the_parameters_of_a_function_are_not_those_of_its_body() -> None:
    n = Value(I32)
    with pytest.raises(ModelError, match="its body has parameters"):
        verify(Func("f", (n,), NONE, Block((), (n,))))


def test_an_op_without_a_rule_is_refused() -> None:
    class Stranger(Unary, mnemonic="stranger"):
        pass

    n = Value(I32)
    verify(function_of(Stranger(n, result=Value(I32)), params=(n,)))  # the rule of its shape

    class Alien(Op, mnemonic="alien"):
        pass

    with pytest.raises(ModelError, match="`alien` has no rule"):
        verify(function_of(Alien(result=Value(I32))))


def test_the_error_shows_the_python_that_the_op_came_from(tmp_path: Path) -> None:
    file = tmp_path / "app.py"
    file.write_text("def f() -> None:\n    return 1 + 1\n")
    b = Builder(Location(str(file), 2, 11, 2, 16))
    b.value(Constant, 1.5, type=I32)
    b.run(Return)
    with pytest.raises(ModelError) as caught:
        verify(Func("f", (), NONE, b.block()))
    assert str(caught.value).splitlines()[:4] == [
        f"{file}:2: the model of `f` is broken: 1.5 is not a value of `i32`",
        "  in `%0 : i32 = constant @1.5`",
        "  2 | return 1 + 1",
        "    |        ^^^^^",
    ]


def test_the_error_is_located_at_the_function_where_the_op_has_no_place() -> None:
    func = replace(function_of(Break()), location=Location("app.py", 7))
    with pytest.raises(ModelError, match=r"^app\.py:7: the model of `f` is broken"):
        verify(func)
    with pytest.raises(ModelError, match=r"^[^\n]*test_verify.py:\d+: the model of `f` is"):
        verify(function_of(Break()))
