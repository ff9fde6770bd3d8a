"""How each op is written: the table of all ops that a kernel may have.

What many kernels do without is loaded when one has it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from trilby.codegen.llvm import access, arithmetic, control
from trilby.codegen.llvm.conversions import cast
from trilby.codegen.llvm.inlining import Inlined
from trilby.codegen.llvm.writer import KernelWriter, Rules
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
from trilby.model.ops.core import Call, Constant, Return, Var, VarLoad, VarStore
from trilby.model.ops.debug import Assert, Print
from trilby.model.ops.grid import Grid
from trilby.model.ops.memory import (
    AtomicUpdate,
    CompareExchange,
    Extent,
    Load,
    LocalArray,
    Place,
    PrivateArray,
    Store,
)
from trilby.model.ops.structs import Pack, Unpack


def _late(module: str, name: str) -> Callable[[KernelWriter, Any], None]:
    """A rule of another module here."""

    def rule(writer: KernelWriter, op: Any) -> None:
        getattr(import_module(f"trilby.codegen.llvm.{module}"), name)(writer, op)

    return rule


OP_RULES: Rules = {
    Constant: arithmetic.constant,
    Grid: arithmetic.grid,
    **dict.fromkeys(BINARIES, arithmetic.binary),
    **dict.fromkeys(COMPARES, arithmetic.compare),
    **dict.fromkeys(UNARIES, arithmetic.unary),
    Cast: cast,
    Math: _late("mathematics", "math"),
    Load: access.load,
    Store: access.store,
    Place: access.place,
    Extent: access.extent,
    AtomicUpdate: _late("atomics", "atomic"),
    CompareExchange: _late("atomics", "compare_exchange"),
    LocalArray: access.array,
    PrivateArray: access.array,
    Pack: access.pack,
    Unpack: access.unpack,
    Assert: _late("debugging", "assertion"),
    Print: _late("debugging", "print_line"),
    Var: control.var,
    VarLoad: control.var_load,
    VarStore: control.var_store,
    Inlined: control.inlined,
    Call: _late("calls", "call"),
    Return: control.return_,
    Break: control.break_,
    Continue: control.continue_,
    If: control.if_,
    Ternary: control.ternary,
    AndThen: control.and_then,
    OrElse: control.or_else,
    For: _late("loops", "for_"),
    While: _late("loops", "while_"),
}
