"""Transfers that a program asks for itself, and that bring nothing."""

import ast
from collections.abc import Iterator

from trilby.analysis.host.trees import calls_method
from trilby.data.schema import BufferType, NDArrayType
from trilby.linting.compute_facts import ComputeFacts
from trilby.linting.findings import Finding
from trilby.linting.lint_registry import compute_lint
from trilby.model.host_code import Operand
from trilby.model.op import Block, Func, Op, blocks, walk
from trilby.model.ops.core import Constant, Var, VarLoad
from trilby.model.ops.host import HostRun, HostValue, HostWith
from trilby.model.ops.memory import Extent, Load
from trilby.model.value import NamedType, Value


@compute_lint("transfer-repeated")
def transfer_repeated(facts: ComputeFacts) -> Iterator[Finding]:
    """A `put` or `get` of what both sides have, because another one stands right before it.

    Between the two nobody can have written the buffer, so the second moves nothing. What a run
    shows beyond that, `tb.lint(ledger)` tells as `transfer-redundant`.
    """
    for func in facts.graph.functions:
        texts = [op for op in walk(func.body) if isinstance(op, HostValue | HostRun)]
        if not any(calls_method(op.code, "raw") for op in texts):
            yield from _Straight(func).repeats(func.body, {})


class _Straight:
    """Follows statements one after the other; `current` are the buffers that both sides have."""

    def __init__(self, func: Func) -> None:
        ops = list(walk(func.body))
        self._names = {op.value: op.name for op in ops if isinstance(op, Var)}
        self._loaded = {op.value: op.var for op in ops if isinstance(op, VarLoad)}

    def repeats(self, block: Block, current: dict[Value, Op]) -> Iterator[Finding]:
        """Every call that moves nothing."""
        for op in block.ops:
            if isinstance(op, HostWith):
                yield from self.repeats(op.body, current)
            elif isinstance(op, HostValue) and (method := _method(op)) in {"put", "get"}:
                yield from self._called(op, method, current)
                continue
            elif _changes_nothing(op):
                continue
            else:
                for inner in blocks(op):
                    yield from self.repeats(inner, {})
            current.clear()

    def _called(self, op: HostValue, kind: str, current: dict[Value, Op]) -> Iterator[Finding]:
        context, *given = op.inputs
        if context.type != NamedType("ComputeContext"):
            current.clear()
            return
        for value in given:
            var = self._loaded.get(value)
            if var is None or not isinstance(value.type, BufferType | NDArrayType):
                continue
            before, name = current.setdefault(var, op), self._names.get(var, value.hint)
            if before is not op:
                yield transfer_repeated.bug(
                    f"this `{kind}` of `{name}` moves nothing: both sides have it since line "
                    f"{before.location.line}",
                    op.location,
                    "leave it out",
                    others=(before.location,),
                    about=name,
                )


def _method(op: HostValue) -> str:
    """The method that is called on the first operand, with nothing but operands."""
    match None if op.code.sign else op.code.expression:
        case ast.Call(func=ast.Attribute(value=Operand(0), attr=method), args=args, keywords=[]):
            return method if all(isinstance(arg, Operand) for arg in args) else ""
        case _:
            return ""


def _changes_nothing(op: Op) -> bool:
    """Whether nobody can write a buffer there: names and numbers are looked up."""
    if isinstance(op, HostValue | HostRun):
        return isinstance(op, HostValue) and _method(op) == "explicit"
    return isinstance(op, Var | VarLoad | Constant | Extent | Load)
