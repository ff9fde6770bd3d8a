"""What each op demands of its operands, attributes and result: one function for a family.

A rule yields a sentence for each way in which an op breaks it. Rules see types, never
where values come from: that is `verify`'s part. Host ops take anything, and `object`
fits every type, because Python decides about it when it runs.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from trilby.data.dtypes import BOOL, Kind, ScalarType, Type, fits
from trilby.data.kernel_context import GRID_FIELDS
from trilby.data.schema import (
    ArrayType,
    BufferType,
    NDArrayType,
    StructType,
    index_count,
    leaves,
    type_at,
)
from trilby.dataclass import dataclass
from trilby.model.op import Block, Func, Op, blocks, operands
from trilby.model.ops import arith, control, core, debug, memory, structs
from trilby.model.ops.grid import BARRIER_SCOPES, Barrier, Grid
from trilby.model.ops.host import HOST_OPS
from trilby.model.ops.transfer import TRANSFER_OPS, ToDevice, ToHost, Tracking
from trilby.model.value import (
    COMPUTE_CONTEXT,
    KERNEL_CONTEXT,
    NONE,
    OBJECT,
    RefType,
    Value,
    VarType,
    pointee,
    space_of,
)

Problems: TypeAlias = Iterator[str]
MemoryAccess: TypeAlias = (
    memory.Load | memory.Store | memory.Place | memory.AtomicUpdate | memory.CompareExchange
)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What an op belongs to: its function, and the functions that can be called.

    `returns` is the type that `return` gives here: the function's, or that of an inlined callee.
    """

    func: Func
    functions: Mapping[str, Func] | None
    returns: Type


Rule: TypeAlias = Callable[[Any, Program], Problems]

_NUMBERS: frozenset[Kind] = frozenset({"int", "uint", "float"})
_INTEGERS: frozenset[Kind] = frozenset({"int", "uint"})
_BITS: frozenset[Kind] = frozenset({"bool", "int", "uint"})
_KINDS: dict[str, frozenset[Kind]] = {
    "float": frozenset({"float"}),
    "integer": _INTEGERS,
    "number": _NUMBERS,
}
_TAKES: dict[type[Op], frozenset[Kind]] = {
    arith.TrueDiv: frozenset({"float"}),
    arith.Shl: _INTEGERS,
    arith.Shr: _INTEGERS,
    arith.BitAnd: _BITS,
    arith.BitOr: _BITS,
    arith.BitXor: _BITS,
    arith.Invert: _INTEGERS,
    arith.Not: frozenset({"bool"}),
}


def _matches(wanted: Type, given: Type) -> bool:
    return wanted == given or OBJECT in (wanted, given)


def _is_integer(given: Type) -> bool:
    return isinstance(given, ScalarType) and given.is_integer


def _listed(values: tuple[Value, ...]) -> str:
    return ", ".join(f"`{value.type}`" for value in values) or "nothing"


def _anything(_op: Op, _program: Program) -> Problems:
    return iter(())


# Arithmetic


def _of_one_type(values: tuple[Value, ...], kinds: frozenset[Kind]) -> Problems:
    found = values[-1].type
    if any(value.type != found for value in values):
        yield f"its operands and its result have several types: {_listed(values)}"
    elif not isinstance(found, ScalarType) or found.kind not in kinds:
        yield f"it does not exist for `{found}`"


def _arithmetic(op: arith.Binary | arith.Unary, _program: Program) -> Problems:
    return _of_one_type((*operands(op), op.value), _TAKES.get(type(op), _NUMBERS))


def _compare(op: arith.Compare, _program: Program) -> Problems:
    pair = (op.left, op.right)
    if op.left.type != op.right.type or not isinstance(op.left.type, ScalarType):
        yield f"it compares {_listed(pair)}, not two numbers of one type"
    if op.value.type != BOOL:
        yield f"its result is `{op.value.type}`, not `bool`"


def _cast(op: arith.Cast, _program: Program) -> Problems:
    for value in (op.operand, op.value):
        if not isinstance(value.type, ScalarType):
            yield f"only numbers can be converted, not `{value.type}`"


