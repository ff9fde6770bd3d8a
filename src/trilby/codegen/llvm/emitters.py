"""How each op is written: the table of all ops that a kernel may have.

What many kernels do without is loaded when one has it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from trilby.codegen.llvm import arithmetic, control_flow, loads_and_stores
from trilby.codegen.llvm.conversions import cast
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
from trilby.model.ops.core import Call, Constant, Inlined, Return, Var, VarLoad, VarStore
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
    Load: loads_and_stores.load,
    Store: loads_and_stores.store,
    Place: loads_and_stores.place,
    Extent: loads_and_stores.extent,
    AtomicUpdate: _late("atomics", "atomic"),
    CompareExchange: _late("atomics", "compare_exchange"),
    LocalArray: loads_and_stores.array,
    PrivateArray: loads_and_stores.array,
    Pack: loads_and_stores.pack,
    Unpack: loads_and_stores.unpack,
    Assert: _late("debugging", "assertion"),
    Print: _late("debugging", "print_line"),
    Var: control_flow.var,
    VarLoad: control_flow.var_load,
    VarStore: control_flow.var_store,
    Inlined: control_flow.inlined,
    Call: _late("calls", "call"),
    Return: control_flow.return_,
    Break: control_flow.break_,
    Continue: control_flow.continue_,
    If: control_flow.if_,
    Ternary: control_flow.ternary,
    AndThen: control_flow.and_then,
    OrElse: control_flow.or_else,
    For: _late("loops", "for_"),
    While: _late("loops", "while_"),
}
