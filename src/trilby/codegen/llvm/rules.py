"""How each op is written: the table of all ops that a kernel may have."""

from trilby.codegen.llvm import access, arithmetic, atomics, control, debugging, loops
from trilby.codegen.llvm.conversions import cast
from trilby.codegen.llvm.inlining import Inlined
from trilby.codegen.llvm.mathematics import math
from trilby.codegen.llvm.writer import Rules
from trilby.model.ops.arith import BINARIES, COMPARES, UNARIES, Cast, Math
from trilby.model.ops.control import (
    AndThen,
    Break,
    Continue,
    For,
    If,
    OrElse,
    Ternary,
    While,
)
from trilby.model.ops.core import Constant, Return, Var, VarLoad, VarStore
from trilby.model.ops.debug import Assert, Print
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import (
    Atomic,
    CompareExchange,
    Extent,
    Load,
    LocalArray,
    Place,
    PrivateArray,
    Store,
)
from trilby.model.ops.structs import Pack, Unpack

OP_RULES: Rules = {
    Constant: arithmetic.constant,
    Grid: arithmetic.grid,
    **dict.fromkeys(BINARIES, arithmetic.binary),
    **dict.fromkeys(COMPARES, arithmetic.compare),
    **dict.fromkeys(UNARIES, arithmetic.unary),
    Cast: cast,
    Math: math,
    Load: access.load,
    Store: access.store,
    Place: access.place,
    Extent: access.extent,
    Atomic: atomics.atomic,
    CompareExchange: atomics.compare_exchange,
    LocalArray: access.array,
    PrivateArray: access.array,
    Pack: access.pack,
    Unpack: access.unpack,
    Assert: debugging.assertion,
    Print: debugging.print_line,
    Var: control.var,
    VarLoad: control.var_load,
    VarStore: control.var_store,
    Inlined: control.inlined,
    Return: control.return_,
    Break: control.break_,
    Continue: control.continue_,
    If: control.if_,
    Ternary: control.ternary,
    AndThen: control.and_then,
    OrElse: control.or_else,
    For: loops.for_,
    While: loops.while_,
}