def _math(op: arith.Math, _program: Program) -> Problems:
    from trilby.model.intrinsics import INTRINSICS  # noqa: PLC0415 -- many kernels have none

    intrinsic = INTRINSICS.get(op.function)
    if intrinsic is None:
        yield f"there is no function `{op.function}`"
    elif len(op.args) != intrinsic.arity:
        yield f"`{op.function}` takes {intrinsic.arity} operands, not {len(op.args)}"
    else:
        result = op.args[0] if intrinsic.tests else op.value
        yield from _of_one_type((*op.args, result), _KINDS[intrinsic.takes])
        if intrinsic.tests and op.value.type != BOOL:
            yield f"its result is `{op.value.type}`, not `bool`"


def _constant(op: core.Constant, _program: Program) -> Problems:
    wanted = op.value.type
    if not isinstance(wanted, ScalarType):
        yield f"a constant is a number, not `{wanted}`"
        return
    python = {"bool": bool, "float": float}.get(wanted.kind, int)
    if type(op.literal) is not python or not fits(op.literal, wanted):
        yield f"{op.literal!r} is not a value of `{wanted}`"


# Variables and calls


def _var(op: core.Var, _program: Program) -> Problems:
    holds = op.value.type
    if not isinstance(holds, VarType):
        yield f"its result is `{holds}`, not a variable"
    elif len(op.init) > 1:
        yield f"a variable begins with one value, not {len(op.init)}"
    elif op.init and not _matches(holds.of, op.init[0].type):
        yield f"a `{holds}` cannot begin with `{op.init[0].type}`"


def _var_access(op: core.VarLoad | core.VarStore, _program: Program) -> Problems:
    holds = op.var.type
    moved = op.stored.type if isinstance(op, core.VarStore) else op.value.type
    if not isinstance(holds, VarType):
        yield f"`{holds}` is not a variable"
    elif not _matches(holds.of, moved):
        yield f"a `{holds}` does not hold `{moved}`"


def _call(op: core.Call, program: Program) -> Problems:
    if program.functions is None:
        return
    callee = program.functions.get(op.callee)
    if callee is None:
        yield f"there is no function `{op.callee}`"
        return
    pairs = zip(callee.params, op.args, strict=False)
    if len(callee.params) != len(op.args) or not all(_matches(p.type, a.type) for p, a in pairs):
        yield f"`{op.callee}` takes {_listed(callee.params)}, not {_listed(op.args)}"
    if op.result and not _matches(callee.result, op.result.type):
        yield f"`{op.callee}` gives `{callee.result}`, not `{op.result.type}`"


def _return(op: core.Return, program: Program) -> Problems:
    wanted = program.returns
    given = op.returned[0].type if op.returned else NONE
    if len(op.returned) > 1 or not _matches(wanted, given):
        yield f"the function returns `{wanted}`, not {_listed(op.returned)}"


# Control flow


def _boolean(value: Value) -> Problems:
    if value.type != BOOL:
        yield f"its condition is `{value.type}`, not `bool`"


def _yields(block: Block, wanted: Type) -> Problems:
    """A block that does not end in a `yield` is a matter of structure, not of types."""
    last = block.ops[-1] if block.ops else None
    if isinstance(last, core.Yield) and not _matches(wanted, last.yielded.type):
        yield f"a block yields `{last.yielded.type}`, not `{wanted}`"


def _condition(op: control.If | debug.Assert, _program: Program) -> Problems:
    return _boolean(op.condition)


def _while(op: control.While, _program: Program) -> Problems:
    return _yields(op.test, BOOL)


def _for(op: control.For, _program: Program) -> Problems:
    bounds = (op.start, op.stop, op.step)
    if any(bound.type != op.start.type for bound in bounds) or not _is_integer(op.start.type):
        yield f"its bounds are {_listed(bounds)}, not integers of one type"
    if [param.type for param in op.body.params] != [op.start.type]:
        yield f"its body takes {_listed(op.body.params)}, not one `{op.start.type}`"


def _ternary(op: control.Ternary, _program: Program) -> Problems:
    yield from _boolean(op.condition)
    for block in blocks(op):
        yield from _yields(block, op.value.type)


def _short_circuit(op: control.AndThen | control.OrElse, _program: Program) -> Problems:
    yield from _boolean(op.first)
    yield from _yields(op.rest, BOOL)
    if op.value.type != BOOL:
        yield f"its result is `{op.value.type}`, not `bool`"


# Memory


def _place_type(op: MemoryAccess) -> Type | None:
    return type_at(pointee(op.base.type), op.path)


def _is_host(program: Program) -> bool:
    """In compute functions Python checks indices and converts numbers, when they run."""
    return program.func.kind == "compute"


def _path(op: MemoryAccess, program: Program) -> Problems:
    base = pointee(op.base.type)
    if _place_type(op) is None:
        yield f'`{base}` has no place "{op.path}"'
    if _is_host(program):
        return
    wanted = index_count(base, op.path)
    if wanted != len(op.indices):
        yield f'"{op.path}" takes {wanted} indices, not {len(op.indices)}'
    if not all(_is_integer(index.type) or index.type == OBJECT for index in op.indices):
        yield f"indices are integers, not {_listed(op.indices)}"


def _number(op: MemoryAccess, moved: Value, program: Program) -> Problems:
    found = _place_type(op)
    if not isinstance(found, ScalarType):
        yield f'"{op.path}" holds `{found}`, not a number'
    elif not _is_host(program) and not _matches(found, moved.type):
        yield f'"{op.path}" holds `{found}`, not `{moved.type}`'


def _writable(op: MemoryAccess) -> Problems:
    base = pointee(op.base.type)
    if space_of(op.base.type) == "constant":
        yield f"`{op.base.type}` lies in constant memory, which is never written"
    if isinstance(base, BufferType) and op.path in base.length_names:
        yield f'"{op.path}" is a length, which never changes after creation'


def _load(op: memory.Load, program: Program) -> Problems:
    yield from _path(op, program)
    yield from _number(op, op.value, program)


def _store(op: memory.Store, program: Program) -> Problems:
    yield from _path(op, program)
    yield from _number(op, op.stored, program)
    yield from _writable(op)


def _atomic(op: memory.AtomicUpdate | memory.CompareExchange, program: Program) -> Problems:
    yield from _path(op, program)
    yield from _number(op, op.operand, program)
    yield from _number(op, op.value, program)
    yield from _writable(op)
    if isinstance(op, memory.CompareExchange):
        yield from _number(op, op.expected, program)
    elif op.change not in memory.ATOMIC_CHANGES:
        yield f"`{op.change}` is no way to change a place"


def _array(op: memory.LocalArray | memory.PrivateArray, _program: Program) -> Problems:
    made = op.value.type
    space = "local" if isinstance(op, memory.LocalArray) else "private"
    if not isinstance(made, RefType) or made.space != space:
        yield f"it makes a {space} array, not `{made}`"
    elif not isinstance(made.to, ArrayType) or made.to.is_bound:
        yield f"it makes an array of a size known beforehand, not `{made.to}`"


def _place(op: memory.Place, program: Program) -> Problems:
    yield from _path(op, program)
    found = _place_type(op)
    wanted = RefType(found, space_of(op.base.type)) if isinstance(found, StructType) else None
    if op.value.type != wanted:
        yield f'"{op.path}" holds `{found}`, and a `{op.value.type}` refers to something else'


def _pack(op: structs.Pack, _program: Program) -> Problems:
    made = op.value.type
    if not isinstance(made, StructType):
        yield f"it makes a struct, not `{made}`"
    elif [leaf.type for leaf in leaves(made)] != [part.type for part in op.parts]:
        yield f"`{made}` is not made of {_listed(op.parts)}"


def _unpack(op: structs.Unpack, _program: Program) -> Problems:
    whole = op.whole.type
    if not isinstance(whole, StructType):
        yield f"`{whole}` is not a struct"
    elif (op.leaf, op.value.type) not in [(leaf.name, leaf.type) for leaf in leaves(whole)]:
        yield f"`{whole}` has no `{op.leaf}` of type `{op.value.type}`"


def _extent(op: memory.Extent, program: Program) -> Problems:
    array = op.base.type
    if not isinstance(array, NDArrayType):
        yield f"`{array}` is not an n-d array"
    elif not 0 <= op.axis < array.rank and not _is_host(program):
        yield f"`{array}` has no axis {op.axis}"
    if not _is_integer(op.value.type):
        yield f"its result is `{op.value.type}`, not an integer"


def _grid(op: Grid, _program: Program) -> Problems:
    if op.context.type != KERNEL_CONTEXT:
        yield f"`{op.context.type}` is not the kernel context"
    if op.field not in GRID_FIELDS:
        yield f"the kernel context has no field `{op.field}`"
    if not _is_integer(op.value.type):
        yield f"its result is `{op.value.type}`, not an integer"


def _barrier(op: Barrier, _program: Program) -> Problems:
    if op.context.type != KERNEL_CONTEXT:
        yield f"`{op.context.type}` is not the kernel context"
    if op.scope not in BARRIER_SCOPES:
        yield f"`{op.scope}` is no scope of a barrier"


def _print(op: debug.Print, _program: Program) -> Problems:
    if len(debug.texts_of(op.form)) != len(op.args) + 1:
        yield f"`{op.form}` has no places for {len(op.args)} numbers"
    if not all(isinstance(arg.type, ScalarType) for arg in op.args):
        yield f"it prints numbers, not {_listed(op.args)}"


# Transfers, which transforms put into compute models


def _transfer(op: Tracking | ToDevice | ToHost, program: Program) -> Problems:
    if program.func.kind != "compute":
        yield "it belongs to compute functions"
    if op.context.type not in {COMPUTE_CONTEXT, OBJECT}:
        yield f"`{op.context.type}` is not the compute context"
    data = (BufferType, NDArrayType, RefType)
    if op.buffer.type != OBJECT and not isinstance(op.buffer.type, data):
        yield f"`{op.buffer.type}` is not a buffer, nor a part of one"
    elif isinstance(op, ToHost):
        yield from _part(op)


def _part(op: ToHost) -> Problems:
    base = pointee(op.buffer.type)
    if op.path and (base == OBJECT or type_at(base, op.path) is None):
        yield f'`{base}` has no place "{op.path}"'
    if op.indices and "[]" not in op.path:
        yield f'"{op.path}" takes no indices, and {len(op.indices)} are given'


RULES: dict[type[Op], Rule] = {
    core.Constant: _constant,
    core.Var: _var,
    core.VarLoad: _var_access,
    core.VarStore: _var_access,
    core.Call: _call,
    core.Return: _return,
    arith.Binary: _arithmetic,
    arith.Unary: _arithmetic,
    arith.Compare: _compare,
    arith.Cast: _cast,
    arith.Math: _math,
    control.If: _condition,
    control.While: _while,
    control.For: _for,
    control.Ternary: _ternary,
    control.AndThen: _short_circuit,
    control.OrElse: _short_circuit,
    memory.Load: _load,
    memory.Store: _store,
    memory.Place: _place,
    memory.AtomicUpdate: _atomic,
    memory.CompareExchange: _atomic,
    memory.LocalArray: _array,
    memory.PrivateArray: _array,
    structs.Pack: _pack,
    structs.Unpack: _unpack,
    Barrier: _barrier,
    debug.Assert: _condition,
    debug.Print: _print,
    memory.Extent: _extent,
    Grid: _grid,
    **dict.fromkeys((core.Inlined, core.Yield, control.Break, control.Continue), _anything),
    **dict.fromkeys(HOST_OPS, _anything),
    **dict.fromkeys(TRANSFER_OPS, _transfer),
}
"""The rule of every op class, or of the shape it derives from."""


def problems(op: Op, program: Program) -> Problems:
    """How an op breaks its own rules; nothing where it keeps them."""
    if op.result and op.has_result is False:
        yield "it has no result"
    elif op.has_result and not op.result:
        yield "it must have a result"
    else:
        yield from _rule_of(type(op))(op, program)


def _rule_of(kind: type[Op]) -> Rule:
    return next((RULES[base] for base in kind.__mro__ if base in RULES), _unknown)


def _unknown(op: Op, _program: Program) -> Problems:
    yield f"`{op.mnemonic}` has no rule; give it one in `trilby.model.rules.RULES`"
